"""The shares of ``look_ahead``, updated from event to event (docs/papers/hdrf.md 2.7).

``update_shares`` computes the shares of a whole tree; this module keeps them. A start or an end of
a task costs O(depth * (types + kinds of leaf + log leaves)), without the moves in sorted lists. The
kinds of leaf are those of one queue, by wants and weight. The use of a queue's leaves is summed
once. The sums above it are kept for several sets of wants that fit, because a full cluster
alternates between a few such sets. A structure that is built anew gives the same values to the last
bit; the replay of a journal needs this.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from loomcard import add_all, subtract_all
from loomcard.policies.hdrf.paper import Attributed, Node
from loomcard.policies.hdrf.rules import DIGITS, even_rank, hdrf
from loomcard.policies.hdrf.share_tree import ShareTree, Want

POINT = 2.0**64
"""1.0 as a fixed-point number. Sums in fixed point do not drift and do not depend on the order of
events.
"""
TIED = 10.0**-DIGITS
COPIES = 8
"""The number of sets of fitting wants for which the shares of inner nodes are kept."""

Rank = tuple[float, float, tuple[Any, ...], Node]
"""The sort key of siblings: ``even_rank``, the order that breaks ties, the child."""


class FastShares(ShareTree):
    """The shares of ``update_shares`` with ``look_ahead``, without computing all of them again."""

    def __init__(self, root: Node, width: int) -> None:
        super().__init__(root, width, hdrf)
        self.sums: dict[Node, LeafSums] = {}  # how the leaves of inner nodes enter them
        self._entries: dict[Node, LeafEntry] = {}  # by leaf
        self._fitting_shares: dict[frozenset[Want], FittingShares] = {}
        self._bit: dict[Want, int] = {}
        self._changed: dict[Node, None] = {}  # since the last call of ``at``

    def bits(self, wants: Iterable[Want]) -> int:
        """Return a set of distinct wants as bits, so that two sets are compared fast."""
        return sum([self._bit.setdefault(want, 1 << len(self._bit)) for want in wants])

    def ahead(self, wants: Iterable[Want]) -> float:
        """Return the share of one task of the largest of these wants."""
        return max((max(self.tasks[want], default=0.0) for want in wants), default=0.0)

    def changed(self, node: Node) -> None:
        """Note that a node changed; ``at`` looks at it once, however often it changed."""
        self._changed[node] = None

    def _look_again(self, node: Node) -> None:
        """Replace a leaf's part in the sums of its parent; those above follow later."""
        branch = node
        if node.leaf:
            assert node.parent is not None
            branch = node.parent
            if branch not in self.sums:
                self.sums[branch] = LeafSums(self.width)
            sums = self.sums[branch]
            sums.counted.clear()
            if node in self._entries:
                d, vector, entry, group = self._entries.pop(node)
                sums.change(d, vector, -1)
                if entry is not None:
                    del group[bisect_left(group, entry)]
            if node in branch.children:
                self._enter(sums, node)
        for copy in self._fitting_shares.values():
            copy.stale[branch] = None

    def _enter(self, sums: LeafSums, leaf: Node) -> None:
        vector = [int(x * POINT) for x in leaf.used]
        wants, weight = leaf.wanted, leaf.weight
        d = max(leaf.used, default=0.0) / weight if wants else None
        sums.change(d, vector, 1)
        if d is None or leaf.aside:
            self._entries[leaf] = d, vector, None, []
            return
        group = sums.groups.get((wants, weight))
        if group is None:
            sums.groups = {key: each for key, each in sums.groups.items() if each.leaves}
            group = SimilarLeaves(
                self.bits(wants), self.ahead(wants) / weight, self.ahead(wants), []
            )
            sums.groups[wants, weight] = group
        entry = (d, leaf.order, leaf)
        insort(group.leaves, entry)
        self._entries[leaf] = d, vector, entry, group.leaves

    def at(self, fitting: frozenset[Want], _: Any = None) -> FittingShares:
        """Return the shares while only the wants in ``fitting`` fit on a server."""
        for node in self._changed:
            self._look_again(node)
        self._changed.clear()
        found = self._fitting_shares.pop(fitting, None)
        if found is None:
            for old in list(
                islice(self._fitting_shares, max(0, len(self._fitting_shares) + 1 - COPIES))
            ):
                del self._fitting_shares[old]
            found = FittingShares(self, fitting)
        elif found.stale:
            found.catch_up()
        self._fitting_shares[fitting] = found
        return found


class FittingShares:
    """The shares of all inner nodes while certain wants fit."""

    def __init__(self, tree: FastShares, fitting: frozenset[Want]) -> None:
        self.tree = tree
        self.stale: dict[Node, None] = {}  # inner nodes
        self._fitting = fitting
        self._bits = tree.bits(fitting)
        tasks = [tree.tasks[want] for want in fitting]
        self._over = [r for r in range(tree.width) if any(task[r] for task in tasks)]
        self._sums: dict[Node, CappedSum] = {}  # how inner children enter
        self._ranks: dict[Node, Rank] = {}  # of those in A
        self._ordered: dict[Node, list[Rank]] = {}  # the same by parent, in order
        self._next: dict[Node, dict[Node, float]] = {}  # (s + t)/w of the same
        self._attributed: dict[Node, Attributed] = {}
        self._first: dict[Node, Node | None] = {}
        self._build(tree.root)

    def _build(self, branch: Node) -> None:
        for child in branch.children:
            if not child.leaf:
                self._build(child)
                self._enter(branch, child)
        self._attributed[branch] = self._stand(branch)

    def _enter(self, parent: Node, child: Node) -> None:
        new = self._attributed[child]
        if parent not in self._sums:
            self._sums[parent] = CappedSum(self.tree.width)
            self._ordered[parent], self._next[parent] = [], {}
        if parent.parent is not None:  # the root's share is never compared
            self._sums[parent].change(*_counted(child, new), 1)
        if new.active:
            self._ranks[child] = rank = self._rank(child, new)
            insort(self._ordered[parent], rank)
            self._next[parent][child] = (new.share + new.ahead) / child.weight

    def _leave(self, parent: Node, child: Node, old: Attributed) -> None:
        if parent.parent is not None:
            self._sums[parent].change(*_counted(child, old), -1)
        if old.active:
            group = self._ordered[parent]
            del group[bisect_left(group, self._ranks.pop(child))]
            del self._next[parent][child]

    def catch_up(self) -> None:
        """Apply what changed since the last call, the deepest branches first, so that each branch
        is computed once.
        """
        depths = {branch: len(branch.path()) for branch in self.stale}
        self.stale = {}
        depth = max(depths.values())
        while depth:
            for branch in [each for each, deep in depths.items() if deep == depth]:
                old, new = self._attributed[branch], self._stand(branch)
                self._attributed[branch] = new
                parent = branch.parent
                if parent is not None and new != old:
                    self._leave(parent, branch, old)
                    self._enter(parent, branch)
                    depths[parent] = depth - 1
            depth -= 1

    def _foremost(self, branch: Node) -> tuple[Rank | None, float, float]:
        """Return the rank of the first leaf of a branch in A, its t, and M of these leaves."""
        best: Rank | None = None
        least, ahead, bound, fitting = NO_CAP, 0.0, NO_CAP, self._bits
        sums = self.tree.sums.get(branch)
        for bits, step, t, leaves in () if sums is None else sums.groups.values():
            if bits & fitting and leaves:
                d, order, leaf = leaves[0]
                if d + step < least:
                    least = d + step
                if d < bound:  # otherwise it is not before the best
                    even = round(d, DIGITS)
                    if best is None or (even, order) < (best[0], best[2]):
                        best, ahead, bound = (even, even, order, leaf), t, even + TIED
        return best, ahead, least

    def _stand(self, branch: Node) -> Attributed:
        """Return how a branch counts, and note which of its children goes first."""
        self._first[branch] = None
        if branch.closed:
            return _with_share(tuple([x / POINT for x in self._plain(branch)]))
        best, ahead, least = self._foremost(branch)  # t and M
        inner = self._ordered.get(branch)
        if inner and (best is None or inner[0] < best):
            best = inner[0]
            ahead = self.of(best[3]).ahead
        self._first[branch] = None if best is None else best[3]
        active, demanding = best is not None, bool(branch.wanted)
        if branch.parent is None:  # its share is never compared
            return Attributed((), 0.0, active, demanding, ahead)
        if inner:
            least = min(least, *self._next[branch].values())
        return _with_share(self._vector(branch, least), active, demanding, ahead)

    def _plain(self, branch: Node) -> list[int]:
        """Return the plain sum of what is used below a branch."""
        total = [0] * self.tree.width
        if branch in self.tree.sums:
            sums = self.tree.sums[branch]
            sums.settle(NO_CAP)
            add_all([total], sums.idle)
            add_all([total], sums.below)
        if branch in self._sums:
            for child in branch.children:
                if not child.leaf:
                    add_all([total], self._plain(child))
        return total

    def _vector(self, branch: Node, least: float) -> tuple[float, ...]:
        """Return a branch's vector: children that want more enter with at most the share M * w, the
        others as they are.
        """
        leaves, inner = self.tree.sums.get(branch), self._sums.get(branch)
        if leaves is None or inner is not None:
            return self._summed([sums for sums in (leaves, inner) if sums is not None], least)
        found = leaves.counted.get(least)
        if found is None:
            found = leaves.counted[least] = self._summed([leaves], least)
        return found

    def _summed(self, every: Sequence[CappedSum], least: float) -> tuple[float, ...]:
        for sums in every:
            sums.settle(least)
        width = self.tree.width
        rest = [sum([sums.idle[r] + sums.below[r] for sums in every]) for r in range(width)]
        above = [sum([sums.above[r] for sums in every]) for r in range(width)]
        if not any(above):
            return tuple([r / POINT for r in rest])
        return tuple([(least * above[r] + rest[r]) / POINT for r in range(width)])

    def _root(self) -> tuple[float, ...]:
        """Return the root's vector. Its inner children are summed only when it is wanted."""
        root = self.tree.root
        least = min(self._next.get(root, {}).values(), default=NO_CAP)
        least = min(least, self._foremost(root)[2])
        total = [int(x * POINT) for x in self._vector(root, least)]
        for child in root.children:
            if not child.leaf:
                found, scale = self._attributed[child], 1.0
                if found.demanding and found.share > least * child.weight:
                    scale = least * child.weight / found.share
                add_all([total], [int(scale * x * POINT) for x in found.vector])
        return tuple([x / POINT for x in total])

    def of(self, node: Node) -> Attributed:
        """Return how a node counts; vectors are fractions of the capacity."""
        if node.leaf:
            able = not node.aside and any(want in self._fitting for want in node.wanted)
            ahead = self.tree.ahead(node.wanted) if able else 0.0
            return _with_share(tuple(node.used), able, bool(node.wanted), ahead)
        found = self._attributed[node]
        if node.parent is not None or node.closed:
            return found
        return _with_share(self._root(), found.active, found.demanding, found.ahead)

    def share(self, node: Node) -> float:
        """Return the attributed share."""
        return self.of(node).share

    def first(self, branch: Node, among: Collection[Node] | None = None) -> Node | None:
        """Return the child that goes first: of those in A, or of those in A and ``among``; None if
        there is no such child.
        """
        if among is None:
            return self._first[branch]
        able = [rank for c in among if (rank := self._rank_in_a(c)) is not None]
        return min(able)[3] if able else None

    def _rank_in_a(self, child: Node) -> Rank | None:
        """Return a child's rank; None if it is not in A."""
        if not child.leaf:
            return self._ranks.get(child)
        found = self.of(child)
        return self._rank(child, found) if found.active else None

    def _rank(self, child: Node, attributed: Attributed) -> Rank:
        then = attributed.share
        if not child.leaf:
            then = max([attributed.vector[r] for r in self._over], default=0.0)
        return (*even_rank(child.weight, attributed.share, then), child.order, child)


def _with_share(
    vector: tuple[float, ...], active: bool = False, demanding: bool = False, ahead: float = 0.0
) -> Attributed:
    """Return a vector with its share over all resources."""
    return Attributed(vector, max(vector, default=0.0), active, demanding, ahead)


def _counted(child: Node, attributed: Attributed) -> tuple[float | None, list[int]]:
    """Return how an inner child enters: its d, if it wants more, and its vector."""
    d = attributed.share / child.weight if attributed.demanding else None
    return d, [int(x * POINT) for x in attributed.vector]


NO_CAP = float("inf")


class CappedSum:
    """The sum of U * min(1, M/d) over children, where d = s/w, for an M that changes; and the sum
    of U of those that want nothing more, whose d is None.

    Children of one d are a pile: their count and the sum of U. The piles are sorted; the first
    ``cut`` have d <= ``level``, the last M.
    """

    __slots__ = ("above", "below", "cut", "idle", "keys", "level", "piles")

    def __init__(self, width: int) -> None:
        self.piles: dict[float, tuple[list[int], list[int]]] = {}
        self.keys: list[float] = []
        self.cut = 0
        self.level = NO_CAP
        self.below = [0] * width  # the sum of U over the piles up to the level
        self.above = [0] * width  # the sum of U/d over the others
        self.idle = [0] * width

    def change(self, d: float | None, vector: list[int], sign: int) -> None:
        """Add a child (1) or remove it (-1)."""
        if d is None:
            (add_all if sign > 0 else subtract_all)([self.idle], vector)
            return
        if d not in self.piles:
            self.piles[d] = ([0], [0] * len(vector))
            self.keys.insert(bisect_left(self.keys, d), d)
            self.cut += d <= self.level
        count, total = self.piles[d]
        count[0] += sign
        for r, amount in enumerate(vector):
            before = total[r]
            total[r] = after = before + sign * amount
            if d <= self.level:
                self.below[r] += sign * amount
            else:
                self.above[r] += int(after / d) - int(before / d)
        if not count[0]:
            del self.piles[d]
            del self.keys[bisect_left(self.keys, d)]
            self.cut -= d <= self.level

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


Entry = tuple[float, tuple[Any, ...], Node]
"""A leaf in its group: s/w, and its order, which no other leaf of the group has."""


class SimilarLeaves(NamedTuple):
    """Leaves of one parent that want the same and weigh the same, the least share first."""

    bits: int
    """The set of what they want."""
    step: float
    """t/w of each."""
    ahead: float
    """t, the share of one task of the largest that they want."""
    leaves: list[Entry]
    """In order, without those that were set aside."""


LeafEntry = tuple[float | None, list[int], Entry | None, list[Entry]]
"""How a leaf entered the sums: its d, its vector, its entry, and the leaves of its group."""


class LeafSums(CappedSum):
    """The sum over the leaves of one inner node."""

    __slots__ = ("counted", "groups")

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.counted: dict[float, tuple[float, ...]] = {}  # the vector by M, until a leaf changes
        self.groups: dict[tuple[Any, float], SimilarLeaves] = {}
