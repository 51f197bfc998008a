"""What DRESS shows of itself: the border, what each category uses and asks for, the forecast, and
jobs with their phases.
"""

from __future__ import annotations

from dataclasses import dataclass

from loomcard import shown
from loomcard.policies.dress.jobs import Memory
from loomcard.policies.dress.paper import BRANCHES, LARGE, SMALL, dominant
from loomcard.policies.dress.phases import Phase, Tracker
from loomcard.policies.dress.pools import Pools

JOBS_SHOWN = 50
"""How many jobs are shown: the first in order of submission."""


@dataclass(frozen=True, slots=True)
class JobState:
    """One job and its current phase."""

    id: str = shown("application")
    kind: str = shown("category")
    demand: float = shown("demand", unit="share")
    held: int = shown("held", unit="containers")
    phases: int = shown("phases so far")
    phase: str = shown("phase")
    c: int = shown("counted to the phase", unit="containers")
    gamma_ms: int | None = shown("releases from", unit="ms")
    dps_ms: int | None = shown("starting variation", unit="ms")


@dataclass(frozen=True, slots=True)
class DressState:
    """The queue at the last tick."""

    delta: float = shown("share reserved for small jobs", unit="share", panel="delta")
    used_share: float = shown("share held by small jobs", unit="share", panel="delta")
    forecast: float = shown("forecast for the last tick", unit="containers", panel="release")
    released: int = shown("released in the last tick", unit="containers", panel="release")
    total: tuple[int, ...] = shown("what is divided")
    small_used: int = shown("small: held", unit="containers")
    small_pending: int = shown("small: pending (P1)", unit="containers")
    small_forecast: float = shown("small: next releases (F1)", unit="containers")
    large_share: float = shown("large: share held", unit="share")
    large_used: int = shown("large: held", unit="containers")
    large_pending: int = shown("large: pending (P2)", unit="containers")
    large_forecast: float = shown("large: next releases (F2)", unit="containers")
    waiting_ams: float = shown("share held by AMs of jobs without a task", unit="share")
    forecast_error: float = shown("mean error of the forecast", unit="containers a tick")
    idle: int = shown("ticks with nothing pending")
    shrink: int = shown("ticks in which the share shrank: small jobs have enough")
    grow: int = shown("ticks in which it grew: large jobs have enough")
    pack: int = shown("ticks in which both were short")
    jobs: tuple[JobState, ...] = shown("jobs")


def state_of(m: Memory, pools: Pools) -> DressState:
    """Return the state after a tick and the allocations that followed it."""
    figures, total = m.figures, pools.total
    idle, shrink, grow, pack = (figures.branches.get(branch, 0) for branch in BRANCHES)
    pending = pools.pending_count
    large = sum(len(app.containers) for app in pools.charged)
    every = sum(len(app.containers) for app in pools.applications.values())
    return DressState(
        m.delta, dominant(pools.held(SMALL), total), figures.expected, figures.actual,
        tuple(total),
        every - large, pending[SMALL], figures.forecast[0],
        dominant(pools.held(LARGE), total),
        large, pending[LARGE], figures.forecast[1],
        dominant(pools.waiting_ams, total), figures.error / max(1, figures.ticks),
        idle, shrink, grow, pack,
        tuple(_job(number, m, pools) for number in list(m.jobs)[:JOBS_SHOWN]),
    )  # fmt: skip


def _job(number: int, m: Memory, pools: Pools) -> JobState:
    job = m.jobs[number]
    app, tracker = pools.applications[number], job.tracker
    phase, state = _phase(tracker)
    phases = tracker.dropped + len(tracker.phases)
    return JobState(
        app.id, job.kind, dominant(job.peak, pools.total) if job.peak else 0.0,
        len(app.containers), phases, state, phase.c, phase.gamma, phase.dps,
    )  # fmt: skip


def _phase(tracker: Tracker) -> tuple[Phase, str]:
    """Return the first phase with running tasks, or the last phase, and what it is doing."""
    phases = [phase for phase in tracker.phases if phase.running] or tracker.phases[-1:]
    if not phases:
        return Phase(), "none"
    phase = phases[0]
    if not phase.running:
        return phase, "over"
    if phase.gamma is not None:
        return phase, "releases"
    return phase, "starts" if phase.dps is None else "runs"
