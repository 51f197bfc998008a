"""Shares that the paper's functions work out anew for each task, over the whole tree: the other
settings of H-DRF and the baselines. For trees of queues; ``fast_shares`` is for many applications.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from loomcard.policies.hdrf.paper import Node
from loomcard.policies.hdrf.rounds import Rank, Rule
from loomcard.policies.hdrf.share_tree import (
    ACTIVE,
    HELD,
    IDLE,
    Branch,
    Child,
    Leaf,
    Shares,
    ShareTree,
    Standing,
    Want,
)


class Recomputed(ShareTree):
    """The tree also as the paper's nodes; a leaf of several kinds of task by the first of them."""

    def __init__(self, root: Branch, width: int, rule: Rule) -> None:
        super().__init__(root, width)
        self.rule = rule
        self.nodes: dict[Child, Node] = {}
        self._grow(root)

    def _grow(self, branch: Branch) -> None:
        node = self.nodes[branch] = Node("queue", branch.weight, wants=False)
        node.used, node.demand = [0.0] * self.width, (0.0,) * self.width
        for child in branch.children:
            if isinstance(child, Branch):
                self._grow(child)
                self._attach(node, child)

    def _attach(self, parent: Node, child: Child) -> None:
        self.nodes[child].parent = parent
        parent.children.append(self.nodes[child])

    def changed(self, leaf: Leaf) -> None:
        """The node says what the leaf does."""
        node = self.nodes.get(leaf)
        if leaf not in leaf.parent.children:
            if node is not None:
                assert node.parent is not None
                node.parent.children.remove(node)
                del self.nodes[leaf]
            return
        if node is None:
            node = self.nodes[leaf] = Node("leaf", leaf.weight)
            self._attach(self.nodes[leaf.parent], leaf)
        node.used = list(leaf.held)
        node.demand = self.tasks[leaf.wants[0]] if leaf.wants else (0.0,) * self.width
        node.wants = bool(leaf.wants) and not any(branch.closed for branch in above(leaf))

    def turned(self, branch: Branch) -> None:
        """What its leaves ask for counts, or does not."""
        for child in branch.children:
            if isinstance(child, Leaf):
                self.changed(child)
            else:
                self.turned(child)

    def at(self, fitting: frozenset[Want], unsaturated: Callable[[], Sequence[bool]]) -> Whole:
        """The shares while of all that is wanted only this fits on a server."""
        able: dict[Node, None] = {}
        for child, node in self.nodes.items():
            trying = node.wants and isinstance(child, Leaf) and not child.aside
            if trying and any(want in fitting for want in child.wants):
                able.update(dict.fromkeys(node.path()))
        root = self.nodes[self.root]
        return Whole(self, able, self.rule(root, (1.0,) * self.width, unsaturated(), able))


class Whole(Shares):
    """The ranks of all nodes, worked out once."""

    def __init__(self, tree: Recomputed, able: Collection[Node], ranks: object) -> None:
        self._tree = tree
        self._able = able
        self._ranks: dict[Node, Rank] = ranks  # type: ignore[assignment]

    def of(self, child: Child) -> Standing:
        """How a node counts; a share is what the descent compares, times the weight."""
        node = self._tree.nodes[child]
        rank = self._ranks.get(node, 0.0)
        share = (rank[0] if isinstance(rank, tuple) else rank) * child.weight
        status = ACTIVE if node in self._able else HELD if node.demanding else IDLE
        return Standing(status, (), share)

    def first(self, branch: Branch, among: Collection[Child] | None = None) -> Child | None:
        """Of the children in A the one of the least rank, of equals the first."""
        nodes = self._tree.nodes
        able = [c for c in among or branch.children if nodes[c] in self._able]
        return min(able, key=lambda c: (self._ranks[nodes[c]], c.order), default=None)


def above(leaf: Leaf) -> Iterator[Branch]:
    """From its parent to the root."""
    branch: Branch | None = leaf.parent
    while branch is not None:
        yield branch
        branch = branch.parent
