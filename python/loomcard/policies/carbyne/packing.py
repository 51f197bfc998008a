"""The schedules of a job's DAG inside a share: forward, backwards, and as late as possible
(docs/papers/carbyne.md 2.3, 2.6). Units and shapes are those of ``waves``.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

from loomcard.policies.carbyne.waves import (
    EPS,
    Profile,
    Stage,
    TooLongError,
    Vector,
    Wave,
    add,
    blocked,
    children_of,
    envelope,
    fits,
    parts,
)

EXACT_WAVES = 100
"""So many waves of a schedule are exact, however coarse the rest may be."""


def alignment(size: Vector, free: Vector, capacity: Vector) -> float:
    """Return sum_r (size_r / R_r) * (free_r / R_r) (2.6): the higher, the better it fits."""
    return sum(s * f / (c * c) for s, f, c in zip(size, free, capacity, strict=True) if c)


def reverse(stages: Sequence[Stage]) -> list[Stage]:
    """Return the DAG backwards: stage i becomes the last but i, and its children its parents."""
    last, children = len(stages) - 1, children_of(stages)
    found = []
    for own, below in zip(reversed(stages), reversed(children), strict=True):
        parents = [last - child for child in reversed(below)]
        found.append(Stage(own.tasks, own.size, own.dur, parents, own.running))
    return found


def pack(
    stages: Sequence[Stage], share: Vector, capacity: Vector, most: float = inf,
    coarse: float = 0.0,
) -> tuple[list[Wave], float]:  # fmt: skip
    """Return a schedule of the remaining DAG inside ``envelope(stages, share)``, and T, its end
    (2.3).

    List scheduling: at each completion runnable tasks that fit start, the best aligned stage first,
    ties by the longest path to a sink. Raises TooLongError after ``most`` steps (stages looked at).

    ``coarse``: after ``EXACT_WAVES`` waves, completions that differ by at most this part of the
    time until then count as one, the last. So a schedule has fewer waves the farther away they are.
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
    now, steps = 0.0, 0
    ready = [i for i, s in enumerate(stages) if s.tasks and not blocked(s, left)]
    while True:
        fitting = ready
        while fitting := [i for i in fitting if waiting[i] and fits(sizes[i], room)]:
            steps += len(fitting)
            i = fitting[0]
            if len(fitting) > 1:
                i = max(fitting, key=lambda i: (alignment(sizes[i], room, ones), path[i], -i))
            n, end = min(waiting[i], fits(sizes[i], room)), now + stages[i].dur
            waves.append(Wave(now, end, i, n))
            heappush(ends, (end, i, n))
            add(room, sizes[i], -n)
            waiting[i] -= n
        if not ends:
            return waves, now
        steps += len(ready)
        if steps > most:
            raise TooLongError
        now = ends[0][0]
        far = coarse if len(waves) > EXACT_WAVES else 0.0
        until = now * (1 + max(EPS, far))
        while ends and ends[0][0] <= until:
            end, i, n = heappop(ends)
            now = end if far else now
            add(room, sizes[i], n)
            left[i] -= n
            if not left[i]:
                ready += [c for c in children[i] if waiting[c] and not blocked(stages[c], left)]
        ready = [i for i in ready if waiting[i]]


def right_shift(
    stages: Sequence[Stage], forward: Sequence[Wave], end: float, share: Vector, capacity: Vector,
    most: float = inf,
) -> list[Wave]:  # fmt: skip
    """Return the tasks of ``forward``, each as late as ``end`` and the envelope allow, and never
    earlier than before (2.3). Tasks move by decreasing finish; running tasks stay. Raises
    TooLongError after ``most`` steps (times looked at).
    """
    sizes = parts([s.size for s in stages], capacity)
    profile = Profile(parts([envelope(stages, share)], capacity)[0], EPS * end)
    children, earliest, late = children_of(stages), [end] * len(stages), []
    until = list(earliest)  # later ends of a stage's tasks are already taken
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
        if profile.steps > most:
            raise TooLongError
    return late
