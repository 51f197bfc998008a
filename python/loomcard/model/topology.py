"""How far apart nodes are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Topology:
    """Hops between two nodes: by rack, or as ``distances`` states for racks and hosts.

    ``distances``: hops by two names, ``{"/r1": {"/r2": 6}}``, the same in both directions.
    """

    HOPS: ClassVar = {"node": 0.0, "rack": 2.0, "remote": 4.0}
    """In a tree of nodes, racks and one switch above."""

    def __init__(self, distances: Mapping[str, Mapping[str, float]]) -> None:
        self._known = {
            frozenset((a, b)): hops for a, row in distances.items() for b, hops in row.items()
        }

    def hop(self, u: tuple[str, str], v: tuple[str, str]) -> float:
        """Hops between two places, each a host and its rack."""
        if u[0] == v[0]:
            return self.HOPS["node"]
        for a, b in zip(u, v, strict=True):
            hops = self._known.get(frozenset((a, b)))
            if hops is not None:
                return hops
        return self.HOPS["rack"] if u[1] == v[1] else self.HOPS["remote"]
