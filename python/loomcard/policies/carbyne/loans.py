"""Loans that hurt no lender: guarded, so that they end in time, or taken back by force (2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loomcard import Ask, ClusterView, Container, Plan
from loomcard.policies.carbyne.jobs import Job, Jobs, left_ms
from loomcard.policies.carbyne.waves import EPS, Profile, holds, parts

if TYPE_CHECKING:
    from loomcard.policies.carbyne.serve import Due

REASON = "carbyne-loan"
"""Why a container is taken back."""


class Guard:
    """What is free over time beside all that runs, is planned and was lent."""

    def __init__(self, jobs: Jobs, view: ClusterView) -> None:
        self._jobs, self._now_ms, self._whole = jobs, view.now_ms, view.cluster_capacity
        self._profile = Profile([1.0 if c else 0.0 for c in self._whole], EPS)
        for job in jobs.by_app.values():
            for start, end, size, count in self._uses(job):
                amounts = parts([size], self._whole)[0]
                self._profile.take(max(0.0, start), end, amounts, count)

    def _uses(self, job: Job) -> Iterator[tuple[float, float, tuple[float, ...], int]]:
        """When a job's tasks run, from now, with what size and how many."""
        durations = [] if job.dag is None else self._jobs.learnt.durations(job.app, job.dag)
        for container in job.app.containers:
            stage = None if job.dag is None else job.dag.stage_of(container.ask_key)
            expected = self._mean(job) if stage is None else durations[stage]
            left = float("inf") if container.is_am else left_ms(container, expected, self._now_ms)
            yield 0.0, left, tuple(container.size), 1
        if job.plan is None or job.dag is None:
            return
        started = [b - w for b, w in zip(job.plan["waiting"], job.waiting, strict=True)]
        for start, stage, tasks in job.plan["late"]:
            left_over = max(0, tasks - max(0, started[stage]))
            started[stage] -= tasks - left_over
            if left_over:
                begin = max(0.0, start - self._now_ms)
                size = tuple(job.dag.sizes[stage])
                yield begin, begin + durations[stage], size, left_over

    def _mean(self, job: Job) -> float:
        return self._jobs.learnt.estimates.mean_ms(job.app)

    def _expected(self, job: Job, ask: Ask) -> float:
        stage = None if job.dag is None else job.dag.stage_of(ask.key)
        if stage is None or job.dag is None:
            return self._mean(job)
        return self._jobs.learnt.durations(job.app, job.dag)[stage]

    def allows(self, job: Job, ask: Ask) -> bool:
        """One task more, from now to its end, leaves room for all that is planned."""
        size, end = parts([ask.size], self._whole)[0], self._expected(job, ask)
        rows = zip(self._profile.at, self._profile.free, strict=True)
        return all(holds(size, free) for at, free in rows if at < end - EPS)

    def lent(self, job: Job, ask: Ask) -> None:
        """One task of the ask was started."""
        size = parts([ask.size], self._whole)[0]
        self._profile.take(0.0, self._expected(job, ask), size, 1)


def reclaim(plan: Plan, jobs: Jobs, waiting: Iterable[Due]) -> None:
    """Take back the youngest container of who has more than its share, for each task that must
    start, fits nowhere, and would then.
    """
    coming = [c for job in jobs.by_app.values() for c in job.app.containers
              if c.preempting_since is not None]  # fmt: skip
    for due in waiting:
        if due.deadline and not coming:
            found = [c for job in jobs.by_app.values() if job is not due.job for c in loans(job)]
            fitting = [c for c in found if _makes_room(plan, c, due.ask)]
            if fitting:
                youngest = max(fitting, key=lambda c: (c.allocated_ms, c.number))
                plan.preempt(youngest, 0, REASON)
                return


def loans(job: Job) -> list[Container]:
    """Containers of a job that uses more than its share."""
    if holds(job.app.used, job.share) > 0:
        return []
    return [c for c in job.app.containers
            if not c.is_am and c.number and c.preempting_since is None]  # fmt: skip


def _makes_room(plan: Plan, container: Container, ask: Ask) -> bool:
    node = container.node
    room = [r + s for r, s in zip(node.room, container.size, strict=True)]
    return plan.view.offers(node, ask.label) and holds(ask.size, room) > 0
