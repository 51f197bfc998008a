"""Room on one server for the first in line whose task is larger than what comes free.

One server idles in part meanwhile, where headroom on all servers would idle a part of each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from loomcard.model.cluster import Ask, Node
from loomcard.model.plan import Plan
from loomcard.model.room import Shape
from loomcard.policies.hdrf.cluster_tree import Forest, Partition
from loomcard.policies.hdrf.serve import asks_of
from loomcard.policies.hold import HOLDS

EVERY_MS = 1000
"""How often it is looked at who is first in line, at most."""


def hold_for_first(plan: Plan, forest: Forest, after_ms: int) -> None:
    """In each partition in which nothing is held, hold room for the first in line, if tasks of its
    shape have been passed over for ``after_ms``: others got containers, and none of these. What is
    held moves to a server that has more of the room by now.
    """
    holds = plan.view.holds
    for hold in holds:
        if hold.until_ms is None and forest.governs(hold.ask.application.queue):
            best = best_server(plan, hold.ask)
            if best is not None and covered(best, hold.ask) > covered(hold.node, hold.ask):
                plan.hold(hold.ask, best)
    taken = {hold.node.label for hold in holds}
    passed = plan.view._draft.passed_over(after_ms)
    for label, partition in forest.partitions.items():
        ask = None if label in taken or not passed else _first(plan, forest, partition, passed)
        node = None if ask is None else best_server(plan, ask)
        if ask is not None and node is not None:
            plan.hold(ask, node)
            plan.wait(ask, f"{HOLDS} {node.id}")


def _first(
    plan: Plan, forest: Forest, partition: Partition, passed: Collection[Shape]
) -> Ask | None:
    """The ask of the leaf that goes first of those that want a shape that was passed over or
    compete with one, if it waits for one that was.
    """
    fitting = partition.look(forest.servers)
    large = {want for want in partition.wanted if want in passed and want not in fitting}
    racing = large | {rival for want in large for rival in rivals(partition.wanted, want)}
    shares = partition.shares(forest.servers, frozenset(racing))
    leaf = shares.descend(partition.tree.root)
    if leaf is not None and not any(want in fitting for want in leaf.wants):
        for want in leaf.wants:
            for ask in asks_of(leaf, want) if want in large else ():
                if plan.limited(ask) is None and plan.allows(ask):
                    return ask
    return None


def best_server(plan: Plan, ask: Ask) -> Node | None:
    """Of the servers on which room may be held for an ask the one that has most of it, of equals
    where its application has least: what its own tasks leave comes back to it anyway.
    """
    best: tuple[float, int, int, Node] | None = None
    for node in plan.view.partitions[ask.label].nodes.values():
        part = covered(node, ask)
        if best is None or part >= best[0]:
            own = sum(1 for each in node.containers if each.application is ask.application)
            rank = part, -own, -node.number, node
            if (best is None or rank[:3] > best[:3]) and plan.why_no_hold(ask, node) is None:
                best = rank
    return None if best is None else best[3]


def covered(node: Node, ask: Ask) -> float:
    """The part of a task for which there is room."""
    return min(f / s for f, s in zip(node.free, ask.size, strict=True) if s)


def rivals(wanted: Sequence[Shape], large: Shape) -> list[Shape]:
    """The shapes that take of what a large one needs, and fit where it does not."""
    size = large[0]
    return [
        (other, label)
        for other, label in wanted
        if any(a and b for a, b in zip(other, size, strict=True))
        and any(a < b for a, b in zip(other, size, strict=True))
    ]
