"""What no schedule can exceed: lower bounds of makespan and of mean completion time. They consider
the jobs and the cluster's capacity as a whole, so that no policy, placement or clairvoyance is
below them. They do not say how near a schedule can come.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class BoundedStage(NamedTuple):
    """Tasks of one size, one duration each, that start when the stages ``after`` have ended. Give
    zeros for ``size`` if tasks share containers (executors): then only time counts.
    """

    durations_ms: Sequence[float]
    size: Sequence[int]
    after: Sequence[int] = ()


class BoundedJob(NamedTuple):
    """One application; parents come before the stages that wait for them."""

    submitted_ms: float
    stages: Sequence[BoundedStage]


def path_ms(job: BoundedJob) -> float:
    """Return the longest chain of stages, each as long as its longest task: the job's time on an
    endless cluster.
    """
    ends: list[float] = []
    for stage in job.stages:
        start = max((ends[parent] for parent in stage.after), default=0.0)
        ends.append(start + max(stage.durations_ms, default=0.0))
    return max(ends, default=0.0)


def work_ms(job: BoundedJob, resource: int, capacity: int) -> float:
    """Return how long the whole cluster needs for the job, by one resource: sum of ms * size /
    capacity; 0 if the cluster has none of it.
    """
    amounts = (sum(stage.durations_ms) * stage.size[resource] for stage in job.stages)
    return sum(amounts) / capacity if capacity else 0.0


def makespan_ms(jobs: Sequence[BoundedJob], capacity: Sequence[int]) -> float:
    """Return the least time from the first submission to the last completion: the larger of max_j
    (submitted_j + path_j) and, for each resource r and time t of a submission, t + sum of work_j,r
    over the jobs that were submitted at t or later; less the first submission.
    """
    if not jobs:
        return 0.0
    ends = [job.submitted_ms + path_ms(job) for job in jobs]
    latest_first = sorted(jobs, key=lambda job: -job.submitted_ms)
    for r, whole in enumerate(capacity):
        work = 0.0
        for job in latest_first:
            work += work_ms(job, r, whole)
            ends.append(job.submitted_ms + work)
    return max(ends) - latest_first[-1].submitted_ms


def mean_completion_ms(jobs: Sequence[BoundedJob], capacity: Sequence[int]) -> float:
    """From submission to completion on average, at least.

    The largest, over the resources, of the mean under shortest remaining processing time on one
    machine that does work_j,r for each job and may be interrupted at will, which is the least
    possible there (Schrage, 1968); and the mean of path_j.
    """
    if not jobs:
        return 0.0
    means = [sum(map(path_ms, jobs)) / len(jobs)]
    for r, whole in enumerate(capacity):
        rows = [(job.submitted_ms, work_ms(job, r, whole)) for job in jobs]
        means.append(shortest_remaining_first(rows) / len(jobs))
    return max(means)


def shortest_remaining_first(rows: Sequence[tuple[float, float]]) -> float:
    """Return the sum of completion times, from submission on, of (submitted, work) on one
    machine.
    """
    waiting: list[tuple[float, float]] = []  # (remaining, submitted)
    total = now = 0.0
    coming = sorted(rows, reverse=True)
    while coming or waiting:
        if not waiting:
            now = max(now, coming[-1][0])
        while coming and coming[-1][0] <= now:
            submitted, work = coming.pop()
            heappush(waiting, (work, submitted))
        remaining, submitted = heappop(waiting)
        until = now + remaining
        if coming and coming[-1][0] < until:
            heappush(waiting, (until - coming[-1][0], submitted))
            now = coming[-1][0]
        else:
            now = until
            total += now - submitted
    return total
