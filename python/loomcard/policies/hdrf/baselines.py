"""What H-DRF is compared with: its descent, with other shares (sections 2.2, 2.3, 3.3 and 3.4).

Each of them starves somebody or breaks a guarantee that H-DRF keeps; they are here to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard.policies.hdrf.collapsed import collapsed_target
from loomcard.policies.hdrf.follow import Partition
from loomcard.policies.hdrf.incremental import Shares, ShareTree
from loomcard.policies.hdrf.policy import Descent, Leafs, Memory
from loomcard.policies.hdrf.serve import Server
from loomcard.policies.hdrf.sums import (
    ACTIVE,
    HELD,
    IDLE,
    POINT,
    Branch,
    Child,
    Leaf,
    Standing,
    Want,
)
from loomcard.policies.hdrf.tree import Node
from loomcard.policies.registry import register


class PlainShares(Shares):
    """A branch counts with the plain sum of what is held below it: no child is rescaled."""

    def of_branch(self, branch: Branch) -> Standing:
        """U = the sum of U over all children."""
        least = None if branch.closed else self.minimum(branch)
        status = ACTIVE if least is not None else HELD if branch.wants else IDLE
        plain = [amount / POINT for amount in branch.plain] or [0.0] * self.tree.width
        return Standing(status, *self._share(plain))


class EverythingCounts(ShareTree):
    """Shares as if nothing were ever saturated: no child is blocked while it wants more."""

    def at(self, unsaturated: int, blocked: frozenset[Any] | None = None) -> Shares:  # noqa: ARG002
        """The same whatever is saturated."""
        return super().at(-1)


class CollapsedShares(Shares):
    """Flat weighted DRF: a branch stands where the least of the leaves below it does.

    With W the sum of its children's weights, s = W * min(s[c] / w[c]): then s/w, compared all the
    way down, is s[leaf] / collapsed weight.
    """

    def of_branch(self, branch: Branch) -> Standing:
        """Its vector is of no account."""
        least = None if branch.closed else self.minimum(branch)
        if least is None:
            return Standing(HELD if branch.wants else IDLE, (), 0.0)
        return Standing(ACTIVE, (), least * (branch.total / POINT))


class TargetShares(Shares):
    """A leaf stands by how far it is below its target; a branch where the least leaf below does.

    Weights are in the targets, so that each share is multiplied by the weight that the descent
    divides it by.
    """

    def of_branch(self, branch: Branch) -> Standing:
        """min(s[c] / w[c]) * w."""
        least = None if branch.closed else self.minimum(branch)
        if least is None:
            return Standing(HELD if branch.wants else IDLE, (), 0.0)
        return Standing(ACTIVE, (), least * branch.weight)


class Recalculated(ShareTree):
    """Keeps the targets of variant B: worked out anew, over the whole tree, whenever a leaf comes,
    goes, or wants something else. Dear for large trees.
    """

    def __init__(self, root: Branch, setting: str, width: int) -> None:
        super().__init__(root, setting, width, TargetShares)
        self.targets: dict[Leaf, float] = {}
        self._targets_stand = False

    def put(self, leaf: Leaf, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """As of any tree."""
        assert leaf.parent is not None
        known = leaf in leaf.parent.children
        if not known or wants != leaf.wants or (not wants and held != leaf.held):
            self._targets_stand = False
        super().put(leaf, held, wants)

    def remove(self, leaf: Leaf) -> None:
        """As of any tree."""
        super().remove(leaf)
        self.targets.pop(leaf, None)
        self._targets_stand = False

    def close(self, branch: Branch, closed: bool) -> None:
        """As of any tree."""
        self._targets_stand &= closed == branch.closed
        super().close(branch, closed)

    def count(self, leaf: Leaf, over: list[int]) -> tuple[tuple[float, ...], float]:
        """(what it holds - its target) * w."""
        _, share = super().count(leaf, over)
        return (), (share - self.targets.get(leaf, 0.0)) * leaf.weight

    def at(self, unsaturated: int, blocked: frozenset[Any] | None = None) -> Shares:
        """As of any tree."""
        if not self._targets_stand:
            self._targets_stand = True
            leaves: dict[Node, Leaf] = {}
            root = self._as_nodes(self.root, leaves, True)
            found = collapsed_target(root, [1.0] * self.width)
            for node, leaf in leaves.items():
                if self.targets.get(leaf) != found[node]:
                    self.targets[leaf] = found[node]
                    self.changed(leaf)
        return super().at(unsaturated, blocked)

    def _as_nodes(self, child: Child, leaves: dict[Node, Leaf], wants: bool) -> Node:
        """The tree as plain values; a leaf of several shapes of task by the first of them."""
        node = Node(str(child.order), child.weight, wants=False)
        if isinstance(child, Leaf):
            task = self.tasks[child.wants[0]] if child.wants else ()
            node.demand, node.used = task, list(child.held)
            node.wants = wants and bool(child.wants)
            leaves[node] = child
            return node
        node.demand, node.used = (0.0,) * self.width, [0.0] * self.width
        for below in sorted(child.children, key=lambda c: c.order):
            node.children.append(self._as_nodes(below, leaves, wants and not child.closed))
            node.children[-1].parent = node
        return node


@dataclass(frozen=True)
class _Baseline(Descent):
    headroom: bool = True
    leaf: Leafs = "application"


@register("per_level_drf")
@dataclass(frozen=True)
class PerLevelDRF(_Baseline):
    """DRF at each queue by plain sums, the naive form of H-DRF: starves (section 3.3).

    ``stop_at_blocked``: nobody is served past a leaf that cannot be, as the CapacityScheduler of
    the paper's day did: resources idle though others want them. ``headroom`` and ``leaf``: as of
    hdrf.
    """

    stop_at_blocked: bool = False

    def tree(self, root: Branch, width: int) -> ShareTree:
        """Plain sums over all resources; where blocked leaves are waited for, nobody is passed."""
        kind = EverythingCounts if self.stop_at_blocked else ShareTree
        return kind(root, "static", width, PlainShares, plain=True)

    def _fill(self, server: Server, partition: Partition, memory: Memory) -> None:
        if not self.stop_at_blocked:
            super()._fill(server, partition, memory)
            return
        while not server.plan.spent:
            shares = partition.shares(server.forest.servers)
            leaf = None if shares is None else shares.descend((), ())
            if leaf is None or not server.serve(partition, leaf):
                break
            server.forest.update()
        partition.begin_anew()


@register("ignore_blocked_only")
@dataclass(frozen=True)
class IgnoreBlockedOnly(_Baseline):
    """Plain sums, over the resources that are not saturated: H-DRF without its rescaling.

    ``headroom`` and ``leaf``: as of hdrf.
    """

    def tree(self, root: Branch, width: int) -> ShareTree:
        """Plain sums over Y."""
        return ShareTree(root, "prose", width, PlainShares, plain=True)


@register("rescale_only")
@dataclass(frozen=True)
class RescaleOnly(_Baseline):
    """All children that want more are rescaled to the least: H-DRF without ignoring the blocked.

    ``headroom`` and ``leaf``: as of hdrf.
    """

    def tree(self, root: Branch, width: int) -> ShareTree:
        """Rescaled whatever is saturated."""
        return EverythingCounts(root, "static", width)


@register("collapsed_fixed")
@dataclass(frozen=True)
class CollapsedFixed(_Baseline):
    """Flat weighted DRF over the leaves, each with the product of weights on its path.

    Every queue and every application that is there counts as a sibling, demanding or not: variant A
    of section 2.3. ``headroom`` and ``leaf``: as of hdrf.
    """

    def tree(self, root: Branch, width: int) -> ShareTree:
        """s/w down the tree is s over the product."""
        return ShareTree(root, "static", width, CollapsedShares)


@register("collapsed_recalculated")
@dataclass(frozen=True)
class CollapsedRecalculated(_Baseline):
    """Flat weighted DRF whose weights follow who demands: the leaf furthest below its target first.

    Targets are those of variant B of section 2.3, filled anew whenever demand changes. ``headroom``
    and ``leaf``: as of hdrf.
    """

    def tree(self, root: Branch, width: int) -> ShareTree:
        """Targets over the whole tree."""
        return Recalculated(root, "static", width)
