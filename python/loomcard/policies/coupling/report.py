"""What Coupling shows of itself: jobs that wait for a place, their progress, where maps start."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import shown
from loomcard.policies.coupling.jobs import Job, Jobs, Memory

JOBS_SHOWN = 50
"""How many jobs are shown: the first in order of submission."""


@dataclass(frozen=True, slots=True)
class JobState:
    """One MapReduce job at the last event."""

    id: str = shown("application")
    maps: int = shown("maps")
    finished_maps: int = shown("maps finished")
    pending_maps: int = shown("maps asked for")
    reduces: int | None = shown("reduces")
    launched_reduces: int = shown("reduces launched")
    pending_reduces: int = shown("reduces asked for")
    mismatch: float = shown("mismatch")
    p: float | None = shown("probability of a remote map")


@dataclass(frozen=True, slots=True)
class CouplingState:
    """The queue at the last event."""

    candidate: str | None = shown("waits for a place")
    candidates: int = shown("reduces that wait for a place", panel="jobs")
    wait: int = shown("heartbeats since it was chosen", panel="wait")
    round: int = shown("round of Wait Scheduling", panel="wait")
    mismatch: float = shown("largest mismatch", panel="mismatch")
    eligible: int = shown("jobs whose next reduce may start", panel="jobs")
    held: int = shown("reduces that wait for maps", panel="jobs")
    first: int = shown("reduces launched in round 1")
    second: int = shown("in round 2")
    third: int = shown("in round 3")
    fourth: int = shown("in round 4, anywhere")
    gave_up: int = shown("waits given up")
    local: int = shown("maps started where their input is")
    remote: int = shown("maps started elsewhere")
    passed: int = shown("maps kept for another heartbeat")
    jobs: tuple[JobState, ...] = shown("jobs")


def state_of(jobs: Jobs, memory: Memory, nodes: int) -> CouplingState:
    """Return the state after the allocations."""
    every, figures = memory.waiting, memory.figures
    waiting = max(every, key=lambda each: each.wait)
    candidates = sum(each.candidate is not None for each in every)
    ordered = sorted(jobs.by_id.values(), key=lambda job: (job.app.submitted_ms, job.app.number))
    number = 0 if waiting.candidate is None or not waiting.wait else waiting.round(max(1, nodes))
    first, second, third, fourth = figures.by_round
    return CouplingState(
        waiting.candidate, candidates, waiting.wait, number,
        max((job.mismatch for job in jobs.eligible.values()), default=0.0),
        len(jobs.eligible),
        sum(ask.count for job in ordered if job.mismatch <= 0 for ask in job.reduces),
        first, second, third, fourth,
        figures.gave_up, figures.local, figures.remote, figures.passed,
        tuple(row for job in ordered if (row := row_of(job, memory)) is not None)[:JOBS_SHOWN],
    )  # fmt: skip


def row_of(job: Job, memory: Memory) -> JobState | None:
    """Return a job's row; None if its type is not MAPREDUCE."""
    t = job.tasks
    if t is None:
        return None
    return JobState(
        job.app.id, t.maps, t.finished_maps, t.pending_maps, t.reduces or None,
        t.launched_reduces, t.pending_reduces, job.mismatch, memory.jobs[job.app.id].p,
    )  # fmt: skip
