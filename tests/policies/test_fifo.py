"""Tests of first in, first out: order of submission, priorities, and asks that fit nowhere."""

from compiled import flat
from loomcard.testing.cluster import Cluster


def test_the_first_application_is_served_whole_before_the_second():
    """fifo gives everything to the first application that asks, then to the next."""
    engine = Cluster(flat())
    engine.add_node(1, 4096, 4)
    for app in (1, 2):
        engine.add_app(app)
        engine.ask(app, 3)
        engine.now += 1
    assert [g.attempt for g in engine.round()] == [1, 1, 1, 2]


def test_a_higher_priority_goes_before_an_earlier_submission():
    """YARN's application priority is compared first; submission only breaks ties."""
    engine = Cluster(flat())
    engine.add_node(1, 2048, 2)
    engine.add_app(1)
    engine.ask(1, 2)
    engine.now += 5
    engine.add_app(2, priority=7)
    engine.ask(2, 1)
    assert [g.attempt for g in engine.round()] == [2, 1]


def test_an_ask_that_fits_nowhere_blocks_nobody():
    """An ask that is too big for every node is passed over, and its reason is reported."""
    engine = Cluster(flat())
    engine.add_node(1, 2048, 2)
    for app, size in ((1, (9999, 1)), (2, (1024, 1))):
        engine.add_app(app)
        engine.ask(app, 2, size)
    plan = engine.exchange()
    assert [(d.attempt, d.count) for d in plan.decisions] == [(2, 2)]
    assert (1, 20, 0, "NODE_FULL", None) in plan.waits


def test_am_containers_go_before_tasks_and_lower_priorities_first():
    """Within an application the AM's ask is first, then the ask with the smaller priority
    number.
    """
    engine = Cluster(flat())
    engine.add_node(1, 3072, 3)
    engine.add_app(1)
    engine.ask(1, 1, priority=20)
    engine.ask(1, 1, priority=10)
    engine.ask(1, 1, priority=30, is_am=True)
    assert [g.ask[1] for g in engine.round()] == [30, 10, 20]
