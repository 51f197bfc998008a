"""A sum of vectors of which each counts up to a cap that moves, in integers (fixed point)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

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
