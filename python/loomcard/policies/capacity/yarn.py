"""YARN's CapacityScheduler as formulas, each named after the class of YARN that has it. They run as
they stand.
"""

from __future__ import annotations

from typing import NamedTuple

from loomcard import Application


def used_capacity_order(used: float, guaranteed: float) -> tuple[bool, float, float]:
    """YARN's PriorityUtilizationQueueOrderingPolicy: queues with a guarantee first, by used /
    guaranteed, the larger guarantee on a tie; then those without, by what they use.
    """
    if guaranteed > 0:
        return False, used / guaranteed, -guaranteed
    return True, used, 0.0


def by_submission(app: Application) -> tuple[int, int]:
    """YARN's FifoOrderingPolicy: priority, then submission."""
    return -app.priority, app.submitted_ms


def by_memory(app: Application) -> int:
    """YARN's FairOrderingPolicy: least memory first, whatever the calculator."""
    return app.used[0]


class LimitRule(NamedTuple):
    """What bounds the limit of a queue's users: from below this part of what the queue uses, from
    above this multiple of its capacity; ``factor`` -1: no ceiling.
    """

    minimum_percent: float
    factor: float


def user_limit(
    capacity: float, required: float, used: float, used_next: float, active_next: float,
    active_users: int, rule: LimitRule,
) -> float:  # fmt: skip
    """How much each active user may hold (YARN's UsersManager.computeUserLimit).

    min(max(active_next / active_users, current * rule.minimum_percent / 100), least * rule.factor),
    where least = max(capacity, required), so that a queue too small for one container gets on, and
    current is ``least`` while the queue's use is less, else ``used_next``. ``required``: the
    container to come; ``used_next`` and ``active_next``: what the queue, and its active users
    (those with an outstanding ask), would use with it. A queue of capacity 0 has no ceiling.
    """
    least = max(capacity, required)
    current = least if used < least else used_next
    limit = max(active_next / active_users, current * rule.minimum_percent / 100)
    return limit if rule.factor == -1 or capacity == 0 else min(limit, least * rule.factor)
