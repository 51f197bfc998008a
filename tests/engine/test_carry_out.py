"""Tests of plans that are carried out on a cluster's state, and carried out again from a
journal.
"""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from loomcard import ClusterView, Plan
from loomcard.engine.carry_out import Commit, repeat
from loomcard.engine.mirror import Mirror
from loomcard.experiments.replay_rounds import shadow
from loomcard.model.reasons import Reason
from loomcard.testing import Cluster
from loomcard.wire.messages import Allocate, Decision, Preempt, Reserve, Unreserve
from scenarios import compiled


def mirror_with(**leaf: object) -> Mirror:
    """Return a mirror with two nodes of 4 GB. Application 1 asks for 3 containers of 1 GB and has
    container 1.
    """
    cluster = Cluster("fifo", nodes=[(4096, 4), (4096, 4)], queues={"a": leaf})
    cluster.add_app(1, "root.a")
    cluster.ask(1, 1)
    cluster.round()
    cluster.refuse = lambda _: "STALE"
    cluster.ask(1, 3)
    cluster.round()
    cluster.round()
    mirror = cluster.session.mirror
    mirror.state.reservations.restore(())
    for step in mirror.in_flight:
        for container in getattr(step, "containers", ()):
            mirror.state.undo(container)
    return mirror


def allocate(number: int, attempt: int = 1, priority: int = 20, node: int = 1) -> Allocate:
    return Allocate(attempt, priority, 0, node, number, 2)


@pytest.mark.parametrize(
    ("decision", "refused", "reason"),
    [
        (allocate(1, node=9), 1, Reason.NODE_GONE),
        (allocate(1, attempt=9), 1, Reason.ATTEMPT_GONE),
        (allocate(1, priority=9), 1, Reason.ASK_GONE),
        (allocate(5), 2, Reason.ASK_GONE),
        (Preempt(9, 0, "test", 2), 1, Reason.STALE),
        (Reserve(1, 9, 0, 1, None, 2), 1, Reason.ASK_GONE),
        (Reserve(1, 20, 0, 9, None, 2), 1, Reason.NODE_GONE),
        (Unreserve(1, 20, 0, 2), 1, Reason.STALE),
    ],
)
def test_what_may_not_be_is_refused_and_counted(
    decision: Decision, refused: int, reason: Reason
) -> None:
    """A refusal has the index of its decision; the decisions around it are carried out."""
    state = mirror_with().state
    commit = Commit(state, 100)
    commit.run([Preempt(1, 7, "test", 2), decision, Preempt(1, 7, "test", 2)])
    assert commit.refusals == [(1, refused, reason), (2, 1, Reason.STALE)]
    assert state.containers[1].preempting_since == 100


def test_limits_hold_where_they_are_checked_and_a_record_is_repeated_whatever_they_are() -> None:
    """A journal may be replayed under a configuration with a smaller maximum than the one of the
    run.
    """
    limit = {"memory_mb": 2048}
    checked, mirror = mirror_with(maximum=limit), mirror_with(maximum=limit)
    commit = Commit(checked.state, 100)
    commit.run([allocate(2)])
    assert commit.refusals == [(0, 1, Reason.QUEUE_MAX)]
    [step] = repeat(mirror.state, [allocate(2)], 100, tags=["why"])
    assert [(c.tag, c.instance, c.allocated_ms) for c in step.containers] == [("why", 2, 100)] * 2


@pytest.mark.parametrize("decision", [allocate(0), allocate(4), allocate(-1), allocate(1, node=9)])
def test_a_record_of_what_could_not_be_is_an_error(decision: Decision) -> None:
    """Such a journal was altered, or lacks rounds."""
    with pytest.raises(ValueError, match=r"containers of an ask of 3|NODE_GONE"):
        repeat(mirror_with().state, [decision], 100)


@dataclass(frozen=True)
class TagsEach:
    """Allocates containers one by one, each with another tag, so that each is its own decision."""

    def decide(self, view: ClusterView) -> Plan:
        plan, numbers = Plan(view), count()
        for ask in plan.pending():
            while ask.count and (nodes := list(plan.nodes_fitting(ask))):
                plan.allocate(ask, nodes[0], tag=next(numbers))
        return plan


def test_a_refusal_meets_its_own_decision_beside_another_configuration(tmp_path: Path) -> None:
    """Decisions that differ only in their tags, which plans do not carry, stay separate
    decisions.
    """
    cluster = Cluster(TagsEach(), nodes=[(4096, 4)], journal=tmp_path)
    cluster.add_app(1)
    cluster.ask(1, 3)
    numbers = count()
    cluster.refuse = lambda _: "STALE" if next(numbers) == 1 else None
    cluster.round()
    for _ in range(3):
        cluster.round()
    assert len(cluster.containers) == 3
    assert cluster.session.journal is not None
    cluster.session.journal.close()
    assert [sum(each.recorded.values()) for each in shadow(tmp_path, compiled("fifo"))][:2] == [
        3,
        1,
    ]
