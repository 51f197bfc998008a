"""Where the finished maps of a job have left their output."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads

from loomcard import Application, ClusterView

OUTPUT_HINT = "loomcard.map_output_bytes"
"""JSON, host to bytes: how much output one finished map leaves on that host."""


class Output:
    """w(u), a job's intermediate data by host, and its sums by rack, kept as maps finish.

    ``sizes``: the bytes of one map, by host, if a hint gives them; otherwise finished maps are
    counted. Amounts are integers, so that sums by rack are the same in any order.
    """

    def __init__(
        self, view: ClusterView, sizes: Mapping[str, int], finished: Mapping[str, int], version: int
    ) -> None:
        self._view, self.capacity_version = view, view.capacity_version
        self.version = version
        """As in the job's memory, with which it is built again if they differ."""
        self.sizes = sizes
        known = [size for size in sizes.values() if size > 0]
        self._usual = max(1, round(sum(known) / len(known))) if known else 1
        self.total = 0
        self.by_host: dict[str, int] = {}
        self.by_rack: dict[str, int] = {}
        """By the rack of a host's first node; nothing of hosts that are gone."""
        self.most: dict[str, int] = {}
        """By rack, the most that a host of one of its nodes has."""
        for host, count in finished.items():
            self._add(host, count)

    def finish(self, host: str) -> None:
        """Add what one more map leaves on the host."""
        self.version += 1
        self._add(host, 1)

    def _add(self, host: str, maps: int) -> None:
        amount = maps * self.sizes.get(host, self._usual)
        held = self.by_host[host] = self.by_host.get(host, 0) + amount
        self.total += amount
        racks = self.racks_of(host)
        for rack in racks[:1]:
            self.by_rack[rack] = self.by_rack.get(rack, 0) + amount
        for rack in racks:
            self.most[rack] = max(self.most.get(rack, 0), held)

    def racks_of(self, host: str) -> list[str]:
        """Return the racks of a host's nodes, in their order."""
        nodes = map(self._view.node, self._view.hosts.get(host, ()))
        return [node.rack for node in nodes if node is not None]


def sizes_of(app: Application) -> dict[str, int]:
    """Return the hint of map output, in whole bytes; empty if it cannot be right."""
    try:
        found = loads(app.hints.get(OUTPUT_HINT, "{}"))
    except (ValueError, RecursionError):
        return {}
    rows = found.items() if isinstance(found, dict) else ()
    return {host: round(n) for host, n in rows if type(n) in (int, float) and 0 <= n < 1e18}
