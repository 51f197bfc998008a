"""What each record of a batch does: the state that it leaves, and the event that policies see."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import msgspec

from compiled import config, queue
from loomcard import ClusterView, Plan, fill, register
from loomcard.engine.far_end import FarEnd
from loomcard.engine.mirror import Mirror
from loomcard.engine.snapshot import dump, load
from loomcard.model.objects import AskKey
from loomcard.wire import messages as r

TYPES = ["memory_mb", "vcores"]
EPOCH = 1_700_000_000_000


@register("test-hears")
@dataclass(frozen=True)
class Hears:
    """Remembers every event, by queue. In a leaf it allocates nothing."""

    heard: ClassVar[dict[str, list[Any]]] = {}

    def decide(self, view: ClusterView) -> Plan:
        self.heard.setdefault(view.queue.path, []).extend(view.changes)
        return Plan(view) if view.queue.leaf else fill(Plan(view), order=lambda each: each.number)


def shown(event: Any) -> tuple[Any, ...]:
    """Return an event's name, time and facts; an object of the model by its number or key."""
    facts = (getattr(event, each.name) for each in fields(event) if each.name != "sequence")
    return type(event).__name__, *(
        getattr(fact, "number", getattr(fact, "key", fact)) for fact in facts
    )


def two_leaves() -> FarEnd:
    """Return a cluster with the leaves a and b (numbers 1 and 2), whose policies hear events."""
    Hears.heard.clear()
    queues = [queue(path, "test-hears") for path in ("root", "root.a", "root.b")]
    return FarEnd("test", TYPES, config(*queues), {})


def application(at_ms: int, number: int, leaf: int) -> tuple[r.AnyRecord, ...]:
    """Return the records of a new application with one attempt of its number."""
    name = f"application_{EPOCH}_{number:04d}"
    return (
        r.ApplicationAddedRecord(
            at_ms, number, name, leaf, "u", f"job{number}", "SPARK", ["t"], 3, at_ms, {"k": "v"}
        ),
        r.AttemptAddedRecord(at_ms + 1, number, number, 4, True),
        r.AttemptRegisteredRecord(at_ms + 2, number),
    )


def ask(at_ms: int, attempt: int, count: int, size: tuple[int, int]) -> r.AskChangedRecord:
    return r.AskChangedRecord(at_ms, attempt, 20, 5, False, size, count, {}, {}, True, "")


def container(
    at_ms: int, number: int, *, is_am: bool = False, **times: int
) -> r.ContainerAddedRecord:
    """Return a container of attempt 1 on node 1 that another scheduler placed."""
    facts = (number, 1, 10 + number, 1, (1024, 1), 20, 5, is_am)
    return r.ContainerAddedRecord(at_ms, *facts, "running", "fallback", **times)


STORY = (
    r.NodeAddedRecord(1, 1, "n1:1", "/r1", (8192, 8)),
    r.NodeAddedRecord(2, 2, "n2:1", "/r2", (4096, 4)),
    *application(3, 1, 1),
    *application(6, 2, 2),
    ask(10, 1, 3, (1024, 1)),
    ask(11, 1, 2, (3072, 2)),
    ask(12, 2, 1, (3072, 2)),
    container(13, 1, is_am=True),
    container(14, 2, allocated_ms=8, started_ms=9),
    r.ContainerStartedRecord(15, 2),
    r.ContainerResizedRecord(16, 2, (2048, 2)),
    r.ContainerCompletedRecord(17, 2, "killed", 137),
    r.NodeResizedRecord(18, 2, (2048, 2)),
    r.NodeRelabelledRecord(19, 2, "gpu"),
    r.NodeHeartbeatRecord(20, 1),
    r.NodeRemovedRecord(21, 2, "lost"),
    r.ApplicationChangedRecord(22, 2, 1, 7),
    r.AttemptRemovedRecord(23, 2, "FAILED"),
    r.ApplicationRemovedRecord(24, 2, "FAILED"),
)

NODES = [
    ("NodeAdded", 1, 1),
    ("NodeAdded", 2, 2),
    ("NodeResized", 18, 2, (4096, 4), (2048, 2)),
    ("NodeRelabelled", 19, 2, "", "gpu"),
    ("NodeHeartbeat", 20, 1),
    ("NodeRemoved", 21, 2, "lost"),
]
OF_APPLICATION_1 = [
    ("ApplicationAdded", 3, 1),
    ("AttemptAdded", 4, 1),
    ("AttemptRegistered", 5, 1),
    ("AskChanged", 10, (1, 20, 5), 0, 3, (1024, 1), (1024, 1)),
    ("AskChanged", 11, (1, 20, 5), 3, 2, (1024, 1), (3072, 2)),
    ("ContainerAdded", 13, 1, "fallback"),
    ("ContainerAdded", 14, 2, "fallback"),
    ("ContainerStarted", 15, 2),
    ("ContainerResized", 16, 2, (1024, 1), (2048, 2)),
    ("ContainerCompleted", 17, 2, "killed", 137),
]
OF_APPLICATION_2_IN_B = [
    ("ApplicationAdded", 6, 2),
    ("AttemptAdded", 7, 2),
    ("AttemptRegistered", 8, 2),
    ("AskChanged", 12, (2, 20, 5), 0, 1, (3072, 2), (3072, 2)),
    ("ApplicationRemoved", 22, 2, "MOVED"),
]
OF_APPLICATION_2_IN_A = [
    ("ApplicationAdded", 22, 2),
    ("AttemptRemoved", 23, 2, "FAILED"),
    ("ApplicationRemoved", 24, 2, "FAILED"),
]


def in_order(*events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((event for part in events for event in part), key=lambda event: event[1])


def test_each_record_is_one_event_with_its_facts_for_the_queues_that_it_concerns():
    """Events of nodes are for all queues, those of an application for its leaf and the queues
    above; a move is a removal in one leaf and an addition in the other.
    """
    far_end = two_leaves()
    far_end.next_plan(0)
    for record in STORY[:-3]:
        far_end.send(record)
    far_end.carry_out(far_end.next_plan(30))
    moved = OF_APPLICATION_2_IN_A[:1]
    heard = {path: [shown(event) for event in events] for path, events in Hears.heard.items()}
    both = in_order(NODES, OF_APPLICATION_1, OF_APPLICATION_2_IN_B[:-1])
    assert heard["root"] == [*both]
    assert heard["root.a"] == in_order(NODES, OF_APPLICATION_1)
    assert heard["root.b"] == in_order(NODES, OF_APPLICATION_2_IN_B[:-1])
    Hears.heard.clear()
    for record in STORY[-3:]:
        far_end.send(record)
    far_end.send(ask(25, 1, 1, (1024, 1)))
    far_end.carry_out(far_end.next_plan(40))
    heard = {path: [shown(event) for event in events] for path, events in Hears.heard.items()}
    assert heard["root.a"][:3] == OF_APPLICATION_2_IN_A == moved + OF_APPLICATION_2_IN_A[1:]


def test_records_leave_the_state_that_they_state():
    """Everything that a policy can read of applications, attempts, asks and containers."""
    far_end = two_leaves()
    state = far_end.state
    for record in STORY[:-3]:
        far_end.send(record)
    app = state.applications[2]
    assert (app.id, app.user, app.name, app.type, app.tags) == (
        f"application_{EPOCH}_0002", "u", "job2", "SPARK", ["t"],
    )  # fmt: skip
    assert (app.priority, app.submitted_ms, app.hints, app.queue.path) == (
        3, 6, {"k": "v"}, "root.b",
    )  # fmt: skip
    attempt = state.attempts[2]
    assert (attempt.ordinal, attempt.unmanaged, attempt.registered) == (4, True, True)
    am = state.containers[1]
    assert (am.yarn_number, am.is_am, am.origin, am.ask_key) == (11, True, "fallback", (1, 20, 5))
    assert (am.allocated_ms, am.started_ms, am.preempting_since) == (13, 13, None)
    assert list(state.containers) == [1]
    assert far_end._truth.check() == r.Check(1, 2, 1, 3, (7168, 7))
    assert far_end._truth.check(free=False) == r.Check(1, 2, 1, 3, ())
    far_end.send(container(30, 3, allocated_ms=8, started_ms=9, preempting_since=7))
    task = state.containers[3]
    assert (task.allocated_ms, task.started_ms, task.preempting_since) == (8, 9, 7)
    far_end.send(r.ContainerCompletedRecord(31, 3, "killed", 137))
    assert state.queues[1].am_used == [1024, 1]
    assert (state.capacity, state.free) == ((8192, 8), (7168, 7))
    assert state.pending_total == 3
    for record in STORY[-3:]:
        far_end.send(record)
    assert list(state.applications) == [1]
    assert (app.priority, app.queue.path, list(state.attempts)) == (7, "root.a", [1])
    assert (state.pending_total, state.queues[2].pending_count) == (2, 0)


def busy() -> Mirror:
    """Return a mirror in the middle of its work: of a plan in flight, with allocations, and with
    asks and containers of every kind.
    """
    queues = config(queue("root", "fifo"), queue("root.a", "fifo", reservation_nodes=2))
    far_end = FarEnd("test", TYPES, queues, {}, saved={"root.a": {"policy": "x", "saved": 1}})
    records = [
        r.NodeAddedRecord(1, 1, "n1:1", "/r1", (8192, 8), "", "one"),
        r.NodeAddedRecord(2, 2, "n2:1", "/r2", (4096, 4), "gpu", "two", True),
        *application(3, 1, 1),
        *application(6, 2, 1),
        r.AttemptAddedRecord(9, 3, 2, 5, False),
        r.AskChangedRecord(
            10, 1, 20, 5, False, (1024, 1), 3, {"one": 2}, {"/r1": 2}, True, "", ["/r1"]
        ),
        r.AskChangedRecord(11, 2, 1, 0, True, (8192, 1), 1, {}, {"/r2": 1}, False, "gpu"),
        r.AskChangedRecord(12, 2, 9, 0, False, (9216, 1), 2, {}, {}, True, ""),
        r.BlacklistRecord(13, 2, ["three", "/r3"]),
        container(14, 101, is_am=True),
        container(15, 102, allocated_ms=8, started_ms=9, preempting_since=14),
        container(16, 103),
        r.ContainerCompletedRecord(36, 103, "completed", 0),
        r.ContainerCompletedRecord(37, 101, "completed", 0),
        r.AttemptRemovedRecord(38, 3, "FAILED"),
    ]
    for record in records:
        far_end.send(record)
    far_end.carry_out(far_end.next_plan(40))
    far_end.send(r.AskChangedRecord(41, 1, 20, 6, False, (256, 2), 2, {"one": 1}, {"/r1": 1},
                                    False, "", ["/r1"]))  # fmt: skip
    far_end.next_plan(50)
    mirror = far_end.session.mirror
    assert mirror.in_flight
    return mirror


def test_what_was_dumped_and_loaded_is_dumped_as_the_same_again():
    """A segment of a journal begins with a dump. All that a later plan depends on is in it."""
    mirror = busy()
    dumped = dump(mirror)
    again = Mirror(TYPES, ["reservations"])
    load(again, dumped)
    repeated = dump(again)
    for each in (dumped, repeated):
        each["lines"] = sorted(each["lines"])  # no order is promised
    assert repeated == dumped
    assert (again.sequence, again.now_ms, again.in_flight_round) == (mirror.sequence, 50, 2)
    assert again.changes.every == []
    twice, once = again.state, mirror.state
    for number, kept in once.containers.items():
        other = twice.containers[number]
        for name in ("is_am", "origin", "tag", "instance", "allocated_ms", "started_ms",
                     "preempting_since", "yarn_number", "size", "ask_key"):  # fmt: skip
            assert getattr(other, name) == getattr(kept, name), (number, name)
    for number, attempt in once.attempts.items():
        assert twice.attempts[number].blacklist == attempt.blacklist
        assert twice.attempts[number].unmanaged == attempt.unmanaged
        for key, one in attempt.asks.items():
            two = twice.attempts[number].asks[AskKey(*key)]
            for name in ("count", "hosts", "racks", "relax_locality", "label", "strict_racks",
                         "is_am", "since_ms", "reported_reason", "size"):  # fmt: skip
                assert getattr(two, name) == getattr(one, name), (key, name)


def test_a_dump_has_what_it_should():
    """In figures: one AM that ran 23 ms and one task that ran 20 ms; what the plan in flight took
    stands in the dump as it was before.
    """
    dumped = dump(busy())
    assert dumped["ran_all"] == [[1, 20], [1, 23]]
    assert dumped["ran"] == [[1, 1, 20], [2, 0, 0]]
    assert dumped["saved"] == {"root.a": {"policy": "x", "saved": 1}}
    assert dumped["since"] == [[1, 20, 6, 50], [2, 1, 0, 40], [2, 9, 0, 40]]
    assert sorted(dumped["lines"]) == [
        [(256, 2), "", 50], [(8192, 1), "gpu", 40], [(9216, 1), "", 40],
    ]  # fmt: skip
    assert (dumped["taken_ms"], dumped["plan_round"]) == ([50, 50], 2)
    assert [
        tuple(record[2:]) for record in msgspec.to_builtins(dumped["records"]) if record[0] == "ask"
    ] == [
        (1, 20, 6, False, (256, 2), 2, {"one": 1}, {"/r1": 1}, False, "", ["/r1"]),
        (2, 1, 0, True, (8192, 1), 1, {}, {"/r2": 1}, False, "gpu", []),
        (2, 9, 0, False, (9216, 1), 2, {}, {}, True, "", []),
    ]
    assert dumped["reported"] == [
        [1, 20, 6, "LOCALITY"], [2, 1, 0, "NODE_FULL"], [2, 9, 0, "NODE_FULL"],
    ]  # fmt: skip
    assert dumped["containers"][:2] == [
        [102, 9, 14, 0, "fallback", None],
        [1, None, None, 1, "policy", None],
    ]
    assert dumped["plan"] == [["allocate", [1, 20, 6], 1, 1, 1, None]]


def test_a_snapshot_of_the_far_end_runs_from_its_time_on():
    """The records of a live state have the time of the snapshot, and its containers run."""
    far_end = two_leaves()
    for record in STORY[:-3]:
        far_end.send(record)
    far_end.resync("why", 99)
    first, *rest = far_end.waiting
    assert first == r.SnapshotRecord(99, "why")
    assert {record.at_ms for record in rest} == {99}
    running = [record for record in rest if type(record) is r.ContainerAddedRecord]
    assert [(each.container, each.state) for each in running] == [(1, "running")]
