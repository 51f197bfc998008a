"""A cluster's tree of shares: its leaves follow applications, and ``alloc`` finds the leaf that
gets the next task (Algorithm 4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from loomcard.policies.hdrf.paper import Node
from loomcard.policies.hdrf.rules import Rank, Rule

Want = Any
"""A kind of task that leaves ask for: on a cluster its size and partition."""


def alloc(root: Node, first: Callable[[Node], Node | None]) -> Node | None:
    """Run Alloc (Algorithm 4): descend from the root to the child that ``first`` returns, and
    return the leaf. Return None if ``first`` finds no child.
    """
    n: Node | None = root
    while n is not None and not n.leaf:
        n = first(n)
    return n


def first_by(
    rank: Mapping[Node, Rank], among: Iterable[Node], able: Collection[Node]
) -> Node | None:
    """Return the node of the least rank among those below which a task can start (``able``); of
    equals the first.
    """
    return min((n for n in among if n in able), key=lambda n: (rank[n], n.order), default=None)


class Shares(Protocol):
    """The shares of all nodes of a tree while certain kinds of task fit."""

    def share(self, node: Node) -> float:
        """Return the share that the descent compares, before the division by the weight."""

    def first(self, branch: Node, among: Collection[Node] | None = None) -> Node | None:
        """Return the child that goes first: of those in A, or of those in A and ``among``; None if
        there is no such child.
        """


class ShareTree:
    """A cluster's tree. Its leaves are added, change and are removed; ``at`` gives its shares by a
    rule.

    A leaf's ``used`` is a vector of fractions of the capacity. A leaf may want several kinds of
    task (on a cluster, sizes in a partition); the first of them is its demand. ``width``: the
    number of resource types. Inner nodes must exist before the first leaf.
    """

    def __init__(self, root: Node, width: int, rule: Rule) -> None:
        self.root = root
        self.width = width
        self.rule = rule
        for n in root.walk():
            if not n.leaf:
                n.wanted = {}
        self.tasks: dict[Want, tuple[float, ...]] = {}  # the part of the capacity that one takes
        self.hungry: dict[Node, None] = {}  # the leaves that want anything
        self.version = 0  # changes when the set of wanted kinds in the tree changes
        self._aside: list[Node] = []

    def at(self, fitting: frozenset[Want], unsaturated: Callable[[], Sequence[bool]]) -> Shares:
        """Return the shares while only the kinds in ``fitting`` fit on a server; ``unsaturated``
        returns Y.
        """
        return Ranks(self, fitting, unsaturated())

    @property
    def wanted(self) -> tuple[Want, ...]:
        """The kinds of task that are wanted; none if the root is closed."""
        return () if self.root.closed else tuple(self.root.wanted)

    def able(self, leaf: Node, fitting: Collection[Want]) -> bool:
        """Return whether a leaf may have a task of the kinds in ``fitting``: whether it is in A."""
        may = leaf.demanding and not leaf.aside
        return may and any(want in fitting for want in leaf.wanted)

    def changed(self, node: Node) -> None:
        """Note that a leaf changed or was removed, or that an inner node was closed or opened.

        Here nothing is to be done, because ``at`` computes all shares again.
        """

    def put(self, leaf: Node, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """Set what a new or known leaf uses (``held``) and wants. Each of ``wants`` must be in
        ``tasks``.
        """
        if wants != leaf.wanted:
            self._want(leaf.parent, leaf.wanted, -1)
            self._want(leaf.parent, wants, 1)
            leaf.wanted = wants
            if wants:
                self.hungry[leaf] = None
            else:
                self.hungry.pop(leaf, None)
        leaf.wants = bool(wants)
        leaf.demand = self.tasks[wants[0]] if wants else (0.0,) * self.width
        self.use(leaf, held)

    def use(self, leaf: Node, held: tuple[float, ...]) -> None:
        """Set what a leaf of the tree uses."""
        leaf.used = held
        self.changed(leaf)

    def remove(self, leaf: Node) -> None:
        """Remove a leaf."""
        assert leaf.parent is not None
        self._want(leaf.parent, leaf.wanted, -1)
        leaf.wanted, leaf.wants = (), False
        self.hungry.pop(leaf, None)
        del leaf.parent.children[leaf]
        self.changed(leaf)

    def close(self, branch: Node, closed: bool) -> None:
        """Close an inner node, so that its parent sees nothing wanted below it; or open it."""
        if closed != branch.closed:
            branch.closed = closed
            for want, count in branch.wanted.items():
                self._want(branch.parent, (want,), -count if closed else count)
            self.version += branch is self.root
            self.changed(branch)

    def set_aside(self, leaf: Node) -> None:
        """Count a leaf as blocked until ``put_back``, because nothing could be placed for it."""
        leaf.aside = True
        self._aside.append(leaf)
        self.changed(leaf)

    def put_back(self) -> None:
        """Stop counting the leaves as blocked that were set aside."""
        for leaf in self._aside:
            leaf.aside = False
            if leaf.parent is not None and leaf in leaf.parent.children:
                self.changed(leaf)
        self._aside.clear()

    def _want(self, branch: Node | None, wants: tuple[Want, ...], change: int) -> None:
        while branch is not None:
            for want in wants:
                count = branch.wanted.get(want, 0) + change
                if count:
                    branch.wanted[want] = count
                else:
                    del branch.wanted[want]
                if branch is self.root and (not count or count == change):
                    self.version += 1
            branch = None if branch.closed else branch.parent


class Ranks:
    """The ranks of all nodes, computed once."""

    def __init__(self, tree: ShareTree, fitting: frozenset[Want], y: Sequence[bool]) -> None:
        self._able: dict[Node, None] = {}
        for leaf in tree.root.leaves():
            if tree.able(leaf, fitting):
                self._able.update(dict.fromkeys(leaf.path()))
        self._ranks = tree.rule(tree.root, (1.0,) * tree.width, y, self._able)

    def share(self, node: Node) -> float:
        """Return the share that the descent compares, before the division by the weight."""
        rank = self._ranks[node]
        return float(rank[0] if isinstance(rank, tuple) else rank) * node.weight

    def first(self, branch: Node, among: Collection[Node] | None = None) -> Node | None:
        """Return the child of the least rank: of those in A, or of those in A and ``among``."""
        return first_by(self._ranks, branch.children if among is None else among, self._able)
