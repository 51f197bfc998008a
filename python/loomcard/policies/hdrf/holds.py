"""Room on one server: for the first in line whose task is larger than what comes free, and for
leaves for which containers were taken.

One server idles in part meanwhile, where headroom on all servers would idle a part of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from loomcard.model.cluster import Application, Ask, Hold, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Shape
from loomcard.policies.hdrf.cluster_tree import Forest, Partition
from loomcard.policies.hdrf.serve import Server, asks_of
from loomcard.policies.hdrf.share_tree import Leaf
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
        if for_first(forest, hold):
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


def for_first(forest: Forest, hold: Hold) -> bool:
    """Room is held for the first in line, not for what containers were taken for."""
    return hold.until_ms is None and forest.governs(hold.ask.application.queue)


def _first(
    plan: Plan, forest: Forest, partition: Partition, passed: Collection[Shape]
) -> Ask | None:
    """The ask of the leaf that goes first of those that want a shape that was passed over or
    compete with one, if it waits for one that was.
    """
    fitting = partition.look(forest.servers)
    large = {want for want in partition.wanted if want in passed and want not in fitting}
    racing = large | rivals(partition.wanted, large)
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


def rivals(wanted: Collection[Shape], large: Collection[Shape]) -> set[Shape]:
    """The shapes that take of what some large one needs, and fit where that does not. Of large ones
    that need the same types the most of each is enough to know.
    """
    most: dict[tuple[bool, ...], list[int]] = {}
    for size, _ in large:
        needs = tuple(amount > 0 for amount in size)
        most[needs] = list(map(max, size, most.get(needs, size)))
    return {
        (other, label)
        for other, label in wanted
        for needs, amounts in most.items()
        if any(a and need for a, need in zip(other, needs, strict=True))
        and any(a < b for a, b in zip(other, amounts, strict=True))
    }


@dataclass
class Owed:
    """One task; plain data, for a memory."""

    leaf: str
    """Its word (``word_of``)."""
    node: int
    """Where containers were taken for it."""
    size: list[int]
    label: str
    until_ms: int
    """What comes free until then is for it."""

    @property
    def shape(self) -> Shape:
        """Size and partition."""
        return Resource(self.size), self.label


class OwedTasks:
    """The tasks that are owed in one call.

    Room is held for them as far as holds are allowed, one an application and one a server: for the
    others when those before them are there.
    """

    def __init__(self, plan: Plan, forest: Forest, tasks: list[Owed]) -> None:
        self._plan = plan
        self._forest = forest
        self.tasks = tasks
        self.unused: list[str] = []  # words of leaves that did not use their room
        if tasks:
            tasks[:] = [task for task in tasks if self._stands(task)]

    def _stands(self, task: Owed) -> bool:
        leaf, node = self._leaf_of(task), self._forest.ledger.nodes.get(task.node)
        over = task.until_ms <= self._plan.view.now_ms
        wanted = leaf is not None and task.shape in leaf.wants
        if over or (not wanted and task.leaf in self._forest.withheld):
            self.unused.append(task.leaf)
        return wanted and not over and node is not None and node.label == task.label

    def of(self, leaf: Leaf) -> list[Owed]:
        """Those of a leaf."""
        word = word_of(leaf)
        return [task for task in self.tasks if task.leaf == word]

    def add(self, leaf: Leaf, ask: Ask, node: Node, until_ms: int) -> None:
        """Containers were taken on a server for one task of ``ask``."""
        task = Owed(word_of(leaf), node.number, list(ask.size), node.label, until_ms)
        self.tasks.append(task)
        self._hold(task, ask, node)

    def _hold(self, task: Owed, ask: Ask, node: Node) -> None:
        """Holds for the first in line make way: what is owed is within a guarantee."""
        for hold in self._plan.view.holds:
            in_the_way = hold.node is node or hold.ask.application is ask.application
            if in_the_way and for_first(self._forest, hold):
                self._plan.release_hold(hold.ask)
        if ask.hold is None and self._plan.why_no_hold(ask, node) is None:
            self._plan.hold(ask, node, task.until_ms)

    def serve(self, server: Server) -> Iterator[Owed]:
        """Each whose room is there goes to its leaf, before all others; those that were used."""
        for task in list(self.tasks):
            leaf, node = self._leaf_of(task), self._forest.ledger.nodes[task.node]
            if leaf is None or server.plan.spent:
                continue
            if fits(task.size, node.free) and server.serve_on(leaf, task.shape, node):
                self.tasks.remove(task)
                yield task
            elif node.hold is None or for_first(self._forest, node.hold):
                for ask in asks_of(leaf, task.shape):
                    self._hold(task, ask, node)
                    break

    def _leaf_of(self, task: Owed) -> Leaf | None:
        partition, ledger = self._forest.partitions.get(task.label), self._forest.ledger
        path, _, number = task.leaf.partition("application ")
        member: Application | Queue | None
        member = ledger.applications.get(int(number)) if number else ledger.by_path.get(path)
        return None if partition is None or member is None else partition.leaves.get(member)


def word_of(leaf: Leaf) -> str:
    """A leaf as plain text, for a memory."""
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"application {member.number}"
