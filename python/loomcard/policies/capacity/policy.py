"""YARN's CapacityScheduler: guarantees down a tree; idle room is lent to queues that need it.

Left out: reservations, delay scheduling (`node-locality-delay`), queue priorities, and
queues that differ by node label. The queue tree enforces maxima, the AM limit (`am_share`) and
ACLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from typing_extensions import TypedDict

from loomcard import (
    RESERVE_AFTER_MS,
    Ask,
    ClusterView,
    Level,
    Plan,
    Queue,
    Resource,
    fill_tree,
    share,
)
from loomcard.advanced import Preemption, PreemptionOptions, fill_and_take_back
from loomcard.policies.capacity.preemption import CapacityTrees, Within, inside_queues
from loomcard.policies.capacity.user_limit import UserLimitedLevel
from loomcard.policies.capacity.yarn import (
    LimitRule,
    by_memory,
    by_submission,
    used_capacity_order,
)


class LeafRules(TypedDict, total=False):
    """Options of one leaf queue, in place of the policy's."""

    ordering: Literal["fifo", "fair"]
    minimum_user_limit_percent: int
    user_limit_factor: float


@dataclass(frozen=True)
class CapacityScheduler(PreemptionOptions):
    """As YARN's CapacityScheduler: the queue that uses least of its guarantee first; user limits.

    ``minimum_user_limit_percent`` and ``user_limit_factor`` are YARN's `minimum-user-limit-percent`
    and `user-limit-factor` (-1: none); ``ordering``: of a leaf's applications, as YARN's
    `ordering-policy`; ``calculator``: `memory` is YARN's DefaultResourceCalculator.
    ``levels``: the first three of leaf queues that differ, by the path of the leaf or of a queue
    above it. ``reserve_after_ms``: as for ``fifo``. ``preempt_...``: as ``PreemptionOptions``;
    ``preempt_within``: also inside a leaf queue, for applications of a higher `priority`, or for
    users below their `user_limit` from users above it.
    """

    ordering: Literal["fifo", "fair"] = "fifo"
    minimum_user_limit_percent: int = 100
    user_limit_factor: float = 1.0
    calculator: Literal["dominant", "memory"] = "dominant"
    levels: dict[str, LeafRules] = field(default_factory=dict)
    reserve_after_ms: int = RESERVE_AFTER_MS
    preempt_within: Within = "nothing"

    walks_tree = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._limit_rule({})
        for path, rules in self.levels.items():
            self._limit_rule(rules, f" of {path}")

    def initial(self, _view: ClusterView, _saved: Any) -> Preemption | None:
        """Return an empty memory: nothing is being taken back. None: nothing ever is."""
        return None if self.preempting is None else Preemption()

    def decide(
        self, view: ClusterView, memory: Preemption | None
    ) -> tuple[Plan, Preemption | None]:
        """Serve at each queue the child of the least used capacity; in a leaf, by ``ordering``.
        Then take guarantees back.
        """
        guarantees = view.cache("guarantees", lambda: Guarantees(view.queue))
        guarantees.update(view)
        plan, level, rules = Plan(view), partial(self._level, guarantees), self.preempting
        if rules is None or memory is None:
            return fill_tree(plan, level, self.reserve_after_ms), memory
        trees = CapacityTrees(
            view, guarantees.of, guarantees.levels, self.calculator, self.ordering
        )
        fill_and_take_back(
            plan, memory, rules, trees,
            lambda: fill_tree(plan, level, self.reserve_after_ms),
            inside_queues(trees, rules, memory, self.preempt_within),
        )  # fmt: skip
        return plan, memory

    def explain(self, view: ClusterView, _memory: Any, ask: Ask) -> dict[str, Any]:
        """Say what USER_LIMIT comes to: the user's limit and use, as the calculator counts them."""
        levels = view.cached("fill_tree")
        level = None if levels is None else levels.get(ask.application.queue)
        return level.figures(ask) if isinstance(level, UserLimitedLevel) else {}

    def _level(self, guarantees: Guarantees, queue: Queue) -> Level:
        if not queue.leaf:
            return Level(queue, partial(self._by_used_capacity, guarantees))
        rules = self._rules_of(queue)
        order = by_submission if rules.get("ordering", self.ordering) == "fifo" else by_memory
        level = guarantees.levels[queue] = UserLimitedLevel(
            queue, order, guarantees.of, partial(self.magnitude, guarantees),
            self._limit_rule(rules),
        )  # fmt: skip
        return level

    def _rules_of(self, queue: Queue | None) -> LeafRules:
        """Return what ``levels`` says of the queue, or of the nearest above it that it names."""
        while queue is not None and queue.path not in self.levels:
            queue = queue.parent
        return self.levels[queue.path] if queue is not None else {}

    def _limit_rule(self, rules: LeafRules, where: str = "") -> LimitRule:
        percent = rules.get("minimum_user_limit_percent", self.minimum_user_limit_percent)
        factor = rules.get("user_limit_factor", self.user_limit_factor)
        if not 0 <= percent <= 100:
            raise ValueError(f"minimum_user_limit_percent{where} lies between 0 and 100")
        if factor <= 0 and factor != -1:
            raise ValueError(f"user_limit_factor{where} is above 0, or -1 for no limit")
        return LimitRule(percent, factor)

    def magnitude(self, guarantees: Guarantees, amounts: Sequence[int]) -> float:
        """Return the amount as the calculator counts it: its memory, or its dominant share."""
        if self.calculator == "memory":
            return amounts[0]
        return share(amounts, guarantees.capacity)

    def _by_used_capacity(self, guarantees: Guarantees, queue: Queue) -> tuple[bool, float, float]:
        used = self.magnitude(guarantees, queue.used)
        guaranteed = self.magnitude(guarantees, guarantees.of[queue])
        return used_capacity_order(used, guaranteed)


class Guarantees:
    """What each queue of a scope is guaranteed at the current capacity.

    If no queue of a level states a guarantee, the parent's is divided by weight: YARN's weight
    mode. A scope without its own guarantee is guaranteed all that it may use.
    """

    def __init__(self, scope: Queue) -> None:
        self.scope = scope
        self.of: dict[Queue, Resource] = {}
        self.levels: dict[Queue, UserLimitedLevel] = {}
        self.capacity = Resource()
        self._version = -1

    def update(self, view: ClusterView) -> None:
        """Compute the guarantees again if the cluster's capacity has changed."""
        if self._version == view.capacity_version:
            return
        self._version = view.capacity_version
        self.capacity = view.cluster_capacity
        whole = self.scope.guaranteed
        if not any(whole):
            whole = self.scope.maximum or self.capacity
        self._divide(self.scope, whole)

    def _divide(self, queue: Queue, whole: Resource) -> None:
        self.of[queue] = whole
        stated = any(any(child.guaranteed) for child in queue.children)
        total = sum(child.weight for child in queue.children)
        for child in queue.children:
            by_weight = Resource(int(amount * child.weight / total) for amount in whole)
            self._divide(child, child.guaranteed if stated else by_weight)
