"""What people are told of a queue: its shares, what it is guaranteed, and why it is blocked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from loomcard.model.cluster import Queue
from loomcard.model.plan import Plan
from loomcard.model.report import shown
from loomcard.model.room import Shape
from loomcard.policies.hdrf.claims import due
from loomcard.policies.hdrf.cluster_tree import Forest, Partition
from loomcard.policies.hdrf.share_tree import Branch, Child

EACH_MS = 10
"""A queue's state is told once in so many ms for each queue there is, and once a second at most."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A queue in one partition; its capacity is what shares are of."""

    partition: str = shown("node label")
    share: float = shown("plain dominant share", unit="share")
    attributed: float = shown("attributed dominant share", unit="share")
    guarantee: float = shown("guaranteed share", unit="share")
    blocked: str | None = shown("why it is blocked")


@dataclass(frozen=True, slots=True)
class HdrfState:
    """A queue in the default partition, or the only one; ``partitions`` where there are several."""

    share: float = shown("plain dominant share", unit="share", panel="shares")
    attributed: float = shown("attributed dominant share", unit="share", panel="attributed shares")
    guarantee: float = shown("guaranteed share", unit="share", panel="shares")
    blocked: str | None = shown("why it is blocked")
    partitions: tuple[PartitionState, ...] = shown("by partition")


def report(plan: Plan, forest: Forest) -> int:
    """Tell the state of every queue that the policy governs, and of those below it that have a
    policy of their own; how many they are.
    """
    by_queue: dict[Queue, list[PartitionState]] = {}
    for partition in forest.partitions.values():
        fitting = partition.look(forest.servers)
        # Where all is taken nobody is compared: shares are told as when some of all were free.
        told = fitting or frozenset(partition.tree.root.wants)
        shares = partition.shares(forest.servers, told)
        plain = {child: _plain(forest, partition, child) for child in _queues(partition.tree.root)}
        least = due(partition, forest.ledger.capacity, plain.__getitem__, _queues_in)
        for child, share in plain.items():
            attributed, why = shares.of(child).share, _why(child, fitting)
            state = PartitionState(partition.label, share, attributed, least[child], why)
            by_queue.setdefault(child.member, []).append(state)
        for queue in forest.queues:
            if partition.child(queue) is None:
                nothing = PartitionState(partition.label, 0.0, 0.0, 0.0, NO_WISH)
                by_queue.setdefault(queue, []).append(nothing)
    for queue, states in by_queue.items():
        first = states[0]
        several = tuple(states) if len(states) > 1 else ()
        whole = HdrfState(first.share, first.attributed, first.guarantee, first.blocked, several)
        plan.report(queue, whole)
    return len(by_queue)


NO_WISH = "it wants no more than it holds, or may have no more"


def _queues(child: Child) -> Iterable[Child]:
    yield child
    for below in _queues_in(child):
        yield from _queues(below)


def _queues_in(child: Any) -> Iterable[Child]:
    """The queues among the children: applications are not told of."""
    return () if child.member.leaf else child.children


def _plain(forest: Forest, partition: Partition, child: Child) -> float:
    used = forest.used(child.member, partition.label)
    return max(partition.fractions(used), default=0.0)


def _why(child: Child, fitting: frozenset[Shape]) -> str | None:
    """None: it is in the paper's A."""
    if isinstance(child, Branch) and child.closed:
        return "it has its maximum"
    if not child.wants:
        return NO_WISH
    if not any(want in fitting for want in child.wants):
        return "no server has room for what it wants"
    return None
