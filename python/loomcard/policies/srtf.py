"""Shortest remaining time first: the application with the least remaining work goes first."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import (
    RESERVE_AFTER_MS,
    ClusterView,
    Estimates,
    Finished,
    Plan,
    WeighsWork,
    fill,
)


@dataclass(frozen=True)
class ShortestRemainingFirst(WeighsWork):
    """Serve the application with the least remaining work first.

    Work is as `Estimates.work` says. ``assumed_ms``: the run time of tasks for which neither a hint
    nor a finished sibling gives one. ``reserve_after_ms``: as for ``fifo``.
    """

    assumed_ms: float = 30_000.0
    reserve_after_ms: int = RESERVE_AFTER_MS

    leaf_only = True

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        """Fill by remaining work; a running task counts in full until it ends."""
        estimates = Estimates.of(view, memory, self.assumed_ms)
        plan = Plan(view)
        fill(plan, order=estimates.work, reserve_after_ms=self.reserve_after_ms, goes_on=True)
        return plan, memory
