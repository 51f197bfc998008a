"""Carbyne (Grandl et al., OSDI 2016) as functions: shares between jobs, the schedule inside a job's
share, what must start now, and which jobs get what is left over (docs/papers/carbyne.md 2).

Vectors are amounts, one number per resource type; ``capacity`` is the paper's R, ``share`` its A_k.
All times have one unit, of any kind, and count from now. Tasks of a stage are alike, so a schedule
consists of waves: tasks of one stage that start together. The cost grows with stages and waves, not
with tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal

from loomcard.policies.carbyne.packing import alignment, pack, reverse, right_shift
from loomcard.policies.carbyne.waves import (
    EPS,
    Schedule,
    Stage,
    Vector,
    Wants,
    Wave,
    add,
    fits,
    hat,
    starts_by,
)

Rule = Literal["srtf", "pack"]
Shares = tuple[list[list[float]], list[float]]
"""The fair shares A_k, and L_drf, what they leave of the whole."""


def inter_job(demands: Sequence[Vector], weights: Vector, capacity: Vector) -> Shares:
    """Return DRF shares in closed form (2.2). Only the direction of ``demands`` counts; all are
    positive.
    """
    hats = [hat(demand, capacity) for demand in demands]
    sums = [sum(w * h[r] for w, h in zip(weights, hats, strict=True)) for r in range(len(capacity))]
    x = 1 / (max(sums) or 1.0)
    return shares_at([w * x for w in weights], hats, capacity)


def water_filling(
    demands: Sequence[Vector], weights: Vector, capacity: Vector,
    caps: Sequence[Vector] | None = None,
) -> Shares:  # fmt: skip
    """Return shares as ``inter_job`` does, for demands with zeros (2.2).

    All dominant shares rise at the rate of the ``weights``. A job stops when a type that it needs
    is full, or when it reaches its cap of one.
    """
    hats, types = [hat(demand, capacity) for demand in demands], range(len(capacity))
    level, active = [0.0] * len(hats), {k for k, h in enumerate(hats) if any(h)}
    while active:
        used = [sum(lv * h[r] for lv, h in zip(level, hats, strict=True)) for r in types]
        rate = [sum(weights[k] * hats[k][r] for k in active) for r in types]
        step = min((1 - used[r]) / rate[r] for r in types if rate[r])
        room = dict.fromkeys(active, inf)
        for k, cap in enumerate(caps or ()):
            own = [cap[r] / capacity[r] / h for r, h in enumerate(hats[k]) if h]
            room[k] = (min(own, default=inf) - level[k]) / weights[k]
        step = max(0.0, min(step, *(room[k] for k in active)))
        for k in active:
            level[k] += weights[k] * step
        full = {r for r in types if rate[r] and used[r] + rate[r] * step >= 1 - EPS}
        full_for = {k for k in active if any(hats[k][r] for r in full)}
        active -= full_for | {k for k in active if room[k] <= step + EPS}
    return shares_at(level, hats, capacity)


def shares_at(level: Vector, hats: Sequence[Vector], capacity: Vector) -> Shares:
    """Return the shares for these dominant shares, and what they leave."""
    found = [
        [own * h * c for h, c in zip(hat, capacity, strict=True)]
        for own, hat in zip(level, hats, strict=True)
    ]
    return found, [max(0.0, c - sum(a[r] for a in found)) for r, c in enumerate(capacity)]


def intra_job(
    stages: Sequence[Stage], share: Vector, capacity: Vector, tolerance: float = 0.0,
    most: float = inf, coarse: float = 0.0,
) -> Schedule:  # fmt: skip
    """Return a job's schedule in its share; ``starts_by(late, tolerance)`` must start now (2.3).

    Late starts are the reversed DAG's, packed, where that takes no longer than T and wants no more
    started now; where something runs, or it does, they are those of ``right_shift`` (2.5-6).
    Raises TooLongError if a schedule takes more than ``most`` steps; ``coarse``: see ``pack``.
    """
    forward, end = pack(stages, share, capacity, most, coarse)
    if not any(wave.pinned for wave in forward):
        back, length = pack(reverse(stages), share, capacity, most, coarse)
        last, slack = len(stages) - 1, EPS * end
        early = [0.0 if end - w.end < slack else end - w.end for w in back]
        mirrored = [Wave(s, end - w.start, last - w.stage, w.tasks) for s, w in zip(early, back)]  # noqa: B905
        greedy = starts_by(forward, tolerance)
        if length <= end + slack and starts_by(mirrored, tolerance) <= greedy:
            return Schedule(end, forward, mirrored)
    return Schedule(end, forward, right_shift(stages, forward, end, share, capacity, most))


def leftover(
    jobs: Sequence[Wants], free: Vector, capacity: Vector, rule: Rule = "srtf"
) -> Iterator[tuple[int, int]]:
    """Yield which job gets one more task of what is left over, L: (job, stage), in order (2.4).

    ``srtf``: the least remaining work first, its best aligned task; ``pack``: the best aligned of
    all, ties by less work. On one machine; that the policy does the same is shown in
    tests/policies/carbyne/test_policy.py::test_what_is_left_over_goes_as_the_function_says.
    """
    room = list(free)
    left = {(k, i): count for k, job in enumerate(jobs) for i, (_, count) in enumerate(job.stages)}

    def rank(key: tuple[int, int]) -> tuple[float, float, int, int]:
        work = jobs[key[0]].work
        unaligned = -alignment(jobs[key[0]].stages[key[1]][0], room, capacity)
        return (work, unaligned, *key) if rule == "srtf" else (unaligned, work, *key)

    while able := [(k, i) for (k, i), n in left.items() if n and fits(jobs[k].stages[i][0], room)]:
        k, i = min(able, key=rank)
        left[k, i] -= 1
        add(room, jobs[k].stages[i][0], -1)
        yield k, i
