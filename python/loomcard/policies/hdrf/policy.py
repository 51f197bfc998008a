"""Hierarchical Dominant Resource Fairness (Bhattacharya et al., SoCC 2013) on a queue tree.

The shares are ``shares.update_shares``, kept up from event to event by ``incremental``; ``follow``
tells it what the cluster's applications hold and want; ``serve`` gives a leaf its container.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView
from loomcard.policies.hdrf.follow import Forest, Partition
from loomcard.policies.hdrf.incremental import Shares, ShareTree
from loomcard.policies.hdrf.preemption import Preemption, Rules, look, owed_first, pay
from loomcard.policies.hdrf.serve import Server, released
from loomcard.policies.hdrf.state import report
from loomcard.policies.hdrf.sums import Branch, Child
from loomcard.policies.hdrf.unfit import Unfit
from loomcard.policies.registry import register
from loomcard.policies.walk import Level, fill_tree

Leafs = Literal["application", "queue"]
Setting = Literal["static", "cap", "prose"]
Able = Callable[[Child], bool]
First = Callable[[Branch, Able], Child | None]


@dataclass
class Memory:
    """What a call leaves for the next."""

    withheld: dict[str, list[int]] = field(default_factory=dict)
    """By path of a queue whose policy held back: its state then, and when it wants to be called."""
    unfit: Unfit = field(default_factory=Unfit)
    preemption: Preemption = field(default_factory=Preemption)


class Descent:
    """The paper's scheduler over a tree of queues; what differs by policy is how a branch counts
    what is held below it.
    """

    headroom: bool = True
    leaf: Leafs = "application"
    unfit_ms: int = 0
    preempting: Rules | None = None
    walks_tree = True

    def tree(self, root: Branch, width: int) -> ShareTree:
        """A tree of shares by this policy's rule."""
        raise NotImplementedError

    def initial(self, _view: ClusterView, _saved: Any) -> Memory:
        """Nothing is known of what does not fit, or of who holds back."""
        return Memory()

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Algorithm 4, one partition after the other: one task for the leaf that the descent finds,
        and again until it finds none. What a partition lends to others is in no tree of shares: it
        goes down the tree of queues by what each holds of the cluster.
        """
        plan = Plan(view)
        if view._ledger.rooms.shared:
            return fill_tree(plan, lambda queue: Level(queue, plan.dominant_share)), memory
        forest = self._followed(plan, memory)
        server = Server(plan, forest, memory.withheld)
        for partition in forest.partitions.values():
            self._fill(server, partition, memory)
        if not plan.spent:
            server.tell()
            if self.preempting is not None:
                look(plan, forest, self.preempting, memory.preemption)
        if plan.report_due:
            report(plan, forest)
        return plan, memory

    def _fill(self, server: Server, partition: Partition, memory: Memory) -> None:
        forest, now_ms = server.forest, server.plan.view.now_ms
        while not server.plan.spent:
            shares = partition.shares(forest.servers)  # Algorithms 2 and 3, for Y as it is
            if shares is None:
                break
            owed = owed_first(partition, memory.preemption)
            first = partial(goes_first, forest, partition, shares, owed)
            leaf = shares.descend(partition.full, partition.aside, first)
            if leaf is None:
                break
            if server.serve(partition, leaf):
                pay(leaf, memory.preemption)
            else:
                partition.aside.add(leaf)
                if self.unfit_ms and server.unfit(partition, leaf):
                    memory.unfit.note(leaf.member, now_ms)
            forest.update()
        partition.begin_anew()

    def _followed(self, plan: Plan, memory: Memory) -> Forest:
        """The trees, brought up to date."""
        view = plan.view
        forest: Forest | None = view._indexes.get("forest")
        if forest is None:
            forest = Forest(view, self.tree, self.headroom, self.leaf == "queue")
            view._indexes["forest"] = forest
        forest.withheld = memory.withheld
        for path in released(memory.withheld, forest, view.now_ms):
            del memory.withheld[path]
            forest.changed[forest.ledger.by_path[path]] = None
        forest.update()
        if self.unfit_ms:
            memory.unfit.review(plan, forest, self.unfit_ms)
            forest.update()
        return forest


def goes_first(
    forest: Forest, partition: Partition, shares: Shares, owed: First, branch: Branch, able: Able
) -> Child | None:
    """What goes before all others: a leaf for which containers were taken; then, of the queues that
    hold less than they are guaranteed, the least.
    """
    queues = forest.promising.get(branch.member, ())
    found = [partition.child(queue) for queue in queues if queue.below_guaranteed]
    below = [child for child in found if child is not None and able(child)]
    least = min(below, key=lambda c: (shares.of(c).share / c.weight, c.order), default=None)
    return owed(branch, able) or least


@register("hdrf")
@dataclass(frozen=True)
class HierarchicalDominantResourceFairness(Descent):
    """Serve the child of the least share, a queue's scaled to the least among its children.

    ``setting``: how blocked children count, ``static`` (the paper's static allocation, also under
    churn), ``prose`` (the paper's text) or ``cap`` (between the two). ``headroom``: a task is
    placed only where the largest of all would fit. ``leaf``: what holds tasks, applications, or
    leaf queues with FIFO inside. ``unfit_ms``: a leaf that fits nowhere for so long counts as
    blocked; 0: never. ``preempt_after_ms``: for how long a leaf must have wanted what it is
    guaranteed before containers are taken for it, 0: never; ``preempt_grace_ms``: how long a
    victim's AM has; ``preempt_budget``: the part of the cluster that is taken at once;
    ``preempt_cooldown_ms``: how long nothing is taken thereafter.
    """

    setting: Setting = "static"
    headroom: bool = True
    leaf: Leafs = "application"
    unfit_ms: int = 0
    preempt_after_ms: int = 0
    preempt_grace_ms: int = 15_000
    preempt_budget: float = 0.1
    preempt_cooldown_ms: int = 15_000

    def __post_init__(self) -> None:
        if self.unfit_ms < 0:
            raise ValueError("unfit_ms is at least 0")
        for name, value, known in (("setting", self.setting, Setting), ("leaf", self.leaf, Leafs)):
            if value not in get_args(known):
                raise ValueError(f"{name} is one of {', '.join(get_args(known))}, not {value!r}")
        _ = self.preempting

    @property
    def preempting(self) -> Rules | None:  # type: ignore[override]
        """When and how much is taken; None: nothing ever. Raises ValueError."""
        rules = Rules(
            self.preempt_after_ms, self.preempt_grace_ms, self.preempt_budget,
            self.preempt_cooldown_ms,
        )  # fmt: skip
        return rules if rules.after_ms else None

    def tree(self, root: Branch, width: int) -> ShareTree:
        """Shares as ``update_shares`` gives them."""
        return ShareTree(root, self.setting, width)
