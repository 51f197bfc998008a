"""Tests of Dominant Resource Fairness: the paper's example, and weights between queues."""

from collections import Counter

from compiled import config, flat, queue
from loomcard.testing.cluster import Cluster


def test_the_papers_example_gives_three_tasks_to_a_and_two_to_b():
    """With 9 CPU and 18 GB, A's tasks of 1 CPU and 4 GB and B's of 3 CPU and 1 GB, A gets 3 tasks
    and B 2 (NSDI 2011, section 4.1).
    """
    engine = Cluster(flat("drf"))
    engine.add_node(1, 18, 9)
    engine.add_app(1)
    engine.add_app(2)
    engine.ask(1, 10, (4, 1))
    engine.ask(2, 10, (1, 3))
    assert Counter(g.attempt for g in engine.round()) == {1: 3, 2: 2}


def test_queues_share_by_weight():
    """Under drf a queue of weight 3 gets three times the dominant share of a queue of weight 1."""
    engine = Cluster(
        config(queue("root", "drf"), queue("root.a", "fifo", weight=3.0), queue("root.b", "fifo"))
    )
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, queue=app)
        engine.ask(app, 8)
    assert Counter(g.attempt for g in engine.round()) == {1: 6, 2: 2}


def test_a_newcomer_is_served_before_those_who_hold_more():
    """Freed room goes to the smallest dominant share, whatever the order of the asks."""
    engine = Cluster(flat("drf"))
    engine.add_node(1, 4096, 4)
    engine.add_app(1)
    engine.ask(1, 8)
    held = engine.round()
    engine.add_app(2)
    engine.ask(2, 8)
    engine.complete(held[0].number)
    engine.complete(held[1].number)
    assert [g.attempt for g in engine.round()] == [2, 2]


def test_shares_follow_the_cluster_as_nodes_come_and_go():
    """A node that joins changes every share; the index is rebuilt, and the order stays right."""
    engine = Cluster(flat("drf"))
    engine.add_node(1, 4096, 40)
    for app, size in ((1, (1024, 1)), (2, (512, 10))):
        engine.add_app(app)
        engine.ask(app, 20, size)
    engine.round()
    engine.add_node(2, 40960, 4)
    allocated = Counter(g.attempt for g in engine.round())
    assert allocated[1] > 0
    used = {
        a: [sum(g.size[i] for g in engine.containers.values() if g.attempt == a) for i in (0, 1)]
        for a in (1, 2)
    }
    shares = {a: max(used[a][0] / 45056, used[a][1] / 44) for a in (1, 2)}
    assert shares[2] >= shares[1] - 10 / 44
