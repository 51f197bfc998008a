"""Shortest remaining time first: the application with the least remaining work goes first."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import (
    HOLD_AFTER_MS,
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

    Work is as `Estimates.work` says. ``assumed_ms``: the run time of tasks that neither
    a hint nor a finished sibling gives. ``hold_after_ms``: as of ``fifo``.
    """

    assumed_ms: float = 30_000.0
    hold_after_ms: int = HOLD_AFTER_MS

    leaf_only = True

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        """Fill by remaining work; a running task counts whole till it ends."""
        estimates = Estimates.of(view, memory, self.assumed_ms)
        plan = Plan(view)
        fill(plan, order=estimates.work, hold_after_ms=self.hold_after_ms, goes_on=True)
        return plan, memory
