"""The jobs of a queue, kept up to date with events: their shares, plans and dues.

Only jobs with events are looked at; all jobs when the shares change.
"""

from __future__ import annotations

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
from loomcard.advanced import LazyHeap, OpenShapes, ShapeLines, draw
from loomcard.policies.carbyne.asks import marks_asks, note_excess
from loomcard.policies.carbyne.estimates import Learnt, Memory
from loomcard.policies.carbyne.job import NEARLY, Job
from loomcard.policies.carbyne.options import Options
from loomcard.policies.carbyne.paper import inter_job, water_filling
from loomcard.policies.carbyne.planning import MOVED, plan
from loomcard.policies.carbyne.waves import fits, parts

WORK_UNIT = 1_000_000
"""Remaining work is an integer, in millionths of a ms of the cluster: sums are the same in any
order."""

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
        self.active: list[Job] = []  # the jobs that have a share, in order of submission
        self.masters: dict[Application, Job] = {}  # jobs that ask for an AM
        self.marked: dict[Application, Job] = {}
        self.stale: dict[Application, float] = {}  # from when on a new plan is worth it
        self.due_lines, self.asking_lines = ShapeLines(), ShapeLines()
        self.timers: dict[Application, Any] = {}
        self._timer_order = LazyHeap(self.timers)
        self.unreported: dict[Any, None] = {}
        self.version = self.capacity_version = -1
        self.capacity = Resource()

    def update(self, view: ClusterView, memory: Memory) -> None:
        """Follow what happened since the last call."""
        if memory is not self.memory:  # another one, after a plan that came too late
            self.begin(memory)
        changes, redivide = view.changes, False
        self.learnt.update(view, memory, changes)
        for change in changes:
            if isinstance(change, ApplicationRemoved):
                redivide = self._leave(change.application) or redivide
            elif isinstance(change, ContainerCompleted | ContainerAdded | ContainerResized):
                job = self.by_app.get(change.container.application)
                if job is not None and isinstance(change, ContainerCompleted):
                    job.ended(change.container)
                elif job is not None:
                    job.forget()
        first = self.version != view.version
        self.version = view.version
        self.follow(view, redivide=(first and self._entitled(view)) or redivide, first=first)

    def follow(self, view: ClusterView, *, redivide: bool = False, first: bool = False) -> None:
        """Look at the jobs that changed; ``first``: the first time in this round."""
        if self.capacity_version != view.capacity_version:
            self.capacity_version = view.capacity_version
            self.changed.update(dict.fromkeys(view.applications))
            for job in self.by_app.values():
                job.finished = True  # work is a part of the cluster
        touched = {app: None for app in self.changed if isinstance(app, Application)}
        self.changed.clear()
        self.unreported.update(touched)
        for app in touched:
            redivide = self._see(view, app) or redivide
        if redivide:
            self._divide()
        concerned = self._to_refresh(view, touched, first)
        for app in list(self.by_app) if redivide else concerned:
            if (one := self.by_app.get(app)) is None:
                continue
            if app in concerned or not one.stands(view.now_ms + self.options.tolerance_ms):
                self._refresh(view, one)
            elif self.options.most_borrowed and any(app.used):
                self.enter_borrower(one)

    def _to_refresh(
        self, view: ClusterView, touched: dict[Application, None], first: bool
    ) -> dict[Application, None]:
        """Return the jobs that changed, have a timer due, or may draw again whether they yield."""
        found = dict(touched)
        if first and 0 < self.options.altruism < 1:
            found.update(dict.fromkeys(self.by_app))
        found.update(dict.fromkeys(a for a, ready in self.stale.items() if ready <= view.now_ms))
        while (timer := self._timer_order.top()) is not None and timer[0] <= view.now_ms:
            found[timer[-1]] = None
            self.timers.pop(timer[-1])
        return found

    def next_ms(self) -> float:
        """Return when the next task of any job must start, in ms; inf: none is known."""
        timer = self._timer_order.top()
        return inf if timer is None else float(timer[0])

    # One job

    def _see(self, view: ClusterView, app: Application) -> bool:
        """Count the tasks of a job that changed; return whether shares must be divided again."""
        inside = app.number in view.queue.applications
        if not inside or not (app.pending_count > 0 or any(app.used)):
            return self._leave(app)
        job, estimates = self.by_app.get(app), self.learnt.estimates
        if job is None:
            known = self.memory["jobs"].setdefault(app.id, {})
            job = self.by_app[app] = Job(app, estimates.dag(app), known)
        had_share, masters = job.tasks > 0, job.masters
        job.count(estimates.done(app))
        if job.dag is None or job.finished:
            job.finished = False
            if job.dag is not None:
                job.durations = self.learnt.durations(app, job.dag)
            job.work = round(WORK_UNIT * self.learnt.work(app, job.durations))
        if job.known.get("marked") or marks_asks(app):
            job.marked = job.known["marked"] = True
            job.plan = job.known["plan"] = None
            self.marked[app] = job
        if any(ask.is_am and ask.count > 0 for ask in app.asks):
            self.masters[app] = job
        else:
            self.masters.pop(app, None)
        noted = job.tasks > 0 and self._note_demand(job)
        idle = job.tasks == 0
        return noted or idle == had_share or (idle and masters != job.masters)

    def _leave(self, app: Application) -> bool:
        """Remove a job that asks for and uses nothing; return whether others share what it had."""
        for kept in (self.masters, self.marked, self.stale, self.timers):
            kept.pop(app, None)
        self.due_lines.enter(app, ())
        self.asking_lines.enter(app, ())
        job = self.by_app.pop(app, None)
        return job is not None and (job.tasks > 0 or any(job.masters))

    def _note_demand(self, job: Job) -> bool:
        """Fix the direction of a job's share when its stages or first tasks are known (2.5-2);
        return whether it was set now.
        """
        if job.known.get("fixed"):
            return False
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
        return True

    def _refresh(self, view: ClusterView, job: Job) -> None:
        """Update its plan if it needs a new one, its dues, and its places in line."""
        app, options, now_ms = job.app, self.options, view.now_ms
        self.stale.pop(app, None)
        if job.dag is not None and not job.marked and app.pending_count > 0:
            ready = plan(
                job, self.learnt.sizes(app, job.dag), self.capacity, now_ms,
                options.tolerance_ms, options.most_steps, firm=options.loan == "guarded",
            )  # fmt: skip
            if ready is not None:
                self.stale[app] = ready
        altruist = options.altruism >= 1 or (
            options.altruism > 0 and draw(options.seed, app.id, view.version) < options.altruism
        )
        beyond = job.find_dues(now_ms, options.tolerance_ms, altruist=altruist)
        job.bound_plan(MOVED * (1 - NEARLY))
        if job.marked:
            note_excess(self.memory, job.known, beyond)
        self._enter(job)
        if job.next_ms < inf:
            timer = self.timers[app] = (job.next_ms, app.number, app)
            self._timer_order.push(timer)
        else:
            self.timers.pop(app, None)

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
        left = [most - used for most, used in zip(job.most, app.used, strict=True)]
        self.asking_lines.enter(app, [
            (shape, (any(app.used) and not fits(shape[0], left), job.work, *place, app))
            for shape in shapes
        ])  # fmt: skip

    # Shares

    def _divide(self) -> None:
        """Divide what the masters of jobs without tasks leave: the fair shares A_k of jobs that
        have or want tasks. In order of submission, so that names change nothing.
        """
        order = sorted(self.by_app.values(), key=lambda job: (job.app.submitted_ms, job.app.number))
        self.by_app = {job.app: job for job in order}
        self.active = [job for job in order if job.tasks > 0]
        demands = [job.known["demand"] for job in self.active]
        weights = [job.app.weight for job in self.active]
        whole = [float(c) for c in self.capacity]
        for job in order:
            if job.tasks == 0:
                whole = [max(0.0, w - held) for w, held in zip(whole, job.masters, strict=True)]
        pairs = (zip(demand, whole, strict=True) for demand in demands)
        positive = all(d > 0 or not c for row in pairs for d, c in row)
        divide = inter_job if positive and any(whole) else water_filling
        shares, _ = divide(demands, weights, whole)
        for job in order:
            job.share = [0.0] * len(whole)
        for job, share in zip(self.active, shares, strict=True):
            job.share = share
        most = self.options.most_borrowed
        for job in order:  # of each type as much as of its dominant one
            part = max(parts([job.share], self.capacity)[0], default=0.0)
            job.most = [most * part * c if most else inf for c in self.capacity]

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
        changed, self.capacity = whole != self.capacity, whole
        return changed


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
