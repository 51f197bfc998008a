"""The jobs of a queue: their shares, their schedules inside them, and how much of these is due.

What is due from a schedule is kept from event to event (in the memory, so that a replay decides
alike): a job is planned anew when its share, its progress or its estimates moved by more than
rounding, and only where it asks for something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from loomcard import (
    Application,
    ApplicationRemoved,
    Ask,
    ClusterView,
    Container,
    Dag,
    Resource,
    asks_below,
    draw,
)
from loomcard.policies.carbyne.asks import marks_asks
from loomcard.policies.carbyne.estimates import HEARTBEAT_MS, Learnt, Memory
from loomcard.policies.carbyne.options import Options
from loomcard.policies.carbyne.paper import inter_job, intra_job, water_filling
from loomcard.policies.carbyne.waves import EPS, Stage, TooManyWavesError, Wave

SHARE_MOVED = 0.05
"""A share that moved by less keeps the plan."""

TASKS_MOVED = 0.02
"""So large a part of its waiting tasks may start or end before a large job is planned anew."""


class Job:
    """One application: its share, and how many tasks of each stage wait and are done."""

    def __init__(self, app: Application, dag: Dag | None) -> None:
        self.app = app
        self.dag = dag
        self.marked = False  # its AM says what must start
        self.share: Sequence[float] = ()
        self.told: Sequence[float] = ()  # the share of which its AM was told
        self.work = 0.0
        self.waiting: list[int] = []
        self.done: list[int] = []
        self.plan: dict[str, Any] | None = None

    def own_share(self) -> list[float]:
        """What its tasks may hold: its share less what its masters hold."""
        return [s - held for s, held in zip(self.share, held_by_ams(self.app), strict=True)]

    def count(self, done: dict[int, int]) -> None:
        """Its tasks by stage, of its containers and asks."""
        dag = self.dag
        if dag is None:
            return
        self.done = [done.get(i, 0) for i in range(len(dag.stages))]
        held = Counter([c.ask_key for c in self.app.containers if not c.is_am])
        running, asked = [0] * len(dag.stages), [0] * len(dag.stages)
        for key, count in held.items():
            if (stage := dag.stage_of(key)) is not None:
                running[stage] += count
        for ask in self.app.asks:
            stage = None if ask.is_am else dag.stage_of(ask.key)
            if stage is not None:
                asked[stage] += ask.count
        rows = zip(dag.stages, self.done, running, asked, strict=True)
        self.waiting = [max(0, s.tasks - done - runs, asks) for s, done, runs, asks in rows]

    def stages(self, learnt: Learnt, now_ms: int) -> list[Stage]:
        """What is left of its DAG, as ``paper`` takes it."""
        dag, found = self.dag, []
        assert dag is not None
        durations, sizes = learnt.durations(self.app, dag), learnt.sizes(self.app, dag)
        lefts: list[Counter[float]] = [Counter() for _ in dag.stages]
        for container in self.app.containers:
            i = None if container.is_am else dag.stage_of(container.ask_key)
            if i is not None:
                lefts[i][left_ms(container, durations[i], now_ms)] += 1
        for i, stage in enumerate(dag.stages):
            running = sorted(lefts[i].items())
            found.append(Stage(self.waiting[i], sizes[i], durations[i], stage.after, running))
        return found

    def must(self, now_ms: int, *, altruist: bool) -> Counter[int]:
        """How many tasks of each stage must start by ``now_ms``; of who is no altruist, all that
        its share has room for.
        """
        found: Counter[int] = Counter()
        if self.plan is not None:
            for start, stage, tasks in self.plan["late" if altruist else "forward"]:
                if start > now_ms:
                    break
                found[stage] += tasks
            for stage in found:
                started = max(0, self.plan["waiting"][stage] - self.waiting[stage])
                found[stage] = max(0, found[stage] - started)
        return found

    def next_ms(self, now_ms: int) -> float:
        """When the next task that it asks for must start, after ``now_ms``; inf: none is known."""
        dag = self.dag
        if self.plan is None or dag is None:
            return inf
        asked = {dag.stage_of(ask.key) for ask in self.app.asks if ask.count > 0}
        rows = self.plan["late"]
        return next((start for start, stage, _ in rows if start > now_ms and stage in asked), inf)


def left_ms(container: Container, expected_ms: float, now_ms: int) -> float:
    """How long a running task still needs; a heartbeat where it should have ended."""
    began = container.started_ms
    ran = now_ms - (container.allocated_ms if began is None else began)
    return max(expected_ms - ran, HEARTBEAT_MS if ran else expected_ms)


class Jobs:
    """All jobs of the queue that ask for or hold something."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self.options = options
        self.learnt = Learnt(options)
        self.by_app: dict[Application, Job] = {}
        self.changed = view.watch(view.queue)
        self.capacity, self.version = Resource(), -1
        self.free_shares: Sequence[float] = ()
        self.memory: Memory = self.learnt.memory

    def update(self, view: ClusterView, memory: Memory) -> None:
        """See what changed: who is there, what they hold and ask for, and their shares."""
        if memory is not self.memory:  # another one, after a plan that came too late
            self.memory, self.version = memory, -1
            self.by_app.clear()
        self.learnt.update(view, memory)
        whole = scope_capacity(view)
        anew = whole != self.capacity
        self.capacity = whole
        for change in view.changes_of(ApplicationRemoved):
            anew = self.by_app.pop(change.application, None) is not None or anew
        touched = [app for app in self.changed if isinstance(app, Application)]
        if self.version != view.capacity_version:
            self.version = view.capacity_version
            touched = list(dict.fromkeys([*touched, *view.applications]))
        self.changed.clear()
        for app in touched:
            inside = app.number in view.queue.applications
            if not inside or not (app.pending_count > 0 or any(app.used)):
                anew = self.by_app.pop(app, None) is not None or anew
                continue
            job = self.by_app.get(app)
            if job is None:
                job = self.by_app[app] = Job(app, self.learnt.estimates.dag(app))
                job.plan = memory["jobs"].get(app.id, {}).get("plan")
                anew = True
            self._note_marks(job)
            anew = self._note_demand(job) or anew
            job.count(self.learnt.estimates.done(app))
            job.work = self.learnt.work(app, view.cluster_capacity)
        if anew:
            self._divide()
        for job in self.by_app.values() if anew else map(self.by_app.get, touched):
            if job is None or job.dag is None or job.marked:
                continue
            if job.app.pending_count > 0:
                self._plan(job, view.now_ms)

    def _note_marks(self, job: Job) -> None:
        """Whether its AM marks its asks; then the job has no schedule here, from now on."""
        known = self.memory["jobs"].setdefault(job.app.id, {})
        if not job.marked and (known.get("marked") or marks_asks(job.app)):
            job.marked = known["marked"] = True
            job.plan = known["plan"] = None

    def _note_demand(self, job: Job) -> bool:
        """The direction of a job's share, fixed when its stages or first tasks are known (2.5-2);
        whether that is now.
        """
        known = self.memory["jobs"][job.app.id]
        if known.get("fixed"):
            return False
        total = [0.0] * len(job.app.used)
        if job.dag is not None:
            durations = self.learnt.durations(job.app, job.dag)
            rows = zip(job.dag.stages, durations, job.dag.sizes, strict=True)
            amounts = [(stage.tasks * max(ms, 1.0), size) for stage, ms, size in rows]
        else:
            tasks = [ask for ask in asks_below(job.app) if not ask.is_am]
            amounts = [(float(ask.count), ask.size) for ask in tasks]
            amounts += [(1.0, c.size) for c in job.app.containers if not c.is_am]
        for times, size in amounts:
            total = [t + times * s for t, s in zip(total, size, strict=True)]
        known["fixed"] = any(total)
        known["demand"] = total if any(total) else [1.0] * len(total)
        return True

    def _divide(self) -> None:
        """The fair shares A_k of all jobs, by name so that names change nothing."""
        jobs = sorted(self.by_app.values(), key=lambda job: (job.app.submitted_ms, job.app.number))
        self.by_app = {job.app: job for job in jobs}
        demands = [self.memory["jobs"][job.app.id]["demand"] for job in jobs]
        weights = [job.app.weight for job in jobs]
        whole = [float(c) for c in self.capacity]
        rows = [zip(demand, whole, strict=True) for demand in demands]
        positive = all(d > 0 or not c for row in rows for d, c in row)
        divide = inter_job if positive and any(whole) else water_filling
        shares, self.free_shares = divide(demands, weights, whole)
        for job, share in zip(jobs, shares, strict=True):
            job.share = share

    def _plan(self, job: Job, now_ms: int) -> None:
        """Its schedule as it is now, unless next to nothing happened since the last one."""
        old, share = job.plan, job.own_share()
        assert job.dag is not None
        durations = self.learnt.durations(job.app, job.dag)
        moved = old is None or bool(off(share, old["share"]) or off(durations, old["durations"]))
        if old is not None and not moved and not self._progressed(job, old):
            return
        stages = job.stages(self.learnt, now_ms)
        rows: Callable[[list[Wave]], list[list[Any]]] = lambda waves: [  # noqa: E731
            [now_ms + w.start, w.stage, w.tasks] for w in sorted(waves) if not w.pinned
        ]
        try:
            found = intra_job(
                stages, [max(0.0, s) for s in share], self.capacity,
                self.options.tolerance_ms, self.options.most_waves,
            )  # fmt: skip
        except TooManyWavesError:  # take all that fits the share, as one without a DAG does
            job.plan = self.memory["jobs"][job.app.id]["plan"] = None
            return
        plan = {
            "share": share, "durations": durations, "deadline": now_ms + found.end,
            "late": rows(found.late), "forward": rows(found.forward),
            "waiting": list(job.waiting), "seen": [*job.waiting, *job.done],
        }  # fmt: skip
        if old is not None and not moved and plan["deadline"] > old["deadline"] + EPS * found.end:
            plan |= {key: old[key] for key in ("deadline", "late", "waiting")}  # 2.5-5
            plan["forward"] = old["forward"]
        job.plan = self.memory["jobs"][job.app.id]["plan"] = plan

    def _progressed(self, job: Job, old: dict[str, Any]) -> bool:
        """So many tasks started or ended since its last plan that another is worth it."""
        before: list[int] = old["seen"]
        seen = zip(before, [*job.waiting, *job.done], strict=True)
        return sum(abs(a - b) for a, b in seen) > TASKS_MOVED * sum(job.waiting)

    def altruist(self, job: Job, now_ms: int) -> bool:
        """Whether a job yields at this event: P(Altruism), a draw for each job and event."""
        p = self.options.altruism
        return p >= 1 or (p > 0 and draw(self.options.seed, job.app.id, now_ms) < p)


def off(now: Sequence[float], before: Sequence[float]) -> bool:
    """Some number moved by more than SHARE_MOVED."""
    return any(
        abs(a - b) > SHARE_MOVED * max(abs(b), EPS) for a, b in zip(now, before, strict=True)
    )


def held_by_ams(app: Application) -> list[int]:
    """What its masters hold, of which its tasks have nothing."""
    held = [0] * len(app.used)
    for container in app.containers:
        if container.is_am:
            held = [h + s for h, s in zip(held, container.size, strict=True)]
    return held


def scope_capacity(view: ClusterView) -> Resource:
    """What the jobs share: what the queue is entitled to; without siblings all it may use."""
    above = view.queue
    while above.parent is not None:
        if len(above.parent.children) > 1:
            return view.capacity
        above = above.parent
    return view.queue.maximum or view.cluster_capacity


def stage_of(job: Job, ask: Ask) -> int | None:
    """The stage of an ask that is planned; None: the job, or the ask, is in no plan."""
    if job.plan is None or job.dag is None or ask.is_am:
        return None
    return job.dag.stage_of(ask.key)
