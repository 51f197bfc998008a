"""Tests of the mirror: gaps, wrong counts and unknown names lead to a snapshot, and a snapshot
rebuilds the same state.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec.structs import replace

from compiled import config, flat, queue
from loomcard import AttemptRemoved, ClusterView, NodeResized, Plan, Refused, fill, register
from loomcard.engine.snapshot import dump
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def running(policy: str = "drf") -> Cluster:
    """Return a cluster of two nodes and two applications, some of whose containers wait for
    room.
    """
    engine = Cluster(flat(policy))
    engine.add_node(1, 4096, 4)
    engine.add_node(2, 2048, 2, rack="/b")
    for app in (1, 2):
        engine.add_app(app)
        engine.ask(app, 5, hosts={"n2": 1}, racks={"/b": 1})
    engine.round()
    return engine


def spoil_batch(engine: Cluster, spoilt: Callable[[r.Batch], r.Batch]) -> None:
    right = engine.batch
    engine.batch = lambda now_ms: spoilt(right(now_ms))


def spoil_sequence(engine: Cluster) -> None:
    spoil_batch(engine, lambda batch: replace(batch, first_seq=batch.first_seq + 1))


def spoil_count(engine: Cluster) -> None:
    spoil_batch(engine, lambda batch: replace(batch, check=replace(batch.check, applications=3)))


def spoil_name(engine: Cluster) -> None:
    engine.waiting.append(r.ContainerStartedRecord(0, 4711))


def spoil_outcomes(engine: Cluster) -> None:
    engine.outcomes = r.OutcomesRecord(0, 77, 1, [], [])


def spoil_free(engine: Cluster) -> None:
    spoil_batch(engine, lambda batch: replace(batch, check=replace(batch.check, free=(1, 1))))


def forget_outcomes(engine: Cluster) -> None:
    engine.outcomes = None


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_sequence, "expected"), (spoil_count, "counts"), (spoil_name, "4711"),
        (spoil_outcomes, "77"), (forget_outcomes, "no outcomes"), (spoil_free, "counts"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_asks_for_a_snapshot(spoil, says):
    """Every kind of damage is noticed, named and answered with an empty plan, until a snapshot
    arrives.
    """
    engine = running()
    spoil(engine)
    engine.ask(1, 9)
    plan = engine.exchange()
    assert says in plan.resync
    assert plan.decisions == []
    engine.batch = Cluster.batch.__get__(engine)
    assert engine.exchange().resync is not None


def test_a_snapshot_rebuilds_the_same_state():
    """The records of a dump, sent as a snapshot, build a mirror with the same dump."""
    engine = running()
    engine.round()
    before = dump(engine.session.mirror)
    other = Cluster(flat("drf"))
    records = msgspec.json.decode(r.write(before["records"]), type=list[r.AnyRecord])
    for record in records:
        other.send(record)
    other.round()
    after = dump(other.session.mirror)
    assert after["records"] == before["records"]


def test_node_loss_takes_capacity_and_room_away():
    """The containers of a lost node complete before it leaves, and nothing is placed on it."""
    engine = running()
    for allocated in [g for g in engine.containers.values() if g.node == 2]:
        engine.complete(allocated.number, "lost")
    engine.send(r.NodeRemovedRecord(0, 2, "lost"))
    engine.round()
    assert tuple(engine.session.mirror.state.capacity) == (4096, 4)
    assert all(g.node == 1 for g in engine.containers.values())


def test_a_shrunken_node_gets_nothing_until_its_containers_end():
    """If a node's containers exceed its new capacity, its free room is negative and nothing
    fits.
    """
    engine = running()
    engine.send(r.NodeResizedRecord(0, 1, (1024, 1)))
    first = next(g.number for g in engine.containers.values() if g.node == 1)
    plan = engine.exchange()
    assert plan.decisions == []
    assert min(engine.session.mirror.state.nodes[1].free) < 0
    engine.commit(plan)
    engine.complete(first)
    assert engine.round() == []


def test_a_resized_container_changes_use_everywhere():
    """When an AM lets a container grow, node, application, queue and user are charged the
    difference.
    """
    engine = running()
    first = next(g for g in engine.containers.values() if g.node == 1)
    engine.complete(
        next(g.number for g in engine.containers.values() if g != first and g.node == 1)
    )
    engine.send(r.ContainerResizedRecord(0, first.number, (2048, 1)))
    engine.exchange()
    state = engine.session.mirror.state
    app = state.applications[first.attempt]
    assert app.used[0] == sum(c.size[0] for c in app.containers)
    assert state.queues[0].used == state.queues[1].used


def test_an_ended_attempt_leaves_no_demand_and_its_kept_containers_count():
    """The asks end with their attempt. A container that it leaves to the next attempt stays in the
    state until it ends.
    """
    engine = running()
    kept = next(g for g in engine.containers.values() if g.attempt == 1)
    engine.send(r.AttemptRemovedRecord(0, 1, "FAILED"))
    engine.send(r.AttemptAddedRecord(0, 7, 1, 2, True))
    engine.round()
    app = engine.session.mirror.state.applications[1]
    assert app.pending_count == 0
    assert kept.number in {c.number for c in app.containers}
    engine.complete(kept.number)
    assert engine.exchange().resync is None


def test_an_ended_attempt_leaves_no_refusal():
    """Otherwise the refusals of all attempts that ever were would stay in memory."""
    engine = Cluster(flat("drf"), nodes=[(4096, 4)], refuse=lambda _: "STALE")
    engine.add_app(1)
    engine.ask(1, 1)
    engine.round()
    engine.refuse = lambda _: None
    assert len(engine.round()) == 1
    mirror = engine.session.mirror
    assert {key.attempt for key in mirror.refused} == {1}
    engine.send(r.AttemptRemovedRecord(0, 1, "FAILED"))
    engine.round()
    assert mirror.refused == {}


def test_a_changed_priority_changes_the_order():
    """Also of an application that waits, and of which nothing else changes."""
    engine = Cluster("fifo", nodes=[(1024, 1)])
    for app in (1, 2, 3):
        engine.add_app(app)
        engine.ask(app, 1)
    [first] = engine.round()
    assert first.app == 1
    engine.send(r.ApplicationChangedRecord(0, 3, 1, 9))
    engine.complete(first.number)
    assert [allocated.app for allocated in engine.round()] == [3]


def test_a_moved_application_takes_its_use_and_demand_along():
    """After a move the old queue is empty, and the new one has the application's use and demand."""
    engine = Cluster(config(queue("root", "drf"), queue("root.a", "fifo"), queue("root.b", "drf")))
    engine.add_node(1, 2048, 2)
    engine.add_app(1, queue=1)
    engine.ask(1, 5)
    engine.round()
    engine.send(r.ApplicationChangedRecord(0, 1, 2, 0))
    engine.round()
    a, b = engine.session.mirror.state.queues[1:]
    assert (a.used, a.pending_count, list(a.applications)) == ([0, 0], 0, [])
    assert (b.used, b.pending_count, list(b.applications)) == ([2048, 2], 3, [1])


def test_an_ask_whose_last_containers_were_partly_refused_stands_again():
    """If a plan allocates a whole ask on two nodes and one refuses, the refused part is asked for
    again.
    """
    engine = Cluster("fifo", nodes=[(1024, 1), (4096, 4)])
    engine.add_app(1)
    engine.ask(1, 3)
    engine.refuse = lambda decision: "NODE_FULL" if decision.node == 2 else None
    assert [g.node for g in engine.round()] == [1]
    engine.refuse = lambda _: None
    assert [g.node for g in engine.round()] == [2, 2]


def calls_of(work) -> int:
    """Return the number of Python functions that ``work()`` calls."""
    called = 0

    def count(_frame, event, _arg):
        nonlocal called
        called += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return called


@register("test-preempts")
@dataclass(frozen=True)
class Preempts:
    """Preempts every live container, and remembers the refusals that it has seen."""

    refusals: ClassVar[list[Refused]] = []

    def decide(self, view: ClusterView) -> Plan:
        self.refusals.extend(view.changes_of(Refused))
        plan = fill(Plan(view), order=lambda app: app.number)
        for container in [c for app in view.applications for c in app.containers]:
            if container.number and container.preempting_since is None:
                plan.preempt(container, 10, "test")
        return plan


@register("test-sees")
@dataclass(frozen=True)
class Sees:
    """Remembers every change that it was shown, by queue."""

    seen: ClassVar[dict[str, list[Any]]] = {}

    def decide(self, view: ClusterView) -> Plan:
        self.seen.setdefault(view.queue.path, []).extend(view.changes)
        return fill(Plan(view), order=lambda app: app.number)


def test_a_change_is_shown_with_its_facts_to_the_queues_that_it_concerns():
    """A node's resize to every queue, with both capacities; an ended attempt to its own queue; all
    in the order in which they happened.
    """
    Sees.seen.clear()
    queues = [queue("root", "drf"), queue("root.a", "test-sees"), queue("root.b", "test-sees")]
    engine = Cluster(config(*queues))
    engine.add_node(1, 4096, 4)
    for app, leaf in ((1, 1), (2, 2), (3, 1)):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 1)
    engine.round()
    engine.send(r.NodeResizedRecord(0, 1, (8192, 8)))
    engine.send(r.AttemptRemovedRecord(0, 1, "FINISHED"))
    engine.send(r.NodeResizedRecord(0, 1, (4096, 4)))
    for app in (2, 3):
        engine.ask(app, 2)
    engine.round()
    resized = [c for c in Sees.seen["root.b"] if isinstance(c, NodeResized)]
    sizes = (4096, 4), (8192, 8)
    assert [(c.old, c.new) for c in resized] == [sizes, sizes[::-1]]
    ended = {path: [type(c) for c in found] for path, found in Sees.seen.items()}
    at = ended["root.a"].index(NodeResized)
    assert ended["root.a"][at : at + 3] == [NodeResized, AttemptRemoved, NodeResized]
    assert AttemptRemoved not in ended["root.b"]


def test_a_refused_preemption_is_an_event_of_its_time():
    """The policy sees the time, the reason and the node; the container may be preempted again."""
    engine = running("test-preempts")
    engine.refuse = lambda decision: "STALE" if isinstance(decision, r.Preempt) else None
    for _ in range(3):
        engine.round()
    first = Preempts.refusals[0]
    assert (first.at_ms, first.reason, first.node.id, first.ask) == (20, "STALE", "n2:1", None)


def test_many_ask_keys_of_one_attempt_are_read_in_linear_time():
    """Four times as many keys cost at most five times the work to add and remove. Earlier each
    single record sorted all of them.
    """
    work = {}
    for keys in (200, 800):
        engine = Cluster(flat("fifo"))
        engine.add_app(1)
        engine.round()
        records = [r.AskChangedRecord(0, 1, 20, key, False, (1024, 1), 1, {}, {}, True, "")
                   for key in reversed(range(keys))]  # fmt: skip
        gone = [replace(record, count=0) for record in records]
        mirror = engine.session.mirror

        def read(mirror=mirror, records=records, gone=gone):
            mirror.absorb(records)
            numbers = [ask.key.allocation_request_id for ask in mirror.state.attempts[1].ordered]
            assert numbers == list(range(len(records)))
            mirror.absorb(gone)
            assert mirror.state.attempts[1].ordered == []

        work[keys] = calls_of(read)
    assert work[800] < 5 * work[200]


def test_a_dump_leaves_the_mirror_as_it_is():
    """A journal's header is written between two rounds, so a dump must change neither the objects
    that a policy may keep nor the state.
    """
    engine = running()
    mirror = engine.session.mirror
    before = [id(c) for step in mirror.in_flight for c in step.containers]
    assert before
    held = list(mirror.state.nodes[1].containers)
    first = dump(mirror)
    assert [id(c) for step in mirror.in_flight for c in step.containers] == before
    assert list(mirror.state.nodes[1].containers) == held
    assert dump(mirror) == first
    asked = {
        record[1 + 1]: record[7]
        for record in msgspec.to_builtins(first["records"])
        if record[0] == "ask"
    }
    assert asked == {1: 5, 2: 5}, "the asks stand as they did before the plan in flight"
