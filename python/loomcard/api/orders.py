"""Orders in which members are served, and nodes are tried."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Generic, TypeVar

from loomcard.model.objects import Member

T = TypeVar("T")


def by_priority(member: Member) -> tuple[int, int]:
    """Higher YARN application priority first, then earlier submission; queues have no priority."""
    return -getattr(member, "priority", 0), member.submitted_ms


class LazyOrder(Generic[T]):
    """Items by cost, those of equal cost by a draw; sorted only as far as they have been read.

    ``rows``: a cost, and the items of that cost, which are read when it is their turn. ``tie``: the
    draw of an item.
    """

    def __init__(
        self, rows: Iterable[tuple[float, Iterable[T]]], tie: Callable[[T], float]
    ) -> None:
        self._rows, self._tie = sorted(rows, key=itemgetter(0)), tie
        self._next, self._sorted = 0, list[tuple[float, float, T]]()

    def __iter__(self) -> Iterator[tuple[float, float, T]]:
        """Yield (cost, draw, item), the cheapest first."""
        yield from self._sorted
        while self._next < len(self._rows):
            cost, first = self._rows[self._next][0], len(self._sorted)
            end = bisect_right(self._rows, cost, self._next, key=itemgetter(0))
            items = chain.from_iterable(items for _, items in self._rows[self._next : end])
            self._next = end
            self._sorted += sorted(((cost, self._tie(i), i) for i in items), key=itemgetter(1))
            yield from self._sorted[first:]
