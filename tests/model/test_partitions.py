"""Tests of the nodes by label, and of those that lend."""

from loomcard.model.objects import Node
from loomcard.model.partitions import Partitions
from loomcard.model.resource import Resource


def node(number: int, memory_mb: int, vcores: int, label: str = "", shared: bool = False) -> Node:
    return Node(number, f"n{number}:1", "/r", Resource((memory_mb, vcores)), label, "", shared)


def test_a_node_lends_nothing_and_has_the_host_of_its_id_unless_it_says_otherwise():
    plain = Node(1, "h:80:1", "/r", Resource((4, 2)), "")
    assert (plain.shared, plain.host, plain.capacity, plain.available) == (
        False, "h:80", (4, 2), (4, 2),
    )  # fmt: skip
    assert (Node(1, "h:1", "/r", Resource((4,)), "", "n").host, plain.used) == ("n", (0, 0))
    assert Node(1, "h", "/r", Resource((4,)), "").host == "h"


def test_an_ask_without_a_label_may_use_a_shared_node_while_it_lends():
    own, lends = node(1, 1, 1, "gpu"), node(2, 1, 1, "gpu", True)
    assert [own.takes("gpu"), own.takes(""), own.takes("ssd")] == [True, False, False]
    assert [lends.takes("gpu"), lends.takes(""), lends.takes("ssd")] == [True, True, False]
    assert [lends.takes("gpu", False), lends.takes("", False)] == [True, False]


def joined(*nodes: Node) -> Partitions:
    found = Partitions()
    for each in nodes:
        found.join(each)
    return found


def test_nodes_are_kept_by_label_and_a_label_without_nodes_has_none():
    """The sum of its nodes is a partition's; shared nodes are known by their numbers, too."""
    plain, first, second = node(1, 100, 1), node(2, 200, 2, "gpu", True), node(3, 300, 3, "gpu")
    found = joined(plain, first, second)
    first.free = [50, 1]
    assert {label: list(found[label].nodes) for label in found} == {"": [1], "gpu": [2, 3]}
    assert (found["gpu"].capacity, found["gpu"].free) == ((500, 5), (350, 4))
    assert found.shared == {2: first}
    found.leave(first)
    assert (found["gpu"].capacity, found.shared) == ((300, 3), {})
    found.leave(second)
    assert list(found) == [""]


def test_the_largest_sizes_are_those_that_no_other_exceeds():
    """For asks without a label shared nodes count where they lend, and for no other label."""
    found = joined(
        node(1, 100, 4), node(2, 200, 2), node(3, 100, 3), node(4, 200, 2),
        node(5, 400, 4, "gpu", True), node(6, 50, 1, "ssd"),
    )  # fmt: skip
    assert found.largest("", 1) == [(200, 2), (100, 4)]
    assert found.largest("", 1, lent=True) == [(400, 4)]
    assert found.largest("gpu", 1) == found.largest("gpu", 1, lent=True) == [(400, 4)]
    assert found.largest("ssd", 1, lent=True) == [(50, 1)]
    assert found.largest("none", 1) == []


def test_they_are_computed_again_for_another_version_only():
    found = joined(node(1, 100, 1))
    first = found.largest("", 1)
    found.join(node(2, 200, 2))
    assert found.largest("", 1) is first
    assert found.largest("", 2) == [(200, 2)]
