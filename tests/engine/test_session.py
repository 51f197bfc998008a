"""Tests of a session by itself: its settings, and the state with which a segment of a journal
begins.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

import scripted  # noqa: F401 - registers test policies
from compiled import config, flat, queue
from loomcard import ClusterView, Plan, fill, register
from loomcard.engine.far_end import FarEnd
from loomcard.engine.session import Session
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
    assert (set(header["memory"]), header["timers"]) == ({"1", "2"}, {"2": 5700})
    assert header["last_saved_ms"] == 2800
    again = Session.restored(header)
    assert again.mirror.in_flight_round == 5
    assert header_of(again) == header


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
