"""Algorithm 3: the border between the two categories, moved once a tick (specification 2.6, 2.8).

``adjust_delta`` is the paper's, in containers. ``adjust`` is the same for amounts of several
resource types, and has the production options of specification 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loomcard.policies.dress.classify import Vector

LEFTOVERS = ("net", "gross")
"""What LD gives for a small job that its leftover serves: the containers that SD's own leftover
does not pay for, or, as printed, all of the job's (defect 22)."""

GROWTHS = ("surplus", "shortage")
"""How much branch 2 gives to SD: all that LD has too much, or (extension) what SD lacks of it."""

PACKS = ("whole", "partial")
"""Which small demands LD's leftovers go to: those that they serve whole, as printed, or (extension)
what is left after these to the next one too, though it is too little for it."""

BRANCHES = ("idle", "shrink", "grow", "pack")
"""The ways through Algorithm 3: nothing is asked for, SD has too much, LD has, both are short."""


def adjust_delta(
    delta: float, tot: int, ac1: float, ac2: float, f1: float, f2: float,
    sd: Iterable[float], ld: Iterable[float], dmin: float, dmax: float, leftover: str = "net",
) -> float:  # fmt: skip
    """Algorithm 3: the share of the cluster that is SD's from now on.

    ``tot``: Tot_R; ``ac1``, ``ac2``: free containers in either share; ``f1``, ``f2``: releases that
    are forecast; ``sd``, ``ld``: the whole pending demand of each job. All in containers.
    ``dmin``, ``dmax`` bound the result. ``leftover``: one of LEFTOVERS.
    """
    small, large = sorted(r for r in sd if r > 0), sorted(r for r in ld if r > 0)
    p1, p2 = sum(small), sum(large)
    a1, a2 = ac1 + f1, ac2 + f2
    if p1 == 0 and p2 == 0:
        pass  # idle: the reserve stays (defect 25)
    elif a1 >= p1:
        delta -= (a1 - p1) / tot
    elif a2 >= p2:
        delta += (a2 - p2) / tot
    else:  # both are short: pack
        i = 0
        while i < len(small) and small[i] <= a1:
            a1 -= small[i]
            i += 1
        for r in large:
            if r > a2:
                break
            a2 -= r
        while i < len(small) and small[i] <= a1 + a2:  # leftovers of LD go to SD
            moved = max(0.0, small[i] - a1)
            a1 = max(0.0, a1 - small[i])
            a2 -= moved
            delta += (moved if leftover == "net" else small[i]) / tot
            i += 1
    return min(max(delta, dmin), dmax)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What Algorithm 3 looks at: amounts of each resource type, for SD and for LD."""

    total: Vector
    """Tot_R; types of which there is nothing do not count."""
    free: tuple[Vector, Vector]
    """A_c1 and A_c2."""
    releases: tuple[Vector, Vector]
    """F_1 and F_2."""
    asks: tuple[Sequence[Vector], Sequence[Vector]]
    """The pending demands of the jobs of either category, those submitted first before."""
    used1: Vector
    """What SD holds; only the floors look at it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How Algorithm 3 is applied: the spec's resolutions, and its extensions, which are off."""

    dmin: float
    dmax: float
    leftover: str = "net"
    growth: str = "surplus"
    lends: bool = True
    """False: LD's leftovers are not moved, for a large job has waited too long for its first."""
    rate: float = 0.0
    """delta changes by at most this a tick; 0: by any amount."""
    dead_band: float = 0.0
    """Smaller changes of delta are left out."""
    floor_need: bool = False
    """delta never falls below SD's projected need, (used1 + P1 - F1) / Tot_R."""
    floor_demand: bool = False
    """Nor, where A_c1 suffices for P1, below (used1 + P1) / Tot_R: no forecast is relied on."""
    pack: str = "whole"
    """Which small demands the leftovers go to; one of PACKS."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The new delta, and which of BRANCHES led to it."""

    delta: float
    branch: str


def adjust(delta: float, outlook: Outlook, rule: Rule) -> Adjusted:
    """Algorithm 3 over several resource types (specification 2.8).

    "a >= p" is meant of every type; the surplus is min_r (A_r + F_r - P_r) / Tot_r; a demand fits
    where it does in every type; what is moved counts by its dominant share. With one type, and with
    containers of the cluster's own shape, it is ``adjust_delta``.
    """
    here = [r for r, amount in enumerate(outlook.total) if amount > 0]
    outlook = _without_absent(outlook, here)
    total = outlook.total
    small, large = ([r for r in asks if any(r)] for asks in outlook.asks)
    small.sort(key=lambda r: dominant(r, total))
    large.sort(key=lambda r: dominant(r, total))
    a1, a2 = (_plus(a, f) for a, f in zip(outlook.free, outlook.releases, strict=True))
    p1, p2 = (add_up(asks, len(total)) for asks in (small, large))
    if not small and not large:
        return Adjusted(min(max(delta, rule.dmin), rule.dmax), "idle")
    if (surplus := _surplus(a1, p1, total)) >= 0:
        wanted, branch = delta - surplus, "shrink"
    elif (surplus := _surplus(a2, p2, total)) >= 0:
        lacks = -_surplus(a1, p1, total)
        wanted = delta + (surplus if rule.growth == "surplus" else min(surplus, lacks))
        branch = "grow"
    else:
        moved = _pack(a1, a2, small, large, total, rule) if rule.lends else 0.0
        wanted, branch = delta + moved, "pack"
    return Adjusted(_tamed(delta, wanted, outlook, p1, rule), branch)


def _pack(
    a1: list[float], a2: list[float], small: list[Vector], large: list[Vector], total: Vector,
    rule: Rule,
) -> float:  # fmt: skip
    """Algorithm 3, lines 12-24: the share of the cluster that goes from LD's leftovers to SD."""
    i, shares = 0, 0.0
    while i < len(small) and _fits(small[i], a1):
        a1 = _less(a1, small[i])
        i += 1
    for r in large:
        if not _fits(r, a2):
            break
        a2 = _less(a2, r)
    while i < len(small) and _fits(small[i], _plus(a1, a2)):
        moved = [max(0.0, x) for x in _less(small[i], a1)]
        a1 = [max(0.0, x) for x in _less(a1, small[i])]
        a2 = _less(a2, moved)
        shares += dominant(moved if rule.leftover == "net" else small[i], total)
        i += 1
    if rule.pack == "partial" and i < len(small):
        shares += dominant(_part(_less(small[i], a1), a2), total)
    return shares


def _part(lacks: Vector, room: Vector) -> list[float]:
    """As much of what a demand lacks as there is room for, in its own proportions: what is left of
    one type alone serves nobody.
    """
    rows = [(max(0.0, lack), max(0.0, r)) for lack, r in zip(lacks, room, strict=True)]
    part = min((r / lack for lack, r in rows if lack > 0), default=0.0)
    return [lack * part for lack, _ in rows]


def _tamed(delta: float, wanted: float, outlook: Outlook, p1: Vector, rule: Rule) -> float:
    """``wanted`` within floors, dead band, rate and bounds."""
    total, used1, f1 = outlook.total, outlook.used1, outlook.releases[0]
    if rule.floor_need and wanted < delta:
        wanted = max(wanted, min(delta, dominant(_less(_plus(used1, p1), f1), total)))
    if rule.floor_demand and wanted < delta and _fits(p1, outlook.free[0]):
        wanted = max(wanted, min(delta, dominant(_plus(used1, p1), total)))
    wanted = min(max(wanted, rule.dmin), rule.dmax)
    if abs(wanted - delta) < rule.dead_band - 1e-9:
        wanted = delta
    if rule.rate:
        wanted = min(max(wanted, delta - rule.rate), delta + rule.rate)
    return min(max(wanted, rule.dmin), rule.dmax)


def dominant(amounts: Vector, total: Vector) -> float:
    """max_r amounts_r / total_r."""
    return max((a / t for a, t in zip(amounts, total, strict=True)), default=0.0)


def _surplus(a: Vector, p: Vector, total: Vector) -> float:
    rows = zip(a, p, total, strict=True)
    return min(((x - y) / t for x, y, t in rows), default=0.0)


def _without_absent(outlook: Outlook, here: list[int]) -> Outlook:
    if len(here) == len(outlook.total):
        return outlook

    def cut(vector: Vector) -> list[float]:
        return [vector[r] for r in here]

    (free1, free2), (f1, f2), (small, large) = outlook.free, outlook.releases, outlook.asks
    return Outlook(
        cut(outlook.total), (cut(free1), cut(free2)), (cut(f1), cut(f2)),
        ([cut(r) for r in small], [cut(r) for r in large]), cut(outlook.used1),
    )  # fmt: skip


def _plus(a: Vector, b: Vector) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _less(a: Vector, b: Vector) -> list[float]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _fits(a: Vector, b: Vector) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def add_up(vectors: Iterable[Vector], width: int) -> list[float]:
    """The sum of vectors of ``width`` resource types."""
    total = [0.0] * width
    for vector in vectors:
        total = _plus(total, vector)
    return total
