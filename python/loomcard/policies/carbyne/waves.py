"""What schedules are made of: stages, waves of their tasks, and what is free over time.

Vectors are amounts, one number per resource type, in the cluster's order. All times have one unit,
of any kind, and count from now.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Vector = Sequence[float]

EPS = 1e-9
"""Rounding: of parts of the cluster, and of times as a part of the schedule's length."""

MANY = 1 << 40
"""More tasks than any stage has."""


class Stage(NamedTuple):
    """What is left of a stage: ``tasks`` that have not started, each of ``size`` for ``dur``, after
    all tasks of the stages ``parents`` (indices, each less than its own). ``running``: its running
    tasks, as pairs of time left and how many.
    """

    tasks: int
    size: Vector
    dur: float
    parents: Sequence[int] = ()
    running: Sequence[tuple[float, int]] = ()


class Wave(NamedTuple):
    """``tasks`` of one stage from ``start`` to ``end``; ``pinned``: they run already."""

    start: float
    end: float
    stage: int
    tasks: int
    pinned: bool = False


class Schedule(NamedTuple):
    """T, the packed schedule, and the one as late as T allows, which starts at ``Actual``."""

    end: float
    forward: list[Wave]
    late: list[Wave]


class Wants(NamedTuple):
    """What a job may run beyond its must-starts: its remaining ``work``, and of each stage the size
    of a task and how many are runnable.
    """

    work: float
    stages: Sequence[tuple[Vector, int]]


class TooLongError(Exception):
    """A schedule takes too many steps."""


def starts_by(waves: Iterable[Wave], time: float) -> Counter[int]:
    """Return how many tasks of each stage start until ``time``, without running tasks."""
    found: Counter[int] = Counter()
    for wave in waves:
        if not wave.pinned and wave.start <= time:
            found[wave.stage] += wave.tasks
    return found


def children_of(stages: Sequence[Stage]) -> list[list[int]]:
    """Return, for each stage, the stages that wait for it."""
    found: list[list[int]] = [[] for _ in stages]
    for i, stage in enumerate(stages):
        for parent in stage.parents:
            found[parent].append(i)
    return found


def blocked(stage: Stage, left: Sequence[int]) -> bool:
    """Return whether a parent has tasks ``left``."""
    return any(left[parent] for parent in stage.parents)


def parts(vectors: Iterable[Vector], capacity: Vector) -> list[list[float]]:
    """Return amounts as parts of the cluster; 0 for a type that the cluster does not have."""
    return [[v / c if c else 0.0 for v, c in zip(row, capacity, strict=True)] for row in vectors]


def hat(demand: Vector, capacity: Vector) -> list[float]:
    """Return a demand in parts of the cluster, scaled so that its largest entry is 1."""
    own = parts([demand], capacity)[0]
    most = max(own, default=0.0) or 1.0
    return [part / most for part in own]


def envelope(stages: Sequence[Stage], share: Vector) -> list[float]:
    """Return the share, enlarged if needed to fit one task of each stage (2.5-3)."""
    return [max([a, *(s.size[r] for s in stages if s.tasks)]) for r, a in enumerate(share)]


def add(total: list[float], size: Vector, count: float) -> None:
    """Add so many of ``size`` to ``total``, in place."""
    for r, amount in enumerate(size):
        total[r] += amount * count


def fits(size: Vector, room: Vector) -> int:
    """Return how many tasks of a size fit into ``room``; other types do not count."""
    count = MANY
    for s, f in zip(size, room):  # noqa: B905 - equal by construction
        if s and f < (count + 1) * s:
            count = min(count, int(f / s + EPS))
            if count <= 0:
                return 0
    return count


class Profile:
    """What is free over time: ``free[i]`` from ``at[i]`` on, in parts of the cluster.

    Times that differ by less than ``eps`` are one.
    """

    def __init__(self, room: Vector, eps: float) -> None:
        self.at, self.free, self.eps = [0.0], [list(room)], eps
        self.steps = 0  # times looked at, so far

    def fill(self, uses: Iterable[tuple[float, float, Vector, int]]) -> None:
        """Take room for many: start, end, size, number of tasks. In an empty profile this costs n
        log n, one after the other n * n.
        """
        changes: dict[float, list[float]] = {}
        for start, end, size, count in uses:
            for time, tasks in ((start, -count), (end, count)):
                if time not in changes:
                    changes[time] = [0.0] * len(size)
                add(changes[time], size, tasks)
        at, free = self.at, self.free
        for time in sorted(changes):
            if time > at[-1] + self.eps:
                at.append(time)
                free.append(list(free[-1]))
            add(free[-1], changes[time], 1)

    def take(self, start: float, end: float, size: Vector, count: int) -> None:
        """Take room for ``count`` tasks of ``size`` from ``start`` to ``end``."""
        first, last = self._cut(start), self._cut(end)
        self.steps += last - first
        for i in range(first, last):
            add(self.free[i], size, -count)

    def _cut(self, time: float) -> int:
        i = bisect_left(self.at, time - self.eps)
        if i == len(self.at) or self.at[i] > time + self.eps:
            self.at.insert(i, time)
            self.free.insert(i, list(self.free[i - 1]))
        return i

    def latest(
        self, size: Vector, dur: float, first: float, end: float
    ) -> tuple[float, int] | None:
        """Return the latest start after ``first`` of tasks that end by ``end``, and how many fit;
        None if none does.
        """
        n, i = MANY, max(0, bisect_left(self.at, end - self.eps) - 1)
        while end - dur > first + self.eps:
            self.steps += 1
            room = fits(size, self.free[i])
            n = min(n, room)
            if not room:
                n, end = MANY, self.at[i]
            elif self.at[i] <= end - dur + self.eps:
                return end - dur, n
            i -= 1
        return None
