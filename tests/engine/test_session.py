"""Tests of a session by itself: its settings, and the state with which a segment of a journal
begins.
"""

import hashlib
import json
import os
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import scripted  # noqa: F401 - registers test policies
from compiled import config, flat, queue
from loomcard import ClusterView, Plan, fill, register
from loomcard.api import registry
from loomcard.config import compile_config
from loomcard.engine.far_end import FarEnd
from loomcard.engine.round import SAVED_AT_ONCE
from loomcard.engine.session import Session, replay
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


@register("test-reports")
@dataclass(frozen=True)
class Reports:
    """Allocates in order, and reports how many applications it has."""

    def decide(self, view: ClusterView) -> Plan:
        plan = fill(Plan(view), order=lambda app: app.number)
        plan.report(view.queue, {"applications": len(view.applications)})
        return plan


def running() -> Cluster:
    """Return a cluster whose instances have memory, timers, reports and a fault, with a plan in
    flight.
    """
    paths = {"b": "test-counter", "c": "test-delay", "d": "test-broken", "e": "test-reports"}
    leaves = [queue(f"root.{name}", policy) for name, policy in paths.items()]
    cluster = Cluster(config(queue("root", "drf"), *leaves), tolerant=True)
    for number in (1, 2, 3):
        cluster.add_node(number, 6144, 6, rack=f"/r{number}")
    for app, leaf in enumerate(paths, 1):
        cluster.add_app(app, f"root.{leaf}", name="app2" if leaf == "d" else "x")
        cluster.ask(app, 3, hosts={"n9": 1}, racks={"/r9": 1})
    for step in range(4):
        cluster.round(700)
        for number in sorted(cluster.containers)[: step % 3]:
            cluster.complete(number)
        cluster.ask((1, 3, 4)[step % 3], 2)
    cluster.exchange(700)
    return cluster


def header_of(session: Session) -> dict[str, Any]:
    """Return the first line of a segment as it is read; the order of its shapes has no meaning."""
    kind, header = json.loads(session.header_text())
    assert kind == "segment"
    header["mirror"]["lines"].sort()
    return header


def test_a_restored_session_begins_its_next_segment_with_the_same_line():
    """The state of the mirror, and of each instance: its memory, its timer, what it was called for,
    and what stands in for a policy that failed.
    """
    header = header_of(running().session)
    for key in ("memory", "timers", "stand_ins", "reported_ms"):
        assert header[key], key
    assert (set(header["memory"]), header["timers"]) == ({"0", "1", "2"}, {"2": 5700})
    assert header["last_saved_ms"] == 2800
    again = Session.restored(header)
    assert again.mirror.in_flight_round == 5
    assert header_of(again) == header


SEGMENT = Path(__file__).parents[1] / "golden" / "segment.json"
"""The state with which a segment begins; `RECORD=1 .venv/bin/pytest tests/engine/test_session.py`
writes it again.
"""


@register("test-scripted-plan")
@dataclass(frozen=True)
class ScriptedPlan:
    """Decides by the number of its round. The second and third preempt; the third one's plan has
    every kind of decision.
    """

    def initial(self, _view: ClusterView, saved: Any) -> dict[str, Any]:
        return {"calls": 0, "now_ms": -1, "saved": saved}

    def decide(self, view: ClusterView, memory: dict[str, Any]) -> tuple[Plan, dict[str, Any]]:
        plan = Plan(view)
        if memory["now_ms"] == view.now_ms:
            return plan, memory
        calls = memory["calls"] = memory["calls"] + 1
        memory["now_ms"] = view.now_ms
        asks = {(a.key.attempt, a.key.priority): a for a in view.asks}
        if calls == 1:
            for number, ask in enumerate((asks[2, 1], asks[3, 1], asks[3, 1]), 1):
                plan.allocate(ask, view.node(number), tag=("first", number))
            plan.reserve(asks[3, 5], view.node(1), 9_000)
            plan.wait(asks[3, 2], "MY_RULE", 8_000)
            plan.wait(view.queue, "WHOLE", 9_500)
            plan.allocate(asks[3, 4], view.node(4))
        running = [c for app in view.applications for c in app.containers if c.number]
        if calls == 2:
            plan.preempt(running[-1], 5_000, "SLOWLY")
        if calls == 3:
            plan.allocate(asks[3, 1], view.node(2), tag={"second": [1, 2.5]})
            plan.allocate(asks[2, 3], view.node(3), 2)
            plan.preempt(running[0], 700, "TOO_MUCH")
            plan.unreserve(asks[3, 5])
            plan.reserve(asks[3, 6], view.node(2))
            plan.wait(asks[3, 2], "LATER")
            plan.wake_at(view.now_ms + 123)
        return plan, memory

    def save(self, memory: dict[str, Any]) -> int:
        return memory["calls"]


def rich() -> Cluster:
    """Return a cluster with a value in every field that is kept, and a plan in flight."""
    keys = {"label_maximum_ppm": {"gpu": 750_000}, "reservation_nodes": 2}
    spec = queue("root.a", "test-scripted-plan", reservation_share_ppm=1_000_000, **keys)
    cluster = Cluster(config(queue("root", "fifo"), spec))
    for number in (1, 2, 3):
        cluster.add_node(number, 6144, 6, rack=f"/r{number}", host=f"h{number}")
    cluster.add_node(4, 4096, 4, label="gpu", shared=True)
    cluster.add_app(1, "root.a")
    cluster.end_app(1)
    facts = {"name": "n", "tags": ["t"], "type": "SPARK", "hints": {"h": "1"}, "submitted_ms": 5}
    cluster.add_app(2, "root.a", "v", 3, **facts)
    cluster.ask(2, 1, (1024, 1), 1, is_am=True)
    cluster.ask(2, 4, (1000, 1), 3, request_id=7, hosts={"h3": 3, "h1": 1}, racks={"/r3": 3})
    cluster.add_app(3, "root.a", "w")
    cluster.send(r.AttemptRemovedRecord(cluster.now, 3, "FAILED"))
    cluster.send(r.AttemptAddedRecord(cluster.now, 30, 3, 2, False))
    cluster.add_app(31, "root.a", "w")
    cluster.end_app(31)
    cluster.now += 40
    cluster.send(r.AttemptAddedRecord(cluster.now, 3, 3, 3, False))
    cluster.send(r.AttemptRegisteredRecord(cluster.now, 3))
    strict = {"hosts": {"h2": 2}, "racks": {"/r2": 2}, "relax": False, "strict_racks": ["/r2"]}
    cluster.ask(3, 6, (900, 2), 1)
    cluster.ask(3, 2, (800, 1), 2, **strict)
    cluster.ask(3, 2, (700, 1), 4, label="gpu")
    cluster.ask(3, 2, (6144, 6), 5)
    cluster.ask(3, 2, (2000, 1), 6)
    cluster.blacklist(2, "h9", "h8")
    cluster.round(1000)
    first, second, *_ = sorted(cluster.containers)
    cluster.now += 300
    cluster.send(r.ContainerStartedRecord(cluster.now, first))
    cluster.send(r.ContainerStartedRecord(cluster.now, second))
    cluster.now += 450
    cluster.complete(second)
    cluster.round(1)
    cluster.round(60)
    return cluster


def test_a_segment_begins_with_the_whole_state_as_recorded():
    """Every field of the records, of what they do not have, of the plan in flight and of the
    instances; the restored session begins its own next segment with the same.
    """
    header = header_of(rich().session)
    if os.environ.get("RECORD"):
        SEGMENT.write_text(json.dumps(header, indent=1) + "\n", "utf-8")
    assert header == json.loads(SEGMENT.read_text("utf-8"))
    assert header_of(Session.restored(header)) == header


def test_a_session_is_restored_to_the_figures_of_the_segment():
    """Also to those that would be others if it had computed them from the records."""
    header = header_of(rich().session)
    mirror = header["mirror"]
    mirror["plan"] = [step for step in mirror["plan"] if step[0] != "allocate"]
    mirror["since"] = [[*row[:-1], 7 + n] for n, row in enumerate(mirror["since"])]
    mirror["lines"] = [[*row[:-1], 17 + n] for n, row in enumerate(mirror["lines"])]
    mirror["ran"] = [[row[0], 2, 27 + n] for n, row in enumerate(mirror["ran"])]
    mirror |= {
        "taken_ms": [1234, 1235],
        "ran_all": [[3, 33], [4, 44]],
        "plan_round": 8,
        "version": 6,
    }
    header |= {"cut": [1], "last_saved_ms": 77, "reported_ms": {"1": 88}}
    header["stand_ins"] = {"1": [3, 2, 99_000]}
    mirror |= {"now_ms": 1700, "sequence": 99, "saved": {"root.a:test-scripted-plan": 5}}
    mirror["reports_are_read"] = False
    assert header_of(Session.restored(header)) == header


def test_a_segment_of_an_older_journal_lacks_some_figures():
    """Then nothing waits by a rule or has a reservation, no task has ended, and asks wait since the
    time of the segment.
    """
    header = header_of(rich().session)
    mirror = header["mirror"]
    without = {
        "rules": [], "since": [[*row[:-1], 1851] for row in mirror["since"]],
        "lines": [[*row[:-1], 1851] for row in mirror["lines"]], "taken_ms": [-1, -1],
        "ran": [[row[0], 0, 0] for row in mirror["ran"]], "ran_all": [[0, 0], [0, 0]],
        "reservations": [],
    }  # fmt: skip
    mirror["plan"] = [step for step in mirror["plan"] if step[0] == "preempt"]
    older = {key: value for key, value in header.items() if key in OLDER_KEYS}
    older["mirror"] = {key: value for key, value in mirror.items() if key not in without}
    again = header_of(Session.restored(older))
    assert again["mirror"] == mirror | without
    assert {key: again[key] for key in ("stand_ins", "cut", "reported_ms")} == {
        "stand_ins": {}, "cut": [], "reported_ms": {},
    }  # fmt: skip
    older["mirror"]["served_ms"] = 1234  # of any resource type
    assert header_of(Session.restored(older))["mirror"]["taken_ms"] == [1234, 1234]


OLDER_KEYS = ("hello", "memory", "timers", "last_saved_ms")


def test_a_segment_before_the_first_round_has_the_handshake_alone():
    far_end = FarEnd("test", ["memory_mb", "vcores"], flat(), {"journal_max_mb": 7})
    kind, header = json.loads(far_end.session.header_text())
    assert (kind, list(header)) == ("segment", ["hello"])
    assert header["hello"][-1] == {"journal_max_mb": 7}
    assert Session.restored(header).tree is None


@pytest.mark.parametrize(("settings", "first"), [({}, 5000), ({"saved_every_ms": 300}, 300)])
def test_what_policies_save_goes_with_a_plan_from_time_to_time(settings, first):
    """Every 5 s unless the handshake states another time, counted from the last such plan."""
    far_end = FarEnd("test", ["memory_mb", "vcores"], flat("test-counter"), settings)
    far_end.send(r.NodeAddedRecord(0, 1, "n1:1", "/r", (4096, 4)))

    def saved_at(now_ms: int) -> list[str]:
        plan = far_end.next_plan(now_ms)
        far_end.carry_out(plan)
        return list(plan.saved)

    assert [saved_at(first - 1), saved_at(first), saved_at(first + 1)] == [
        [], ["root.default:test-counter"], [],
    ]  # fmt: skip
    assert [len(saved_at(2 * first - 1)), len(saved_at(2 * first))] == [0, 1]


@register("test-long")
@dataclass(frozen=True)
class Long:
    """Saves a long text, and nothing in root.b."""

    def decide(self, view: ClusterView, memory: str | None) -> tuple[Plan, str | None]:
        return Plan(view), memory

    def initial(self, view: ClusterView, _saved: Any) -> str | None:
        return None if view.queue.path == "root.b" else "x" * SAVED_AT_ONCE

    def save(self, memory: str | None) -> str | None:
        return memory


def test_long_parts_go_with_several_plans():
    """So no round is long for all of them. The next pass begins 5 s after this one began, when this
    one has ended. A session restored in the middle of a pass goes on with it.
    """
    leaves = [queue(f"root.{name}", "test-long") for name in "abc"]
    queues = config(queue("root", "drf"), *leaves, queue("root.d", "test-counter"))
    far_end = FarEnd("test", ["memory_mb", "vcores"], queues, {})
    far_end.send(r.NodeAddedRecord(0, 1, "n1:1", "/r", (4096, 4)))

    def saved_at(now_ms: int) -> list[str]:
        plan = far_end.next_plan(now_ms)
        far_end.carry_out(plan)
        return list(plan.saved)

    first, second, third = ["root.a:test-long"], ["root.c:test-long"], ["root.d:test-counter"]
    assert [saved_at(now_ms) for now_ms in (4999, 5000)] == [[], first]
    far_end.session = Session.restored(header_of(far_end.session))
    assert [saved_at(now_ms) for now_ms in (5001, 5002, 5003, 9999)] == [second, third, [], []]
    assert [saved_at(now_ms) for now_ms in (10_000, 15_000, 15_001)] == [first, second, third]
    assert [saved_at(now_ms) for now_ms in (15_002, 15_003)] == [first, second]


OWN = """
from dataclasses import dataclass
from loomcard import ClusterView, Plan

@dataclass(frozen=True)
class Own:
    def decide(self, view: ClusterView) -> Plan:
        return Plan(view)
"""


@pytest.mark.parametrize(("dry_run", "hashes"), [(False, True), (False, False), (True, True)])
def test_policies_files_come_from_the_folders_of_the_handshake(
    tmp_path, monkeypatch, dry_run, hashes
):
    """What is applied is copied, except in a dry run, and is all that a replay needs."""
    (tmp_path / "own.py").write_text(OWN)
    yaml, copies = "version: 1\npolicy: own.py:Own\n", tmp_path / "copies"
    compiled = compile_config(yaml, "f.yml", policy_path=[tmp_path])
    if not hashes:  # as before files were hashed
        del compiled["files"]
    settings = {"policy_path": [str(tmp_path)], "dry_run": dry_run}
    far_end = FarEnd("test", ["memory_mb", "vcores"], compiled, settings)
    far_end.session = Session(far_end.session.hello, copies=copies)
    plan = far_end.next_plan(10)
    assert (plan.faults, far_end.session.tree.is_built()) == ([], True)
    digest = hashlib.sha256(OWN.encode()).hexdigest()
    assert [file.name for file in copies.glob("*")] == ([] if dry_run else [f"{digest}.py"])
    monkeypatch.setattr(registry, "_modules", {})
    monkeypatch.setattr(registry, "_notices", [])
    (tmp_path / "own.py").unlink()
    header = json.loads(far_end.session.header_text())[1]
    with pytest.raises(registry.PolicyNotFoundError, match="there is no file own"):
        Session.restored(header)
    if not dry_run and hashes:
        assert Session.restored(header, copies).tree.is_built()


def test_a_session_takes_batches_alone():
    session = running().session
    with pytest.raises(TypeError, match=r"^expected a batch, got Hello$"):
        session.decide(r.write(session.hello))


def test_after_a_gap_only_a_snapshot_helps():
    """The plan of an untrustworthy mirror allocates nothing and says why; the next batch is refused
    too, unless it begins with a snapshot.
    """
    cluster = running()
    batch = cluster.batch(5000)
    first = batch.first_seq
    reply = cluster.session.answer(replace(batch, first_seq=first + 1))
    assert (reply.resync, reply.decisions, reply.round) == (
        f"record {first} expected, {first + 1} came", [], 6,
    )  # fmt: skip
    assert cluster.session.answer(cluster.batch(5100)).resync == "no snapshot yet"
    cluster.resync("gap", 5200)
    assert cluster.session.answer(cluster.batch(5200)).resync is None


@register("test-keeps-what-was-saved")
@dataclass(frozen=True)
class KeepsWhatWasSaved:
    """Its memory is what was saved itself, and each call changes it."""

    def initial(self, _view: ClusterView, saved: Any) -> dict[str, int]:
        return saved or {"calls": 0}

    def decide(self, view: ClusterView, memory: dict[str, int]) -> tuple[Plan, dict[str, int]]:
        memory["calls"] += 1
        plan = fill(Plan(view), order=lambda app: app.number)
        plan.report(view.queue, {"calls": memory["calls"]})
        return plan, memory

    def save(self, memory: dict[str, int]) -> dict[str, int]:
        return memory


def test_what_was_saved_does_not_change_with_the_memory_made_of_it(tmp_path):
    """Else a memory that is made of it again, after a second late plan, would differ from a
    replay's, which reads what was saved from the journal.
    """
    cluster = Cluster(flat("test-keeps-what-was-saved"), journal=tmp_path, segment_rounds=3)
    cluster.add_node(1, 6144, 6)
    cluster.add_app(1)
    cluster.ask(1, 30)
    cluster.round(6_000)
    saved = deepcopy(cluster.session.mirror.saved)
    for _ in range(3):
        cluster.complete(min(cluster.containers))
        cluster.round(1, late=True)
        cluster.round(1)
    assert cluster.session.mirror.saved == saved
    cluster.session.journal.close()
    assert replay(tmp_path) == []


@register("test-keeps-an-object")
@dataclass(frozen=True)
class KeepsAnObject:
    """Its memory is not plain data, so that no header of a segment can have it."""

    def initial(self, _view: ClusterView, _saved: Any) -> object:
        return object()

    def decide(self, view: ClusterView, memory: object) -> tuple[Plan, object]:
        return fill(Plan(view), order=lambda app: app.number), memory


def test_a_memory_that_is_not_plain_data_ends_the_journal_alone(tmp_path):
    """The policies still decide; the journal says whose memory it is."""
    cluster = Cluster(
        flat("test-keeps-an-object"), journal=tmp_path, segment_rounds=2, tolerant=True
    )
    cluster.add_node(1, 6144, 6)
    cluster.add_app(1)
    for count in range(1, 7):
        cluster.ask(1, 1)
        assert len(cluster.round()) == 1, count
    assert "the memory of root.default:test-keeps-an-object: object is not plain data" in (
        cluster.session.journal.problem
    )


def reports_of(policy: str) -> tuple[list[int], Session]:
    """Return when a policy reported, and its session: nobody read from 5 s on, somebody from 31 s
    on, and from 36 s on nobody again. An application comes and goes each 100 ms.
    """
    cluster = Cluster(config(queue("root", "drf"), queue("root.a", policy)))
    cluster.add_node(1, 6144, 6)
    cluster.add_app(1, "root.a")
    found, reads = [], {5_000: False, 31_000: True, 36_000: False}
    for step in range(500):
        cluster.ask(1, 1 + step % 2)
        if (read := reads.get(cluster.now + 100)) is not None:
            cluster.send(r.ReportsReadRecord(cluster.now + 100, read))
        plan = cluster.exchange(100)
        if "root.a" in plan.reports:
            found.append(cluster.now)
        cluster.commit(plan)
    return found, cluster.session


REPORTED = {
    "test-reporter": [
        *range(100, 5_000, 1_000), 14_100, 24_100, *range(31_000, 36_000, 1_000), 45_000,
    ],
    "dress": [*range(100, 5_000, 1_000), 14_100, 24_100, *range(31_100, 36_000, 1_000), 45_100],
}  # fmt: skip
"""When each policy reports in ``reports_of``; ``dress`` does so at its ticks."""


@pytest.mark.parametrize("policy", ["test-reporter", "dress"])
def test_reports_are_rarer_while_nobody_reads_them(policy):
    """Each second while somebody reads, each ten seconds while nobody does, and at once when
    somebody begins to read.
    """
    found, session = reports_of(policy)
    assert found == REPORTED[policy]
    assert not Session.restored(header_of(session)).mirror.reports_are_read
