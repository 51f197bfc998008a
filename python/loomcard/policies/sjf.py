"""Shortest job first: the application with the shortest critical path goes first."""

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
class ShortestJobFirst(WeighsWork):
    """Serve the application with the shortest critical path first.

    The path (`remaining.critical_path_ms`) is that of the whole DAG, so the order of two
    applications never changes. Without a hint the length is the mean duration of the application's
    finished tasks, at first ``assumed_ms``. ``reserve_after_ms``: as for ``fifo``.
    """

    assumed_ms: float = 30_000.0
    reserve_after_ms: int = RESERVE_AFTER_MS

    leaf_only = True

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        """Fill by the length of the critical path."""
        estimates = Estimates.of(view, memory, self.assumed_ms)
        plan = Plan(view)
        fill(
            plan,
            order=estimates.critical_path_ms,
            reserve_after_ms=self.reserve_after_ms,
            goes_on=True,
        )
        return plan, memory
