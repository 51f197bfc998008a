"""What the incremental structure is made of: leaves, branches, and sums over children alike."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

POINT = 2.0**64
"""One, in the fixed point of the sums."""
GROUPS = 16
"""In how many groups a branch sorts its leaves by what exactly they want; beyond that, by what
decides whether they are blocked."""

Want = Any
"""What a leaf asks for, one word a shape of task, which ``ShareTree.learn`` explains."""
IDLE, HELD, ACTIVE = 0, 1, 2
"""A child wants nothing more; wants more and is blocked; is in the paper's A."""


class Leaf:
    """Whatever holds tasks. ``held``: its use, a fraction of the capacity for each resource."""

    __slots__ = ("held", "member", "order", "parent", "unfit", "wants", "weight")

    def __init__(self, member: Any, parent: Branch, order: tuple[Any, ...], weight: float = 1.0):
        self.member = member
        self.parent = parent
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


class Part(NamedTuple):
    """With what a child entered its group."""

    group: Group
    key: Any
    whole: list[int]
    """U."""
    scaled: list[int]
    """w * U/s: times M, what it enters with while it is in A."""
    pile: float
    """d = dominant share over all resources / w: held back, it enters with U * min(1, M/d)."""
    bounded: list[int]
    """U/d."""
    entry: Entry


Entry = tuple[float, tuple[Any, ...], int, Any]
"""A child in its group's order: s/w, what breaks ties, a number of its own, the child."""


class Group:
    """Children of one branch that are blocked alike: sums for each case, and their order by s/w."""

    __slots__ = (
        "above", "below", "count", "cut", "heap", "keys", "level", "passed", "piles", "scaled",
        "whole",
    )  # fmt: skip

    def __init__(self, width: int) -> None:
        zero = [0] * width
        self.count = 0
        self.heap: list[Entry] = []
        self.passed: list[Entry] = []  # passed over in this call
        self.whole = zero[:]
        self.scaled = zero[:]
        # Children of one d are a pile: count, the sum of U, the sum of U/d. Of the piles in order,
        # the first ``cut`` have d <= level, the M that was asked for last.
        self.piles: dict[float, tuple[list[int], list[int], list[int]]] = {}
        self.keys: list[float] = []
        self.cut = 0
        self.level = 0.0
        self.below = zero[:]  # the sum of U over those piles
        self.above = zero[:]  # the sum of U/d over the others

    def enter(self, part: Part) -> None:
        """A child counts from now on."""
        _, _, whole, scaled, key, bounded, entry = part
        self.count += 1
        _add(self.whole, whole)
        _add(self.scaled, scaled)
        pile = self.piles.get(key)
        if pile is None:
            pile = self.piles[key] = ([0], [0] * len(whole), [0] * len(whole))
            self.keys.insert(bisect_left(self.keys, key), key)
            self.cut += key <= self.level
        pile[0][0] += 1
        _add(pile[1], whole)
        _add(pile[2], bounded)
        if key <= self.level:
            _add(self.below, whole)
        else:
            _add(self.above, bounded)
        heappush(self.heap, entry)

    def withdraw(self, part: Part) -> None:
        """A child counts no more."""
        _, _, whole, scaled, key, bounded, _ = part
        self.count -= 1
        _subtract(self.whole, whole)
        _subtract(self.scaled, scaled)
        pile = self.piles[key]
        pile[0][0] -= 1
        _subtract(pile[1], whole)
        _subtract(pile[2], bounded)
        if key <= self.level:
            _subtract(self.below, whole)
        else:
            _subtract(self.above, bounded)
        if not pile[0][0]:
            del self.piles[key]
            del self.keys[bisect_left(self.keys, key)]
            self.cut -= key <= self.level

    def settle(self, level: float) -> None:
        """Bring ``below`` and ``above`` to M = ``level``."""
        keys = self.keys
        while self.cut < len(keys) and keys[self.cut] <= level:
            pile = self.piles[keys[self.cut]]
            _subtract(self.above, pile[2])
            _add(self.below, pile[1])
            self.cut += 1
        while self.cut and keys[self.cut - 1] > level:
            self.cut -= 1
            pile = self.piles[keys[self.cut]]
            _subtract(self.below, pile[1])
            _add(self.above, pile[2])
        self.level = level


class Members:
    """The groups of one branch: of its leaves by what they want, or of its branches by status."""

    __slots__ = ("_entered", "groups", "parts", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self._entered = 0
        self.groups: dict[Any, Group] = {}
        self.parts: dict[Child, Part] = {}

    def enter(
        self, child: Child, key: Any, vector: Sequence[float], share: float, dominant: float
    ) -> None:
        """A child counts in the group ``key``. ``dominant``: its share over all resources."""
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(self.width)
        weight = child.weight
        whole = [int(x * POINT) for x in vector]
        scale = weight / share * POINT if share > 0 else 0.0
        scaled = [int(x * scale) for x in vector]
        bounded = scaled
        if dominant != share:
            scale = weight / dominant * POINT if dominant > 0 else 0.0
            bounded = [int(x * scale) for x in vector]
        self._entered += 1
        entry = (share / weight, child.order, self._entered, child)
        part = Part(group, key, whole, scaled, dominant / weight, bounded, entry)
        self.parts[child] = part
        group.enter(part)
        if len(group.heap) > 64 + 4 * group.count:  # superseded entries: sweep them out
            group.heap = [e for e in group.heap if self._stands(e)]
            heapify(group.heap)

    def withdraw(self, child: Child) -> None:
        """A child counts no more."""
        part = self.parts.pop(child, None)
        if part is not None:
            part.group.withdraw(part)
            if not part.group.count:
                del self.groups[part.key]

    def _stands(self, entry: Entry) -> bool:
        part = self.parts.get(entry[3])
        return part is not None and part.entry is entry

    def top(self, heap: list[Entry]) -> Entry | None:
        """The first of a group's ``heap`` or of those ``passed`` over."""
        parts = self.parts
        while heap:
            part = parts.get(heap[0][3])
            if part is not None and part.entry is heap[0]:
                return heap[0]
            heappop(heap)  # superseded
        return None

    def least(self, group: Group) -> float | None:
        """The least s/w of a group, passed over or not."""
        first, other = self.top(group.heap), None
        if group.passed:
            other = self.top(group.passed)
        if first is None or (other is not None and other < first):
            first = other
        return None if first is None else first[0]

    def pass_over(self, child: Child) -> None:
        """It is not the first of anything till it is put back or changes; it counts for M
        nevertheless.
        """
        group, entry = self.parts[child].group, self.parts[child].entry
        if group.heap and group.heap[0] is entry:
            heappop(group.heap)
        else:  # it was not the first of its group
            group.heap = [other for other in group.heap if other is not entry]
            heapify(group.heap)
        heappush(group.passed, entry)

    def put_back(self, child: Child) -> None:
        """Whoever was passed over in the child's group may be the first again."""
        part = self.parts.get(child)
        if part is not None and part.group.passed:
            for entry in part.group.passed:
                if self._stands(entry):
                    heappush(part.group.heap, entry)
            part.group.passed.clear()


def attributed(
    least: float | None, active: Iterable[Group], held: Iterable[Group],
    as_they_are: Iterable[Group], width: int,
) -> list[float]:  # fmt: skip
    """U of a branch: M times what is scaled, and the rest as it is; least is M, None if nobody is
    in A.
    """
    scaled, rest = [0] * width, [0] * width
    for group in as_they_are:
        _add(rest, group.whole)
    for group in held:
        if least is None:
            _add(rest, group.whole)
        else:
            group.settle(least)
            _add(scaled, group.above)
            _add(rest, group.below)
    for group in active:
        _add(scaled, group.scaled)
    if least is None:
        return [r / POINT for r in rest]
    return [(least * s + r) / POINT for s, r in zip(scaled, rest, strict=True)]


def _add(total: list[int], part: list[int]) -> None:
    for r, amount in enumerate(part):
        total[r] += amount


def _subtract(total: list[int], part: list[int]) -> None:
    for r, amount in enumerate(part):
        total[r] -= amount
