"""Tests of where containers fit first, for any number of sizes."""

from collections.abc import Sequence
from random import Random

from loomcard.model.fit_index import SHAPES_KEPT, Bounds, FirstFit, FitIndexes
from loomcard.model.objects import Node
from loomcard.model.resource import Resource

NODES = 1_000
SIZES = 1_000


class Looked:
    """A node that counts how often its room is read."""

    label = ""
    looks = 0

    def __init__(self, number: int, room: Sequence[int]) -> None:
        self.number, self._room = number, list(room)

    @property
    def room(self) -> Sequence[int]:
        Looked.looks += 1
        return self._room


def looks_of(fit: FirstFit[Looked], sizes: list[Resource]) -> int:
    """Return how many nodes are looked at when each size is searched for once."""
    before = Looked.looks
    for size in sizes:
        fit.first(size)
    return Looked.looks - before


def test_many_sizes_that_fit_nowhere_cost_no_look_at_every_node():
    """A search for a size without an index of its own looks at few nodes: if nothing fits, if
    something fits, and after a node gained room.
    """
    nodes = {n: Looked(n, (4096, 4)) for n in range(1, NODES + 1)}
    fit = FirstFit(nodes)
    small = [Resource((100 + n, 1)) for n in range(SHAPES_KEPT)]
    looks_of(fit, small)
    large = [Resource((5000 + n, 1)) for n in range(SIZES)]
    assert looks_of(fit, large) <= 2 * NODES  # for the bounds, and for an index
    nodes[7]._room[:] = 5999, 4
    fit.touch(nodes[7])
    assert looks_of(fit, large) <= 2 * SIZES + NODES
    assert fit.first(large[-1]) is nodes[7]
    nodes[7]._room[:] = 0, 0
    assert looks_of(fit, large) <= 2 * SIZES + NODES
    assert fit.first(large[-1]) is None


def test_no_size_is_found_on_a_node_with_another_label():
    """Whether the size has an index of its own or not."""
    one, two = (
        Node(number, f"n{number}:1", "/r", Resource((9000, 9)), label, "", False)
        for number, label in ((1, ""), (2, "gpu"))
    )
    fit = FirstFit({1: one, 2: two}, "gpu")
    assert {fit.first(Resource((100 + n, 1))) for n in range(SHAPES_KEPT + 2)} == {two}


def test_a_node_that_gains_room_is_reported_to_few_indexes():
    """The cost of a node's gain does not grow with the number of sizes."""
    nodes = {n: Looked(n, (4096, 4)) for n in range(1, 65)}
    fit = FirstFit(nodes)
    looks_of(fit, [Resource((5000 + n, 1)) for n in range(5_000)])
    before = Looked.looks
    fit.touch(nodes[1])
    assert Looked.looks - before <= 4 * SHAPES_KEPT


def test_while_partitions_lend_only_their_nodes_are_found_and_for_asks_without_a_label():
    """Room that such a node gains is found; without lending each label has its own nodes."""
    one, two, three = (
        Node(number, f"n{number}:1", "/r", Resource((100, 1)), label, "", label != "")
        for number, label in ((1, ""), (2, "gpu"), (3, "gpu"))
    )
    nodes = {1: one, 2: two, 3: three}
    fit, size = FitIndexes(nodes), Resource((60, 1))
    assert [fit.first(size, label) for label in ("", "gpu", "ssd")] == [one, two, None]
    assert [fit.offers(two, label) for label in ("", "gpu")] == [False, True]
    fit.shared = {2: two, 3: three}
    assert [fit.first(size, label) for label in ("", "gpu")] == [two, None]
    assert [fit.offers(each, "") for each in (one, two)] == [False, True]
    assert not fit.offers(two, "gpu")
    two.free[:] = 50, 1
    assert fit.first(size, "") is three
    two.free[:] = 60, 1
    fit.touch(two)
    assert fit.first(size, "") is two
    fit.forget()
    fit.shared = {3: three}
    assert fit.first(size, "") is three
    fit.shared = {}
    assert [fit.first(size, label) for label in ("", "gpu")] == [one, two]


def test_bounds_are_never_below_the_room_and_each_is_the_larger_of_the_two_below():
    """Whatever is taken, given back and searched for: the first node with room is found, and no
    bound on the way to a node that was searched in vain is higher than its room.
    """
    draw = Random(1)  # noqa: S311
    for count in (1, 2, 5, 8, 13):
        nodes = {n: Looked(n, (draw.randrange(9), draw.randrange(9))) for n in range(3, 3 + count)}
        bounds = Bounds(nodes, None)
        for _ in range(300):
            node = nodes[draw.choice(list(nodes))]
            before = tuple(node.room)
            node._room[:] = draw.randrange(9), draw.randrange(9)
            if any(now > was for now, was in zip(node.room, before, strict=True)):
                assert bounds.touch(node)
            size = Resource((draw.randrange(1, 9), draw.randrange(1, 9)))
            fitting = [n for n in nodes.values() if n.room[0] >= size[0] and n.room[1] >= size[1]]
            assert bounds.first(size) is (fitting[0] if fitting else None)
            half = bounds._half
            assert len(bounds._bounds) == 2 * half
            for place in range(1, half):
                assert bounds._bounds[place] == bounds._above(place)
            for place, each in enumerate(nodes.values(), half):
                assert all(b >= r for b, r in zip(bounds._bounds[place], each.room, strict=True))
                if not fitting:
                    exact = bounds._bounds[place] == list(each.room)
                    assert exact or any(
                        b < s for b, s in zip(bounds._bounds[place], size, strict=True)
                    )
        gone = nodes.pop(3)
        assert bounds.first(Resource((0, 0))) is next(iter(nodes.values()), None)
        assert not bounds.touch(Looked(3, gone.room))
        assert not bounds.touch(Looked(99, (9, 9)))
