"""Dominant Resource Fairness (Ghodsi et al., NSDI 2011)."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import RESERVE_AFTER_MS, ClusterView, Plan, fill


@dataclass(frozen=True)
class DominantResourceFairness:
    """Serve the member with the smallest weighted dominant share first.

    ``reserve_after_ms``: as for ``fifo``.
    """

    reserve_after_ms: int = RESERVE_AFTER_MS

    def decide(self, view: ClusterView) -> Plan:
        """Run the paper's Algorithm 1: pick the smallest dominant share s_i, allocate one task,
        repeat.
        """
        plan = Plan(view)
        return fill(
            plan, order=plan.dominant_share, reserve_after_ms=self.reserve_after_ms, goes_on=True
        )
