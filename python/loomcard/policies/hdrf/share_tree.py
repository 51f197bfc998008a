"""The tree of what a cluster's leaves hold and want, and the descent through it; and sums of what
children hold of which each counts up to a cap that moves, in integers (fixed point).

How shares are counted is a subclass's: ``rounds.Recomputed`` asks the paper's functions each time,
for the other settings of H-DRF and the baselines; ``fast_shares`` keeps those of ``look_ahead`` up
from event to event, for many applications.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from loomcard.model.resource import add_all

POINT = 2.0**64
"""One, in the fixed point of the sums: they neither drift nor depend on the order of events."""

Want = Any
"""A kind of task that leaves ask for: on a cluster its size and partition."""
IDLE, HELD, ACTIVE = 0, 1, 2
"""A child wants nothing more; wants more and is blocked; is in the paper's A."""


class Leaf:
    """Whatever holds tasks. ``held``: its use, a fraction of the capacity for each resource."""

    __slots__ = (
        "aside", "d", "entry", "held", "line", "member", "order", "parent", "vector", "wants",
        "weight",
    )  # fmt: skip
    children = ()

    def __init__(self, member: Any, parent: Branch, order: tuple[Any, ...], weight: float = 1.0):
        self.member = member
        self.parent = parent
        self.order = order  # breaks ties among siblings, unique
        self.weight = weight
        self.held: tuple[float, ...] = ()
        self.wants: tuple[Want, ...] = ()
        self.aside = False  # tried in vain in this call: it counts as blocked
        self.line: Line | None = None  # how it entered the sums of its branch; None: idle
        self.entry: Entry | None = None  # in its line
        self.d = 0.0
        self.vector: list[int] = []


class Branch:
    """An inner node. ``wanted``: how many leaves below want what; a ``closed`` one may have nothing
    more whatever they want, and counts for its parent as one that does not demand.
    """

    __slots__ = (
        "children", "closed", "depth", "member", "order", "parent", "sums", "wanted", "weight",
    )  # fmt: skip

    def __init__(
        self, member: Any, parent: Branch | None, order: tuple[Any, ...], weight: float = 1.0
    ) -> None:
        self.member = member
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.order = order
        self.weight = weight
        self.children: dict[Leaf | Branch, None] = {}
        self.wanted: dict[Want, int] = {}
        self.closed = False
        self.sums: Sums | None = None  # how its leaves enter it
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

    def changed(self, leaf: Leaf) -> None:  # noqa: B027 - nothing, where all is worked out anew
        """What decides how a leaf counts changed; it may have gone."""

    def turned(self, branch: Branch) -> None:  # noqa: B027 - as above
        """A branch was closed or opened."""

    def learn(self, want: Want, task: tuple[float, ...]) -> None:
        """One task of ``want`` takes these fractions of the capacity."""
        self.tasks[want] = task
        self._bit.setdefault(want, 1 << len(self._bit))

    def bits(self, wants: Iterable[Want]) -> int:
        """A bit for each of these, which differ, to ask fast which of some are among others."""
        return sum([self._bit[want] for want in wants])

    def put(self, leaf: Leaf, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """A leaf comes, or holds and wants something else from now on. Each of ``wants`` was
        learnt.
        """
        parent = leaf.parent
        parent.children[leaf] = None
        if wants != leaf.wants:
            self._want(parent, leaf.wants, -1)
            self._want(parent, wants, 1)
            leaf.wants = wants
        self.hold(leaf, held)

    def hold(self, leaf: Leaf, held: tuple[float, ...]) -> None:
        """A leaf of the tree holds something else from now on."""
        leaf.held = held
        self.changed(leaf)

    def remove(self, leaf: Leaf) -> None:
        """A leaf goes."""
        self._want(leaf.parent, leaf.wants, -1)
        leaf.wants = ()
        del leaf.parent.children[leaf]
        self.changed(leaf)

    def close(self, branch: Branch, closed: bool) -> None:
        """A branch may have nothing more, or may again."""
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


def upwards(child: Child) -> Iterator[Child]:
    """Itself and all above it, to the root."""
    node: Child | None = child
    while node is not None:
        yield node
        node = node.parent


NO_CAP = float("inf")


class Capped:
    """The sum over children of U * min(1, M/d), where d = s/w, for an M that moves.

    Children of one d are a pile: their count and the sum of U. Of the piles in order, the first
    ``cut`` have d <= ``level``, the M that was asked for last.
    """

    __slots__ = ("above", "below", "cut", "keys", "level", "piles")

    def __init__(self, width: int) -> None:
        self.piles: dict[float, tuple[list[int], list[int]]] = {}
        self.keys: list[float] = []
        self.cut = 0
        self.level = NO_CAP
        self.below = [0] * width  # the sum of U over the piles up to the level
        self.above = [0] * width  # the sum of U/d over the others

    def add(self, d: float, vector: list[int]) -> None:
        """A child counts from now on."""
        pile = self.piles.get(d)
        if pile is None:
            pile = self.piles[d] = ([0], [0] * len(vector))
            self.keys.insert(bisect_left(self.keys, d), d)
            self.cut += d <= self.level
        self._change(d, pile, vector, 1)

    def take(self, d: float, vector: list[int]) -> None:
        """A child counts no more."""
        pile = self.piles[d]
        self._change(d, pile, vector, -1)
        if not pile[0][0]:
            del self.piles[d]
            del self.keys[bisect_left(self.keys, d)]
            self.cut -= d <= self.level

    def _change(
        self, d: float, pile: tuple[list[int], list[int]], vector: list[int], sign: int
    ) -> None:
        count, total = pile
        count[0] += sign
        if d <= self.level:
            below = self.below
            for r, amount in enumerate(vector):
                total[r] += sign * amount
                below[r] += sign * amount
            return
        above = self.above
        for r, amount in enumerate(vector):
            before = total[r]
            total[r] = after = before + sign * amount
            above[r] += int(after / d) - int(before / d)

    def settle(self, level: float) -> None:
        """Bring ``below`` and ``above`` to M = ``level``."""
        keys = self.keys
        if level == self.level:
            return
        while self.cut < len(keys) and keys[self.cut] <= level:
            self._cross(keys[self.cut], 1)
            self.cut += 1
        while self.cut and keys[self.cut - 1] > level:
            self.cut -= 1
            self._cross(keys[self.cut], -1)
        self.level = level

    def _cross(self, d: float, sign: int) -> None:
        for r, amount in enumerate(self.piles[d][1]):
            self.below[r] += sign * amount
            self.above[r] -= sign * int(amount / d)  # d > 0: nothing is below 0


Entry = tuple[float, tuple[Any, ...], Leaf]
"""A leaf in its line: s/w, and what breaks ties, which no other has."""
Top = tuple[float, tuple[Any, ...], float, "Line", Leaf]
"""The first of a line: its s/w, what breaks ties, its (s + t)/w."""


class Line:
    """Leaves of a branch that want the same and weigh the same, the least share first."""

    __slots__ = ("ahead", "bits", "count", "leaves", "shown", "wants", "weight")

    def __init__(self, wants: tuple[Want, ...], bits: int, weight: float, ahead: float) -> None:
        self.wants = wants
        self.bits = bits  # of the wants
        self.weight = weight
        self.ahead = ahead  # the share of one task of the largest that they want
        self.count = 0
        self.leaves: list[Entry] = []  # in order, but for those that were tried in vain
        self.shown: Top | None = None  # among the tops of its branch


class Sums:
    """How the leaves of one branch enter it, or its inner children in one copy."""

    __slots__ = ("capped", "counted", "idle", "lines", "moved", "tops")

    def __init__(self, width: int) -> None:
        self.capped = Capped(width)
        self.counted: dict[float, tuple[float, ...]] = {}  # the whole by M, until a leaf changes
        self.idle = [0] * width
        self.lines: dict[tuple[Any, float], Line] = {}
        self.tops: list[Top] = []  # in order, but for the lines that moved
        self.moved: dict[Line, None] = {}

    def plain(self) -> list[int]:
        """What they hold in all."""
        total = list(self.idle)
        for _, held in self.capped.piles.values():
            add_all([total], held)
        return total

    def line(self, leaf: Leaf, tree: ShareTree) -> Line:
        """The line of leaves like this."""
        key = leaf.wants, leaf.weight
        line = self.lines.get(key)
        if line is None:
            ahead = max(max(tree.tasks[want], default=0.0) for want in leaf.wants)
            line = self.lines[key] = Line(leaf.wants, tree.bits(leaf.wants), leaf.weight, ahead)
        return line

    def ordered(self) -> list[Top]:
        """The first of each line, in order."""
        if self.moved:
            tops = self.tops
            for line in self.moved:
                if line.shown is not None:
                    del tops[bisect_left(tops, line.shown)]
            for line in self.moved:
                line.shown = None
                if line.leaves:
                    d, order, leaf = line.leaves[0]
                    line.shown = (d, order, d + line.ahead / line.weight, line, leaf)
                    insort(tops, line.shown)
            self.moved.clear()
        return self.tops
