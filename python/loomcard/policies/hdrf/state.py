"""What people are told of a queue: its shares, what it is guaranteed, and why it is blocked."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.cluster import Queue
from loomcard.model.plan import Plan
from loomcard.model.report import shown
from loomcard.policies.hdrf.follow import Forest, Partition
from loomcard.policies.hdrf.incremental import Shares
from loomcard.policies.hdrf.sums import Branch, Child


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


def report(plan: Plan, forest: Forest) -> None:
    """Tell the state of every queue that the policy governs, and of those below it that have a
    policy of their own.
    """
    by_queue: dict[Queue, list[PartitionState]] = {}
    for partition in forest.partitions.values():
        # Where all is taken nobody is compared: shares are told as when some of all were free.
        shares = partition.shares(forest.servers) or partition.tree.at(-1)
        _walk(forest, partition, shares, plan.view.queue, 1.0, by_queue)
    for queue, states in by_queue.items():
        first = states[0]
        several = tuple(states) if len(states) > 1 else ()
        state = HdrfState(first.share, first.attributed, first.guarantee, first.blocked, several)
        plan.report(queue, state)


def _walk(
    forest: Forest, partition: Partition, shares: Shares, queue: Queue,
    guarantee: float, found: dict[Queue, list[PartitionState]],
) -> None:  # fmt: skip
    child = partition.child(queue)
    state = PartitionState(
        partition.label,
        max(partition.fractions(forest.used(queue, partition.label)), default=0.0),
        0.0 if child is None else shares.of(child).share,
        guarantee,
        _why(partition, child),
    )
    found.setdefault(queue, []).append(state)
    if isinstance(child, Branch) and not queue.leaf:
        demanding = {c: _demands(partition, c) for c in queue.children}
        total = sum(c.weight for c in queue.children if demanding[c])
        for below in queue.children:
            others = total if demanding[below] else total + below.weight
            mine = guarantee * below.weight / others  # g(n) of the specification's section 1
            _walk(forest, partition, shares, below, mine, found)


def _demands(partition: Partition, queue: Queue) -> bool:
    child = partition.child(queue)
    return child is not None and bool(child.wants)


def _why(partition: Partition, child: Child | None) -> str | None:
    """None: it is in the paper's A."""
    if isinstance(child, Branch) and child.closed:
        return "it has its maximum"
    if child is None or not child.wants:
        return "it wants no more than it holds, or may have no more"
    if all(partition.saturated(want) for want in child.wants):
        return "what it wants is saturated"
    return None
