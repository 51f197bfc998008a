"""Clusters under carbyne."""

from __future__ import annotations

from compiled import flat
from loomcard.testing.cluster import Cluster


def carbyne(*nodes: int, policy: str = "carbyne", **options: object) -> Cluster:
    """One queue under carbyne with these options, and nodes of so many slots."""
    made = Cluster(flat(policy, **options))
    for number, slots in enumerate(nodes, 1):
        made.add_node(number, 1024 * slots, slots)
    return made
