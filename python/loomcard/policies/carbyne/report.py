"""What Carbyne shows of itself: shares, what must start, what is given and borrowed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import fsum  # the same in any order

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
    given, borrowed = [jobs.shares.fair], list[float]()
    for job in jobs.users.values():
        used = share(job.app.used, whole)
        given.append(-min(used, job.fair) if job.app.pending_count > 0 else -job.fair)
        borrowed.append(max(0.0, used - job.fair))
    waiting = jobs.must
    shown = islice((job for *_, job in jobs.in_order if job.tasks > 0), JOBS_SHOWN)
    rows = tuple(_job_state(job, serving) for job in shown)
    return CarbyneState(
        max(0.0, fsum(given)), fsum(borrowed), waiting + sum(serving.started.values()), waiting,
        jobs.memory.get("violations", 0), jobs.shares.jobs, rows,
    )  # fmt: skip


def _job_state(job: Job, serving: Serving) -> JobState:
    app = job.app
    return JobState(
        app.id, job.fair, share(app.used, serving.view.cluster_capacity),
        job.must_start + serving.started.get(app, 0), serving.borrowed.get(app, 0),
        left_of(job, serving.view.now_ms), job.error, job.known.get("beyond", 0),
    )  # fmt: skip


def left_of(job: Job, now_ms: int) -> float | None:
    """Return T_k, the time until its deadline; None: it has no schedule."""
    return None if job.plan is None else max(0.0, job.plan["deadline"] - now_ms)
