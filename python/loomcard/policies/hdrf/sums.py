"""How the children of one branch enter it: sums of vectors of which each counts up to a cap that
moves, in integers (fixed point), and the lines in which leaves wait.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from loomcard.policies.hdrf.share_tree import Leaf, ShareTree, Want

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


def add(total: list[int], part: Sequence[int]) -> None:
    """In place."""
    for r, amount in enumerate(part):
        total[r] += amount


def subtract(total: list[int], part: Sequence[int]) -> None:
    """In place."""
    for r, amount in enumerate(part):
        total[r] -= amount


Entry = Any
"""A leaf in its line: s/w, what breaks ties, a number of its own, the leaf; Any, since compiled
code makes typed tuples anew, and a superseded one is known by its identity.
"""


Top = tuple[float, tuple[Any, ...], float, "Line", Leaf]
"""The first of a line: its s/w, what breaks ties, its (s + t)/w."""


class Line:
    """Leaves of a branch that want the same and weigh the same, the least share first."""

    __slots__ = ("ahead", "bits", "count", "heap", "shown", "wants", "weight")

    def __init__(self, wants: tuple[Want, ...], bits: int, weight: float, ahead: float) -> None:
        self.wants = wants
        self.bits = bits  # of the wants
        self.weight = weight
        self.ahead = ahead  # the share of one task of the largest that they want
        self.count = 0
        self.heap: list[Entry] = []
        self.shown: Top | None = None  # among the tops of its branch

    def top(self) -> Entry | None:
        """The first of the line."""
        heap = self.heap
        while heap:
            first = heap[0]
            if first[3].place.entry is first:
                return first
            heappop(heap)  # superseded
        return None

    def push(self, entry: Entry) -> None:
        """A leaf takes its place."""
        heappush(self.heap, entry)
        if len(self.heap) > 64 + 4 * self.count:  # sweep out what is superseded
            self.heap = [entry for entry in self.heap if entry[3].place.entry is entry]
            heapify(self.heap)


class Place:
    """How a leaf stands in the sums of its branch. ``line``: None if it is idle."""

    __slots__ = ("d", "entry", "line", "vector")

    def __init__(self) -> None:
        self.line: Line | None = None
        self.entry: Entry | None = None
        self.d = 0.0
        self.vector: list[int] = []


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
                line.shown, top = None, line.top()
                if top is not None:
                    d, order, _, leaf = top
                    line.shown = (d, order, d + line.ahead / line.weight, line, leaf)
                    insort(tops, line.shown)
            self.moved.clear()
        return self.tops
