"""The shares of ``look_ahead`` kept up from event to event (section 2.7 of the specification).

What ``update_shares`` works out for a whole tree, this keeps: a start or a finish costs O(depth *
(types + log leaves)), but for the entries of sorted lists that move in memory. What a branch's
leaves hold is summed once for all; what follows from it up to the root is kept for several sets of
wants that fit, because in a full cluster a few such sets alternate. A structure built anew says the
same to the last bit, which a replayed journal needs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

from loomcard.model.resource import add_all, subtract_all
from loomcard.policies.hdrf.rounds import DIGITS, even_rank
from loomcard.policies.hdrf.share_tree import (
    ACTIVE,
    HELD,
    IDLE,
    NO_CAP,
    POINT,
    Branch,
    Child,
    Leaf,
    Shares,
    ShareTree,
    Standing,
    Sums,
    Want,
)

TIED = 10.0**-DIGITS
COPIES = 8
"""For how many sets of wants that fit the shares of inner nodes are kept."""

Rank = tuple[float, float, tuple[Any, ...], Child]
"""What siblings are compared by: ``even_rank``, what breaks ties, the child."""


class FastShares(ShareTree):
    """Shares as ``update_shares`` gives them with ``look_ahead``, without working all out anew."""

    def __init__(self, root: Branch, width: int) -> None:
        super().__init__(root, width)
        self._copies: dict[frozenset[Want], Copy] = {}

    def changed(self, leaf: Leaf) -> None:
        """The leaf leaves the sums of its branch, and enters them with what it holds now."""
        branch = leaf.parent
        sums = branch.sums
        if sums is None:
            sums = branch.sums = Sums(self.width)
        sums.counted.clear()
        there = leaf in branch.children
        self._leave(sums, leaf, there)
        if there:
            self._enter(sums, leaf)
        for copy in self._copies.values():
            copy.stale[branch] = None

    def _leave(self, sums: Sums, leaf: Leaf, again: bool) -> None:
        """``again``: it enters again."""
        line = leaf.line
        if line is None:
            subtract_all([sums.idle], leaf.vector)
        else:
            sums.capped.take(leaf.d, leaf.vector)
            sums.moved[line] = None
            if leaf.entry is not None:
                del line.leaves[bisect_left(line.leaves, leaf.entry)]
            if not again or line.wants is not leaf.wants:
                leaf.line = None
                line.count -= 1
                if not line.count:
                    del sums.lines[line.wants, line.weight]
        leaf.entry, leaf.vector = None, []

    def _enter(self, sums: Sums, leaf: Leaf) -> None:
        leaf.vector = vector = [int(x * POINT) for x in leaf.held]
        if not leaf.wants:
            add_all([sums.idle], vector)
            return
        line = leaf.line
        if line is None:
            line = leaf.line = sums.line(leaf, self)
            line.count += 1
        leaf.d = d = max(leaf.held, default=0.0) / leaf.weight
        sums.capped.add(d, vector)
        sums.moved[line] = None
        if not leaf.aside:
            leaf.entry = (d, leaf.order, leaf)
            insort(line.leaves, leaf.entry)

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
        elif found.stale:
            found.catch_up()
        self._copies[fitting] = found
        return found


class Copy(Shares):
    """The shares of all inner nodes while certain wants fit."""

    def __init__(self, tree: FastShares, fitting: frozenset[Want]) -> None:
        self.tree = tree
        self.stale: dict[Branch, None] = {}
        self._fitting = fitting
        self._bits = tree.bits(fitting)
        tasks = [tree.tasks[want] for want in fitting]
        self._over = [r for r in range(tree.width) if any(task[r] for task in tasks)]
        self._sums: dict[Branch, Sums] = {}  # of branches, by what stands in them
        self._ranks: dict[Branch, Rank] = {}  # of those in A
        self._lines: dict[Branch, list[Rank]] = {}  # the same by parent, in order
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
        new = self._standing[child]
        if parent not in self._sums:
            self._sums[parent] = Sums(self.tree.width)
            self._lines[parent], self._next[parent] = [], {}
        if parent.parent is not None:  # the root's share is compared with nobody's
            sums, whole = self._sums[parent], [int(x * POINT) for x in new.vector]
            if new.status == IDLE:
                add_all([sums.idle], whole)
            else:
                sums.capped.add(new.share / child.weight, whole)
        if new.status == ACTIVE:
            self._ranks[child] = rank = self._rank(child, new)
            insort(self._lines[parent], rank)
            self._next[parent][child] = (new.share + new.ahead) / child.weight

    def _leave(self, parent: Branch, child: Branch, old: Standing) -> None:
        if parent.parent is not None:
            sums, whole = self._sums[parent], [int(x * POINT) for x in old.vector]
            if old.status == IDLE:
                subtract_all([sums.idle], whole)
            else:
                sums.capped.take(old.share / child.weight, whole)
        if old.status == ACTIVE:
            line = self._lines[parent]
            del line[bisect_left(line, self._ranks.pop(child))]
            del self._next[parent][child]

    def catch_up(self) -> None:
        """Apply what changed since the last call: the deepest first, so that each branch is looked
        at once.
        """
        stale, self.stale = self.stale, {}
        depth = max(branch.depth for branch in stale)
        while depth >= 0:
            for branch in [each for each in stale if each.depth == depth]:
                old, new = self._standing[branch], self._stand(branch)
                self._standing[branch] = new
                parent = branch.parent
                if parent is not None and new != old:
                    self._leave(parent, branch, old)
                    self._enter(parent, branch)
                    stale[parent] = None
            depth -= 1

    def _foremost(self, branch: Branch) -> tuple[Rank | None, float, float]:
        """Of the leaves of a branch that are in A the rank of the first and its t, and M."""
        best: Rank | None = None
        least, ahead, fitting = NO_CAP, 0.0, self._bits
        for d, order, then, line, leaf in () if branch.sums is None else branch.sums.ordered():
            if best is not None and d >= least and d >= best[0] + TIED:
                break  # of those that follow none is before these
            if line.bits & fitting:
                least = min(least, then)
                even = round(d, DIGITS) if best is None or d < best[0] + TIED else NO_CAP
                if best is None or (even, order) < (best[0], best[2]):
                    best, ahead = (even, even, order, leaf), line.ahead
        return best, ahead, least

    def _stand(self, branch: Branch) -> Standing:
        """How a branch counts; notes which of its children goes first."""
        self._first[branch] = None
        if branch.closed:
            return _standing_of(IDLE, tuple([x / POINT for x in self._plain(branch)]), 0.0)
        best, ahead, least = self._foremost(branch)  # t and M
        inner = self._lines.get(branch)
        if inner and (best is None or inner[0] < best):
            best = inner[0]
            ahead = self.of(best[3]).ahead
        status = ACTIVE if best is not None else HELD if branch.wanted else IDLE
        self._first[branch] = None if best is None else best[3]
        if branch.parent is None:  # its share is compared with nobody's
            return Standing(status, (), 0.0, ahead)
        if inner:
            least = min(least, *self._next[branch].values())
        return _standing_of(status, self._vector(branch, least), ahead)

    def _plain(self, branch: Branch) -> list[int]:
        """What is held below it, whatever it counts with."""
        total = [0] * self.tree.width if branch.sums is None else branch.sums.plain()
        if branch in self._sums:
            for child in branch.children:
                if isinstance(child, Branch):
                    add_all([total], self._plain(child))
        return total

    def _vector(self, branch: Branch, least: float) -> tuple[float, ...]:
        """Who wants more enters with at most M * w, who does not as it is."""
        leaves, inner = branch.sums, self._sums.get(branch)
        if leaves is not None and inner is None:
            found = leaves.counted.get(least)
            if found is None:
                found = leaves.counted[least] = self._summed([leaves], least)
            return found
        return self._summed([sums for sums in (leaves, inner) if sums is not None], least)

    def _summed(self, every: Sequence[Sums], least: float) -> tuple[float, ...]:
        rest, above = [0] * self.tree.width, [0] * self.tree.width
        for sums in every:
            capped = sums.capped
            capped.settle(least)
            add_all([rest], sums.idle)
            add_all([rest], capped.below)
            add_all([above], capped.above)
        if not any(above):
            return tuple([r / POINT for r in rest])
        return tuple([(least * a + r) / POINT for a, r in zip(above, rest, strict=True)])

    def _root(self) -> tuple[float, ...]:
        """The same of the root, whose inner children are summed only when it is asked for."""
        root = self.tree.root
        least = min(self._next.get(root, {}).values(), default=NO_CAP)
        least = min(least, self._foremost(root)[2])
        total = [int(x * POINT) for x in self._vector(root, least)]
        for child in root.children:
            if isinstance(child, Branch):
                status, vector, share, _ = self._standing[child]
                scale = 1.0
                if status != IDLE and share > least * child.weight:
                    scale = least * child.weight / share
                add_all([total], [int(scale * x * POINT) for x in vector])
        return tuple([x / POINT for x in total])

    def of(self, child: Child) -> Standing:
        """How a node counts."""
        if isinstance(child, Leaf):
            able = not child.aside and any(want in self._fitting for want in child.wants)
            share = max(child.held, default=0.0)
            ahead = max((max(self.tree.tasks[w], default=0.0) for w in child.wants), default=0.0)
            status = ACTIVE if able else HELD if child.wants else IDLE
            return Standing(status, child.held, share, ahead if able else 0.0)
        found = self._standing[child]
        if child.parent is not None or child.closed:
            return found
        return _standing_of(found.status, self._root(), found.ahead)

    def first(self, branch: Branch, among: Collection[Child] | None = None) -> Child | None:
        """Of the children in A the one that goes first; None: none is in A."""
        if among is None:
            return self._first[branch]
        able = [self._rank(c, found) for c in among if (found := self.of(c)).status == ACTIVE]
        return min(able)[3] if able else None

    def _rank(self, child: Child, standing: Standing) -> Rank:
        then = standing.share
        if isinstance(child, Branch):
            then = max([standing.vector[r] for r in self._over], default=0.0)
        return (*even_rank(child.weight, standing.share, then), child.order, child)


def _standing_of(status: int, vector: tuple[float, ...], ahead: float) -> Standing:
    return Standing(status, vector, max(vector, default=0.0), ahead)
