"""Attributed shares kept up from event to event (section 2.7 of the specification).

What ``update_shares`` works out for a whole tree, this keeps for one set Y of unsaturated resources
at a time: a start or a finish costs O(depth * (m + log fanout)), m resource types. All sums are
integers (fixed point): they neither drift nor depend on the order of events, so that a structure
built anew says the same to the last bit, which a replayed journal relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from heapq import heapify, heappush
from itertools import islice

from loomcard.policies.hdrf.sums import (
    ACTIVE,
    HELD,
    IDLE,
    POINT,
    Branch,
    Child,
    Entry,
    Leaf,
    Standing,
    Sums,
    Want,
)

COPIES = 4
"""For how many sets Y a structure is kept."""


class ShareTree:
    """A tree of leaves that come, go, hold and want; ``at`` gives the shares for a Y.

    ``setting``: as ``update_shares``. ``width``: count of resource types. ``rule``: how shares are
    counted. ``plain``: every branch knows the plain sum of what is held below it, not only those
    that are ``bounded``. Branches are made by the caller, parents first, before the first leaf.
    """

    def __init__(
        self, root: Branch, setting: str, width: int, rule: type[Shares] | None = None,
        plain: bool = False,
    ) -> None:  # fmt: skip
        self.root = root
        self.setting = setting
        self.width = width
        self.tasks: dict[Want, tuple[float, ...]] = {}
        self.masks: dict[Want, int] = {}
        self.version = 0  # changes when what is wanted in the whole tree does
        self._rule = rule or Shares
        self._plain = plain
        self._copies: dict[tuple[int, frozenset[Want]], Shares] = {}

    def learn(self, want: Want, task: tuple[float, ...]) -> None:
        """One task of ``want`` takes these fractions of the capacity."""
        self.tasks[want] = task
        self.masks[want] = sum(1 << r for r, amount in enumerate(task) if amount)

    def put(self, leaf: Leaf, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """A leaf comes, or holds and wants something else from now on. Each of ``wants`` was
        learnt.
        """
        parent = leaf.parent
        assert parent is not None
        if leaf not in parent.children:
            parent.add(leaf)
            leaf.held = (0.0,) * self.width
        if wants != leaf.wants:
            self._want(parent, leaf.wants, -1)
            self._want(parent, wants, 1)
            leaf.wants = wants
        self._hold(leaf, held)
        self.changed(leaf)

    def remove(self, leaf: Leaf) -> None:
        """A leaf goes."""
        assert leaf.parent is not None
        self._want(leaf.parent, leaf.wants, -1)
        self._hold(leaf, (0.0,) * self.width)
        leaf.wants = ()
        leaf.parent.drop(leaf)
        self.changed(leaf)

    def close(self, branch: Branch, closed: bool) -> None:
        """A branch that is ``bounded`` may have nothing more, or may again."""
        if closed != branch.closed:
            branch.closed = False
            if branch.parent is not None:
                for want, count in branch.wanted.items():
                    self._want(branch.parent, (want,), -count if closed else count)
            branch.closed = closed
            self.version += branch is self.root
            self.changed(branch)

    def changed(self, child: Child) -> None:
        """What decides how a child counts changed."""
        for copy in self._copies.values():
            copy.stale[child] = None

    def at(self, unsaturated: int, stuck: frozenset[Want] = frozenset()) -> Shares:
        """The shares for Y, a bit a resource. ``stuck``: wants that count as blocked besides."""
        key = unsaturated, stuck
        found = self._copies.pop(key, None)
        if found is None:
            found = self._rule(self, unsaturated, stuck)
            for old in list(islice(self._copies, max(0, len(self._copies) + 1 - COPIES))):
                del self._copies[old]
        else:
            found.catch_up()
        self._copies[key] = found
        return found

    def copies(self) -> Iterator[Shares]:
        """Those kept."""
        return iter(self._copies.values())

    def _want(self, branch: Branch | None, wants: tuple[Want, ...], change: int) -> None:
        while branch is not None:
            for want in wants:
                count = branch.wanted.get(want, 0) + change
                if count:
                    branch.wanted[want] = count
                else:
                    del branch.wanted[want]
                if branch is self.root and (not count or count == change):
                    self.version += 1
            branch = None if branch.closed else branch.parent

    def _hold(self, leaf: Leaf, held: tuple[float, ...]) -> None:
        branch: Branch | None = leaf.parent
        while branch is not None:
            if branch.bounded or self._plain:
                was = branch.plain or [0] * self.width
                branch.plain = [
                    p - int(a * POINT) + int(b * POINT)
                    for p, a, b in zip(was, leaf.held, held, strict=True)
                ]
            branch = branch.parent
        leaf.held = held


class Shares:
    """All attributed shares for one Y, brought up to date by ``catch_up``: Algs. 2 and 3."""

    def __init__(self, tree: ShareTree, unsaturated: int, stuck: frozenset[Want]) -> None:
        self.tree = tree
        self.stale: dict[Child, None] = {}
        self._stuck = stuck
        self._blocking = ~unsaturated  # a want that needs any of these is blocked
        static = tree.setting == "static"
        self._all = [r for r in range(tree.width) if static or unsaturated >> r & 1]  # dom
        self._scaled = tree.setting != "prose"
        self._able: dict[tuple[Want, ...], bool] = {}
        self._sums: dict[Branch, Sums] = {}
        self._aside: list[tuple[Branch, Entry]] = []  # passed over in this call
        self._passed: dict[Branch, None] = {}  # of them, branches with nobody able below
        self.standing: dict[Child, Standing] = {}
        self._build(tree.root)

    def _build(self, branch: Branch) -> None:
        sums = self._sums[branch] = Sums(self.tree.width)
        for child in branch.children:
            if isinstance(child, Branch):
                self._build(child)
            else:
                self.standing[child] = self.of_leaf(child)
            sums.enter(child, self.standing[child], self._scaled, list.append)
        for heap in sums.heaps.values():
            heapify(heap)
        self.standing[branch] = self.of_branch(branch, sums)

    def catch_up(self) -> None:
        """Apply what changed since the last call."""
        for child in self.stale:
            parent = child.parent
            if type(child) is Branch:
                new: Standing | None = self.of_branch(child, self._sums[child])
            else:
                new = self.of_leaf(child) if child in parent.children else None  # type: ignore
            self._replace(child, parent, new)
        self.stale.clear()

    def _replace(self, child: Child, parent: Branch | None, new: Standing | None) -> None:
        while True:
            old = self.standing.get(child)
            if new == old and parent is not None and self._sums[parent].group_stands(child):
                return
            if new is None:
                self.standing.pop(child, None)
            else:
                self.standing[child] = new
            if parent is None:
                return
            sums = self._sums[parent]
            if old is not None:
                sums.withdraw(child)
            if new is not None:
                sums.enter(child, new, self._scaled, heappush)
            new = self.of_branch(parent, sums)
            child, parent = parent, parent.parent

    def of_leaf(self, leaf: Leaf) -> Standing:
        """U is what it holds; it is in A when it wants something that needs Y alone."""
        held, wants = leaf.held, leaf.wants
        share = 0.0
        for r in self._all:
            if held[r] > share:
                share = held[r]
        if not wants:
            return Standing(IDLE, held, share)
        return Standing(HELD if leaf.unfit or not self.able(wants) else ACTIVE, held, share)

    def able(self, wants: tuple[Want, ...]) -> bool:
        """Whether any of these needs unsaturated resources alone, and is not stuck."""
        known = self._able.get(wants)
        if known is None:
            masks, stuck = self.tree.masks, self._stuck
            known = any(not masks[w] & self._blocking and w not in stuck for w in wants)
            self._able[wants] = known
        return known

    def of_branch(self, branch: Branch, sums: Sums) -> Standing:
        """U = M * S + B, where S and B are the sums of what is scaled and of what is not."""
        if branch.closed:
            return Standing(IDLE, *self._share([x / POINT for x in branch.plain]))
        least = sums.least()
        vector = sums.vector(least)
        status = ACTIVE if least is not None else HELD if branch.wanted else IDLE
        return Standing(status, *self._share(vector))

    def _share(self, vector: list[float]) -> tuple[tuple[float, ...], float]:
        return tuple(vector), max((vector[r] for r in self._all), default=0.0)

    def minimum(self, branch: Branch) -> float | None:
        """M of a branch; None if no child is in A."""
        return self._sums[branch].least()

    # The descent

    def descend(
        self, full: Container[Want], aside: Container[Child],
        first: Callable[[Branch, Callable[[Child], bool]], Child | None] | None = None,
    ) -> Leaf | None:  # fmt: skip
        """Alg. 4: from the root down the child of least s/w that may get something; None: nobody.

        ``full``: wants that fit nowhere. ``aside``: leaves that were tried in vain. ``first`` may
        name, of a branch, a child that goes before all others, given who is able.
        """
        node: Child = self.tree.root

        def able(child: Child) -> bool:
            return (
                self.standing[child].status == ACTIVE
                and child not in aside
                and child not in self._passed
                and any(want not in full for want in child.wants)
            )

        tried: list[Branch] = []
        while type(node) is Branch:
            found = None if first is None else first(node, able)
            found = found or self._first(node, full, able)
            if found is None:
                if not tried:
                    return None
                self._set_aside(tried[-1], node)
                node = tried.pop()
                continue
            tried.append(node)
            node = found
        assert type(node) is Leaf
        return node

    def _first(
        self, branch: Branch, full: Container[Want], able: Callable[[Child], bool]
    ) -> Child | None:
        if branch.closed:
            return None
        sums = self._sums[branch]
        while (entry := sums.first(full)) is not None:
            child: Child = entry[2]
            if able(child):
                return child
            self._aside.append((branch, sums.set_aside(entry)))
        return None

    def _set_aside(self, parent: Branch, child: Branch) -> None:
        self._passed[child] = None
        sums = self._sums[parent]
        self._aside.append((parent, sums.set_aside(sums.entries[child])))

    def put_back(self) -> None:
        """The call is over: whoever was passed over may try again in the next."""
        for branch, entry in self._aside:
            self._sums[branch].put_back(entry)
        self._aside.clear()
        self._passed.clear()
