"""YARN's CapacityScheduler as a third party would write it, with what `loomcard` exports:
guarantees and user limits are computed again whenever they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard import (
    Application,
    ClusterView,
    Level,
    Plan,
    Queue,
    Reason,
    Resource,
    fill_tree,
    share,
)


@dataclass(frozen=True)
class PlainCapacity:
    """Serves the queue that uses least of its guarantee first; in a leaf, by order of arrival."""

    minimum_user_limit_percent: int = 100
    user_limit_factor: float = 1.0
    reserve_after_ms: int = 1_000

    walks_tree = True

    def decide(self, view: ClusterView) -> Plan:
        return fill_tree(Plan(view), lambda queue: self.level(view, queue), self.reserve_after_ms)

    def level(self, view: ClusterView, queue: Queue) -> Level:
        if queue.leaf:
            return UserLevel(view, queue, self)
        return Level(queue, lambda child: self.by_used_capacity(view, child))

    def by_used_capacity(self, view: ClusterView, queue: Queue) -> tuple[bool, float, float]:
        used = share(queue.used, view.cluster_capacity)
        promised = share(guarantee(view, queue), view.cluster_capacity)
        return (False, used / promised, -promised) if promised else (True, used, 0.0)


def guarantee(view: ClusterView, queue: Queue) -> Resource:
    """Return what a queue is guaranteed; by weight if no sibling states a guarantee."""
    if queue is view.queue or queue.parent is None:
        whole = queue.guaranteed
        return whole if any(whole) else queue.maximum or view.cluster_capacity
    siblings = queue.parent.children
    if any(any(sibling.guaranteed) for sibling in siblings):
        return queue.guaranteed
    total = sum(sibling.weight for sibling in siblings)
    above = guarantee(view, queue.parent)
    return Resource(int(amount * queue.weight / total) for amount in above)


class UserLevel(Level):
    """A leaf queue in which a user above the user limit waits."""

    ask_again = True  # the user limit rises when others are served

    def __init__(self, view: ClusterView, queue: Queue, policy: PlainCapacity) -> None:
        super().__init__(queue, lambda app: (-app.priority, app.submitted_ms))
        self.view = view
        self.policy = policy

    def forbids(self, app: Application) -> Reason | None:
        required = next(ask.size for ask in app.asks if ask.count > 0)
        held = self.held(lambda other: other.user == app.user)
        return Reason.USER_LIMIT if self.part(held) > self.limit(required) else None

    def limit(self, required: Resource) -> float:
        """YARN's UsersManager.computeUserLimit."""
        capacity, queue = guarantee(self.view, self.queue), self.queue
        asking = {app.user for app in queue.applications.values() if app.pending_count > 0}
        active = self.held(lambda app: app.user in asking)
        least = max(self.part(capacity), self.part(required))
        full = self.part(queue.used) >= least
        current = self.part(Resource(queue.used).plus(required)) if full else least
        limit = max(
            self.part(active.plus(required)) / max(1, len(asking)),
            current * self.policy.minimum_user_limit_percent / 100,
        )
        factor = self.policy.user_limit_factor
        return limit if factor == -1 or not self.part(capacity) else min(limit, least * factor)

    def held(self, which: Any) -> Resource:
        total = self.view.zero
        for app in self.queue.applications.values():
            if which(app):
                total = total.plus(app.used)
        return total

    def part(self, amounts: Any) -> float:
        return share(amounts, self.view.cluster_capacity)
