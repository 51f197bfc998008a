"""The fair shares of jobs: one level for all jobs that need the same resource types
(docs/papers/carbyne.md 2.2). Whoever comes or goes changes the level, and only jobs that decide
otherwise at the new level are looked at: the cost does not grow with the number of jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from loomcard.advanced import LazyHeap
from loomcard.policies.carbyne.job import Job
from loomcard.policies.carbyne.paper import inter_job, water_filling
from loomcard.policies.carbyne.waves import Vector, hat, parts

UNIT = 1 << 60
"""What jobs need is summed up as integers, in parts of it: sums are the same in any order."""

Types = tuple[int, ...]
"""The resource types that a job needs, by their places."""


class Level:
    """A level x; the share of each of its jobs is x * ``job.slope``.

    A job stands in an interval of x: its dues, its plan and its place in line stay as they are.
    """

    def __init__(self, types: int) -> None:
        self.x = 0.0
        self.sums = [0] * types  # of what jobs need at level 1, in parts of the cluster
        self._lows: dict[Job, tuple[float, int, Job]] = {}
        self._highs: dict[Job, tuple[float, int, Job]] = {}
        self._below, self._above = LazyHeap(self._lows), LazyHeap(self._highs)

    def stand(self, job: Job, low: float, high: float) -> None:
        """Note that a job stands from ``low`` up to, but not at, ``high``."""
        rows = ((self._lows, self._below, -low), (self._highs, self._above, high))
        for current, heap, limit in rows:
            if limit < inf:
                entry = current[job] = (limit, job.app.number, job)
                heap.push(entry)
            else:
                current.pop(job, None)

    def leave(self, job: Job) -> None:
        """Forget a job."""
        self._lows.pop(job, None)
        self._highs.pop(job, None)

    def move(self, x: float) -> list[Job]:
        """Set the level; return the jobs that no longer stand."""
        self.x, found = x, list[Job]()
        while (entry := self._below.top()) is not None and -entry[0] > x:
            found.append(self._lows.pop(entry[-1])[-1])
        while (entry := self._above.top()) is not None and entry[0] <= x:
            found.append(self._highs.pop(entry[-1])[-1])
        return found


class Shares:
    """The levels, and what idle jobs' masters leave to divide. ``capacity``: the cluster's."""

    def __init__(self, capacity: Vector) -> None:
        self.capacity = capacity
        self.levels: dict[Types, Level] = {}
        self.masters = [0] * len(capacity)  # of jobs without tasks
        self.moved = True
        self._entered: dict[Job, tuple[Types | None, list[int]]] = {}

    def enter(self, job: Job) -> None:
        """Follow a job that may have changed: what it needs, or that it has no tasks."""
        needs, types = list[int](job.masters), None
        if job.tasks:
            directed = [job.app.weight * h for h in hat(job.known["demand"], self.capacity)]
            types = tuple(r for r, part in enumerate(directed) if part)
            needs = [round(UNIT * part) for part in directed]
        if self._entered.get(job) == (types, needs):
            return
        self.leave(job)
        self._entered[job] = types, needs
        self._add(types, needs, 1)
        if types is not None:
            job.join(self.levels[types], self.capacity)

    def leave(self, job: Job) -> bool:
        """Take a job out; return whether it was there."""
        if (entered := self._entered.pop(job, None)) is None:
            return False
        self._add(*entered, -1)
        if job.level is not None:
            job.level.leave(job)
            job.level = None
        return True

    def _add(self, types: Types | None, needs: Sequence[int], sign: int) -> None:
        sums = self.masters
        if types is not None:
            level = self.levels.setdefault(types, Level(len(needs)))
            sums = level.sums
        self.moved = self.moved or any(needs)
        for r, need in enumerate(needs):
            sums[r] += sign * need

    def divide(self, entitled: Vector) -> list[Job]:
        """Divide what the queue is entitled to; return the jobs that no longer stand."""
        self.moved = False
        whole = [max(0.0, c - held) for c, held in zip(entitled, self.masters, strict=True)]
        rows = [
            [c * s / UNIT for c, s in zip(self.capacity, level.sums, strict=True)]
            for level in self.levels.values()
        ]
        weights = [max(parts([row], whole)[0], default=0.0) for row in rows]
        equal = any(whole) and all(s or not c for row in rows for s, c in zip(row, whole))  # noqa: B905
        shares, _ = (inter_job if equal else water_filling)(rows, weights, whole)
        found = list[Job]()
        for level, row, share in zip(self.levels.values(), rows, shares, strict=True):
            x = max((a / need for a, need in zip(share, row, strict=True) if need), default=0.0)
            found += level.move(x)
        self.levels = {types: level for types, level in self.levels.items() if any(level.sums)}
        return found
