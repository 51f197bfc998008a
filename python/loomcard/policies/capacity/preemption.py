"""What `capacity` takes back: queues' guarantees, and inside a queue room for a higher priority or
for users below their limit.

Inside a queue it cannot loop either: a victim has a lower priority than the application that gains,
or its user keeps its limit and the gaining user stays within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from loomcard import Ask, ClusterView, Container, Plan, Queue, Resource, add_all
from loomcard.advanced import (
    OwedTasks,
    Preemption,
    PreemptionRules,
    QueueNode,
    QueuePartition,
    QueueTrees,
    Search,
    stated,
)
from loomcard.policies.capacity.user_limit import UserLimitedLevel

Within = Literal["nothing", "priority", "user_limit"]
LEAST = 1e-9
"""The weight of a queue without a guarantee: it pays first."""


class CapacityTrees(QueueTrees):
    """Leaf queues with the guarantees that the configuration states."""

    def __init__(
        self, view: ClusterView, promises: Mapping[Queue, Resource],
        levels: Mapping[Queue, UserLimitedLevel], calculator: str, ordering: str,
    ) -> None:  # fmt: skip
        super().__init__(view)
        self.levels = levels
        self._promises = promises
        self._by_memory = calculator == "memory"
        self._most_first = ordering == "fair"

    def due(
        self, partition: QueuePartition, held: Callable[[Any], float]  # noqa: ARG002 - fixed
    ) -> Mapping[Any, float]:  # fmt: skip
        """Return what the configuration guarantees. A victim pays by how much more it uses."""

        def promised(node: QueueNode) -> float:
            assert isinstance(node.member, Queue)
            return self.promised(node.member, partition.label, self._promises[node.member])

        found = stated(
            partition.root,
            promised,
            lambda node: node.children,
        )
        for node, least in found.items():
            node.weight = max(least, LEAST)
        return found

    def part(self, amounts: Sequence[int], whole: Resource) -> float:
        """Return amounts as the calculator counts them."""
        if self._by_memory:
            return amounts[0] / whole[0] if whole[0] else 0.0
        return super().part(amounts, whole)

    def forbids(self, ask: Ask, owed: Sequence[int]) -> object:
        """Return the user limit, if it forbids the ask."""
        app = ask.application
        level = self.levels.get(app.queue)
        if level is None:
            return None
        level.update(self.view)
        return level.beyond(app.user, ask.size, owed) > 0 or None

    def rank(self, container: Container) -> Any:
        """Return the reverse of the order in which applications of a queue are served."""
        return self.most_first(container) if self._most_first else super().rank(container)


class InsideQueue(Search):
    """The applications of one leaf queue as leaves; those that may gain from others are starved."""

    def __init__(self, trees: CapacityTrees, partition: InsidePartition, *rest: Any) -> None:
        plan, rules, memory, owed = rest
        self._level = trees.levels[partition.queue]
        self._users: dict[str, list[int]] = {}  # by user: what was preempted and what is owed
        super().__init__(plan, trees, partition, rules, memory, owed)

    def _note(self, leaf: Any) -> None:
        super()._note(leaf)
        for size in self._tasks.of(leaf):
            self._change(leaf.member.user, size)

    def _discharge(self, leaf: Any, container: Container, sign: int = -1) -> None:
        super()._discharge(leaf, container, sign)
        self._change(leaf.member.user, container.size.times(sign))

    def _evict(self, leaf: Any, ask: Ask, victims: list[Container]) -> None:
        super()._evict(leaf, ask, victims)
        self._change(leaf.member.user, ask.size)

    def _change(self, user: str, amounts: Sequence[int]) -> None:
        add_all([self._users.setdefault(user, [0] * len(amounts))], amounts)

    def _beyond(self, user: str, size: Resource, change: Sequence[int]) -> float:
        total = list(self._users.get(user) or [0] * len(size))
        add_all([total], change)
        return self._level.beyond(user, size, total)

    def _due_now(self) -> float:
        return float("inf")  # the budget alone counts

    def _need(self, leaf: Any) -> tuple[Any, ...]:
        return -leaf.member.priority, leaf.order


class ByPriority(InsideQueue):
    """Applications take from those of a lower priority."""

    def _within(self, leaf: Any, size: Sequence[int]) -> bool:  # noqa: ARG002 - all that it asks
        return any(
            app.priority < leaf.member.priority
            for app in leaf.member.queue.applications.values()
            if len(app.containers) > 1
        )

    def _spares(self, victim: Any, starved: Any, container: Container) -> bool:
        lower = victim.member.priority < starved.member.priority
        return lower and not container.is_am

    def _why(self, leaf: Any, share: float, victim: Any, container: Container) -> str:  # noqa: ARG002
        return (
            f"{leaf.member.id} in {leaf.member.queue.path} has priority {leaf.member.priority}; "
            f"{victim.member.id} has {victim.member.priority}"
        )


class ByUserLimit(InsideQueue):
    """Users below their limit take from users above it."""

    def _within(self, leaf: Any, size: Sequence[int]) -> bool:
        return self._beyond(leaf.member.user, Resource(size), size) <= LEAST

    def _spares(self, victim: Any, starved: Any, container: Container) -> bool:
        user, loss = victim.member.user, container.size.times(-1)
        other = user != starved.member.user and not container.is_am
        return other and self._beyond(user, container.size, loss) >= -LEAST

    def _why(self, leaf: Any, share: float, victim: Any, container: Container) -> str:  # noqa: ARG002
        return (
            f"{leaf.member.user} uses less than the user limit of {leaf.member.queue.path}; "
            f"{victim.member.user} uses more"
        )


class InsidePartition(QueuePartition):
    """The applications of one queue on the nodes of one label."""

    def __init__(self, trees: CapacityTrees, around: QueuePartition, queue: Queue) -> None:
        self.queue = queue
        super().__init__(trees, around.label, around.capacity)

    def _grow(self, queue: Queue, parent: QueueNode | None) -> QueueNode:  # noqa: ARG002
        node = QueueNode(self.queue, None, self.label)
        for app in self.queue.applications.values():
            if app.pending_count or app.containers:
                self.leaves[app] = QueueNode(app, node, self.label)
        return node

    def guarantees(self, _whole: Resource, held: Callable[[Any], float]) -> Mapping[Any, float]:
        """Return no guarantee: other rules hold inside a queue."""
        self._held = held
        return dict.fromkeys([self.root, *self.root.children], 0.0)


def inside_queues(
    trees: CapacityTrees, rules: PreemptionRules, memory: Preemption, within: Within
) -> Callable[[Plan, OwedTasks, Mapping[str, int]], Iterable[Search]] | None:
    """Return the searches inside leaf queues that are not starved themselves; None: no searches."""
    if within == "nothing":
        return None
    kind = ByPriority if within == "priority" else ByUserLimit

    def searches(plan: Plan, owed: OwedTasks, starved: Mapping[str, int]) -> Iterable[Search]:
        for partition in trees.partitions.values():
            for queue in partition.leaves:
                if isinstance(queue, Queue) and queue in trees.levels and queue.path not in starved:
                    below = InsidePartition(trees, partition, queue)
                    yield kind(trees, below, plan, rules, memory, owed)

    return searches
