"""What DRESS shows of itself: the border, what stands on either side of it, the forecast, and jobs
with their phases.
"""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.report import shown
from loomcard.policies.dress.books import Books
from loomcard.policies.dress.classify import CATEGORIES, LD, SD
from loomcard.policies.dress.memory import Memory
from loomcard.policies.dress.phases import Phase, Tracker
from loomcard.policies.dress.quotas import quotas
from loomcard.policies.dress.reserve import BRANCHES

JOBS_SHOWN = 50
"""The first so many in order of submission."""


@dataclass(frozen=True, slots=True)
class JobState:
    """One job, and the phase in which it is."""

    id: str = shown("application")
    kind: str = shown("category")
    demand: float = shown("demand", unit="containers")
    held: float = shown("held", unit="containers")
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
    released: float = shown("released in the last tick", unit="containers", panel="release")
    tot: int = shown("cluster", unit="containers")
    unit: tuple[int, ...] = shown("one container")
    small_quota: int = shown("small: quota", unit="containers")
    small_used: float = shown("small: held", unit="containers")
    small_pending: float = shown("small: pending (P1)", unit="containers")
    small_forecast: float = shown("small: next releases (F1)", unit="containers")
    large_quota: int = shown("large: quota", unit="containers")
    large_used: float = shown("large: held", unit="containers")
    large_pending: float = shown("large: pending (P2)", unit="containers")
    large_forecast: float = shown("large: next releases (F2)", unit="containers")
    forecast_error: float = shown("mean error of the forecast", unit="containers a tick")
    idle: int = shown("ticks with nothing pending")
    shrink: int = shown("ticks in which the share shrank: small jobs have enough")
    grow: int = shown("ticks in which it grew: large jobs have enough")
    pack: int = shown("ticks in which both were short")
    jobs: tuple[JobState, ...] = shown("jobs")


def state_of(m: Memory, books: Books) -> DressState:
    """The state after a tick and what was granted upon it."""
    tally, scale = m.tally, m.scale
    q1, q2 = quotas(m.delta, scale.tot) if scale.tot >= 2 else (0, 0)
    idle, shrink, grow, pack = (tally.branches.get(branch, 0) for branch in BRANCHES)
    held = {kind: books.containers(books.used[kind]) for kind in CATEGORIES}
    return DressState(
        m.delta, held[SD] / scale.tot if scale.tot else 0.0, tally.expected, tally.actual,
        scale.tot, scale.unit,
        q1, held[SD], tally.pending[0], tally.forecast[0],
        q2, held[LD], tally.pending[1], tally.forecast[1],
        tally.error / max(1, tally.ticks),
        idle, shrink, grow, pack,
        tuple(_job(number, m, books) for number in list(m.jobs)[:JOBS_SHOWN]),
    )  # fmt: skip


def _job(number: int, m: Memory, books: Books) -> JobState:
    job = m.jobs[number]
    app, tracker = books.application(number), job.tracker
    phase, state = _phase(tracker)
    return JobState(
        app.id, job.kind if job.known else "unknown", books.containers(job.peak),
        books.containers(app.used), len(tracker.phases), state, phase.c, phase.gamma, phase.dps,
    )  # fmt: skip


def _phase(tracker: Tracker) -> tuple[Phase, str]:
    """The first phase of which tasks run, else the last, and what it is at."""
    phases = [phase for phase in tracker.phases if phase.running] or tracker.phases[-1:]
    if not phases:
        return Phase(0), "none"
    phase = phases[0]
    if not phase.running:
        return phase, "over"
    if phase.gamma is not None:
        return phase, "releases"
    return phase, "starts" if phase.dps is None else "runs"
