"""One job: its share, how many tasks of each stage wait, and which of them must start now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from loomcard import Application, Ask, Container
from loomcard.advanced import AskKey, Dag, StageTasks
from loomcard.policies.carbyne.asks import is_altruistic, is_default
from loomcard.policies.carbyne.estimates import HEARTBEAT_MS
from loomcard.policies.carbyne.waves import EPS, Stage, add, fits, hat

if TYPE_CHECKING:
    from loomcard.policies.carbyne.shares import Level

MOST_ENDS = 10
"""About how many different ends of running tasks a plan distinguishes in a stage."""


NEARLY = 1e-6
"""A share this near to one more task is looked at again."""


@dataclass(slots=True)
class Due:
    """How many tasks of an ask must start; ``planned``: its schedule or its AM says so."""

    tasks: int
    since_ms: int
    planned: bool


class Job(StageTasks):
    """An application that asks for or uses something. ``known`` is its part of the memory."""

    def __init__(self, app: Application, dag: Dag | None, known: dict[str, Any]) -> None:
        super().__init__(app, dag)
        self.known = known
        self.marked = False  # its AM says what must start
        self.level: Level | None = None  # of fair shares; None: it has no tasks
        self.weight = 1.0
        self.slope: Sequence[float] = [0.0] * len(app.used)  # its share at level 1
        self.even: Sequence[float] = self.slope  # if each type were its dominant one
        self._share, self._x = self.slope, 0.0
        self.sent: Sequence[float] | None = None  # the share that its AM was sent
        self.work = 0  # remaining, in millionths of a ms of the cluster
        self.durations: list[float] = []
        self.error: float | None = None  # of the estimated durations, in the mean
        self.finished = True  # a task finished since these were found
        self.plan: dict[str, Any] | None = known.get("plan")
        self.dues: dict[Ask, Due] = {}
        self.must_start = 0  # tasks, of all dues
        self.next_ms = inf  # when the next task that it asks for must start
        self.bounds: list[list[float]] = []  # of the share: within them dues and plan stand
        self.least, self.all = self.slope, self.slope  # see ``limit_use``
        self.place = (-inf, inf)  # the levels between which its place among the borrowers stands

    def join(self, level: Level, capacity: Sequence[float]) -> None:
        """Have a share of the cluster's ``capacity`` at this level."""
        weight, self.level, self._x = self.app.weight, level, 0.0
        self.weight = weight
        rows = zip(hat(self.known["demand"], capacity), capacity, strict=True)
        self.slope, self.even = [weight * h * c for h, c in rows], [weight * c for c in capacity]
        self._share = [0.0] * len(capacity)

    @property
    def share(self) -> Sequence[float]:
        """Its fair share A_k; the same list as long as it is the same."""
        x = 0.0 if self.level is None else self.level.x
        if x != self._x:
            self._share, self._x = [x * slope for slope in self.slope], x
        return self._share

    @property
    def fair(self) -> float:
        """Its dominant fair share, as a part of the cluster."""
        return 0.0 if self.level is None else self.level.x * self.weight

    def own_share(self) -> list[float]:
        """Return what its tasks may use: its share minus what its masters use."""
        return [max(0.0, s - held) for s, held in zip(self.share, self.masters, strict=True)]

    def ended(self, container: Container) -> None:
        """Remove a container that ended."""
        super().ended(container)
        self.finished = True

    def stages(self, sizes: Sequence[Sequence[float]], now_ms: int) -> list[Stage]:
        """Return the rest of its DAG in the form of ``paper``, with tasks of these sizes."""
        assert self.dag is not None
        lefts: list[Counter[float]] = [Counter() for _ in self.running]
        for container in self.app.containers:
            i = self.stage_of(container.ask_key)
            if i is not None and not container.is_am:
                lefts[i][left_ms(container, self.durations[i], now_ms)] += 1
        rows = zip(self.dag.stages, self.waiting, sizes, self.durations, lefts, strict=True)
        return [
            Stage(waits, size, ms, stage.after, grouped(runs, ms))
            for stage, waits, size, ms, runs in rows
        ]

    # What must start

    def must(self, by_ms: float, *, altruist: bool) -> dict[int, int]:
        """Return how many tasks of each stage, not yet started, must start until ``by_ms``.

        If the job is not an ``altruist``: all that its schedule packs by then.
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

    def latest_ms(self, ask: Ask) -> float:
        """Return when the next task of an ask must start, in ms; inf: no schedule says so."""
        stage = self.planned_stage(ask)
        if self.plan is None or stage is None:
            return inf
        started = self.plan["waiting"][stage] - self.waiting[stage]
        for start, i, tasks in zip(*self.plan["late"], strict=True):
            started -= tasks if i == stage else 0
            if i == stage and started < 0:
                return float(start)
        return inf

    def planned_ms(self, key: AskKey) -> float:
        """Return when the last started task of a stage had to start at the latest, in ms; inf: no
        schedule says so; -inf: it ran before the schedule was made.
        """
        stage = self.stage_of(key)
        if self.plan is None or stage is None:
            return inf
        started, found = self.plan["waiting"][stage] - self.waiting[stage], -inf
        for start, i, tasks in zip(*self.plan["late"], strict=True):
            if i == stage and started > 0:
                found, started = float(start), started - tasks
        return found

    def early(self, by_ms: float) -> list[float]:
        """Return what its tasks use that started sooner than they had to by then."""
        found = [0.0] * len(self.app.used)
        if self.plan is not None and self.dag is not None:
            due = [0] * len(self.waiting)
            for start, stage, tasks in zip(*self.plan["late"], strict=True):
                due[stage] += tasks if start <= by_ms else 0
            for stage, runs in enumerate(self.running):
                started = self.plan["waiting"][stage] - self.waiting[stage]
                if (ahead := min(runs, started - due[stage])) > 0:
                    add(found, self.dag.sizes[stage], ahead)
        return found

    def find_dues(
        self, now_ms: int, tolerance_ms: int, *, altruist: bool, early: bool = True
    ) -> int:  # fmt: skip
        """Find which asks must start now, at most as many as the share has room for; without
        ``early`` its early tasks take none of the room, because others can take them back.

        Asks in no schedule must start as far as there is room. If the AM marks asks, those that are
        not ALTRUISTIC must. Return how many tasks are marked DEFAULT beyond the share.
        """
        altruist = altruist or (self.plan is None and not self.marked)
        by_ms = now_ms + tolerance_ms
        must = self.must(by_ms, altruist=altruist)
        used, beyond = [float(amount) for amount in self.app.used], 0
        if not early:
            used = [max(0.0, u - e) for u, e in zip(used, self.early(by_ms), strict=True)]
        since = {tuple(key): ms for *key, ms in self.known.get("since", ())}
        self.dues, self.bounds = {}, [[-inf, inf] for _ in used]
        for ask in self.app.asks:
            if ask.is_am or ask.count <= 0 or (altruist and is_altruistic(ask)):
                continue
            stage = self.planned_stage(ask)
            tasks = ask.count if stage is None else min(ask.count, must.get(stage, 0))
            if tasks > 0:
                tasks = self._within(ask, tasks, used)
            if tasks > 0:
                if stage is not None:
                    must[stage] -= tasks
                for r, amount in enumerate(ask.size):
                    used[r] += amount * tasks
                planned = stage is not None or is_default(ask)
                self.dues[ask] = Due(tasks, since.get(ask.key, now_ms), planned)
            beyond += ask.count - tasks if is_default(ask) else 0
        self.must_start = sum([due.tasks for due in self.dues.values()])
        self.known["since"] = [[*ask.key, due.since_ms] for ask, due in self.dues.items()]
        self.next_ms = self._next_ms(by_ms)
        return beyond

    def served(self, ask: Ask) -> None:
        """Remove an ask after all its tasks that must start have started."""
        del self.dues[ask]
        self.known["since"] = [row for row in self.known["since"] if tuple(row[:-1]) != ask.key]

    def stands(self) -> tuple[float, float]:
        """Return from which level on, and up to which, dues, plan and place are as they are."""
        low, high = self.place
        for slope, (least, most) in zip(self.slope, self.bounds, strict=True):
            if slope:
                low, high = max(low, least / slope * (1 + EPS)), min(high, most / slope * (1 - EPS))
        return low, high

    def may_borrow_from(self, size: Sequence[float], times: float) -> float:
        """Return the level from which on it uses at most so many times its share with one more
        container, of this size.
        """
        if not times or not any(self.app.used):
            return -inf  # one container is never too much
        rows = zip(size, self.app.used, self.even, strict=True)
        levels = [(used + s) / (times * e) if e else inf for s, used, e in rows if s]
        return max(levels, default=-inf) * (1 - EPS)

    def limit_use(self, sizes: Sequence[Sequence[float]]) -> None:
        """Find on which part of a share its schedule depends: from the room of its largest waiting
        task up to that of all its tasks; ``sizes``: of one task of each stage.
        """
        self.least, self.all = [0.0] * len(self.masters), [0.0] * len(self.masters)
        for waits, runs, size in zip(self.waiting, self.running, sizes, strict=True):
            if waits or runs:
                for r, amount in enumerate(size):
                    self.all[r] += (waits + runs) * amount
                    if waits and amount > self.least[r]:
                        self.least[r] = amount

    def useful(self, share: Sequence[float]) -> list[float]:
        """Return the part of a share on which its schedule depends."""
        rows = zip(share, self.least, self.all, strict=True)
        return [min(max(amount, least), most) for amount, least, most in rows]

    def bound_plan(self, moved: float) -> None:
        """Bound the share to where it has moved by less than this part since the plan, as far as
        its schedule depends on it.
        """
        if self.plan is not None:
            planned = self.useful(self.plan["share"])
            rows = zip(self.bounds, planned, self.masters, self.least, self.all, strict=True)
            for bound, amount, held, least, most in rows:
                if amount * (1 - moved) > least:
                    bound[0] = max(bound[0], held + amount * (1 - moved))
                if amount * (1 + moved) < most:
                    bound[1] = min(bound[1], held + amount * (1 + moved))

    def _within(self, ask: Ask, wanted: int, used: Sequence[float]) -> int:
        """Return how many tasks of an ask the share has room for, at least one and at most
        ``wanted``. The share's bounds become those within which the number stays the same.
        """
        least = [max(held + s, u) for held, s, u in zip(self.masters, ask.size, used, strict=True)]
        rows = zip(self.share, least, used, strict=True)
        room = [max(share, low) - u for share, low, u in rows]
        tasks = min(wanted, fits(ask.size, room))
        full, binding = inf, -1
        for r, size in enumerate(ask.size):
            if size:
                needed = used[r] + tasks * size
                if needed > least[r]:
                    self.bounds[r][0] = max(self.bounds[r][0], needed)
                if room[r] / size < full:
                    full, binding = room[r] / size, r
        if tasks < wanted and binding >= 0:
            limit = used[binding] + (tasks + 1) * ask.size[binding]
            self.bounds[binding][1] = min(self.bounds[binding][1], limit * (1 - NEARLY))
        return tasks

    def planned_stage(self, ask: Ask) -> int | None:
        """Return the stage of an ask that is planned; None: the job, or the ask, is in no plan."""
        return None if self.plan is None else self.stage_of(ask.key)

    def _next_ms(self, after_ms: float) -> float:
        """Return the first start after ``after_ms`` of a stage that it asks for, or inf."""
        if self.plan is not None:
            for start, stage, _ in zip(*self.plan["late"], strict=True):
                if start > after_ms and self.asked[stage]:
                    return float(start)
        return inf


def grouped(lefts: Mapping[float, int], ms: float) -> list[tuple[float, int]]:
    """Return pairs of time left and number of running tasks.

    If there are many times, similar ones are grouped at the latest, because each different time
    makes a schedule slower.
    """
    if len(lefts) <= MOST_ENDS:
        return sorted(lefts.items())
    step, found = ms / MOST_ENDS, Counter[float]()
    for left, count in lefts.items():
        found[step * ceil(left / step)] += count
    return sorted(found.items())


def left_ms(container: Container, expected_ms: float, now_ms: int) -> float:
    """Return how many ms a running task still needs; one heartbeat if it should have ended."""
    began = container.started_ms
    ran = now_ms - (container.allocated_ms if began is None else began)
    return max(expected_ms - ran, HEARTBEAT_MS if ran else expected_ms)
