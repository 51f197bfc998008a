"""What Carbyne shows of itself: shares, what must start, what is given and borrowed."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import share, shown
from loomcard.policies.carbyne.job import Job
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.serve import Serving

JOBS_SHOWN = 50
"""How many jobs are shown: the first in order of submission."""


@dataclass(frozen=True, slots=True)
class JobState:
    """One job at the last event."""

    id: str = shown("application")
    fair: float = shown("fair share", unit="share")
    used: float = shown("used", unit="share")
    must: int = shown("must start", unit="tasks")
    borrowed: int = shown("started from the leftover", unit="tasks")
    left_ms: float | None = shown("ends in its share in", unit="ms")
    error: float | None = shown("estimate over seen duration, less 1")
    beyond: int = shown("marked DEFAULT beyond its share", unit="tasks")


@dataclass(frozen=True, slots=True)
class CarbyneState:
    """The queue at the last event."""

    given: float = shown("given up", unit="share", panel="altruism")
    borrowed: float = shown("held beyond fair shares", unit="share", panel="altruism")
    must: int = shown("must start now", unit="tasks", panel="must-starts")
    waiting: int = shown("must start and fit nowhere", unit="tasks", panel="must-starts")
    violations: int = shown("marked DEFAULT beyond a share, so far", unit="tasks")
    jobs_held: int = shown("jobs", panel="jobs")
    jobs: tuple[JobState, ...] = shown("jobs")


def state_of(jobs: Jobs, serving: Serving) -> CarbyneState:
    """Return the state after the allocations."""
    whole = serving.view.cluster_capacity
    active = [job for *_, job in jobs.in_order if job.tasks > 0]
    used = {job: share(job.app.used, whole) for job in active}
    fair = {job: part_of(job, whole) for job in active}
    given = borrowed = must = waiting = 0.0
    for job in active:
        if job.app.pending_count > 0:
            given += max(0.0, fair[job] - used[job])
        borrowed += max(0.0, used[job] - fair[job])
        left = sum(due.tasks for due in job.dues.values())
        must += left + serving.started.get(job.app, 0)
        waiting += left
    rows = tuple(
        _job_state(job, jobs, serving, fair[job], used[job]) for job in active[:JOBS_SHOWN]
    )
    return CarbyneState(
        given, borrowed, int(must), int(waiting), jobs.memory.get("violations", 0),
        len(active), rows,
    )  # fmt: skip


def _job_state(job: Job, jobs: Jobs, serving: Serving, fair: float, used: float) -> JobState:
    app, left = job.app, sum(due.tasks for due in job.dues.values())
    return JobState(
        app.id, fair, used, left + serving.started.get(app, 0), serving.borrowed.get(app, 0),
        left_of(job, serving.view.now_ms), jobs.learnt.error_of(app), job.known.get("beyond", 0),
    )  # fmt: skip


def part_of(job: Job, whole: tuple[int, ...]) -> float:
    """Return a job's dominant fair share."""
    pairs = zip(job.share, whole, strict=True)
    return max((amount / most for amount, most in pairs if most), default=0.0)


def left_of(job: Job, now_ms: int) -> float | None:
    """Return T_k, the time until its deadline; None: it has no schedule."""
    return None if job.plan is None else max(0.0, job.plan["deadline"] - now_ms)
