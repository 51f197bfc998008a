"""First in, first out: the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import RESERVE_AFTER_MS, ClusterView, Plan, by_priority, fill


@dataclass(frozen=True)
class FirstInFirstOut:
    """Serve the member that was submitted first; a higher application priority goes before.

    ``reserve_after_ms``: how long the first in line is passed over, because it fits nowhere, before
    room is reserved for it; 0: room is never reserved.
    """

    reserve_after_ms: int = RESERVE_AFTER_MS

    def decide(self, view: ClusterView) -> Plan:
        """Fill by priority, then by submission; pass over what fits nowhere."""
        return fill(
            Plan(view), order=by_priority, reserve_after_ms=self.reserve_after_ms, goes_on=True
        )
