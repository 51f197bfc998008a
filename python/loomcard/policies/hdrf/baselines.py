"""Policies to compare H-DRF with: its descent by other rules.

Each of them starves some leaf or breaks a guarantee that H-DRF keeps. They are for measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loomcard import ClusterView, Shape
from loomcard.policies.hdrf.cluster_tree import Partition, PartitionTrees
from loomcard.policies.hdrf.paper import Node
from loomcard.policies.hdrf.policy import HierarchicalPolicy, Leafs
from loomcard.policies.hdrf.rules import RULES
from loomcard.policies.hdrf.share_tree import (
    ShareTree,
    alloc,
)

BLOCKED = "BLOCKED"
"""The reason of an ask that waits because the first leaf cannot be served."""


@dataclass(frozen=True)
class _Baseline(HierarchicalPolicy):
    """A policy with one of these rules, computed again for each task."""

    rule: ClassVar[str]
    headroom: bool = True
    leaf: Leafs = "application"

    def tree(self, root: Node, width: int) -> ShareTree:
        """Return a tree with the ranks of the rule."""
        return ShareTree(root, width, RULES[self.rule])


@dataclass(frozen=True)
class PerLevelDRF(_Baseline):
    """DRF at each queue by plain sums, the naive form of H-DRF: starves (the paper's section 3.3).

    ``stop_at_blocked``: if the first leaf cannot be served, no other is, as in the
    CapacityScheduler of the paper's time: resources idle though others want them. ``headroom`` and
    ``leaf``: as for hdrf.
    """

    rule = "per_level_drf"
    stop_at_blocked: bool = False

    def next_leaf(
        self, trees: PartitionTrees, partition: Partition, fitting: frozenset[Shape]
    ) -> Node | None:
        """Return the usual leaf; with ``stop_at_blocked`` the first, even if it is blocked."""
        if not self.stop_at_blocked:
            return super().next_leaf(trees, partition, fitting)
        every = partition.shares(frozenset(partition.tree.wanted))
        return alloc(partition.tree.root, every.first)

    def idles(self, view: ClusterView, partition: Partition) -> str | None:
        """Return the usual rule; with ``stop_at_blocked`` BLOCKED, if some ask would fit."""
        if not self.stop_at_blocked:
            return super().idles(view, partition)
        fits = any(view.first_fit(*shape) is not None for shape in partition.wanted)
        return BLOCKED if fits else None


@dataclass(frozen=True)
class IgnoreBlockedOnly(_Baseline):
    """Plain sums, over the resources that are not saturated: H-DRF without its rescaling.

    ``headroom`` and ``leaf``: as for hdrf.
    """

    rule = "ignore_blocked_only"


@dataclass(frozen=True)
class RescaleOnly(_Baseline):
    """All children that want more are rescaled to the least: H-DRF without ignoring the blocked.

    ``headroom`` and ``leaf``: as for hdrf.
    """

    rule = "rescale_only"


@dataclass(frozen=True)
class CollapsedFixed(_Baseline):
    """Flat weighted DRF over the leaves, each with the product of weights on its path.

    Every queue and every application counts as a sibling, demanding or not: variant A of
    docs/papers/hdrf.md 2.3. ``headroom`` and ``leaf``: as for hdrf.
    """

    rule = "collapsed_fixed"


@dataclass(frozen=True)
class CollapsedRecalculated(_Baseline):
    """Flat weighted DRF whose weights follow the demand: the leaf furthest below its target first.

    Targets are those of variant B of docs/papers/hdrf.md 2.3, filled again for each task.
    ``headroom`` and ``leaf``: as for hdrf.
    """

    rule = "collapsed_recalculated"
