"""YARN's CapacityScheduler as formulas, each with the YARN class of its origin."""

from __future__ import annotations

from typing import NamedTuple

from loomcard import Application


def used_capacity_order(used: float, guaranteed: float) -> tuple[bool, float, float]:
    """Return the key of YARN's PriorityUtilizationQueueOrderingPolicy.

    Queues with a guarantee are first, by used / guaranteed; on a tie the larger guarantee is first.
    Queues without a guarantee follow, by what they use.
    """
    if guaranteed > 0:
        return False, used / guaranteed, -guaranteed
    return True, used, 0.0


def by_submission(app: Application) -> tuple[int, int]:
    """Return the key of YARN's FifoOrderingPolicy: priority, then submission."""
    return -app.priority, app.submitted_ms


def by_memory(app: Application) -> int:
    """Return the key of YARN's FairOrderingPolicy: least memory first, with any calculator."""
    return app.used[0]


class LimitRule(NamedTuple):
    """The bounds of the user limit: at least ``minimum_percent`` of what the queue uses, at most
    ``factor`` times its capacity (-1: no upper bound).
    """

    minimum_percent: float
    factor: float


def user_limit(
    capacity: float, required: float, used: float, used_next: float, active_next: float,
    active_users: int, rule: LimitRule,
) -> float:  # fmt: skip
    """Return how much each active user may use (YARN's UsersManager.computeUserLimit).

    min(max(active_next / active_users, current * rule.minimum_percent / 100), least * rule.factor),
    where least = max(capacity, required), so that a queue too small for one container still gets
    one. ``current`` is ``least`` while the queue uses less than that, otherwise ``used_next``.
    ``required``: the next container; ``used_next`` and ``active_next``: what the queue, and its
    active users (those with an outstanding ask), would use with it. A queue of capacity 0 has no
    upper bound.
    """
    least = max(capacity, required)
    current = least if used < least else used_next
    limit = max(active_next / active_users, current * rule.minimum_percent / 100)
    return limit if rule.factor == -1 or capacity == 0 else min(limit, least * rule.factor)
