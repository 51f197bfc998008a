"""The shares of ``look_ahead`` kept up from event to event (section 2.7 of the specification).

What ``update_shares`` works out for a whole tree, this keeps: a start or a finish costs O(depth *
(types + log leaves)). What a branch's leaves hold is summed once for all; what follows from it up
to the root is kept for several sets of wants that fit, because in a full cluster a few such sets
alternate. A structure built anew says the same to the last bit, which a replayed journal needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any, NamedTuple

from loomcard.policies.hdrf.capped import NO_CAP, Capped, add, subtract
from loomcard.policies.hdrf.rounds import DIGITS, even_rank
from loomcard.policies.hdrf.share_tree import (
    ACTIVE,
    HELD,
    IDLE,
    POINT,
    Branch,
    Child,
    Leaf,
    Shares,
    ShareTree,
    Standing,
    Want,
)

TIED = 10.0**-DIGITS
COPIES = 8
"""For how many sets of wants that fit the shares of inner nodes are kept."""

Entry = tuple[float, tuple[Any, ...], int, Leaf]
"""A leaf in its line: s, what breaks ties, a number of its own, the leaf."""


class Line:
    """Leaves of a branch that want the same and weigh the same, the least share first."""

    __slots__ = ("ahead", "count", "heap", "weight")

    def __init__(self, ahead: float, weight: float) -> None:
        self.ahead = ahead  # the share of one task of the largest that they want
        self.weight = weight
        self.count = 0
        self.heap: list[Entry] = []

    def top(self) -> Entry | None:
        """The first of the line."""
        heap = self.heap
        while heap:
            first = heap[0]
            place: Place = first[3].place
            if place.entry is first:
                return first
            heappop(heap)  # superseded
        return None

    def push(self, entry: Entry) -> None:
        """A leaf takes its place."""
        heappush(self.heap, entry)
        if len(self.heap) > 64 + 4 * self.count:  # sweep out what is superseded
            self.heap = [entry for entry in self.heap if entry[3].place.entry is entry]
            heapify(self.heap)


class Place(NamedTuple):
    """With what a child entered the sums of its branch. ``line``: None if it is idle."""

    line: tuple[Any, float] | None
    entry: Entry | None
    d: float
    whole: list[int]
    bounded: list[int]


GONE = Place(None, None, 0.0, [], [])
"""Of a leaf that is in no sums."""


class Sums:
    """How the leaves of one branch enter it, or its inner children in one copy."""

    __slots__ = ("by_want", "capped", "idle", "lines")

    def __init__(self, width: int) -> None:
        self.capped = Capped(width)
        self.idle = [0] * width
        self.lines: dict[tuple[Any, float], Line] = {}
        self.by_want: dict[Want, dict[tuple[Any, float], Line]] = {}

    def enter(self, place: Place, idle: bool) -> None:
        """A child counts from now on."""
        if idle:
            add(self.idle, place.whole)
        else:
            self.capped.add(place.d, place.whole, place.bounded)

    def leave(self, place: Place, idle: bool) -> None:
        """A child counts no more."""
        if idle:
            subtract(self.idle, place.whole)
        else:
            self.capped.take(place.d, place.whole, place.bounded)


class FastShares(ShareTree):
    """Shares as ``update_shares`` gives them with ``look_ahead``, without working all out anew."""

    def __init__(self, root: Branch, width: int) -> None:
        super().__init__(root, width)
        self._copies: dict[frozenset[Want], Copy] = {}
        self._entered = 0

    def changed(self, leaf: Leaf) -> None:
        """The leaf leaves the sums of its branch, and enters them with what it holds now."""
        branch = leaf.parent
        sums: Sums | None = branch.sums
        if sums is None:
            sums = branch.sums = Sums(self.width)
        if leaf.place is not None:
            self._leave(leaf.place, sums)
            leaf.place = GONE
        if leaf in branch.children:
            self._enter(leaf, sums)
        for copy in self._copies.values():
            copy.stale[branch] = None

    def _leave(self, place: Place, sums: Sums) -> None:
        sums.leave(place, place.line is None)
        if place.line is not None:
            line = sums.lines[place.line]
            line.count -= 1
            if not line.count:
                del sums.lines[place.line]
                for want in place.line[0]:
                    del sums.by_want[want][place.line]

    def _enter(self, leaf: Leaf, sums: Sums) -> None:
        share, weight = max(leaf.held, default=0.0), leaf.weight
        whole = [int(x * POINT) for x in leaf.held]
        if not leaf.wants:
            leaf.place = Place(None, None, 0.0, whole, whole)
            add(sums.idle, whole)
            return
        key = leaf.wants, weight
        line = sums.lines.get(key)
        if line is None:
            ahead = max(max(self.tasks[want], default=0.0) for want in leaf.wants)
            line = sums.lines[key] = Line(ahead, weight)
            for want in leaf.wants:
                sums.by_want.setdefault(want, {})[key] = line
        line.count += 1
        self._entered += 1
        entry = None if leaf.aside else (share, leaf.order, self._entered, leaf)
        bounded = _bounded(leaf.held, share / weight)
        leaf.place = Place(key, entry, share / weight, whole, bounded)
        sums.capped.add(share / weight, whole, bounded)
        if entry is not None:
            line.push(entry)

    def turned(self, branch: Branch) -> None:
        """Its share and those above it are to be found anew."""
        for copy in self._copies.values():
            copy.stale[branch] = None

    def at(
        self, fitting: frozenset[Want],
        unsaturated: Callable[[], Sequence[bool]] | None = None,  # noqa: ARG002 - of all resources
    ) -> Copy:  # fmt: skip
        """The shares while of all that is wanted only this fits on a server."""
        found = self._copies.pop(fitting, None)
        if found is None:
            for old in list(islice(self._copies, max(0, len(self._copies) + 1 - COPIES))):
                del self._copies[old]
            found = Copy(self, fitting)
        found.catch_up()
        self._copies[fitting] = found
        return found


class Copy(Shares):
    """The shares of all inner nodes while certain wants fit."""

    def __init__(self, tree: FastShares, fitting: frozenset[Want]) -> None:
        self.tree = tree
        self.stale: dict[Branch, None] = {}
        self._fitting = fitting
        tasks = [tree.tasks[want] for want in fitting]
        self._over = [r for r in range(tree.width) if any(task[r] for task in tasks)]
        self._sums: dict[Branch, Sums] = {}  # of branches, by what stands in them
        self._places: dict[Branch, Place] = {}
        self._ranks: dict[Branch, dict[Branch, tuple[Any, ...]]] = {}  # of those in A, by parent
        self._next: dict[Branch, dict[Branch, float]] = {}  # (s + t)/w of the same
        self._standing: dict[Branch, Standing] = {}
        self._first: dict[Branch, Child | None] = {}
        self._build(tree.root)

    def _build(self, branch: Branch) -> None:
        for child in branch.children:
            if isinstance(child, Branch):
                self._build(child)
                self._enter(branch, child)
        self._standing[branch] = self._stand(branch)

    def _enter(self, parent: Branch, child: Branch) -> None:
        status, vector, share, ahead = self._standing[child]
        weight = child.weight
        if parent not in self._ranks:
            self._ranks[parent], self._next[parent] = {}, {}
            self._sums[parent] = Sums(self.tree.width)
        if parent.parent is not None:  # the root's share is compared with nobody's
            whole = [int(x * POINT) for x in vector]
            place = Place(None, None, share / weight, whole, _bounded(vector, share / weight))
            self._places[child] = place
            self._sums[parent].enter(place, status == IDLE)
        if status == ACTIVE:
            then = max((vector[r] for r in self._over), default=0.0)
            rank = even_rank(weight, share, then)
            self._ranks[parent][child] = (*rank, child.order, child)
            self._next[parent][child] = (share + ahead) / weight

    def catch_up(self) -> None:
        """Apply what changed since the last call: the deepest first, so that each branch is looked
        at once.
        """
        stale, self.stale = self.stale, {}
        levels: dict[int, dict[Branch, None]] = {}
        for branch in stale:
            levels.setdefault(branch.depth, {})[branch] = None
        for depth in range(max(levels, default=-1), -1, -1):
            for branch in levels.get(depth, ()):
                old, new = self._standing[branch], self._stand(branch)
                self._standing[branch] = new
                parent = branch.parent
                if new != old and parent is not None:
                    if parent.parent is not None:
                        self._sums[parent].leave(self._places[branch], old.status == IDLE)
                    self._ranks[parent].pop(branch, None)
                    self._next[parent].pop(branch, None)
                    self._enter(parent, branch)
                    levels.setdefault(depth - 1, {})[parent] = None

    def _tops(self, branch: Branch) -> Iterator[tuple[Line, Entry]]:
        """The first of each line of leaves in A."""
        if branch.sums is not None:
            by_want = branch.sums.by_want
            for want in self._fitting:
                lines = by_want.get(want)
                for line in lines.values() if lines else ():
                    top = line.heap[0] if line.heap else None
                    if top is not None and top[3].place.entry is not top:
                        top = line.top()
                    if top is not None:
                        yield line, top

    def _stand(self, branch: Branch) -> Standing:
        """How a branch counts; notes which of its children goes first."""
        self._first[branch] = None
        if branch.closed:
            return self._standing_of(IDLE, [x / POINT for x in branch.plain], 0.0)
        best: tuple[Any, ...] | None = None
        least, ahead = NO_CAP, 0.0  # M and t
        for line, (share, order, _, leaf) in self._tops(branch):
            of_weight = share / line.weight
            least = min(least, of_weight + line.ahead / line.weight)
            if best is None or of_weight < best[0] + TIED:
                rank = (*even_rank(line.weight, share, share), order, leaf)
                if best is None or rank < best:
                    best, ahead = rank, line.ahead
        ranks = self._ranks.get(branch)
        if ranks:
            inner = min(ranks.values())
            if best is None or inner < best:
                best, ahead = inner, self._standing[inner[3]].ahead
        status = ACTIVE if best is not None else HELD if branch.wanted else IDLE
        self._first[branch] = None if best is None else best[3]
        if branch.parent is None:  # its share is compared with nobody's
            return Standing(status, (), 0.0, ahead)
        if ranks:
            least = min(least, *self._next[branch].values())
        return self._standing_of(status, self._vector(branch, least), ahead)

    def _standing_of(self, status: int, vector: list[float], ahead: float) -> Standing:
        return Standing(status, tuple(vector), max(vector, default=0.0), ahead)

    def _vector(self, branch: Branch, least: float) -> list[float]:
        """Who wants more enters with at most M * w, who does not as it is."""
        rest, above = [0] * self.tree.width, [0] * self.tree.width
        for sums in (branch.sums, self._sums.get(branch)):
            if sums is not None:
                sums.capped.settle(least)
                add(rest, sums.idle)
                add(rest, sums.capped.below)
                add(above, sums.capped.above)
        if not any(above):
            return [r / POINT for r in rest]
        return [(least * a + r) / POINT for a, r in zip(above, rest, strict=True)]

    def _root(self) -> list[float]:
        """The same of the root, whose inner children are summed only when it is asked for."""
        root = self.tree.root
        least = min(self._next.get(root, {}).values(), default=NO_CAP)
        for line, top in self._tops(root):
            least = min(least, top[0] / line.weight + line.ahead / line.weight)
        total = [int(x * POINT) for x in self._vector(root, least)]
        for child in root.children:
            if isinstance(child, Branch):
                status, vector, share, _ = self._standing[child]
                scale = 1.0
                if status != IDLE and share > least * child.weight:
                    scale = least * child.weight / share
                add(total, [int(scale * x * POINT) for x in vector])
        return [x / POINT for x in total]

    def of(self, child: Child) -> Standing:
        """How a node counts."""
        if isinstance(child, Leaf):
            able = any(want in self._fitting for want in child.wants) and not child.aside
            share = max(child.held, default=0.0)
            ahead = max((max(self.tree.tasks[w], default=0.0) for w in child.wants), default=0.0)
            status = ACTIVE if able else HELD if child.wants else IDLE
            return Standing(status, child.held, share, ahead if able else 0.0)
        found = self._standing[child]
        if child.parent is not None or child.closed:
            return found
        return self._standing_of(found.status, self._root(), found.ahead)

    def first(self, branch: Branch) -> Child | None:
        """Of the children in A the one that goes first; None: none is in A."""
        return self._first[branch]


def _bounded(vector: Sequence[float], d: float) -> list[int]:
    """U/d."""
    return [int(x / d * POINT) for x in vector] if d > 0 else [0] * len(vector)
