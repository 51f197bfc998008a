"""The tasks of one stage as its application master knows them: which tasks wait, how often each
ran, and which task is best for a container on a given node.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from loomcard.model.resource import Resource
from loomcard.workload.scenario import Stage

Rows = tuple[dict[str, int], dict[str, int]]


class StageRun:
    """One stage in the course of its application."""

    __slots__ = (
        "_order",
        "failures",
        "key",
        "left",
        "opened",
        "parents_left",
        "preferences",
        "size",
        "spec",
    )  # fmt: skip

    def __init__(self, spec: Stage, rack_of: Callable[[str], str]) -> None:
        self.spec = spec
        self.size = Resource(spec.size)
        self.key = (spec.priority, spec.request_id)
        self.left = len(spec.durations_ms)  # tasks that have not succeeded
        self.parents_left = len(spec.after)
        self.opened = False  # its tasks can run, now or at an earlier time
        self._order: list[int] = []  # heap of waiting tasks; with wishes, also of other tasks
        self.failures: dict[int, int] = {}
        self.preferences = LocalityPreferences(spec.nodes, rack_of) if any(spec.nodes) else None

    @property
    def waiting(self) -> int:
        """Count of the tasks that were asked for and have no container."""
        return len(self._order) if self.preferences is None else len(self.preferences.waiting)

    def add(self, task: int) -> None:
        """Let a task wait for a container."""
        heappush(self._order, task)
        if self.preferences is not None:
            self.preferences.add(task)

    def take(self, host: str, rack: str) -> int | None:
        """Take a task for a container: one that wants the host, otherwise one that wants the rack,
        otherwise the first. Return None if no task waits.
        """
        if self.preferences is None:
            return heappop(self._order) if self._order else None
        task = self.preferences.take(host, rack)
        while task is None and self._order:
            first = heappop(self._order)
            if self.preferences.discard(first):
                task = first
        return task

    def drop(self) -> int | None:
        """Stop asking for the waiting task of the highest index, and return it."""
        if not self.waiting:
            return None
        if self.preferences is not None:
            last = max(self.preferences.waiting)
            self.preferences.discard(last)
        else:
            last = max(self._order)
            self._order.remove(last)
            heapify(self._order)
        return last

    @property
    def rows(self) -> Rows:
        """Return how many waiting tasks want each host, and each rack."""
        return ({}, {}) if self.preferences is None else self.preferences.rows

    def split_rows(self, first: int) -> tuple[Rows, Rows]:
        """Return the rows of the ``first`` waiting tasks, and those of the others."""
        if self.preferences is None:
            return ({}, {}), ({}, {})
        waiting = sorted(self.preferences.waiting)
        return self.preferences.rows_of(waiting[:first]), self.preferences.rows_of(waiting[first:])

    def attempt_length(self, task: int, host: str) -> tuple[int, int]:
        """Return how long the task's next attempt runs on a host, in ms, and its exit status."""
        failures = self.failures.get(task, 0)
        fails = self.spec.fails_ms.get(task, ())
        if failures < len(fails):
            return fails[failures], 1
        spec = self.spec
        wishes = spec.nodes[task] if spec.nodes else ()
        remote = bool(wishes) and host not in wishes
        length = spec.durations_ms[task]
        return (round(length * spec.remote_factor) if remote else length), 0


class LocalityPreferences:
    """Which waiting tasks want which host and rack."""

    def __init__(self, nodes: list[list[str]], rack_of: Callable[[str], str]) -> None:
        self._hosts = nodes
        self._racks = [sorted({rack_of(name) for name in names}) for names in nodes]
        self.waiting: set[int] = set()
        self._by_host: dict[str, list[int]] = {}
        self._by_rack: dict[str, list[int]] = {}
        self.rows: Rows = ({}, {})

    def add(self, task: int) -> None:
        """Add a waiting task."""
        self.waiting.add(task)
        for names, table in self._tables(task):
            for name in names:
                heappush(table.setdefault(name, []), task)
        self._count(task, 1)

    def take(self, host: str, rack: str) -> int | None:
        """Take the first waiting task that wants the host, otherwise the rack; None: no task."""
        for heap in (self._by_host.get(host), self._by_rack.get(rack)):
            while heap:
                task = heappop(heap)
                if self.discard(task):
                    return task
        return None

    def discard(self, task: int) -> bool:
        """Remove a task; return whether it waited."""
        if task not in self.waiting:
            return False
        self.waiting.discard(task)
        self._count(task, -1)
        return True

    def _tables(self, task: int) -> list[tuple[list[str], dict[str, list[int]]]]:
        return [(self._hosts[task], self._by_host), (self._racks[task], self._by_rack)]

    def rows_of(self, tasks: list[int]) -> Rows:
        """Return how many of these tasks want each host, and each rack."""
        rows: Rows = ({}, {})
        for task in tasks:
            self._count(task, 1, rows)
        return rows

    def _count(self, task: int, change: int, rows: Rows | None = None) -> None:
        kept = self.rows if rows is None else rows
        for names, row in zip((self._hosts[task], self._racks[task]), kept, strict=True):
            for name in names:
                count = row.get(name, 0) + change
                if count:
                    row[name] = count
                else:
                    del row[name]
