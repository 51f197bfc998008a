"""Carbyne (Grandl et al., OSDI 2016) as functions: shares between jobs, the schedule inside a job's
share, what must start now, and who gets what is left over (docs/papers/carbyne.md 2).

Vectors are amounts, one number a resource type; ``capacity`` is the paper's R, ``share`` its A_k.
Times are in any one unit, counted from now. Tasks of a stage are alike, so a schedule is made of
waves: tasks of one stage that start together. The cost grows with stages and waves, not with tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Literal

from loomcard.policies.carbyne.waves import (
    EPS,
    Profile,
    Schedule,
    Stage,
    TooManyWavesError,
    Vector,
    Wants,
    Wave,
    add,
    blocked,
    children_of,
    envelope,
    hat,
    holds,
    parts,
    starts_by,
)

Rule = Literal["srtf", "pack"]
Shares = tuple[list[list[float]], list[float]]
"""The fair shares A_k, and L_drf, what they leave of the whole."""


def inter_job(demands: Sequence[Vector], weights: Vector, capacity: Vector) -> Shares:
    """DRF in closed form (2.2); of the ``demands`` only the direction counts, all are positive."""
    hats = [hat(demand, capacity) for demand in demands]
    sums = [sum(w * h[r] for w, h in zip(weights, hats, strict=True)) for r in range(len(capacity))]
    x = 1 / (max(sums) or 1.0)
    return shares_at([w * x for w in weights], hats, capacity)


def water_filling(
    demands: Sequence[Vector], weights: Vector, capacity: Vector,
    caps: Sequence[Vector] | None = None,
) -> Shares:  # fmt: skip
    """As ``inter_job``, for demands with zeros: all dominant shares rise at the rate of the
    ``weights``; a job stops when a type that it needs is full, or it has its cap of one (2.2).
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
    """The shares of these dominant shares, and what they leave."""
    found = [
        [own * h * c for h, c in zip(hat, capacity, strict=True)]
        for own, hat in zip(level, hats, strict=True)
    ]
    return found, [max(0.0, c - sum(a[r] for a in found)) for r, c in enumerate(capacity)]


def alignment(size: Vector, free: Vector, capacity: Vector) -> float:
    """sum_r (size_r / R_r) * (free_r / R_r) (2.6): the higher, the better it fits."""
    return sum(s * f / (c * c) for s, f, c in zip(size, free, capacity, strict=True) if c)


def reverse(stages: Sequence[Stage]) -> list[Stage]:
    """The DAG backwards: stage i becomes the last but i, its children its parents."""
    last, children = len(stages) - 1, children_of(stages)
    found = []
    for own, below in zip(reversed(stages), reversed(children), strict=True):
        parents = [last - child for child in reversed(below)]
        found.append(Stage(own.tasks, own.size, own.dur, parents, own.running))
    return found


def pack(
    stages: Sequence[Stage], share: Vector, capacity: Vector, most: float = inf
) -> tuple[list[Wave], float]:
    """A schedule of the remaining DAG inside ``envelope(stages, share)``, and T, its end (2.3).

    List scheduling: at each completion runnable tasks start that fit, the best aligned stage first,
    ties by the longest path to a sink. Raises TooManyWavesError beyond ``most`` waves.
    """
    sizes = parts([s.size for s in stages], capacity)
    room, ones = parts([envelope(stages, share)], capacity)[0], [1.0] * len(capacity)
    children, path = children_of(stages), [stage.dur for stage in stages]
    for i in reversed(range(len(stages))):
        path[i] += max((path[c] for c in children[i]), default=0.0)
    waiting = [s.tasks for s in stages]
    left = [s.tasks + sum(n for _, n in s.running) for s in stages]
    waves = [Wave(0.0, end, i, n, True) for i, s in enumerate(stages) for end, n in s.running]
    for wave in waves:
        add(room, sizes[wave.stage], -wave.tasks)
    ends = sorted((wave.end, wave.stage, wave.tasks) for wave in waves)
    now, ready = 0.0, [i for i, s in enumerate(stages) if s.tasks and not blocked(s, left)]
    while True:
        while fitting := [i for i in ready if waiting[i] and holds(sizes[i], room)]:
            i = max(fitting, key=lambda i: (alignment(sizes[i], room, ones), path[i], -i))
            n, end = min(waiting[i], holds(sizes[i], room)), now + stages[i].dur
            waves.append(Wave(now, end, i, n))
            heappush(ends, (end, i, n))
            add(room, sizes[i], -n)
            waiting[i] -= n
        if not ends:
            return waves, now
        if len(waves) > most:
            raise TooManyWavesError
        now = ends[0][0]
        while ends and ends[0][0] <= now * (1 + EPS):
            _, i, n = heappop(ends)
            add(room, sizes[i], n)
            left[i] -= n
            if not left[i]:
                ready += [c for c in children[i] if waiting[c] and not blocked(stages[c], left)]
        ready = [i for i in ready if waiting[i]]


def right_shift(
    stages: Sequence[Stage], forward: Sequence[Wave], end: float, share: Vector, capacity: Vector
) -> list[Wave]:
    """The tasks of ``forward``, each as late as ``end`` and the envelope allow and never earlier,
    by decreasing finish; what runs stays where it is (2.3).
    """
    sizes = parts([s.size for s in stages], capacity)
    profile = Profile(parts([envelope(stages, share)], capacity)[0], EPS * end)
    children, earliest, late = children_of(stages), [end] * len(stages), []
    until = list(earliest)  # later ends of a stage's tasks are taken already
    for wave in sorted(forward, key=lambda w: (not w.pinned, -w.end, -w.stage)):
        i, left, dur = wave.stage, wave.tasks, wave.end - wave.start
        until[i] = min([until[i], *(earliest[child] for child in children[i])])
        while left:
            found = None if wave.pinned else profile.latest(sizes[i], dur, wave.start, until[i])
            start, n = found or (wave.start, left)
            n, until[i] = min(n, left), until[i] if wave.pinned else start + dur
            profile.take(start, start + dur, sizes[i], n)
            late.append(Wave(start, start + dur, i, n, wave.pinned))
            left -= n
            if not wave.pinned:
                earliest[i] = min(earliest[i], start)
    return late


def intra_job(
    stages: Sequence[Stage], share: Vector, capacity: Vector, tolerance: float = 0.0,
    most: float = inf,
) -> Schedule:  # fmt: skip
    """The schedule of a job inside its share; ``starts_by(late, tolerance)`` must start now (2.3).

    Late starts are the reversed DAG's, packed, where that takes no longer than T and wants no more
    started now; where something runs, or it does, they are those of ``right_shift`` (2.5-6).
    """
    forward, end = pack(stages, share, capacity, most)
    late = right_shift(stages, forward, end, share, capacity)
    if not any(wave.pinned for wave in forward):
        back, length = pack(reverse(stages), share, capacity, most)
        last, slack = len(stages) - 1, EPS * end
        early = [0.0 if end - w.end < slack else end - w.end for w in back]
        mirrored = [Wave(s, end - w.start, last - w.stage, w.tasks) for s, w in zip(early, back)]  # noqa: B905
        greedy = starts_by(forward, tolerance)
        if length <= end + slack and starts_by(mirrored, tolerance) <= greedy:
            late = mirrored
    return Schedule(end, forward, late)


def leftover(
    jobs: Sequence[Wants], free: Vector, capacity: Vector, rule: Rule = "srtf"
) -> Iterator[tuple[int, int]]:
    """Who gets one more task of what is left over, L: (job, stage), in order (2.4).

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

    while able := [(k, i) for (k, i), n in left.items() if n and holds(jobs[k].stages[i][0], room)]:
        k, i = min(able, key=rank)
        left[k, i] -= 1
        add(room, jobs[k].stages[i][0], -1)
        yield k, i
