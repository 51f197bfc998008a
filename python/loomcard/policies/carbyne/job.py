"""One job: its share, how many tasks of each stage wait, and which of them must start now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, inf
from typing import Any

from loomcard import Application, Ask, Container, Dag
from loomcard.policies.carbyne.asks import is_altruistic, is_default
from loomcard.policies.carbyne.estimates import HEARTBEAT_MS
from loomcard.policies.carbyne.waves import Stage, holds

MOST_ENDS = 10
"""About so many ends of running tasks are told apart in a stage when a job is planned."""


class Due:
    """So many tasks of an ask must start; ``planned``: its schedule or its AM says so."""

    __slots__ = ("planned", "since_ms", "tasks")

    def __init__(self, tasks: int, since_ms: int, planned: bool) -> None:
        self.tasks = tasks
        self.since_ms = since_ms
        self.planned = planned


class Job:
    """An application that asks for or holds something. ``known`` is its part of the memory."""

    def __init__(self, app: Application, dag: Dag | None, known: dict[str, Any]) -> None:
        self.app, self.dag, self.known = app, dag, known
        count = 0 if dag is None else len(dag.stages)
        self.marked = False  # its AM says what must start
        self.share: Sequence[float] = [0.0] * len(app.used)
        self.sent: Sequence[float] | None = None  # the share that its AM was sent
        self.work = 0  # remaining, in millionths of a ms of the cluster
        self.held = -1  # its containers that are counted; -1: they are to be counted again
        self.masters = [0] * len(app.used)  # what its AMs hold
        self.tasks = 0  # that run or are asked for
        self.running, self.asked = [0] * count, [0] * count
        self.waiting, self.done = [0] * count, [0] * count
        self.durations: list[float] = []
        self.finished = True  # a task finished since ``durations`` and ``work`` were found
        self.plan: dict[str, Any] | None = known.get("plan")
        self.dues: dict[Ask, Due] = {}
        self.next_ms = inf  # when the next task that it asks for must start

    # Its tasks

    def own_share(self) -> list[float]:
        """What its tasks may hold: its share less what its masters hold."""
        return [max(0.0, s - held) for s, held in zip(self.share, self.masters, strict=True)]

    def ended(self, container: Container) -> None:
        """A container of it is gone."""
        self.held = -1 if container.is_am else self.held - 1
        self._ran(container.ask_key, -1)
        self.finished = True

    def granted(self, ask: Ask) -> None:
        """A container was granted for an ask of it."""
        self.held = -1 if ask.is_am else self.held + 1
        stage = self._ran(ask.key, 1)
        if stage is not None:
            self.asked[stage] = max(0, self.asked[stage] - 1)
            self._wait(stage)

    def _ran(self, key: Any, count: int) -> int | None:
        stage = None if self.dag is None else self.dag.stage_of(key)
        if stage is not None:
            self.running[stage] += count
        return stage

    def _wait(self, i: int) -> None:
        assert self.dag is not None
        left = self.dag.stages[i].tasks - self.done[i] - self.running[i]
        self.waiting[i] = max(0, left, self.asked[i])

    def count(self, done: Mapping[int, int]) -> None:
        """Its tasks, of its asks and containers; ``done``: how many of each stage finished."""
        app, dag = self.app, self.dag
        if self.held != len(app.containers):
            self._count_containers()
        self.tasks = self.held
        self.asked = [0] * len(self.asked)
        for ask in app.asks:
            if not ask.is_am:
                self.tasks += ask.count
                stage = None if dag is None else dag.stage_of(ask.key)
                if stage is not None:
                    self.asked[stage] += ask.count
        if any(self.masters):
            self.tasks -= sum(c.is_am for c in app.containers)
        for i in range(len(self.asked)):
            self.done[i] = done.get(i, 0)
            self._wait(i)

    def _count_containers(self) -> None:
        app, dag = self.app, self.dag
        self.held = len(app.containers)
        self.running = [0] * len(self.running)
        self.masters = [0] * len(app.used)
        for container in app.containers:
            if container.is_am:
                pairs = zip(self.masters, container.size, strict=True)
                self.masters = [held + size for held, size in pairs]
            elif dag is not None:
                self._ran(container.ask_key, 1)

    def stages(self, sizes: Sequence[Sequence[float]], now_ms: int) -> list[Stage]:
        """What is left of its DAG, as ``paper`` takes it, with tasks of these sizes."""
        assert self.dag is not None
        lefts: list[Counter[float]] = [Counter() for _ in self.running]
        for container in self.app.containers:
            i = None if container.is_am else self.dag.stage_of(container.ask_key)
            if i is not None:
                lefts[i][left_ms(container, self.durations[i], now_ms)] += 1
        rows = zip(self.dag.stages, self.waiting, sizes, self.durations, lefts, strict=True)
        return [
            Stage(waits, size, ms, stage.after, grouped(runs, ms))
            for stage, waits, size, ms, runs in rows
        ]

    # What must start

    def must(self, by_ms: float, *, altruist: bool) -> dict[int, int]:
        """How many tasks of each stage must start until ``by_ms``, of those that have not started;
        of a job that is no altruist, all that its schedule packs by then.
        """
        found: dict[int, int] = {}
        if self.plan is not None:
            columns = self.plan["late" if altruist else "forward"]
            for start, stage, tasks in zip(*columns, strict=True):
                if start > by_ms:
                    break
                found[stage] = found.get(stage, 0) + tasks
            for stage in found:
                started = max(0, self.plan["waiting"][stage] - self.waiting[stage])
                found[stage] = max(0, found[stage] - started)
        return found

    def find_dues(self, now_ms: int, tolerance_ms: int, *, altruist: bool) -> int:
        """See which asks must start now: no more than the share has room for; of what is in no
        schedule, all that it has room for; of a job whose AM marks its asks, what is not
        ALTRUISTIC. Returns how many tasks are marked DEFAULT beyond the share.
        """
        altruist = altruist or (self.plan is None and not self.marked)
        by_ms = now_ms + tolerance_ms
        must = self.must(by_ms, altruist=altruist)
        used, beyond = [float(amount) for amount in self.app.used], 0
        since = {tuple(key): ms for *key, ms in self.known.get("since", ())}
        self.dues = {}
        for ask in self.app.asks:
            if ask.is_am or ask.count <= 0 or (altruist and is_altruistic(ask)):
                continue
            stage = self.stage_of(ask)
            tasks = ask.count if stage is None else min(ask.count, must.get(stage, 0))
            if tasks > 0:
                tasks = min(tasks, holds(ask.size, self._room(ask, used)))
            if tasks > 0:
                if stage is not None:
                    must[stage] -= tasks
                for r, amount in enumerate(ask.size):
                    used[r] += amount * tasks
                planned = stage is not None or is_default(ask)
                self.dues[ask] = Due(tasks, since.get(ask.key, now_ms), planned)
            beyond += ask.count - tasks if is_default(ask) else 0
        self.known["since"] = [[*ask.key, due.since_ms] for ask, due in self.dues.items()]
        self.next_ms = self._next_ms(by_ms)
        return beyond

    def served(self, ask: Ask) -> None:
        """All its tasks that must start did."""
        del self.dues[ask]
        self.known["since"] = [row for row in self.known["since"] if tuple(row[:-1]) != ask.key]

    def _room(self, ask: Ask, used: Sequence[float]) -> list[float]:
        """What the share has room for; one task of the ask in any case."""
        rows = zip(self.share, self.masters, ask.size, used, strict=True)
        return [max(share, held + size, u) - u for share, held, size, u in rows]

    def stage_of(self, ask: Ask) -> int | None:
        """The stage of an ask that is planned; None: the job, or the ask, is in no plan."""
        return None if self.plan is None or self.dag is None else self.dag.stage_of(ask.key)

    def _next_ms(self, after_ms: float) -> float:
        """The first start after ``after_ms`` of a stage that it asks for; inf: there is none."""
        if self.plan is not None:
            for start, stage, _ in zip(*self.plan["late"], strict=True):
                if start > after_ms and self.asked[stage]:
                    return float(start)
        return inf


def grouped(lefts: Mapping[float, int], ms: float) -> list[tuple[float, int]]:
    """How many running tasks have how long left; of many that end at other times, those of about
    the same time together, at the latest of it: a schedule costs as much as it has such times.
    """
    if len(lefts) <= MOST_ENDS:
        return sorted(lefts.items())
    step, found = ms / MOST_ENDS, Counter[float]()
    for left, count in lefts.items():
        found[step * ceil(left / step)] += count
    return sorted(found.items())


def left_ms(container: Container, expected_ms: float, now_ms: int) -> float:
    """How long a running task still needs; a heartbeat where it should have ended."""
    began = container.started_ms
    ran = now_ms - (container.allocated_ms if began is None else began)
    return max(expected_ms - ran, HEARTBEAT_MS if ran else expected_ms)
