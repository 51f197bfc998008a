"""The paper's rules as functions: which jobs are small, Equation 9, and Algorithm 3
(docs/papers/dress.md 2.2, 2.5, 2.6, 2.8).

The paper's SD (small demand) is SMALL here, its LD is LARGE. Vectors are amounts, one number per
resource type, in the cluster's order. With one type they count containers, as the paper does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from loomcard.policies.dress.phases import Phase

Vector = Sequence[float]

SMALL = "small"
"""The paper's SD, category 1: part of the cluster is reserved for it."""

LARGE = "large"
"""The paper's LD, category 2: it has the rest."""

CATEGORIES = (SMALL, LARGE)
"""Both categories; ties go to the first."""

Reading = Literal["printed", "share"]
"""How free room A_c is split: ``printed`` gives SMALL at most what its quota has left; ``share``
gives SMALL the part delta of A_c ("A_c can be further divided for each category")."""

Pack = Literal["whole", "partial"]
"""Which small demands get LARGE's leftovers. ``whole``: those that fit whole, as printed.
``partial`` (extension): the next demand also gets the rest, though it is too little for it."""

BRANCHES = ("idle", "shrink", "grow", "pack")
"""The branches of Algorithm 3: nothing is asked for, SMALL has too much, LARGE has too much, both
have too little."""


def classify(demand: Vector, total: Vector, theta: float = 0.10) -> str:
    """Return LARGE if demand_r > theta * total_r for some type in demand, otherwise SMALL.

    A demand exactly at the threshold is small. A type that is asked for and that no node has makes
    a job large. The paper uses A_c instead of Tot_R: on a full cluster every job would be large
    (docs/papers/dress.md 3-1). The threshold is rounded, because 0.29 * 100 is less than 29 in
    floating point.
    """
    pairs = zip(demand, total, strict=True)
    return LARGE if any(d > round(theta * t, 9) for d, t in pairs) else SMALL


def phase_cum(
    t: float, alpha: float | None, gamma: float | None, dps: float, c: float, tau: float = 1.0
) -> float:
    """Return the containers that a phase has released by ``t``: (t - gamma)/dps * c, the ramp of
    Eq 9, at most ``c``; 0 while ``alpha``, the start of the job, or ``gamma`` is unknown.

    A dps below ``tau`` counts as ``tau``: all tasks may have started at once (docs/papers/dress.md
    3-16). In the printed form each tick counts the ramp from its beginning, though most of it is
    already free.
    """
    if alpha is None or gamma is None or t <= gamma:
        return 0.0
    return min(1.0, (t - gamma) / max(tau, dps)) * c


def phase_expected(
    t: float, h: float, alpha: float | None, phase: Phase, tau: float = 1.0
) -> float:
    """Return a phase's releases in (t, t + h]: the ramp's growth, at most the running tasks."""
    facts = (alpha, phase.gamma, phase.variation, phase.c, tau)
    return min(max(phase_cum(t + h, *facts) - phase_cum(t, *facts), 0.0), len(phase.running))


def split(
    free: Vector, delta: float, quota1: Vector, used1: Vector, reading: Reading = "printed"
) -> tuple[list[float], list[float]]:
    """Split the free amounts into SMALL's and LARGE's by one Reading: A_c = A_c1 + A_c2."""
    if reading == "share":
        one = [delta * a for a in free]
    else:
        rows = zip(free, quota1, used1, strict=True)
        one = [min(a, max(0.0, q - u)) for a, q, u in rows]
    return one, less(free, one)


@dataclass(frozen=True, slots=True)
class DeltaInputs:
    """The input of Algorithm 3: amounts of each resource type, for SMALL and for LARGE."""

    total: Vector
    """Tot_R; types of which the total is 0 do not count, and no job asks for them."""
    free: tuple[Vector, Vector]
    """A_c1 and A_c2."""
    releases: tuple[Vector, Vector]
    """F_1 and F_2: only releases. The paper's F_k includes A_c, and Algorithm 3 adds it again
    (docs/papers/dress.md 3-14)."""
    asks: tuple[Sequence[Vector], Sequence[Vector]]
    """The whole pending demand of each job of either category, in order of submission."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How Algorithm 3 is applied: bounds of delta, and one Pack."""

    dmin: float = 0.0
    dmax: float = 1.0
    pack: Pack = "whole"
    lends: bool = True
    """False: LARGE's leftovers stay, because a large job has waited too long for its first task."""


def adjust(delta: float, inputs: DeltaInputs, rule: Rule) -> tuple[float, str]:
    """Apply Algorithm 3: return SMALL's new share of the cluster, and which of BRANCHES led to it.

    With several types "a >= p" must be true of each. The surplus is min_r (A_r + F_r - P_r) /
    Tot_r, a demand fits if it does in every type, and what is moved counts by its dominant share
    (docs/papers/dress.md 2.8). With one type this is the paper's count of containers.
    """
    total = inputs.total
    small, large = (
        sorted((r for r in asks if any(r)), key=lambda r: dominant(r, total))
        for asks in inputs.asks
    )
    a1, a2 = (plus(a, f) for a, f in zip(inputs.free, inputs.releases, strict=True))
    p1, p2 = (add_up(asks, len(total)) for asks in (small, large))
    if not small and not large:
        wanted, branch = delta, "idle"  # the reserve stays (docs/papers/dress.md 3-25)
    elif (surplus := _surplus(a1, p1, total)) >= 0:
        wanted, branch = delta - surplus, "shrink"
    elif (surplus := _surplus(a2, p2, total)) >= 0:
        wanted, branch = delta + surplus, "grow"
    else:
        wanted = delta + (_pack(a1, a2, small, large, total, rule) if rule.lends else 0.0)
        branch = "pack"
    return min(max(wanted, rule.dmin), rule.dmax), branch


def _pack(
    a1: list[float], a2: list[float], small: list[Vector], large: list[Vector], total: Vector,
    rule: Rule,
) -> float:  # fmt: skip
    """Return the share of the cluster that goes from LARGE's leftovers to SMALL (Algorithm 3, lines
    12-24).
    """
    i, shares = 0, 0.0
    while i < len(small) and _fits(small[i], a1):
        a1 = less(a1, small[i])
        i += 1
    for r in large:
        if not _fits(r, a2):
            break
        a2 = less(a2, r)
    while i < len(small) and _fits(small[i], plus(a1, a2)):
        moved = [max(0.0, x) for x in less(small[i], a1)]
        a1 = [max(0.0, x) for x in less(a1, small[i])]
        a2 = less(a2, moved)
        # What SMALL's own leftover does not pay for (docs/papers/dress.md 3-22).
        shares += dominant(moved, total)
        i += 1
    if rule.pack == "partial" and i < len(small):
        shares += dominant(_part(less(small[i], a1), a2), total)
    return shares


def _part(lacks: Vector, room: Vector) -> list[float]:
    """Return how much of what a demand lacks fits into ``room``, in the demand's own proportions:
    room of one type alone is of no use.
    """
    rows = [(max(0.0, lack), max(0.0, r)) for lack, r in zip(lacks, room, strict=True)]
    part = min((r / lack for lack, r in rows if lack > 0), default=0.0)
    return [lack * part for lack, _ in rows]


def _surplus(a: Vector, p: Vector, total: Vector) -> float:
    rows = zip(a, p, total, strict=True)
    return min(((x - y) / t for x, y, t in rows if t > 0), default=0.0)


def dominant(amounts: Vector, total: Vector) -> float:
    """Return max_r amounts_r / total_r, over the types that the cluster has."""
    return max((a / t for a, t in zip(amounts, total, strict=True) if t > 0), default=0.0)


def plus(a: Vector, b: Vector) -> list[float]:
    """Return the sum of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


def less(a: Vector, b: Vector) -> list[float]:
    """Return the difference of two vectors."""
    return [x - y for x, y in zip(a, b, strict=True)]


def filled(held: Vector, quota: Vector, total: Vector) -> float:
    """Return the largest part of its quota that a category uses of any resource (addition, 2.7)."""
    most = 0.0
    for h, q, whole in zip(held, quota, total):  # noqa: B905 - equal by construction
        if h and whole:
            most = max(most, h / q if q else inf)
    return most


def within(size: Vector, held: Vector, quota: Vector) -> bool:
    """Return whether a category that uses ``held`` may have one more container: it may then be
    above its quota by at most half of that container (addition, 2.7).
    """
    for amount, has, most in zip(size, held, quota):  # noqa: B905 - equal by construction
        if amount and has + amount / 2 > most:
            return False
    return True


def _fits(a: Vector, b: Vector) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def add_up(vectors: Iterable[Vector], width: int) -> list[float]:
    """Return the sum of vectors of ``width`` resource types."""
    total = [0.0] * width
    for vector in vectors:
        total = plus(total, vector)
    return total
