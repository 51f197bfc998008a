"""YARN's FairScheduler: at each queue, serve first the member furthest below its share.

Left out: preemption, reservations, delay scheduling, `maxRunningApps`, and YARN's rule that a queue
may not be `drf` below one that is `fair`.
"""

from __future__ import annotations

from collections.abc import Sequence
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

Rule = Literal["fair", "drf", "fifo"]


@dataclass(frozen=True)
class FairScheduler:
    """As YARN's FairScheduler: by minimum share, then use by weight; per queue fair, drf or fifo.

    A queue's ``guaranteed`` is YARN's `minResources`. ``default``: the rule of a queue that
    ``levels`` (queue path: rule) does not name. ``reserve_after_ms``: as for ``fifo``.
    """

    default: Rule = "fair"
    levels: dict[str, Rule] = field(default_factory=dict)
    reserve_after_ms: int = RESERVE_AFTER_MS

    walks_tree = True

    def decide(self, view: ClusterView) -> Plan:
        """Serve the first member by each queue's rule, from the root down, one container a time."""
        plan = Plan(view)
        return fill_tree(plan, partial(self._level, view), self.reserve_after_ms)

    def _level(self, view: ClusterView, queue: Queue) -> Level:
        rule = self.levels.get(queue.path, self.default)
        if rule == "drf":
            return Level(queue, partial(drf_order, view))
        return Level(queue, fair_order if rule == "fair" else fifo_order)


Key = tuple[Any, ...]


def fair_order(member: Member) -> Key:
    """Return the key of YARN's FairShareComparator, for memory alone.

    Members below their minimum share are first, by use / min(minimum share, demand); then by
    use / weight; then by start.
    """
    used, least = member.used[0], _minimum_share(member)[0]
    by_weight = used / member.weight
    if used < least:
        return (
            0,
            used / max(1, min(least, _memory_wanted(member, least))),
            by_weight,
            _start(member),
        )
    return 1, 0.0, by_weight, _start(member)


def drf_order(view: ClusterView, member: Member) -> Key:
    """Return the key of YARN's DominantResourceFairnessComparator.

    Members below the minimum share of their dominant resource are first, by use / minimum share,
    dominant resource first. The rest follow by dominant share / weight, then by the next largest
    share. Ties go by start.
    """
    used, least = member.used, _minimum_share(member)
    shares = [u / c if c else 0.0 for u, c in zip(used, view.cluster_capacity, strict=True)]
    by_size = sorted(range(len(shares)), key=lambda r: -shares[r])
    dominant = by_size[0]
    if used[dominant] < least[dominant]:
        return 0, [used[r] / max(1, least[r]) for r in by_size], _start(member)
    return 1, [shares[r] / member.weight for r in by_size], _start(member)


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
