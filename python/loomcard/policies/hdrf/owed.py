"""Tasks for which containers were taken: their leaf is served first where the room comes free."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loomcard.model.cluster import Application, Ask, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Shape
from loomcard.policies.hdrf.cluster_tree import Forest
from loomcard.policies.hdrf.serve import Server, asks_of
from loomcard.policies.hdrf.share_tree import Leaf


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
            elif node.hold is None:
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
