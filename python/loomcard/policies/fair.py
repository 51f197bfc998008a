"""YARN's FairScheduler: at each queue, serve first the member furthest below its share.

Left out: reservations, delay scheduling, and YARN's rule that a queue may not be `drf` below one
that is `fair`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from loomcard import (
    RESERVE_AFTER_MS,
    ClusterView,
    Level,
    Member,
    Plan,
    Queue,
    Resource,
    asks_below,
    fill_tree,
)
from loomcard.advanced import (
    LiveLevel,
    PastUse,
    PastUseOptions,
    Preemption,
    PreemptionOptions,
    QueueNode,
    QueuePartition,
    QueueTrees,
    fill_and_take_back,
    guarantees,
)

Rule = Literal["fair", "drf", "fifo"]


@dataclass
class Memory:
    """What a call keeps for the next: what is being taken back, and what queues used in the past;
    None: the options ask for neither.
    """

    preemption: Preemption | None
    past: PastUse | None


@dataclass(frozen=True)
class FairScheduler(PreemptionOptions, PastUseOptions):
    """As YARN's FairScheduler: by minimum share, then use by weight; per queue fair, drf or fifo.

    A queue's ``guaranteed`` is YARN's `minResources`. ``default``: the rule of a queue that
    ``levels`` (queue path: rule) does not name. ``reserve_after_ms``: as for ``fifo``.
    ``preempt_...``: as ``PreemptionOptions``. ``half_life_hours``: as ``PastUseOptions``, for
    queues under ``fair`` and ``drf``.
    """

    default: Rule = "fair"
    levels: dict[str, Rule] = field(default_factory=dict)
    reserve_after_ms: int = RESERVE_AFTER_MS

    walks_tree = True

    def __post_init__(self) -> None:
        PreemptionOptions.__post_init__(self)
        PastUseOptions.__post_init__(self)

    def initial(self, view: ClusterView, saved: Any) -> Memory | None:
        """Return the past use that was saved, and that nothing is being taken back. None: nothing
        is kept.
        """
        past = self.restored(view, saved)
        if past is None and self.preempting is None:
            return None
        return Memory(None if self.preempting is None else Preemption(), past)

    def save(self, memory: Memory | None) -> Any:
        """Return the past use."""
        return None if memory is None or memory.past is None else memory.past.save()

    def decide(self, view: ClusterView, memory: Memory | None) -> tuple[Plan, Memory | None]:
        """Serve the first member by each queue's rule, from the root down, one container a time.
        Then take fair shares back.
        """
        past = None if memory is None else memory.past
        if past is not None:
            past.update(view)
        plan, level, rules = Plan(view), partial(self._level, view, past), self.preempting
        if rules is None or memory is None or memory.preemption is None:
            return fill_tree(plan, level, self.reserve_after_ms), memory
        fill_and_take_back(
            plan, memory.preemption, rules, FairTrees(view, self),
            lambda: fill_tree(plan, level, self.reserve_after_ms),
        )  # fmt: skip
        return plan, memory

    def rule(self, queue: Queue) -> Rule:
        """Return the rule of a queue."""
        return self.levels.get(queue.path, self.default)

    def _level(self, view: ClusterView, past: PastUse | None, queue: Queue) -> Level:
        rule = self.rule(queue)
        if rule == "fifo":
            return Level(queue, fifo_order)
        order = partial(drf_order, view) if rule == "drf" else fair_order
        if past is None or queue.leaf:
            return Level(queue, order)
        return LiveLevel(queue, lambda child: order(child, past.charged(child, view.now_ms)))


class FairTrees(QueueTrees):
    """Fair shares by weight among what demands something, at least the minimum shares. Applications
    are the leaves, except in queues that are first in, first out.
    """

    def __init__(self, view: ClusterView, policy: FairScheduler) -> None:
        super().__init__(view)
        self._policy = policy

    def due(self, partition: QueuePartition, held: Callable[[Any], float]) -> Mapping[Any, float]:
        """Return the fair shares; an inner node demands what its leaves do."""
        scope, label = self.view.queue, partition.label
        whole = 1.0 if scope.parent is None else self.part(self.view.capacity, self._cluster)
        if not whole:
            return dict.fromkeys([partition.root, *partition.leaves.values()], 0.0)

        def promised(node: QueueNode) -> float:
            if isinstance(node.member, Queue):
                return self.promised(node.member, label, node.member.guaranteed) / whole
            return 0.0

        found = guarantees(partition.root, held=lambda node: held(node) / whole, promised=promised)
        return {node: least * whole for node, least in found.items()}

    @property
    def _cluster(self) -> Resource:
        return self.view.cluster_capacity

    def part(self, amounts: Sequence[int], whole: Resource) -> float:
        """Return amounts as the rules compare them: memory alone, unless a rule is `drf`."""
        policy = self._policy
        if policy.default == "drf" or "drf" in policy.levels.values():
            return super().part(amounts, whole)
        return amounts[0] / whole[0] if whole[0] else 0.0

    def by_application(self, queue: Queue) -> bool:
        """Return whether the applications of a queue have fair shares."""
        return self._policy.rule(queue) != "fifo"


Key = tuple[Any, ...]


def fair_order(member: Member, charged: Sequence[float] | None = None) -> Key:
    """Return the key of YARN's FairShareComparator, for memory alone.

    Members below their minimum share are first, by use / min(minimum share, demand); then by
    use / weight; then by start. ``charged``: what counts as use by weight; None: use.
    """
    used, least = member.used[0], _minimum_share(member)[0]
    by_weight = (used if charged is None else charged[0]) / member.weight
    if used < least:
        return (
            0,
            used / max(1, min(least, _memory_wanted(member, least))),
            by_weight,
            _start(member),
        )
    return 1, 0.0, by_weight, _start(member)


def drf_order(view: ClusterView, member: Member, charged: Sequence[float] | None = None) -> Key:
    """Return the key of YARN's DominantResourceFairnessComparator.

    Members below the minimum share of their dominant resource are first, by use / minimum share,
    dominant resource first. The rest follow by dominant share / weight, then by the next largest
    share. Ties go by start. ``charged``: as for ``fair_order``.
    """
    used, least = member.used, _minimum_share(member)
    shares, by_size = _shares(view, used)
    dominant = by_size[0]
    if used[dominant] < least[dominant]:
        return 0, [used[r] / max(1, least[r]) for r in by_size], _start(member)
    if charged is not None:
        shares, by_size = _shares(view, charged)
    return 1, [shares[r] / member.weight for r in by_size], _start(member)


def _shares(view: ClusterView, used: Sequence[float]) -> tuple[list[float], list[int]]:
    """Return the share of each type, and the types by share, the largest first."""
    shares = [u / c if c else 0.0 for u, c in zip(used, view.cluster_capacity, strict=True)]
    return shares, sorted(range(len(shares)), key=lambda r: -shares[r])


def fifo_order(member: Member) -> Key:
    """Return the key of YARN's FifoPolicy: priority, then start."""
    return -getattr(member, "priority", 0), _start(member)


def _minimum_share(member: Member) -> Sequence[int]:
    return member.guaranteed if isinstance(member, Queue) else _NOTHING


_NOTHING = Resource([0] * 64)


def _start(member: Member) -> tuple[int, str]:
    """Return when it started, and its name; 0 for queues."""
    return (0, member.path) if isinstance(member, Queue) else (member.submitted_ms, member.id)


def _memory_wanted(member: Member, enough: int) -> int:
    """Return the member's demand in memory (use and asks); stop counting at ``enough``."""
    demand = member.used[0]
    for ask in asks_below(member):
        if demand >= enough:
            break
        demand += ask.size[0] * ask.count
    return demand
