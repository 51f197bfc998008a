"""Hierarchical Dominant Resource Fairness (Bhattacharya et al., SoCC 2013)."""

from loomcard.policies.hdrf.paper import (
    SETTINGS,
    Attributed,
    Node,
    dominant_share,
    factor,
    guarantees,
    largest_demand,
    plain_shares,
    static_hdrf,
    static_hdrf_tasks,
    static_slices,
    unsaturated,
    update_shares,
)
from loomcard.policies.hdrf.rules import collapsed_target, collapsed_weights

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
