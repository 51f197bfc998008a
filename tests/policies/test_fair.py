"""Tests of the fair policy: YARN's comparators, level by level."""

from collections import Counter

import pytest

from compiled import config, flat, queue
from loomcard.testing.cluster import Cluster


def tree(options: dict | None = None, **queues: dict) -> Cluster:
    """Return a cluster with fair at the root and these leaves; it has room for twelve containers of
    1 GB and 1 vcore.
    """
    below = [queue(f"root.{name}", None, **keys) for name, keys in queues.items()]
    engine = Cluster(config(queue("root", "fair", options=options or {}), *below))
    engine.add_node(1, 12 * 1024, 12)
    return engine


def held(engine: Cluster) -> list[int]:
    """Return the number of containers of each application."""
    counts = Counter(g.attempt for g in engine.containers.values())
    return [counts[app] for app in sorted(engine.applications)]


def fill_up(engine: Cluster, *leaves: int, size: tuple[int, int] = (1024, 1)) -> list[int]:
    """Add one greedy application to each of these queues; return what each has after a round."""
    for app, leaf in enumerate(leaves, 1):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 50, size)
    engine.round()
    return held(engine)


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param({"a": {}, "b": {}}, [6, 6], id="alike"),
        pytest.param({"a": {"weight": 2.0}, "b": {}}, [8, 4], id="by weight"),
        pytest.param(
            {"a": {"guaranteed": {"amounts": {"memory_mb": 9216}}}, "b": {}}, [9, 3],
            id="the minimum share first",
        ),
        pytest.param(
            {"a": {"guaranteed": {"ppm": 500_000}}, "b": {"weight": 2.0}}, [6, 6],
            id="minimum share, and no more by weight",
        ),
        pytest.param({"a": {"maximum": {"ppm": 250_000}}, "b": {}}, [3, 9], id="maximum"),
    ],
)  # fmt: skip
def test_two_queues_share_as_yarn_does(queues, want):
    """The shares are weighted max-min with minimum shares, in memory."""
    assert fill_up(tree(**queues), 1, 2) == want


def test_minimum_shares_are_filled_alike_where_there_is_too_little():
    """Of two queues below their minimum share, the one with the smaller use / minimum share is
    first.
    """
    keys = {
        n: {"guaranteed": {"amounts": {"memory_mb": mb}}} for n, mb in (("a", 6144), ("b", 12288))
    }
    assert fill_up(tree(**keys), 1, 2) == [4, 8]


def test_a_minimum_share_beyond_the_demand_counts_as_the_demand():
    """a wants two of its twelve. One of two is a half, so b, with 5 of 12, is served first."""
    keys = {n: {"guaranteed": {"amounts": {"memory_mb": 12288}}} for n in "ab"}
    engine = tree(**keys)
    for app, count in ((1, 2), (2, 50)):
        engine.add_app(app, queue=app)
        engine.ask(app, count)
    order = [g.attempt for g in engine.round()]
    assert order[:4] == [1, 2, 2, 2]
    assert order.index(1, 1) >= 6


def test_applications_of_a_leaf_share_alike_whatever_their_number_elsewhere():
    """Fairness is by level: two applications in a have together as much as one in b."""
    assert fill_up(tree(a={}, b={}), 1, 1, 2) == [3, 3, 6]


def test_memory_alone_counts_under_fair_and_the_dominant_share_under_drf():
    """Only under drf an application that needs many vcores gets less because of them."""
    found = {}
    for rule in ("fair", "drf"):
        engine = tree({"levels": {"root": rule}}, a={}, b={})
        for app, size in ((1, (512, 2)), (2, (1024, 1))):
            engine.add_app(app, queue=app)
            engine.ask(app, 50, size)
        engine.round()
        found[rule] = held(engine)
    assert found == {"fair": [5, 2], "drf": [3, 6]}


def test_drf_at_one_level_gives_the_papers_three_and_two():
    """NSDI 2011: the cluster has 9 CPU and 18 GB; A asks for (1 CPU, 4 GB), B for (3 CPU, 1 GB)."""
    engine = Cluster(flat("fair", default="drf"))
    engine.add_node(1, 18, 9)
    for app, size in ((1, (4, 1)), (2, (1, 3))):
        engine.add_app(app)
        engine.ask(app, 10, size)
    engine.round()
    assert held(engine) == [3, 2]


def test_a_leaf_may_be_fifo():
    """The queues share fairly; inside a, the first to come is served first."""
    engine = tree({"levels": {"root.a": "fifo"}}, a={}, b={})
    assert fill_up(engine, 1, 1, 2) == [6, 0, 6]


def test_a_newcomer_catches_up_as_containers_end():
    """Without preemption every container that ends is replaced by one of the queue furthest below
    its share.
    """
    engine = tree(a={}, b={})
    fill_up(engine, 1)
    engine.add_app(2, queue=2)
    engine.ask(2, 50)
    for number in list(engine.containers)[:4]:
        engine.complete(number)
    assert [g.attempt for g in engine.round()] == [2, 2, 2, 2]
