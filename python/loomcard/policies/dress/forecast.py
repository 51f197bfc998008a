"""Equations 9, 5 and 1: the containers that are about to be released (specification 2.5).

Times share one unit with ``tau``, the tick: ms in the policy, 1 in the paper's time units. Results
are containers.
"""

from __future__ import annotations

from collections.abc import Iterable

from loomcard.policies.dress.phases import Phase, Tracker

MODES = ("incremental", "literal", "none")
"""incremental: what is released in the next tick. literal: Eq 9 as printed, which grows to the
whole phase although most of it was seen free already. none: nothing (ablation)."""


def phase_release(
    t: float, alpha: float | None, gamma: float | None, dps: float, c: float,
    beta: float | None = None, tau: float = 1.0,
) -> float:  # fmt: skip
    """Eq 9 as printed: p_j(t) = (t - gamma)/dps * c for gamma < t <= gamma + dps, else 0.

    0 before the job started (``alpha``) and after it ended (``beta``). A dps below ``tau`` counts
    as ``tau``: all tasks may have started at once (defect 16).
    """
    if alpha is None or gamma is None or t < alpha or (beta is not None and t > beta):
        return 0.0
    d = max(tau, dps)
    return (t - gamma) / d * c if gamma < t <= gamma + d else 0.0


def phase_cum(
    t: float, alpha: float | None, gamma: float | None, dps: float, c: float, tau: float = 1.0
) -> float:
    """What a phase has released by ``t``: the ramp of Eq 9, which then stays at ``c``."""
    if alpha is None or gamma is None or t <= gamma:
        return 0.0
    return min(1.0, (t - gamma) / max(tau, dps)) * c


def phase_expected(
    t: float, h: float, alpha: float | None, phase: Phase, tau: float = 1.0
) -> float:
    """Releases of a phase in (t, t + h]: the ramp's growth, at most what still runs."""
    facts = (alpha, phase.gamma, phase.variation, phase.c, tau)
    return min(max(phase_cum(t + h, *facts) - phase_cum(t, *facts), 0.0), len(phase.running))


def job_release(
    t: float, h: float, job: Tracker, mode: str = "incremental", tau: float = 1.0
) -> list[tuple[Phase, float]]:
    """Eq 5: f_i, the sum over all phases of the job, here with each phase that gives any.

    ``mode``: one of MODES; a literal f_i is taken at t + h. A job that has not started or has
    ended releases nothing.
    """
    if job.alpha is None or job.beta is not None or mode == "none":
        return []
    found = []
    for phase in job.phases:
        if mode == "incremental":
            expected = phase_expected(t, h, job.alpha, phase, tau)
        else:
            facts = (job.alpha, phase.gamma, phase.variation, phase.c, job.beta, tau)
            expected = phase_release(t + h, *facts)
        if expected > 0:
            found.append((phase, expected))
    return found


def forecast(
    t: float, h: float, jobs: Iterable[Tracker], mode: str = "incremental", tau: float = 1.0
) -> float:
    """F_k(t + h): the releases of a category, the sum of f_i over its ``jobs``.

    Releases alone: the paper's F_k has A_c in it, and Algorithm 3 adds it again (defect 14).
    """
    return sum(amount for job in jobs for _, amount in job_release(t, h, job, mode, tau))


def available(ac: float, f1: float, f2: float) -> float:
    """Eq 1: F(t + 1) = A_c + F_1 + F_2, all containers that can be had by then."""
    return ac + f1 + f2


def amounts(releases: Iterable[tuple[Phase, float]], width: int) -> list[float]:
    """Releases by phase as amounts of ``width`` resource types: each of the mean size of the
    phase's running tasks, or of its last one where none runs any more (specification 2.8).
    """
    total = [0.0] * width
    for phase, expected in releases:
        sizes = list(phase.running.values()) or [phase.size]
        for r in range(width):
            total[r] += expected * sum(size[r] for size in sizes) / len(sizes)
    return total
