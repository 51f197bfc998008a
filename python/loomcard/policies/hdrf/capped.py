"""A sum of vectors of which each counts up to a cap that moves, in integers (fixed point)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

NO_CAP = float("inf")


class Capped:
    """The sum over children of U * min(1, M/d), where d = s/w, for an M that moves.

    Children of one d are a pile: their count, the sum of U, the sum of U/d. Of the piles in order,
    the first ``cut`` have d <= ``level``, the M that was asked for last.
    """

    __slots__ = ("above", "below", "cut", "keys", "level", "piles")

    def __init__(self, width: int) -> None:
        self.piles: dict[float, tuple[list[int], list[int], list[int]]] = {}
        self.keys: list[float] = []
        self.cut = 0
        self.level = NO_CAP
        self.below = [0] * width  # the sum of U over the piles up to the level
        self.above = [0] * width  # the sum of U/d over the others

    def add(self, d: float, whole: list[int], bounded: list[int]) -> None:
        """A child counts from now on."""
        pile = self.piles.get(d)
        if pile is None:
            pile = self.piles[d] = ([0], [0] * len(whole), [0] * len(whole))
            self.keys.insert(bisect_left(self.keys, d), d)
            self.cut += d <= self.level
        pile[0][0] += 1
        add(pile[1], whole)
        add(pile[2], bounded)
        add(*((self.below, whole) if d <= self.level else (self.above, bounded)))

    def take(self, d: float, whole: list[int], bounded: list[int]) -> None:
        """A child counts no more."""
        pile = self.piles[d]
        pile[0][0] -= 1
        subtract(pile[1], whole)
        subtract(pile[2], bounded)
        subtract(*((self.below, whole) if d <= self.level else (self.above, bounded)))
        if not pile[0][0]:
            del self.piles[d]
            del self.keys[bisect_left(self.keys, d)]
            self.cut -= d <= self.level

    def settle(self, level: float) -> None:
        """Bring ``below`` and ``above`` to M = ``level``."""
        keys = self.keys
        while self.cut < len(keys) and keys[self.cut] <= level:
            pile = self.piles[keys[self.cut]]
            subtract(self.above, pile[2])
            add(self.below, pile[1])
            self.cut += 1
        while self.cut and keys[self.cut - 1] > level:
            self.cut -= 1
            pile = self.piles[keys[self.cut]]
            subtract(self.below, pile[1])
            add(self.above, pile[2])
        self.level = level


def add(total: list[int], part: Sequence[int]) -> None:
    """In place."""
    for r, amount in enumerate(part):
        total[r] += amount


def subtract(total: list[int], part: Sequence[int]) -> None:
    """In place."""
    for r, amount in enumerate(part):
        total[r] -= amount
