"""Attributed shares kept up from event to event (section 2.7 of the specification).

What ``update_shares`` works out for a whole tree, this keeps: a start or a finish costs O(depth *
(m + log fanout)), m resource types. Leaves that want the same are blocked alike, so their sums are
kept once; what follows from them for one set of blocked wants, up to the root, is kept for
several such sets. All sums are integers (fixed point): they neither drift nor depend on the
order of events, so that a structure built anew says the same to the last bit, which a replayed
journal relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import Any

from loomcard.policies.hdrf.layer import Layer
from loomcard.policies.hdrf.sums import (
    ACTIVE,
    HELD,
    IDLE,
    POINT,
    Branch,
    Child,
    Entry,
    Leaf,
    Members,
    Standing,
    Want,
    attributed,
)

COPIES = 8
"""For how many sets of blocked wants the shares of inner nodes are kept."""

Class = Any
"""What decides whether a want is blocked: the mask of the resources that it needs, and more."""


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
        self.classes: dict[Want, tuple[int, Class]] = {}
        self.version = 0  # changes when what is wanted in the whole tree does
        self._rule = rule or Shares
        self._plain = plain
        self._layers: dict[int, Layer] = {}  # by the resources over which shares are taken
        self._copies: dict[tuple[int, frozenset[Any]], Shares] = {}
        self._blocked: dict[int, frozenset[Any]] = {}  # classes, by Y

    def learn(self, want: Want, task: tuple[float, ...], among: Class = None) -> None:
        """One task of ``want`` takes these fractions of the capacity. ``among``: what decides,
        beside the resources that it needs, whether it is blocked.
        """
        self.tasks[want] = task
        self.classes[want] = sum(1 << r for r, amount in enumerate(task) if amount), among
        self._blocked.clear()

    def put(self, leaf: Leaf, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """A leaf comes, or holds and wants something else from now on. Each of ``wants`` was
        learnt.
        """
        parent = leaf.parent
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
            for copy in self._copies.values():
                copy.stale[branch] = None

    def changed(self, leaf: Leaf) -> None:
        """What decides how a leaf counts changed."""
        for layer in self._layers.values():
            layer.stale[leaf] = None

    def at(self, unsaturated: int, blocked: frozenset[Any] | None = None) -> Shares:
        """The shares for Y, a bit a resource. ``blocked``: the classes of wants that are, where not
        Y alone decides.
        """
        if blocked is None:
            blocked = self._blocked_by(unsaturated)
        over = (1 << self.width) - 1 if self.setting == "static" else unsaturated
        layer = self._layers.pop(over, None)
        if layer is None:
            layer = Layer(self, over)
            for old in list(islice(self._layers, max(0, len(self._layers) + 1 - COPIES))):
                self._drop(old)
        self._layers[over] = layer
        layer.catch_up(self._copies.values())
        found = self._copies.pop((over, blocked), None)
        if found is None:
            found = self._rule(self, layer, blocked)
            for key in list(islice(self._copies, max(0, len(self._copies) + 1 - COPIES))):
                del self._copies[key]
        else:
            found.catch_up()
        self._copies[over, blocked] = found
        return found

    def _drop(self, over: int) -> None:
        del self._layers[over]
        self._copies = {key: copy for key, copy in self._copies.items() if key[0] != over}

    def _blocked_by(self, unsaturated: int) -> frozenset[Any]:
        found = self._blocked.get(unsaturated)
        if found is None:
            classes = self.classes.values()
            found = frozenset(each for each in classes if each[0] & ~unsaturated)
            self._blocked[unsaturated] = found
        return found

    def copies(self) -> Iterator[Shares]:
        """Those kept."""
        return iter(self._copies.values())

    def put_back(self) -> None:
        """Whoever was passed over in a descent may try again."""
        for layer in self._layers.values():
            layer.put_back()
        for copy in self._copies.values():
            copy.put_back()

    def count(self, leaf: Leaf, over: list[int]) -> tuple[tuple[float, ...], float]:
        """U and s of a leaf: what it holds, and its dominant share over these resources."""
        share = 0.0
        for r in over:
            if leaf.held[r] > share:
                share = leaf.held[r]
        return leaf.held, share

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
    """All attributed shares while certain wants are blocked: Algorithms 2 and 3."""

    def __init__(self, tree: ShareTree, layer: Layer, blocked: frozenset[Any]) -> None:
        self.tree = tree
        self.layer = layer
        self.stale: dict[Branch, None] = {}
        self._blocked = blocked
        self._status: dict[Any, int] = {None: IDLE}  # of leaves, by the key of their group
        self._inner: dict[Branch, Members] = {}  # of branches, by status
        self._standing: dict[Branch, Standing] = {}
        self._passed: dict[Branch, Members] = {}
        self._build(tree.root)

    def _build(self, branch: Branch) -> None:
        for child in branch.children:
            if isinstance(child, Branch):
                self._build(child)
                self._enter(branch, child)
        self._standing[branch] = self.of_branch(branch)

    def _enter(self, parent: Branch, child: Branch) -> None:
        members = self._inner.get(parent)
        if members is None:
            members = self._inner[parent] = Members(self.tree.width)
        status, vector, share = self._standing[child]
        members.enter(child, status, vector, share, max(vector, default=0.0))

    def catch_up(self) -> None:
        """Apply what changed since the last call."""
        for stale in self.stale:
            branch: Branch | None = stale
            while branch is not None:
                new = self.of_branch(branch)
                if new == self._standing[branch]:
                    break
                self._standing[branch] = new
                parent = branch.parent
                if parent is not None:
                    self._inner[parent].withdraw(branch)
                    self._enter(parent, branch)
                branch = parent
        self.stale.clear()

    def status_of(self, key: Any) -> int:
        """IDLE, HELD or ACTIVE: of the leaves in one group."""
        known = self._status.get(key)
        if known is None:
            unfit, wants = key
            if isinstance(wants, tuple):
                wants = [self.tree.classes[want] for want in wants]
            able = not unfit and any(each not in self._blocked for each in wants)
            known = self._status[key] = ACTIVE if able else HELD
        return known

    def of(self, child: Child) -> Standing:
        """How a node counts."""
        if isinstance(child, Branch):
            return self._standing[child]
        vector, share = self.tree.count(child, self.layer.over)
        return Standing(self.status_of((child.unfit, child.wants) if child.wants else None),
                        vector, share)  # fmt: skip

    def _groups(self, branch: Branch) -> Iterator[tuple[Members, Any, int]]:
        leaves, inner = self.layer.members.get(branch), self._inner.get(branch)
        if leaves is not None:
            for key in leaves.groups:
                yield leaves, key, self.status_of(key)
        if inner is not None:
            for status in inner.groups:
                yield inner, status, status

    def minimum(self, branch: Branch) -> float | None:
        """M of a branch, the least s/w of those in A; None if no child is."""
        least = None
        for members, key, status in self._groups(branch):
            if status == ACTIVE:
                each = members.least(members.groups[key])
                if each is not None and (least is None or each < least):
                    least = each
        return least

    def of_branch(self, branch: Branch) -> Standing:
        """U: children in A scaled to M * w, those held back to at most that, the rest as it is."""
        if branch.closed:
            return Standing(IDLE, *self._share([x / POINT for x in branch.plain]))
        least = self.minimum(branch)
        by_status: tuple[list[Any], ...] = ([], [], [])
        for members, key, status in self._groups(branch):
            by_status[status].append(members.groups[key])
        idle, held, active = by_status
        if self.tree.setting == "prose":
            idle, held = idle + held, []
        vector = attributed(least, active, held, idle, self.tree.width)
        status = ACTIVE if least is not None else HELD if branch.wanted else IDLE
        return Standing(status, *self._share(vector))

    def _share(self, vector: list[float]) -> tuple[tuple[float, ...], float]:
        return tuple(vector), max((vector[r] for r in self.layer.over), default=0.0)

    # The descent

    def descend(
        self, full: Container[Want], aside: Container[Child],
        first: Callable[[Branch, Callable[[Child], bool]], Child | None] | None = None,
    ) -> Leaf | None:  # fmt: skip
        """Alg. 4: from the root down the child of least s/w that may get something; None: nobody.

        ``full``: wants that fit nowhere. ``aside``: leaves that were tried in vain. ``first`` may
        name, of a branch, a child that goes before all others, given who is able.
        """

        def able(child: Child) -> bool:
            return (
                child not in aside
                and child not in self._passed
                and any(want not in full for want in child.wants)
                and self.of(child).status == ACTIVE
            )

        node: Child = self.tree.root
        while isinstance(node, Branch):
            found = None if first is None else first(node, able)
            found = found or self._first(node, full, able)
            if found is None:
                if node.parent is None:
                    return None
                self._passed[node] = self._inner[node.parent]
                self._passed[node].pass_over(node)
                found = node.parent
            node = found
        return node

    def _first(
        self, branch: Branch, full: Container[Want], able: Callable[[Child], bool]
    ) -> Child | None:
        while not branch.closed:
            best: Entry | None = None
            for members, key, status in self._groups(branch):
                if status == ACTIVE and not _all_full(key, full):
                    top = members.top(members.groups[key].heap)
                    if top is not None and (best is None or top < best):
                        best = top
            if best is None:
                return None
            child: Child = best[3]
            if able(child):
                return child
            if isinstance(child, Branch):
                self._passed[child] = self._inner[branch]
                self._inner[branch].pass_over(child)
            else:
                self.layer.pass_over(child)
        return None

    def put_back(self) -> None:
        """Branches that were passed over may be the first again."""
        for branch, members in self._passed.items():
            members.put_back(branch)
        self._passed.clear()


def _all_full(key: Any, full: Container[Want]) -> bool:
    """A group of leaves that want the same, which fits nowhere."""
    return isinstance(key, tuple) and isinstance(key[1], tuple) and all(w in full for w in key[1])
