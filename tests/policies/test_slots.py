"""Tests of slots, which count containers whatever their size."""

from collections import Counter

import pytest

import scenarios
from compiled import config, flat, queue
from loomcard.policies.slots import Slots, slots_of
from loomcard.testing.cluster import Cluster


def test_a_node_runs_as_many_containers_as_it_has_slots():
    """A node runs two containers, whatever else is free on it; then the next node is used."""
    engine = Cluster(flat("slots", slots_per_node=2))
    for node in (1, 2):
        engine.add_node(node, 8192, 8)
    engine.add_app(1)
    engine.ask(1, 9, (512, 1))
    assert [g.node for g in engine.round()] == [1, 1, 2, 2]
    engine.complete(2)
    assert [g.node for g in engine.round()] == [1]


def test_slots_are_shared_by_number_whatever_their_size():
    """A container of 3 GB and one of 512 MB cost their applications the same."""
    engine = Cluster(flat("slots", slots_per_node=6))
    engine.add_node(1, 20 * 1024, 20)
    for app, size in ((1, (3072, 2)), (2, (512, 1))):
        engine.add_app(app)
        engine.ask(app, 9, size)
    engine.round()
    assert Counter(g.attempt for g in engine.containers.values()) == {1: 3, 2: 3}


def test_what_does_not_fit_waits_though_a_slot_is_free():
    """The node's capacity is a limit as well."""
    engine = Cluster(flat("slots", slots_per_node=6))
    engine.add_node(1, 4096, 4)
    engine.add_app(1)
    engine.ask(1, 9, (3072, 1))
    assert len(engine.round()) == 1


def test_a_wish_for_a_node_is_met_where_it_has_a_slot():
    """A local node is used first; a node without a free slot is passed over."""
    engine = Cluster(flat("slots", slots_per_node=1))
    for node in (1, 2, 3):
        engine.add_node(node, 4096, 4)
    engine.add_app(1)
    engine.ask(1, 2, hosts={"n3": 2})
    assert [g.node for g in engine.round()] == [3, 1]


def test_headroom_is_free_slots_not_free_memory():
    """Of 8 slots of 1 GB first six are free and then none, although most of the memory is.
    Otherwise MapReduce's reduces would take every slot and wait there for their maps.
    """
    engine = Cluster(flat("slots", slots_per_node=8))
    engine.add_node(1, 8192, 8)
    engine.add_app(1)
    engine.ask(1, 2, (128, 1))
    plan = engine.exchange()
    assert plan.headroom == [(1, (6144, 6))]
    engine.commit(plan)
    engine.ask(1, 9, (128, 1), priority=10)
    plan = engine.exchange()
    assert plan.headroom == [(1, (0, 0))]
    engine.commit(plan)
    assert engine.exchange().headroom == []


def test_headroom_is_what_maximum_and_user_limit_leave():
    """Of 8 slots the queue may use 6, and each user 3 of these; each application gets its own
    headroom.
    """
    half, three = 500_000, {"ppm": 750_000}
    leaf = queue("root.a", "slots", maximum=three, user_limit_ppm=half)
    engine = Cluster(config(queue("root", "fifo"), leaf))
    engine.add_node(1, 8192, 8)
    for app, user in ((1, "u"), (2, "v")):
        engine.add_app(app, user=user)
    plan = engine.exchange()
    assert plan.headroom == [(1, (3072, 3)), (2, (3072, 3))]
    engine.commit(plan)
    engine.ask(1, 2)
    plan = engine.exchange()
    assert plan.headroom == [(1, (1024, 1))]
    engine.commit(plan)
    engine.ask(2, 2)
    plan = engine.exchange()
    assert plan.headroom == [(2, (1024, 1))]
    engine.commit(plan)
    assert engine.exchange().headroom == []


@pytest.mark.parametrize("limit", ["maximum: 25%", "user_limit: 25%"])
def test_mapreduce_ends_though_reduces_fill_what_the_queue_may_have(limit):
    """The limit is a quarter of 16 slots. The AM sees that no more maps fit, and gives reduces
    up.
    """
    text = f"version: 1\npolicy: drf\nqueues: {{default: {{policy: slots, {limit}}}}}\n"
    maps = scenarios.stage([1000] * 8)
    reduces = scenarios.stage([1000] * 8, 2, priority=10, after=[0])
    job = scenarios.app("j", maps, reduces, kind="mapreduce", slowstart=0.25)
    record = scenarios.run(scenarios.scenario(job, nodes=2, slots=8), text)
    assert [application.state for application in record.applications] == ["SUCCEEDED"]


def test_a_slot_that_another_queue_frees_is_taken():
    """Only the free room changed for a, but it is offered a turn again."""
    slots = queue("root.a", "slots", options={"slots_per_node": 1})
    engine = Cluster(config(queue("root", "drf"), slots, queue("root.b", "fifo")))
    engine.add_node(1, 4096, 4)
    for app in (2, 1):
        engine.add_app(app, queue=app)
        engine.ask(app, 1)
        engine.round()
    assert [g.attempt for g in engine.containers.values()] == [2]
    engine.complete(1)
    assert [g.attempt for g in engine.round()] == [1]


@pytest.mark.parametrize(
    ("slot", "want"), [((1024, 1), 4), ((1024, 0), 8), ((0, 2), 2), ((9999, 1), 0)]
)
def test_slots_by_size_are_as_many_as_the_capacity_holds(slot, want):
    """The scarcest resource decides; an amount of 0 is ignored."""
    assert slots_of((8192, 4), slot) == want


@pytest.mark.parametrize(
    "options",
    [{"slots_per_node": -1}, {"slots_per_node": 0, "slot_memory_mb": 0, "slot_vcores": 0}],
)
def test_options_that_make_no_slot_are_refused(options):
    """The error names the option."""
    with pytest.raises(ValueError, match="slots_per_node"):
        Slots(**options)


def test_a_slot_is_held_with_the_room():
    """Node 1 has two slots. One runs a small task, and the other is reserved with 3 GB, so a task
    of 512 MB waits although it would fit. The large task takes the slot when it fits.
    """
    engine = Cluster(flat("slots", slots_per_node=2, reserve_after_ms=1000), nodes=[(4096, 8)] * 2)
    for number in (1, 2, 3, 4):
        engine.add_app(number)
        engine.ask(number, 1, (1536, 1))
    engine.round()
    engine.add_app(5, submitted_ms=-1)
    engine.ask(5, 1, (3072, 1))
    for number in (6, 7, 8):
        engine.add_app(number)
        engine.ask(number, 1, (512, 1))
    engine.complete(1)
    engine.round(1000)
    engine.complete(2)
    assert [g.app for g in engine.round(1000)] == [5]


def test_all_that_wait_for_a_slot_wait_by_a_stated_rule():
    """Otherwise the progress watch would find the second ask of a shape stalled."""
    made = Cluster(flat("slots", slots_per_node=1), nodes=[(8192, 8), (512, 1)])
    for app in (1, 2, 3):
        made.add_app(app)
        made.ask(app, 1, (1024, 1))
    for _ in range(200):
        made.round(1000)
        state = made.session.mirror.state
        assert any(state.rule_waits.until_ms(each) > made.now for each in state.queues)
