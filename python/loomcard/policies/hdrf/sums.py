"""What the incremental structure is made of: leaves, branches, and a branch's sums for one Y."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

POINT = 2.0**64
"""One, in the fixed point of the sums."""
GROUPS = 64
"""In how many heaps a branch sorts its leaves by what they want; all others share one."""

Want = Any
"""What a leaf asks for, one word a shape of task, which ``ShareTree.learn`` explains."""
IDLE, HELD, ACTIVE = 0, 1, 2
"""A child wants nothing more; wants more and is blocked; is in the paper's A."""


class Leaf:
    """Whatever holds tasks. ``held``: its use, a fraction of the capacity for each resource."""

    __slots__ = ("held", "member", "order", "parent", "unfit", "wants", "weight")

    def __init__(self, member: Any, parent: Branch, order: tuple[Any, ...], weight: float = 1.0):
        self.member = member
        self.parent: Branch | None = parent
        self.order = order  # breaks ties among siblings, unique
        self.weight = weight
        self.held: tuple[float, ...] = ()
        self.wants: tuple[Want, ...] = ()
        self.unfit = False  # what it wants fits nowhere for so long that it counts as blocked


class Branch:
    """An inner node. ``wanted``: how many leaves below want what; a ``closed`` one may have nothing
    more whatever they want, and counts for its parent as one that does not demand.
    """

    __slots__ = (
        "bounded", "children", "closed", "member", "order", "parent", "plain", "total", "wanted",
        "weight",
    )  # fmt: skip

    def __init__(
        self, member: Any, parent: Branch | None, order: tuple[Any, ...], weight: float = 1.0,
        bounded: bool = False,
    ) -> None:  # fmt: skip
        self.member = member
        self.parent = parent
        self.order = order
        self.weight = weight
        self.children: dict[Leaf | Branch, None] = {}
        self.wanted: dict[Want, int] = {}
        self.bounded = bounded  # it may be closed: ``plain`` is kept
        self.closed = False
        self.plain: list[int] = []  # in fixed point, what its leaves hold
        self.total = 0  # in fixed point, the sum of its children's weights
        if parent is not None:
            parent.add(self)

    def add(self, child: Leaf | Branch) -> None:
        """A child comes."""
        self.children[child] = None
        self.total += int(child.weight * POINT)

    def drop(self, child: Leaf) -> None:
        """A child goes."""
        del self.children[child]
        self.total -= int(child.weight * POINT)

    @property
    def wants(self) -> dict[Want, int]:
        """What it wants as its parent sees it."""
        return {} if self.closed else self.wanted


Child = Leaf | Branch


class Standing(NamedTuple):
    """How a child counts: its attributed vector U (fractions), its share s, and whether it is in
    A.
    """

    status: int
    vector: tuple[float, ...]
    share: float


Entry = tuple[float, tuple[Any, ...], Any, Any]
"""A child in A in its branch's order: s/w, what breaks ties, the child, its heap."""
_ASIDE = "aside"


class Sums:
    """What a branch keeps of its children for one Y."""

    __slots__ = (
        "above", "below", "cut", "direction", "entries", "heaps", "keys", "level", "parts", "piles",
        "rest",
    )  # fmt: skip

    def __init__(self, width: int) -> None:
        zero = [0] * width
        self.entries: dict[Child, Entry] = {}
        self.heaps: dict[Any, list[Entry]] = {}  # of those in A, by what they want
        self.direction = zero[:]  # S: the sum of w * U/s over A
        self.rest = zero[:]  # B: the sum of U over those that are not scaled
        # Those held back by saturation enter with U * min(1, M/d), d = dominant share / w. Children
        # of one d are a pile; of the piles in order, the first ``cut`` have d <= level = M.
        self.piles: dict[float, tuple[list[int], list[int], list[int]]] = {}  # count, U, U/d
        self.keys: list[float] = []
        self.cut = 0
        self.level = float("inf")
        self.below = zero[:]  # the sum of U over those piles
        self.above = zero[:]  # the sum of U/d over the others
        self.parts: dict[Child, tuple[Any, ...]] = {}  # with what each child entered

    def enter(
        self, child: Child, standing: Standing, scaled: bool,
        push: Callable[[list[Entry], Entry], None],
    ) -> None:  # fmt: skip
        """A child counts from now on."""
        status, vector, share = standing
        if status == ACTIVE:
            by_share = child.weight / share * POINT if share > 0 else 0.0
            part = [int(x * by_share) for x in vector]
            _add(self.direction, part)
            self.parts[child] = (part, None, None)
            group = child.wants if type(child) is Leaf else None
            if group not in self.heaps and len(self.heaps) >= GROUPS:
                group = None
            entry = (share / child.weight, child.order, child, group)
            self.entries[child] = entry
            heap = self.heaps.setdefault(group, [])
            push(heap, entry)
            if len(heap) > 64 + 4 * len(self.entries):  # superseded entries: sweep them out
                heap[:] = [e for e in heap if self.entries.get(e[2]) is e]
                heapify(heap)
            return
        part = [int(x * POINT) for x in vector]
        dominant = max(vector, default=0.0) / child.weight
        if status == HELD and scaled and dominant > 0:
            scale = POINT / dominant
            self._pile(child, dominant, part, [int(x * scale) for x in vector])
        else:
            _add(self.rest, part)
            self.parts[child] = (part, None, None)

    def _pile(self, child: Child, key: float, part: list[int], direction: list[int]) -> None:
        pile = self.piles.get(key)
        if pile is None:
            pile = self.piles[key] = ([0], [0] * len(part), [0] * len(part))
            self.keys.insert(bisect_left(self.keys, key), key)
            if key <= self.level:
                self.cut += 1
        pile[0][0] += 1
        _add(pile[1], part)
        _add(pile[2], direction)
        if key <= self.level:
            _add(self.below, part)
        else:
            _add(self.above, direction)
        self.parts[child] = (part, key, direction)

    def withdraw(self, child: Child) -> None:
        """A child counts no more."""
        part, key, direction = self.parts.pop(child)
        if self.entries.pop(child, None) is not None:
            _subtract(self.direction, part)
        elif key is None:
            _subtract(self.rest, part)
        else:
            pile = self.piles[key]
            pile[0][0] -= 1
            _subtract(pile[1], part)
            _subtract(pile[2], direction)
            if key <= self.level:
                _subtract(self.below, part)
            else:
                _subtract(self.above, direction)
            if not pile[0][0]:
                del self.piles[key]
                del self.keys[bisect_left(self.keys, key)]
                if key <= self.level:
                    self.cut -= 1

    def group_stands(self, child: Child) -> bool:
        """A child in A is in the heap of what it wants now."""
        entry = self.entries.get(child)
        return entry is None or type(child) is Branch or entry[3] in (child.wants, None)

    def least(self) -> float | None:
        """M, the least s/w of those in A, passed over or not."""
        least = None
        for group in list(self.heaps):
            top = self._top(group)
            if top is not None and (least is None or top[0] < least):
                least = top[0]
        return least

    def vector(self, least: float | None) -> list[float]:
        """U of the branch."""
        level = float("inf") if least is None else least
        keys = self.keys
        while self.cut < len(keys) and keys[self.cut] <= level:
            self._move(keys[self.cut], self.above, 2, self.below, 1)
            self.cut += 1
        while self.cut and keys[self.cut - 1] > level:
            self.cut -= 1
            self._move(keys[self.cut], self.below, 1, self.above, 2)
        self.level = level
        if least is None:
            return [(b + c) / POINT for b, c in zip(self.rest, self.below, strict=True)]
        return [
            (least * (s + a) + (b + c)) / POINT
            for s, a, b, c in zip(self.direction, self.above, self.rest, self.below, strict=True)
        ]

    def _move(self, key: float, off: list[int], i: int, onto: list[int], j: int) -> None:
        pile = self.piles[key]
        _subtract(off, pile[i])
        _add(onto, pile[j])

    def first(self, full: Container[Want]) -> Entry | None:
        """The first by s/w of those that were not passed over, but for what is all ``full``."""
        best = None
        for group in list(self.heaps):
            if group is _ASIDE or (group and all(want in full for want in group)):
                continue
            top = self._top(group)
            if top is not None and (best is None or top < best):
                best = top
        return best

    def _top(self, group: Any) -> Entry | None:
        heap, entries = self.heaps[group], self.entries
        while heap and entries.get(heap[0][2]) is not heap[0]:
            heappop(heap)  # superseded
        if heap:
            return heap[0]
        del self.heaps[group]
        return None

    def set_aside(self, entry: Entry) -> Entry:
        """It is passed over till it is put back or changes; it counts for M nevertheless."""
        heap = self.heaps[entry[3]]
        if heap[0] is entry:
            heappop(heap)
        else:  # it was not the first of its heap
            heap.remove(entry)
            heapify(heap)
        heappush(self.heaps.setdefault(_ASIDE, []), entry)
        return entry

    def put_back(self, entry: Entry) -> None:
        """Into its heap again, if it still stands."""
        if self.entries.get(entry[2]) is entry:
            self.heaps.pop(_ASIDE, None)
            heappush(self.heaps.setdefault(entry[3], []), entry)


def _add(total: list[int], part: list[int]) -> None:
    for r, amount in enumerate(part):
        total[r] += amount


def _subtract(total: list[int], part: list[int]) -> None:
    for r, amount in enumerate(part):
        total[r] -= amount
