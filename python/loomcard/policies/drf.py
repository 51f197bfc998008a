"""Dominant Resource Fairness (Ghodsi et al., NSDI 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard import RESERVE_AFTER_MS, ClusterView, Plan, fill
from loomcard.advanced import PastUse, PastUseOptions


@dataclass(frozen=True)
class DominantResourceFairness(PastUseOptions):
    """Serve the member with the smallest weighted dominant share first.

    ``reserve_after_ms``: as for ``fifo``. ``half_life_hours``: as ``PastUseOptions``, for queues.
    """

    reserve_after_ms: int = RESERVE_AFTER_MS

    def initial(self, view: ClusterView, saved: Any) -> PastUse | None:
        """Return the past use of queues that was saved; None without a half-life."""
        return self.restored(view, saved)

    def save(self, past: PastUse | None) -> Any:
        """Return the past use."""
        return None if past is None else past.save()

    def decide(self, view: ClusterView, past: PastUse | None) -> tuple[Plan, PastUse | None]:
        """Run the paper's Algorithm 1: pick the smallest dominant share s_i, allocate one task,
        repeat. With a half-life, s_i is of what a queue uses and has used.
        """
        plan = Plan(view)
        order = plan.dominant_share if past is None else past.order(plan)
        fill(plan, order=order, live=past is not None, reserve_after_ms=self.reserve_after_ms,
             goes_on=True)  # fmt: skip
        return plan, past
