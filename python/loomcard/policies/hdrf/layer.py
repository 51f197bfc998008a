"""The leaves of the incremental structure, summed for shares over certain resources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loomcard.policies.hdrf.sums import GROUPS, Branch, Leaf, Members

if TYPE_CHECKING:
    from loomcard.policies.hdrf.incremental import Shares, ShareTree


class Layer:
    """The leaves' sums, for shares over certain resources (dom), whoever is blocked."""

    def __init__(self, tree: ShareTree, over: int) -> None:
        self.over = [r for r in range(tree.width) if over >> r & 1]
        self.stale: dict[Leaf, None] = {}
        self.members: dict[Branch, Members] = {}
        self._tree = tree
        self._passed: list[tuple[Members, Leaf]] = []
        waiting = [tree.root]
        while waiting:
            for child in waiting.pop().children:
                if isinstance(child, Branch):
                    waiting.append(child)
                else:
                    self._enter(child)

    def catch_up(self, copies: Iterable[Shares]) -> None:
        """Follow the leaves that changed; the shares above them are stale."""
        if not self.stale:
            return
        for leaf in self.stale:
            parent = leaf.parent
            if parent in self.members:
                self.members[parent].withdraw(leaf)
            if leaf in parent.children:
                self._enter(leaf)
        parents = dict.fromkeys(leaf.parent for leaf in self.stale)
        for copy in copies:
            if copy.layer is self:
                copy.stale.update(parents)
        self.stale.clear()

    def _enter(self, leaf: Leaf) -> None:
        tree, parent = self._tree, leaf.parent
        members = self.members.get(parent)
        if members is None:
            members = self.members[parent] = Members(tree.width)
        vector, share = tree.count(leaf, self.over)
        members.enter(leaf, self._key(members, leaf), vector, share, max(vector, default=0.0))

    def _key(self, members: Members, leaf: Leaf) -> Any:
        if not leaf.wants:
            return None
        key = leaf.unfit, leaf.wants
        if key in members.groups or len(members.groups) < GROUPS:
            return key
        return leaf.unfit, frozenset(self._tree.classes[want] for want in leaf.wants)

    def pass_over(self, leaf: Leaf) -> None:
        """A leaf is passed over in the descent till ``put_back``."""
        members = self.members[leaf.parent]
        members.pass_over(leaf)
        self._passed.append((members, leaf))

    def put_back(self) -> None:
        """All that were passed over."""
        for members, leaf in self._passed:
            members.put_back(leaf)
        self._passed.clear()
