"""Hierarchical Dominant Resource Fairness (Bhattacharya et al., SoCC 2013) on a queue tree.

The shares are ``paper.update_shares``; ``fast_shares`` updates them from event to event. Its input
is what the cluster's applications use and want (``cluster_tree``), and what fits where (``fit``).
``placement`` gives a leaf its container. Queues report their shares, their guarantees, and why they
are blocked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from loomcard import (
    RULE_MS,
    Ask,
    ClusterView,
    ContainerResized,
    Level,
    Plan,
    Queue,
    Shape,
    fill_tree,
    serve,
    shown,
)
from loomcard.advanced import (
    EVERY_MS,
    OwedTasks,
    Preemption,
    PreemptionOptions,
    PreemptionRules,
    take_back,
)
from loomcard.policies.hdrf.cluster_tree import Partition, PartitionTrees
from loomcard.policies.hdrf.fast_shares import FastShares
from loomcard.policies.hdrf.paper import Node, Setting
from loomcard.policies.hdrf.placement import HEADROOM, Leaves, release, reserve_for_first
from loomcard.policies.hdrf.rules import hdrf
from loomcard.policies.hdrf.share_tree import ShareTree, alloc

Leafs = Literal["application", "queue"]
EACH_MS = 10
"""The pause between reports of queue states, in ms per queue; at least 1 s in all."""


@dataclass
class Memory:
    """What a call keeps for the next."""

    withheld: dict[str, list[int]] = field(default_factory=dict)
    """By queue path, if its policy held back: its state then, and when it wants to be called."""
    line_ms: int = 0
    """When to look again which leaf is first in line."""
    preemption: Preemption = field(default_factory=Preemption)
    report_ms: int = 0
    """When to report the states of queues again."""


class HierarchicalPolicy:
    """The paper's scheduler over a tree of queues. Policies differ in how a branch counts what is
    used below it.
    """

    headroom: bool = True
    leaf: Leafs = "application"
    reserve_after_ms: int = 0
    walks_tree = True
    stop_at_blocked: bool = False

    @property
    def preempting(self) -> PreemptionRules | None:
        """When and how much is taken; None: never."""
        return None

    def tree(self, root: Node, width: int) -> ShareTree:
        """Return a tree of shares by this policy's rule."""
        raise NotImplementedError

    def initial(self, _view: ClusterView, _saved: Any) -> Memory:
        """Return an empty memory: no policy is known to hold back."""
        return Memory()

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Run Algorithm 4 for each partition: repeatedly give one task to the leaf that the descent
        finds, until it finds none.

        Reserved room goes to its leaf before that. What a partition lends to others is in no tree
        of shares: it goes down the tree of queues by what each uses of the cluster.
        """
        plan = Plan(view)
        if view.lending:
            plan = fill_tree(plan, lambda q: Level(q, plan.dominant_share), reserve_after_ms=0)
            return plan, memory
        trees = self._updated_trees(plan, memory)
        owed = OwedTasks(plan, trees, memory.preemption.owed)
        for task in owed.serve():
            memory.preemption.pauses.pop(task.leaf, None)
            trees.update()
        serve(plan, Leaves(plan, trees, self), reserve_after_ms=0, shared=False)
        if not plan.spent:
            for partition in trees.partitions.values():
                if (rule := self.idles(view, partition)) is not None:
                    plan.wait(view.queue, rule, view.now_ms + RULE_MS)
            if self.reserve_after_ms and not self.headroom and memory.line_ms <= view.now_ms:
                memory.line_ms = view.now_ms + EVERY_MS
                reserve_for_first(plan, trees, self.reserve_after_ms)
            if self.preempting is not None:
                take_back(plan, trees, self.preempting, memory.preemption, owed)
        if plan.report_due:
            if memory.report_ms <= view.now_ms:
                memory.report_ms = view.now_ms + EACH_MS * report(plan, trees)
            else:
                plan.wake_at(memory.report_ms)
        return plan, memory

    def explain(self, view: ClusterView, _memory: Any, ask: Ask) -> dict[str, Any]:
        """Say what HEADROOM comes to: what must be free on a server, and what is at most."""
        trees: PartitionTrees | None = view.cached("forest")
        nodes = [node for node in view.nodes if view.offers(node, ask.label)]
        if trees is None or not nodes:
            return {}
        best = max(nodes, key=lambda node: tuple(node.room))
        needs = trees.servers.needs(ask.size, best)
        return {"must be free on a server": needs, "most is free": best.room, "asked": ask.size}

    def next_leaf(
        self, trees: PartitionTrees, partition: Partition, fitting: frozenset[Shape]
    ) -> Node | None:
        """Return the leaf that Algorithm 4's descent finds by the shares of Algorithms 2 and 3."""
        if not fitting:
            return None
        if len(partition.tree.hungry) == 1:  # the usual case at light load: no share decides
            (leaf,) = partition.tree.hungry
            return leaf if partition.tree.able(leaf, fitting) else None
        shares = partition.shares(fitting)
        return alloc(partition.tree.root, partial(trees.first, partition, shares))

    def idles(self, view: ClusterView, partition: Partition) -> str | None:
        """Return the rule by which room that is wanted stays unused, or None. Asks then wait by
        this rule, even if another reason was reported while all servers were full.
        """
        fitting = partition.look() if self.headroom else frozenset(partition.wanted)
        kept = (shape for shape in partition.wanted if shape not in fitting)
        return HEADROOM if any(view.first_fit(*shape) is not None for shape in kept) else None

    def _updated_trees(self, plan: Plan, memory: Memory) -> PartitionTrees:
        """Return the trees, brought up to date."""
        view = plan.view
        by_queue = self.leaf == "queue"
        trees = view.cache(
            "forest", lambda: PartitionTrees(view, self.tree, self.headroom, by_queue)
        )
        trees.withheld = memory.withheld
        if len(trees.partitions) > 1:
            for change in view.changes_of(ContainerResized):
                trees.resized(change.container.application)
        release(trees, view.now_ms)
        trees.update()
        return trees


@dataclass(frozen=True)
class HierarchicalDominantResourceFairness(PreemptionOptions, HierarchicalPolicy):
    """Serve the child of the least share, a queue's scaled to the least among its children.

    ``setting``: how children count, ``look_ahead`` (for whole tasks on servers), ``static`` (the
    paper's static allocation, for few applications), ``prose`` (the paper's text) or ``cap``
    (between the two). ``headroom``: a task is placed only where the largest of all would fit.
    ``reserve_after_ms``: for how long tasks of the first in line are passed over before room on one
    server is reserved for it, 0: never; not needed with headroom. ``leaf``: what has tasks:
    applications, or leaf queues with FIFO inside. ``preempt_...``: as ``PreemptionOptions``.
    """

    setting: Setting = "look_ahead"
    headroom: bool = False
    reserve_after_ms: int = 5_000  # a shorter time would idle more room than it gains
    leaf: Leafs = "application"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reserve_after_ms < 0:
            raise ValueError("reserve_after_ms is at least 0")
        for name, value, known in (("setting", self.setting, Setting), ("leaf", self.leaf, Leafs)):
            if value not in get_args(known):
                raise ValueError(f"{name} is one of {', '.join(get_args(known))}, not {value!r}")

    def tree(self, root: Node, width: int) -> ShareTree:
        """Return a tree with the shares of ``update_shares``."""
        if self.setting == "look_ahead":
            return FastShares(root, width)
        return ShareTree(root, width, partial(hdrf, setting=self.setting))


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
    """A queue in the default or only partition; ``partitions`` if there are several."""

    share: float = shown("plain dominant share", unit="share", panel="shares")
    attributed: float = shown("attributed dominant share", unit="share", panel="attributed shares")
    guarantee: float = shown("guaranteed share", unit="share", panel="shares")
    blocked: str | None = shown("why it is blocked")
    partitions: tuple[PartitionState, ...] = shown("by partition")


def report(plan: Plan, trees: PartitionTrees) -> int:
    """Report the state of every queue that the policy governs, and of those below with their own
    policy. Return how many they are.
    """
    by_queue: dict[Queue, list[PartitionState]] = {}
    for partition in trees.partitions.values():
        fitting = partition.look()
        # If all is taken, nothing is compared: report shares as if some of everything were free.
        counted = fitting or frozenset(partition.tree.wanted)
        shares = partition.shares(counted)
        plain = {
            child: partition.share(trees.used(child.member, partition.label))
            for child in _queues(partition.tree.root)
        }
        least = partition.guarantees(plan.view.cluster_capacity, plain.__getitem__, _queues_in)
        for child, share in plain.items():
            attributed, why = shares.share(child), _why(child, fitting)
            state = PartitionState(partition.label, share, attributed, least[child], why)
            by_queue.setdefault(child.member, []).append(state)
        for queue in trees.queues:
            if partition.child(queue) is None:
                nothing = PartitionState(partition.label, 0.0, 0.0, 0.0, NO_WISH)
                by_queue.setdefault(queue, []).append(nothing)
    for queue, states in by_queue.items():
        first = states[0]
        several = tuple(states) if len(states) > 1 else ()
        whole = HdrfState(first.share, first.attributed, first.guarantee, first.blocked, several)
        plan.report(queue, whole)
    return len(by_queue)


NO_WISH = "it wants no more than it holds, or may have no more"


def _queues(child: Node) -> Iterable[Node]:
    yield child
    for below in _queues_in(child):
        yield from _queues(below)


def _queues_in(child: Node) -> Iterable[Node]:
    """Return the queues among the children: applications are not reported."""
    return () if child.member.leaf else child.children


def _why(child: Node, fitting: frozenset[Shape]) -> str | None:
    """Return why it is blocked; None: it is in the paper's A."""
    if child.closed:
        return "it has its maximum"
    if not child.wanted:
        return NO_WISH
    if not any(want in fitting for want in child.wanted):
        return "no server has room for what it wants"
    return None
