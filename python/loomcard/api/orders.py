"""Orders in which members are served, and nodes are tried."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Generic, TypeVar

from loomcard.model.objects import Member

T = TypeVar("T")


def by_priority(member: Member) -> tuple[int, int]:
    """Higher YARN application priority first, then earlier submission; queues have no priority."""
    return -getattr(member, "priority", 0), member.submitted_ms


class LazyOrder(Generic[T]):
    """Items by what they cost, equal ones by a draw; sorted only as far as somebody has read.

    ``rows``: (cost, item). ``tie``: the draw of an item, called once where another costs the same.
    """

    def __init__(self, rows: Iterable[tuple[float, T]], tie: Callable[[T], float]) -> None:
        self._rows, self._tie = sorted(rows, key=itemgetter(0)), tie
        self._sorted: list[tuple[float, float, T]] = []

    def __iter__(self) -> Iterator[tuple[float, float, T]]:
        """(cost, draw, item), the cheapest first."""
        yield from self._sorted
        while (start := len(self._sorted)) < len(self._rows):
            cost = self._rows[start][0]
            end = bisect_right(self._rows, cost, start, key=itemgetter(0))
            equal = [(cost, self._tie(item), item) for _, item in self._rows[start:end]]
            self._sorted += sorted(equal, key=itemgetter(1))
            yield from self._sorted[start:]
