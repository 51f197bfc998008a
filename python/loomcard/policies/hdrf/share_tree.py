"""The tree of what a cluster's leaves hold and want, and the descent through it.

How shares are counted is a subclass's: ``Recomputed`` asks the paper's functions each time, for the
other settings of H-DRF and the baselines; ``fast_shares`` keeps those of ``look_ahead`` up from
event to event, for many applications.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from loomcard.policies.hdrf.paper import Node
from loomcard.policies.hdrf.rounds import Rank, Rule

POINT = 2.0**64
"""One, in the fixed point of the sums: they neither drift nor depend on the order of events."""

Want = Any
"""A kind of task that leaves ask for: on a cluster its size and partition."""
IDLE, HELD, ACTIVE = 0, 1, 2
"""A child wants nothing more; wants more and is blocked; is in the paper's A."""


class Leaf:
    """Whatever holds tasks. ``held``: its use, a fraction of the capacity for each resource."""

    __slots__ = ("aside", "held", "member", "order", "parent", "place", "wants", "weight")
    children = ()

    def __init__(self, member: Any, parent: Branch, order: tuple[Any, ...], weight: float = 1.0):
        self.member = member
        self.parent = parent
        self.order = order  # breaks ties among siblings, unique
        self.weight = weight
        self.held: tuple[float, ...] = ()
        self.wants: tuple[Want, ...] = ()
        self.aside = False  # tried in vain in this call: it counts as blocked
        self.place: Any = None  # how it entered the sums


class Branch:
    """An inner node. ``wanted``: how many leaves below want what; a ``closed`` one may have nothing
    more whatever they want, and counts for its parent as one that does not demand.
    """

    __slots__ = (
        "bounded", "children", "closed", "depth", "member", "order", "parent", "plain", "sums",
        "wanted", "weight",
    )  # fmt: skip

    def __init__(
        self, member: Any, parent: Branch | None, order: tuple[Any, ...], weight: float = 1.0,
        bounded: bool = False,
    ) -> None:  # fmt: skip
        self.member = member
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.order = order
        self.weight = weight
        self.children: dict[Leaf | Branch, None] = {}
        self.wanted: dict[Want, int] = {}
        self.bounded = bounded  # it may be closed: ``plain`` is kept
        self.closed = False
        self.plain: list[int] = []  # in fixed point, what its leaves hold
        self.sums: Any = None  # how its leaves enter it
        if parent is not None:
            parent.children[self] = None

    @property
    def wants(self) -> dict[Want, int]:
        """What it wants as its parent sees it."""
        return {} if self.closed else self.wanted


Child = Leaf | Branch


class Standing(NamedTuple):
    """How a child counts: its attributed vector U (fractions), its share s, whether it is in A, and
    t, the share of the task that the descent would start below it.
    """

    status: int
    vector: tuple[float, ...]
    share: float
    ahead: float = 0.0


class Shares(ABC):
    """How all nodes of a tree count while certain wants fit."""

    @abstractmethod
    def of(self, child: Child) -> Standing:
        """How a node counts."""

    @abstractmethod
    def first(self, branch: Branch, among: Collection[Child] | None = None) -> Child | None:
        """Of the children in A, or of some of them, the one that goes first; None: none is in A."""

    def descend(
        self, root: Branch, sooner: Callable[[Branch], Collection[Child]] = lambda _: ()
    ) -> Leaf | None:
        """Algorithm 4: the leaf that goes first; None: nobody may get anything. ``sooner``: the
        children of a branch that go before all others.
        """
        node: Child | None = root
        while isinstance(node, Branch):
            before = sooner(node)
            node = (self.first(node, before) if before else None) or self.first(node)
        return node


class ShareTree(ABC):
    """A tree of leaves that come, go, hold and want; ``at`` gives their shares.

    ``width``: count of resource types. Branches are made by the caller, parents first, before the
    first leaf.
    """

    def __init__(self, root: Branch, width: int) -> None:
        self.root = root
        self.width = width
        self.tasks: dict[Want, tuple[float, ...]] = {}
        self._bit: dict[Want, int] = {}
        self.version = 0  # changes when what is wanted in the whole tree does
        self._aside: list[Leaf] = []

    @abstractmethod
    def at(self, fitting: frozenset[Want], unsaturated: Callable[[], Sequence[bool]]) -> Shares:
        """The shares while of all that is wanted only this fits on a server; ``unsaturated``: Y,
        for the rules that ask.
        """

    @abstractmethod
    def changed(self, leaf: Leaf) -> None:
        """What decides how a leaf counts changed; it may have gone."""

    @abstractmethod
    def turned(self, branch: Branch) -> None:
        """A branch was closed or opened."""

    def learn(self, want: Want, task: tuple[float, ...]) -> None:
        """One task of ``want`` takes these fractions of the capacity."""
        self.tasks[want] = task
        self._bit.setdefault(want, 1 << len(self._bit))

    def bits(self, wants: Iterable[Want]) -> int:
        """A bit for each of them, to ask fast which of some are among others."""
        found = 0
        for want in wants:
            found |= self._bit[want]
        return found

    def put(self, leaf: Leaf, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """A leaf comes, or holds and wants something else from now on. Each of ``wants`` was
        learnt.
        """
        parent = leaf.parent
        if leaf not in parent.children:
            parent.children[leaf] = None
            leaf.held = (0.0,) * self.width
        if wants != leaf.wants:
            self._want(parent, leaf.wants, -1)
            self._want(parent, wants, 1)
            leaf.wants = wants
        self.hold(leaf, held)

    def hold(self, leaf: Leaf, held: tuple[float, ...]) -> None:
        """A leaf of the tree holds something else from now on."""
        self._hold(leaf, held)
        self.changed(leaf)

    def remove(self, leaf: Leaf) -> None:
        """A leaf goes."""
        self._want(leaf.parent, leaf.wants, -1)
        self._hold(leaf, (0.0,) * self.width)
        leaf.wants = ()
        del leaf.parent.children[leaf]
        self.changed(leaf)

    def close(self, branch: Branch, closed: bool) -> None:
        """A branch that is ``bounded`` may have nothing more, or may again."""
        if closed != branch.closed:
            branch.closed = False
            if branch.parent is not None:
                for want, count in branch.wanted.items():
                    self._want(branch.parent, (want,), -count if closed else count)
            branch.closed = closed
            self.version += branch is self.root
            self.turned(branch)

    def set_aside(self, leaf: Leaf) -> None:
        """A leaf was tried in vain: it counts as blocked until ``put_back``."""
        leaf.aside = True
        self._aside.append(leaf)
        self.changed(leaf)

    def put_back(self) -> None:
        """Whoever was tried in vain may try again."""
        for leaf in self._aside:
            leaf.aside = False
            if leaf in leaf.parent.children:
                self.changed(leaf)
        self._aside.clear()

    def _want(self, branch: Branch | None, wants: tuple[Want, ...], change: int) -> None:
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

    def _hold(self, leaf: Leaf, held: tuple[float, ...]) -> None:
        branch: Branch | None = leaf.parent
        while branch is not None:
            if branch.bounded:
                was = branch.plain or [0] * self.width
                branch.plain = [
                    p - int(a * POINT) + int(b * POINT)
                    for p, a, b in zip(was, leaf.held, held, strict=True)
                ]
            branch = branch.parent
        leaf.held = held


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
        node.wants = bool(leaf.wants) and not any(
            isinstance(node, Branch) and node.closed for node in upwards(leaf)
        )

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


def upwards(child: Child) -> Iterator[Child]:
    """Itself and all above it, to the root."""
    node: Child | None = child
    while node is not None:
        yield node
        node = node.parent
