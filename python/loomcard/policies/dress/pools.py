"""DRESS's two pools of a leaf queue: who is small, and what each category holds and asks for.

Amounts are read from the cluster's own state, for applications that changed, so that a refusal, a
lost node or a snapshot needs no care of its own; the memory keeps what that state does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomcard.model.cluster import Application, Container, Member
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Shape
from loomcard.model.view import ClusterView
from loomcard.policies.dress.grant import Line
from loomcard.policies.dress.jobs import Jobs, am_of
from loomcard.policies.dress.memory import UNKNOWN, Job, Memory
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.paper import (
    CATEGORIES,
    LARGE,
    SMALL,
    Outlook,
    Vector,
    classify,
    dominant,
    less,
    plus,
    split,
)
from loomcard.policies.entitlement import potential

LINES = (UNKNOWN, SMALL, LARGE)
"""Jobs that ask for their AM, and small and large ones that ask for tasks."""

AMS_AT_MOST = 0.5
"""AMs hold no more of the queue than this, so that a task fits beside them."""

SLACK = 1 + 1e-9
"""Floating point must not take a container from a quota."""


@dataclass(slots=True)
class Charge:
    """What one application counts for."""

    pool: str
    used: list[int]
    am: Resource | None
    waits: bool
    tasks: int
    count: int


@dataclass(slots=True)
class Pending:
    """What one application asks for, as amounts and in containers, without what is in vain."""

    amounts: list[int]
    count: int


class Pools:
    """``used``: what either category holds, AMs too, by resource type; see ``Pools.of``."""

    def __init__(self, view: ClusterView, options: Options, memory: Memory) -> None:
        width = len(view.resource_types)
        self.memory = memory
        self.jobs = Jobs(memory, options, view.queue.applications)
        self.used = {kind: [0] * width for kind in CATEGORIES}
        self.tasks = dict.fromkeys(CATEGORIES, 0)
        self.count = dict.fromkeys(CATEGORIES, 0)
        """Containers held, AMs too."""
        self.ams, self.waiting_ams = [0] * width, [0] * width
        """What AMs hold, and those that wait for a first task, or have just come."""
        self.new_ams: dict[Application, int] = {}  # till when each counts as waiting
        self.pending: dict[str, list[Pending]] = {kind: [] for kind in CATEGORIES}
        """What the jobs of either category asked for at the last tick."""
        self._line_of: dict[Member, str] = {}
        self.lines = {kind: Line(view.queue, kind, self._line_of.get) for kind in LINES}
        self._quotas: dict[str, list[float]] = {}
        self._view = view
        self._options = options
        self._apps = view.queue.applications
        self._charges: dict[Application, Charge] = {}
        self._asked: dict[Application, Pending] = {}
        self._stale: dict[Member, None] = dict.fromkeys(self._apps.values())
        self._possible: dict[Shape, bool] = {}  # shapes that some node could hold if it were empty
        self._capacity_version = -1
        view.queue.watchers.append(self._stale)

    @staticmethod
    def of(view: ClusterView, options: Options, memory: Memory) -> Pools:
        """Those of an instance, brought up to date; new ones for a new memory."""
        found: Pools | None = view._indexes.get("pools")
        if found is None or found.memory is not memory:
            if found is not None:
                found._close()
            found = view._indexes["pools"] = Pools(view, options, memory)
        changes = view.changes
        if changes:
            memory.settled = False
        found.jobs.follow(changes)
        if found._capacity_version != view._ledger.capacity_version:
            found._capacity_version = view._ledger.capacity_version
            found._possible.clear()
            found._stale.update(dict.fromkeys(found._apps.values()))
            if memory.capacity != list(view._ledger.capacity):
                memory.capacity = list(view._ledger.capacity)
                found.measure()
        found._update()
        found._forget_new_ams()
        return found

    @property
    def total(self) -> list[int]:
        """What is divided, by resource type."""
        return self.memory.total

    def _close(self) -> None:
        watchers = self._view.queue.watchers
        watchers[:] = [watcher for watcher in watchers if watcher is not self._stale]

    # Who holds and asks for what

    def _update(self) -> None:
        if self._stale:
            for app in list(self._stale):
                if isinstance(app, Application):
                    self._recount(app)
            self._stale.clear()

    def _recount(self, app: Application) -> None:
        """Read anew what an application holds and asks for, and whether that is much."""
        self._asked.pop(app, None)
        before = self._line_of.pop(app, None)
        if before is not None:
            self.lines[before].stale[app] = None
        if self._apps.get(app.number) is not app:
            charge = self._charges.pop(app, None)
            self.new_ams.pop(app, None)
            if charge is not None:
                self._apply(charge, -1)
            return
        width, starts, count = len(app.used), False, 0
        tasks, every = [0] * width, [0] * width
        for ask in app.asks:
            if ask.count <= 0:  # granted in this round, and not confirmed yet
                continue
            asked = ask.size if ask.count == 1 else [ask.count * amount for amount in ask.size]
            if ask.is_am:
                starts = True
            else:
                tasks = [a + b for a, b in zip(tasks, asked, strict=True)]
            if self._is_possible(ask.size, ask.label):
                every = [a + b for a, b in zip(every, asked, strict=True)]
                count += ask.count
        if any(every):
            self._asked[app] = Pending(every, count)
        job, am = self.jobs.get(app), am_of(app)
        held = [0] * width if am is None else am.size
        demand = [a + b - c for a, b, c in zip(tasks, app.used, held, strict=True)]
        if any(demand):
            job.peak = tuple(map(max, demand, job.peak or demand))
            self._classify(app, job)
        self._line_of[app] = line = UNKNOWN if starts or job.kind == UNKNOWN else job.kind
        self.lines[line].stale[app] = None
        self._charge(app)

    def _is_possible(self, size: Resource, label: str) -> bool:
        """Whether some node could hold such a container, were it empty."""
        found = self._possible.get((size, label))
        if found is None:
            nodes = (n for n in self._view.nodes if n.takes(label))
            found = any(fits(size, node.capacity) for node in nodes)
            self._possible[size, label] = found
        return found

    def _charge(self, app: Application) -> None:
        """What the application holds counts to its pool. Whatever LARGE holds more by it, by a
        grant or since the application has become large, counts in ``large_at_tick`` too.
        """
        before = self._charges.get(app)
        if before is not None:
            self._apply(before, -1)
        job, am, count = self.jobs.get(app), am_of(app), len(app.containers)
        tasks = count - (am is not None)
        job.served = job.served or tasks > 0
        size = None if am is None else am.size
        waits = am is not None and not tasks and self._waits(app, job, am)
        charge = self._charges[app] = Charge(job.pool, list(app.used), size, waits, tasks, count)
        self._apply(charge, 1)
        at_tick = self.memory.large_at_tick
        if charge.pool == LARGE and at_tick:
            was = before.used if before is not None and before.pool == LARGE else [0] * len(at_tick)
            rows = zip(at_tick, charge.used, was, strict=True)
            self.memory.large_at_tick = [h + max(0, now - old) for h, now, old in rows]

    def _waits(self, app: Application, job: Job, am: Container) -> bool:
        """An AM waits for a task that it has asked for; one that is new may be about to ask."""
        until_ms = am.allocated_ms + self._options.phase_window_ms
        if job.asked_ms is not None or until_ms <= self._view.now_ms:
            self.new_ams.pop(app, None)
            return job.asked_ms is not None and app.pending_count > 0
        self.new_ams[app] = until_ms
        return True

    def _forget_new_ams(self) -> None:
        """AMs that have asked for nothing in a window do not count as waiting. At every call, so
        that what counts follows from the cluster and the time alone.
        """
        for app in [app for app, at in self.new_ams.items() if at <= self._view.now_ms]:
            del self.new_ams[app]
            if self._apps.get(app.number) is app:
                self._charge(app)

    def _apply(self, charge: Charge, sign: int) -> None:
        pool = charge.pool
        used = self.used[pool]
        for r, amount in enumerate(charge.used):
            used[r] += sign * amount
        self.tasks[pool] += sign * charge.tasks
        self.count[pool] += sign * charge.count
        for r, amount in enumerate(charge.am or ()):
            self.ams[r] += sign * amount
            if charge.waits:
                self.waiting_ams[r] += sign * amount

    def granted(self, app: Application) -> None:
        """The application got a container."""
        self.memory.settled = False
        charge, container = self._charges[app], next(reversed(app.containers))
        if container.is_am or not charge.tasks:
            self._charge(app)
            return
        used, held = self.used[charge.pool], charge.used
        at_tick = self.memory.large_at_tick if charge.pool == LARGE else None
        for r, amount in enumerate(container.size):
            used[r] += amount
            held[r] += amount
            if at_tick:
                at_tick[r] += amount
        charge.tasks += 1
        charge.count += 1
        self.tasks[charge.pool] += 1
        self.count[charge.pool] += 1

    def wanted(self) -> dict[str, list[Pending]]:
        """What the jobs of either category ask for, in order of submission; of those alone that
        limits of the queue tree let have something, and of AMs those alone that may start.
        """
        found: dict[str, list[Pending]] = {kind: [] for kind in CATEGORIES}
        limited = self._view._ledger.limited
        starting = [0] * len(self.total)
        for app in sorted(self._asked, key=lambda app: (app.submitted_ms, app.number)):
            if all(limited(ask) is not None for ask in app.asks):
                continue
            each, line = self._asked[app], self._line_of[app]
            if line == UNKNOWN:
                if not self.may_start(each.amounts, starting):
                    continue
                starting = [a + b for a, b in zip(starting, each.amounts, strict=True)]
            found[LARGE if line == LARGE else SMALL].append(each)
        return found

    def age(self, now_ms: int, age_ms: int) -> bool:
        """Note which jobs have waited so long and have no task yet, and put them first in their
        line; whether one of them is large.
        """
        large = False
        for app in self._asked:
            job = self.memory.jobs[app.number]
            since_ms = now_ms if job.asked_ms is None else job.asked_ms
            if now_ms - since_ms >= age_ms and not self._charges[app].tasks:
                if not job.aged:
                    job.aged = True
                    self.lines[self._line_of[app]].stale[app] = None
                large = large or job.kind == LARGE
        return large

    def application(self, number: int) -> Application:
        """The application of a job."""
        return self._apps[number]

    # Who is small

    def _classify(self, app: Application, job: Job) -> None:
        """A job may become large, and is never small again: its tail would hide there."""
        if job.kind == LARGE or not self.total:
            return
        job.kind = classify(job.peak, self.total, self._options.theta)
        if job.kind == LARGE:
            self.memory.large[app.id] = None

    def measure(self) -> None:
        """See what there is to divide; who is small by that may be large now."""
        ledger, leaf = self._view._ledger, self._view.queue
        total = list(potential(leaf, ledger.queues[0], ledger.capacity))
        if total == self.total:
            return
        self.memory.total, self.memory.settled = total, False
        for number, job in self.memory.jobs.items():
            app = self._apps.get(number)
            if app is not None and job.peak:
                before = job.kind
                self._classify(app, job)
                if job.kind != before:
                    self._recount(app)

    # The border

    def outlook(self, releases: tuple[Vector, Vector]) -> Outlook:
        """What Algorithm 3 looks at, behind the border that was in force until now."""
        delta, small = self.memory.delta, self.used[SMALL]
        rows = zip(self.total, small, self.used[LARGE], strict=True)
        free = [max(0.0, whole - one - two) for whole, one, two in rows]
        quota = [delta * whole for whole in self.total]
        parts = split(free, delta, quota, small, self._options.reading)
        asks = tuple([each.amounts for each in self.pending[kind]] for kind in CATEGORIES)
        return Outlook(self.total, parts, releases, (asks[0], asks[1]))

    def divide(self) -> None:
        """Put the border where delta says."""
        delta = self.memory.delta
        for kind, share in ((SMALL, delta), (LARGE, 1 - delta)):
            self._quotas[kind] = [share * whole * SLACK for whole in self.total]

    def may(self, line: str, size: Sequence[int]) -> bool:
        """Whether a line's members may have a container of ``size``: the category has its first
        task by it, or is then above its quota by at most half of the container.

        While small jobs wait, what large ones released since the last tick counts as held by them
        still: Algorithm 3 has not seen it yet.
        """
        pool = LARGE if line == LARGE else SMALL
        held: Sequence[float] = self.used[pool]
        if line == UNKNOWN:
            if not self.may_start(size):
                return False
            if not any(held):
                return True
        elif not self.tasks[pool]:
            return True
        if pool == LARGE and self._options.defer_releases and self.small_waits():
            held = self.memory.large_at_tick
        for amount, has, quota in zip(size, held, self._quotas[pool], strict=True):
            if amount and has + amount / 2 > quota:
                return False
        return True

    def may_start(self, size: Sequence[int], others: Sequence[int] = ()) -> bool:
        """Whether an AM of ``size``, beside ``others`` that start too, leaves enough to the jobs
        that have one. AMs that wait for a first task hold ``waiting_ams`` of the queue at most, or
        are one; all AMs hold half of it at most, or are one that nobody's task waits for.
        """
        total = self.total
        starting = plus(size, others) if others else size
        one = not any(others)
        if any(self.waiting_ams) or not one:
            waiting = dominant(plus(self.waiting_ams, starting), total)
            if waiting > self._options.waiting_ams * SLACK:
                return False
        if dominant(plus(self.ams, starting), total) <= AMS_AT_MOST * SLACK:
            return True
        lines = self.lines
        return one and not (any(self.ams) or lines[SMALL].entries or lines[LARGE].entries)

    def small_waits(self) -> bool:
        """A small job waits for tasks, or a job for its AM that may start."""
        if self.lines[SMALL].entries:
            return True
        return self.lines[UNKNOWN].has_open()

    def filled(self, pool: str) -> float:
        """How much of its quota a category holds, of the resource that it holds most of."""
        filled = 0.0
        for has, quota, whole in zip(self.used[pool], self._quotas[pool], self.total, strict=True):
            if has and whole:
                filled = max(filled, has / quota if quota else float("inf"))
        return filled

    def left(self, pool: str) -> list[float]:
        """What a category's quota leaves it, by resource type."""
        return less(self._quotas[pool], self.used[pool])

    def key(self, app: Application) -> tuple[int, bool, float]:
        """Where an application stands in its line: by priority, those that have waited too long
        first, then, with ``order: demand``, by what it asks for in parts of the queue.
        """
        demand = 0.0
        if self._options.order == "demand":
            demand = sum(ask.count * dominant(ask.size, self.total) for ask in app.asks)
        return -app.priority, not self.memory.jobs[app.number].aged, demand
