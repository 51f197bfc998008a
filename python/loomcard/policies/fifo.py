"""First in, first out: the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import HOLD_AFTER_MS, ClusterView, Plan, by_priority, fill


@dataclass(frozen=True)
class FirstInFirstOut:
    """Serve the member that was submitted first; a higher application priority goes before.

    ``hold_after_ms``: how long who is first in line is passed over, because it fits nowhere, before
    room is held for it; 0: it never is.
    """

    hold_after_ms: int = HOLD_AFTER_MS

    def decide(self, view: ClusterView) -> Plan:
        """Fill by priority, then by submission; what fits nowhere is passed over."""
        return fill(Plan(view), order=by_priority, hold_after_ms=self.hold_after_ms, goes_on=True)
