"""The jobs of a queue, kept up to date with events: their shares, plans and dues.

Only jobs with events are looked at, and those that decide otherwise in a share that changed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from loomcard import (
    Application,
    ApplicationRemoved,
    ClusterView,
    ContainerAdded,
    ContainerCompleted,
    ContainerResized,
    Resource,
    asks_below,
)
from loomcard.advanced import Entry, LazyHeap, OpenShapes, ShapeLines, draw
from loomcard.policies.carbyne.asks import marks_asks, note_excess
from loomcard.policies.carbyne.estimates import Learnt, Memory
from loomcard.policies.carbyne.job import NEARLY, Job
from loomcard.policies.carbyne.options import Options
from loomcard.policies.carbyne.planning import MOVED, plan, rest_ms
from loomcard.policies.carbyne.shares import Shares

WORK_UNIT = 1_000_000
"""Remaining work is an integer, in millionths of a ms of the cluster: sums are the same in any
order."""

WORK_PLACE = 1
"""Where an ask that must start has its job's remaining work, in its place in line."""

CAPACITY_MOVED = 0.01
"""The queue's entitlement is divided again when it changed by more than this part."""


class Jobs:
    """All jobs of the queue that ask for or use something."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self.options = options
        self.learnt = Learnt(options)
        self.changed = view.watch(view.queue)
        self.open = OpenShapes(view)
        self.begin(self.learnt.memory)

    def begin(self, memory: Memory) -> None:
        """Start again from only the memory."""
        self.memory = memory
        self.by_app: dict[Application, Job] = {}
        self.shares = Shares([])
        self.in_order: list[tuple[int, int, Job]] = []  # all jobs, by submission
        self.users: dict[Application, Job] = {}  # jobs with a share that use something
        self.must = 0  # tasks that must start, of all jobs
        self.masters: dict[Application, Job] = {}  # jobs that ask for an AM
        self.marked: dict[Application, Job] = {}
        self.stale: dict[Application, Any] = {}  # from when on a new plan is worth it
        self._stale_order = LazyHeap(self.stale)
        self.due_lines, self.asking_lines = ShapeLines(summed=WORK_PLACE), ShapeLines()
        self.timers: dict[Application, Any] = {}
        self._timer_order = LazyHeap(self.timers)
        self.unreported: dict[Any, None] = {}
        self.version = self.capacity_version = -1
        self.capacity = Resource()

    def update(self, view: ClusterView, memory: Memory) -> None:
        """Follow what happened since the last call."""
        if memory is not self.memory:  # another one, after a plan that came too late
            self.begin(memory)
        changes = view.changes
        self.learnt.update(view, memory, changes)
        for change in changes:
            if isinstance(change, ApplicationRemoved):
                self._leave(change.application)
            elif isinstance(change, ContainerCompleted | ContainerAdded | ContainerResized):
                job = self.by_app.get(change.container.application)
                if job is not None and isinstance(change, ContainerCompleted):
                    job.ended(change.container)
                elif job is not None:
                    job.forget()
        first = self.version != view.version
        self.version = view.version
        if first and self._entitled(view):
            self.shares.moved = True
        self.follow(view, first=first)

    def follow(self, view: ClusterView, *, first: bool = False) -> None:
        """Look at the jobs that changed; ``first``: the first time in this round."""
        if self.capacity_version != view.capacity_version:
            self.capacity_version = view.capacity_version
            self.shares = Shares(view.cluster_capacity)
            self.changed.update(dict.fromkeys(view.applications))
            for job in self.by_app.values():
                job.finished = True  # work is a part of the cluster
                job.level = None  # of the shares before
        concerned = {app: None for app in self.changed if isinstance(app, Application)}
        self.changed.clear()
        self.unreported.update(concerned)
        for app in concerned:
            self._see(view, app)
        if self.shares.moved:
            concerned |= dict.fromkeys(self.shares.divide(self.capacity))
        concerned |= dict.fromkeys(self._due(view, first))
        for app in concerned:
            if (one := self.by_app.get(app)) is not None:
                self._refresh(view, one)
        while (wish := self._stale_order.top()) is not None and wish[0] <= view.now_ms:
            if self._rests(view):
                break
            self._refresh(view, self.by_app[wish[-1]])

    def _due(self, view: ClusterView, first: bool) -> Iterator[Application]:
        """Yield the jobs of which a task must start, or that may draw again whether they yield."""
        if first and 0 < self.options.altruism < 1:
            yield from self.by_app
        until = view.now_ms + self.options.tolerance_ms
        while (timer := self._timer_order.top()) is not None and timer[0] <= until:
            yield timer[-1]
            self.timers.pop(timer[-1])

    def _rests(self, view: ClusterView) -> bool:
        """Return whether no job is planned again yet, after the last long plan."""
        return view.now_ms < int(self.memory.get("rests", 0))

    def next_ms(self) -> float:
        """Return when the next task of any job must start, in ms; inf: none is known."""
        timer = self._timer_order.top()
        return inf if timer is None else float(timer[0])

    # One job

    def _see(self, view: ClusterView, app: Application) -> None:
        """Count the tasks of a job that changed, and let it have a share if it has some."""
        inside = app.number in view.queue.applications
        if not inside or not (app.pending_count > 0 or any(app.used)):
            self._leave(app)
            return
        job, estimates = self.by_app.get(app), self.learnt.estimates
        if job is None:
            known = self.memory["jobs"].setdefault(app.id, {})
            job = self.by_app[app] = Job(app, estimates.dag(app), known)
            insort(self.in_order, (app.submitted_ms, app.number, job))
        job.count(estimates.done(app))
        if job.dag is None or job.finished:
            job.finished = False
            if job.dag is not None:
                job.durations = self.learnt.durations(app, job.dag)
            job.work = round(WORK_UNIT * self.learnt.work(app, job.durations))
            job.error = self.learnt.error_of(app)
        if job.known.get("marked") or marks_asks(app):
            job.marked = job.known["marked"] = True
            job.plan = job.known["plan"] = None
            self.marked[app] = job
        if any(ask.is_am and ask.count > 0 for ask in app.asks):
            self.masters[app] = job
        else:
            self.masters.pop(app, None)
        if job.tasks > 0 and not job.known.get("fixed"):
            self._note_demand(job)
        self.shares.enter(job)
        if job.tasks > 0 and any(app.used):
            self.users[app] = job
        else:
            self.users.pop(app, None)

    def _leave(self, app: Application) -> None:
        """Remove a job that asks for and uses nothing."""
        for kept in (self.users, self.masters, self.marked, self.stale, self.timers):
            kept.pop(app, None)
        self.due_lines.enter(app, ())
        self.asking_lines.enter(app, ())
        if (job := self.by_app.pop(app, None)) is not None:
            self.shares.leave(job)
            self.must -= job.must_start
            del self.in_order[bisect_left(self.in_order, (app.submitted_ms, app.number))]

    def _note_demand(self, job: Job) -> None:
        """Fix the direction of a job's share when its stages or first tasks are known (2.5-2)."""
        total = [0.0] * len(job.app.used)
        if job.dag is not None:
            rows = zip(job.dag.stages, job.durations, job.dag.sizes, strict=True)
            amounts = [(stage.tasks * max(ms, 1.0), size) for stage, ms, size in rows]
        else:
            tasks = [ask for ask in asks_below(job.app) if not ask.is_am]
            amounts = [(float(ask.count), ask.size) for ask in tasks]
            amounts += [(1.0, c.size) for c in job.app.containers if not c.is_am]
        for times, size in amounts:
            total = [t + times * s for t, s in zip(total, size, strict=True)]
        job.known["fixed"] = any(total)
        job.known["demand"] = total if any(total) else [1.0] * len(total)

    def _refresh(self, view: ClusterView, job: Job) -> None:
        """Update its plan if it needs a new one, its dues, and its places in line."""
        app, options, now_ms = job.app, self.options, view.now_ms
        self.must -= job.must_start
        for kept in (self.stale, self.timers):
            kept.pop(app, None)
        if app.pending_count == 0:
            job.dues, job.must_start, job.known["since"] = {}, 0, []
            if job.marked:
                note_excess(self.memory, job.known, 0)
            for lines in (self.due_lines, self.asking_lines):
                lines.enter(app, ())
            if job.level is not None:
                job.level.leave(app)
            return
        if job.dag is not None and not job.marked:
            sizes, before = self.learnt.sizes(app, job.dag), job.plan
            job.limit_use(sizes)
            ready = plan(
                job, sizes, self.capacity, now_ms, options.tolerance_ms, options.most_steps,
                firm=options.loan == "guarded", altruist=options.altruism >= 1,
                rests=self._rests(view),
            )  # fmt: skip
            if job.plan is not before and (rest := rest_ms(job.plan)):
                self.memory["rests"] = max(now_ms + rest, self.memory.get("rests", 0))
            if ready is not None:
                again: Entry = (ready, app.number, app)
                self.stale[app] = again
                self._stale_order.push(again)
        altruist = options.altruism >= 1 or (
            options.altruism > 0 and draw(options.seed, app.id, view.version) < options.altruism
        )
        beyond = job.find_dues(
            now_ms, options.tolerance_ms, altruist=altruist, early=options.loan != "preempt"
        )
        self.must += job.must_start
        job.bound_plan(MOVED * (1 - NEARLY))
        if job.marked:
            note_excess(self.memory, job.known, beyond)
        self._enter(job)
        if job.next_ms < inf:
            timer: Entry = (job.next_ms, app.number, app)
            self.timers[app] = timer
            self._timer_order.push(timer)
        if job.level is not None:
            job.level.stand(app, *job.stands())

    def _enter(self, job: Job) -> None:
        """Enter its places in line: asks that must start, by since when; the job as a borrower."""
        app, place = job.app, (job.app.submitted_ms, job.app.number)
        self.due_lines.enter(app, [
            ((ask.size, ask.label), (due.since_ms, job.work, *place, ask.key, ask))
            for ask, due in job.dues.items()
        ])  # fmt: skip
        self.enter_borrower(job)

    def enter_borrower(self, job: Job) -> None:
        """Enter its place among the borrowers, also after each loan.

        A job that would then use over ``most_borrowed`` times its share goes last; one container is
        never too much.
        """
        app, place = job.app, (job.app.submitted_ms, job.app.number)
        shapes = dict.fromkeys((a.size, a.label) for a in app.asks if a.count > 0 and not a.is_am)
        x = 0.0 if job.level is None else job.level.x
        low, high, rows = -inf, inf, []
        for shape in shapes:
            least = job.may_borrow_from(shape[0], self.options.most_borrowed)
            if x < least:
                high = min(high, least)
            else:
                low = max(low, least)
            rows.append((shape, (x < least, job.work, *place, app)))
        job.place = low, high
        self.asking_lines.enter(app, rows)

    # Shares

    def _entitled(self, view: ClusterView) -> bool:
        """Update what the jobs share: the queue's entitlement, or without siblings all that it may
        use. Return whether it changed.
        """
        whole = view.queue.maximum or view.cluster_capacity
        if has_siblings(view):
            whole, kept = view.capacity, self.memory.get("capacity")
            if kept is not None and not (moved(whole, kept) or moved(kept, whole)):
                whole = Resource(kept)
            self.memory["capacity"] = list(whole)
        before: Sequence[int] = self.capacity  # mypyc compares two of type Resource by identity
        self.capacity = whole
        return bool(whole != before)


def has_siblings(view: ClusterView) -> bool:
    """Return whether another queue may have a part of the cluster."""
    above = view.queue
    while above.parent is not None:
        if len(above.parent.children) > 1:
            return True
        above = above.parent
    return False


def moved(now: Any, before: Any) -> bool:
    """Return whether some amount is larger by more than CAPACITY_MOVED."""
    return any(a > b * (1 + CAPACITY_MOVED) for a, b in zip(now, before, strict=True))
