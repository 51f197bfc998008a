"""The fair shares of jobs: one level for all jobs that need the same resource types
(docs/papers/carbyne.md 2.1). Whoever comes or goes changes the level, and only jobs that decide
otherwise at the new level are looked at: the cost does not grow with the number of jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf

from loomcard import Application
from loomcard.advanced import Entry, LazyHeap
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
        self.weights, self.jobs = 0, 0
        self._lows: dict[Application, Entry] = {}
        self._highs: dict[Application, Entry] = {}
        self._below, self._above = LazyHeap(self._lows), LazyHeap(self._highs)

    def stand(self, app: Application, low: float, high: float) -> None:
        """Note that a job stands from ``low`` up to, but not at, ``high``."""
        rows = ((self._lows, self._below, -low), (self._highs, self._above, high))
        for current, heap, limit in rows:
            if limit < inf:
                entry: Entry = (limit, app.number, app)
                current[app] = entry
                heap.push(entry)
            else:
                current.pop(app, None)

    def leave(self, app: Application) -> None:
        """Forget a job."""
        self._lows.pop(app, None)
        self._highs.pop(app, None)

    def move(self, x: float) -> list[Application]:
        """Set the level; return the jobs that no longer stand."""
        self.x, found = x, list[Application]()
        while (entry := self._below.top()) is not None and -entry[0] > x:
            found.append(self._lows.pop(entry[-1])[-1])
        while (entry := self._above.top()) is not None and entry[0] <= x:
            found.append(self._highs.pop(entry[-1])[-1])
        return found


class Shares:
    """The levels, and what idle jobs' masters leave to divide. ``capacity``: the cluster's."""

    def __init__(self, capacity: Sequence[int]) -> None:
        self.capacity = capacity
        self.levels: dict[Types, Level] = {}
        self.masters = [0] * len(capacity)  # of jobs without tasks
        self.moved = True
        self._entered: dict[Job, tuple[list[int], int]] = {}

    def enter(self, job: Job) -> None:
        """Follow a job that may have changed: what it needs, or that it has no tasks."""
        if job in self._entered and job.level and job.tasks and job.weight == job.app.weight:
            return
        weight, rows = job.app.weight, hat(job.known["demand"], self.capacity) if job.tasks else []
        parted = [round(UNIT * weight * part) for part in rows]
        entered = (parted, round(UNIT * weight)) if parted else (list(job.masters), 0)
        if self._entered.get(job) == entered:
            return
        self.leave(job)
        self._entered[job] = entered
        level = None
        if parted:
            types = tuple(r for r, part in enumerate(parted) if part)
            level = self.levels.setdefault(types, Level(len(parted)))
            job.join(level, self.capacity)
        self._add(level, entered, 1)

    def leave(self, job: Job) -> None:
        """Take a job out."""
        if (entered := self._entered.pop(job, None)) is not None:
            self._add(job.level, entered, -1)
            if job.level is not None:
                job.level.leave(job.app)
                job.level = None

    def _add(self, level: Level | None, entered: tuple[list[int], int], sign: int) -> None:
        needs, weight = entered
        sums = self.masters
        if level is not None:
            level.weights += sign * weight
            level.jobs += sign
            sums = level.sums
        for r, need in enumerate(needs):
            sums[r] += sign * need
        self.moved = self.moved or any(needs)

    @property
    def jobs(self) -> int:
        """How many jobs have a share."""
        return sum(level.jobs for level in self.levels.values())

    @property
    def fair(self) -> float:
        """The sum of their dominant shares."""
        return fsum(level.x * level.weights / UNIT for level in self.levels.values())

    def divide(self, entitled: Vector) -> list[Application]:
        """Divide what the queue is entitled to; return the jobs that no longer stand."""
        self.moved = False
        self.levels = {types: level for types, level in sorted(self.levels.items()) if level.jobs}
        whole = [max(0.0, c - held) for c, held in zip(entitled, self.masters, strict=True)]
        rows = [
            [c * s / UNIT for c, s in zip(self.capacity, level.sums, strict=True)]
            for level in self.levels.values()
        ]
        weights = [max(parts([row], whole)[0], default=0.0) for row in rows]
        equal = any(whole) and all(s or not c for row in rows for s, c in zip(row, whole))  # noqa: B905
        shares, _ = (inter_job if equal else water_filling)(rows, weights, whole)
        found = list[Application]()
        for level, row, share in zip(self.levels.values(), rows, shares, strict=True):
            x = max((a / need for a, need in zip(share, row, strict=True) if need), default=0.0)
            found += level.move(x)
        return found
