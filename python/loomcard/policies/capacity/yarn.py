"""YARN's CapacityScheduler as formulas, each named after the class of YARN that has it. They run as
they stand.
"""

from __future__ import annotations

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


def user_limit(
    capacity: float, required: float, used: float, used_next: float, active_next: float,
    active_users: int, minimum_percent: float, factor: float,
) -> float:  # fmt: skip
    """How much each active user may hold (YARN's UsersManager.computeUserLimit).

    min(max(active_next / active_users, current * minimum_percent / 100), least * factor), where
    least = capacity, so that a queue too small for one container gets on, and
    current is ``least`` while the queue's use is less, else ``used_next``. ``required``: the
    container to come; ``used_next`` and ``active_next``: what the queue, and its active users
    (those with an outstanding ask), would use with it. ``factor`` -1, or a queue of capacity 0: no
    ceiling.
    """
    least = max(capacity, required)
    current = least if used < least else used_next
    limit = max(active_next / active_users, current * minimum_percent / 100)
    return limit if factor == -1 or capacity == 0 else min(limit, least * factor)
