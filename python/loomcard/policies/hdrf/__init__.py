"""Hierarchical Dominant Resource Fairness (Bhattacharya et al., SoCC 2013)."""

from loomcard.policies.hdrf.collapsed import collapsed_target, collapsed_weights
from loomcard.policies.hdrf.shares import (
    Attributed,
    dominant_share,
    factor,
    largest_demand,
    plain_shares,
    unsaturated,
    update_shares,
)
from loomcard.policies.hdrf.static import (
    guarantees,
    static_hdrf,
    static_hdrf_tasks,
    static_slices,
)
from loomcard.policies.hdrf.tree import SETTINGS, Node

__all__ = [
    "SETTINGS",
    "Attributed",
    "Node",
    "collapsed_target",
    "collapsed_weights",
    "dominant_share",
    "factor",
    "guarantees",
    "largest_demand",
    "plain_shares",
    "static_hdrf",
    "static_hdrf_tasks",
    "static_slices",
    "unsaturated",
    "update_shares",
]
