"""Dominant Resource Fairness (Ghodsi et al., NSDI 2011)."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import HOLD_AFTER_MS, ClusterView, Plan, fill


@dataclass(frozen=True)
class DominantResourceFairness:
    """Serve the member with the smallest weighted dominant share first.

    ``hold_after_ms``: as of ``fifo``.
    """

    hold_after_ms: int = HOLD_AFTER_MS

    def decide(self, view: ClusterView) -> Plan:
        """The paper's Algorithm 1: pick the smallest dominant share s_i, grant one task, repeat."""
        plan = Plan(view)
        return fill(plan, order=plan.dominant_share, hold_after_ms=self.hold_after_ms, goes_on=True)
