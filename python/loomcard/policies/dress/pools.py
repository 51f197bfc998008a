"""The two categories of a leaf queue: which jobs are small, and each category's use and demand.

Amounts are read from the cluster's own state, for applications that changed. So a refusal, a lost
node or a snapshot needs no special care. The memory keeps what that state does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import sub
from typing import Any

from loomcard import (
    Application,
    Ask,
    ClusterView,
    Container,
    Member,
    Node,
    Resource,
    add_all,
    fits,
    subtract_all,
)
from loomcard.advanced import potential, why_never
from loomcard.policies.dress.allocation import CategoryQueue
from loomcard.policies.dress.jobs import UNKNOWN, Job, Jobs, Memory, am_of, asks_for_am
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.paper import (
    CATEGORIES,
    LARGE,
    SMALL,
    DeltaInputs,
    Vector,
    classify,
    dominant,
    filled,
    less,
    plus,
    split,
    within,
)

QUEUES = (UNKNOWN, SMALL, LARGE)
"""Jobs that ask for their AM, small jobs that ask for tasks, and large jobs that do."""

AMS_AT_MOST = 0.5
"""The most that AMs may use of the queue, so that a task fits beside them."""

SLACK = 1 + 1e-9
"""A factor on quotas, so that rounding errors do not cost a container."""


class Pools:
    """What each category uses and asks for; see ``Pools.of``."""

    def __init__(self, view: ClusterView, options: Options, memory: Memory) -> None:
        self.memory = memory
        self.jobs = Jobs(memory, options, view.queue.applications)
        self.large = list(view.zero)
        self.large_ams = view.zero
        """What LARGE uses, including AMs, and what its AMs use; SMALL uses the queue's rest."""
        self.waiting_ams = view.zero
        """What AMs use that wait for a first task or are new."""
        self.new_ams: dict[Application, int] = {}  # until when each counts as waiting
        self.pending: dict[str, list[Vector]] = {kind: [] for kind in CATEGORIES}
        """What the jobs of either category asked for at the last tick."""
        self.pending_count = dict.fromkeys(CATEGORIES, 0)
        """The same in containers."""
        self.lifted = False
        """In this call: no large job could use what is free; small ones may exceed their quota."""
        self.exhausted: Any = ()
        """The shapes that no longer fit on any node in this call."""
        self.queues = {kind: CategoryQueue(view.queue, kind, self) for kind in QUEUES}
        self.category_of: dict[Member, str] = {}
        self.charged: dict[Application, tuple[list[int], Resource]] = {}
        """What each application counts for in LARGE: all that it uses, and its AM."""
        self._waiting: dict[Application, Resource] = {}  # AMs in ``waiting_ams``
        self._blocked_ams: dict[Application, None] = {}  # their AMs would be, if AMs left room
        self._hopeless: dict[Application, None] = {}  # ask only for what no node could run
        self._quotas: dict[str, list[float]] = {}
        self._view = view
        self.options = options
        self._queue = view.queue
        self.applications = view.queue.applications
        """The queue's applications, by number."""
        self.stale: dict[Member, None] = view.watch(view.queue)
        self._capacity_version = -1
        self._most: list[int] | None = None
        """At least what each small job asked for at most; None: all jobs are to be looked at."""
        self.divide()

    @staticmethod
    def of(view: ClusterView, options: Options, memory: Memory) -> Pools:
        """Return the pools of an instance, brought up to date; new ones for a new memory."""
        kept: list[Pools] = view.cache("pools", list)
        if not kept or kept[0].memory is not memory:
            for old in kept:
                view.unwatch(old.stale)
            counted, pools = memory.large_at_tick, Pools(view, options, memory)
            pools.follow(view)
            # The memory has counted what large jobs use; only more than that is new.
            memory.large_at_tick = list(map(max, counted, pools.large))
            kept[:] = [pools]
        else:
            kept[0].follow(view)
        return kept[0]

    def follow(self, view: ClusterView) -> None:
        """Follow what happened since the last call."""
        if changes := view.changes:
            self.memory.settled = False
            self.jobs.follow(changes)
        if self._capacity_version != view.capacity_version:
            self._capacity_version = view.capacity_version
            self.stale.update(dict.fromkeys(self._hopeless))
            if self.memory.capacity != list(view.cluster_capacity):
                self.memory.capacity = list(view.cluster_capacity)
                self.measure()
        self.update()

    @property
    def total(self) -> list[int]:
        """What is divided, by resource type."""
        return self.memory.total

    # What applications use and ask for

    def update(self) -> None:
        """Read what changed, and stop counting AMs as waiting that asked for nothing in a window.

        This happens in every call, so that the counts depend only on the cluster and the time.
        """
        if self.stale:
            for app in list(self.stale):
                if isinstance(app, Application):
                    self._see(app)
            self.stale.clear()
        again = [app for app, at in self.new_ams.items() if at <= self._view.now_ms]
        if self._blocked_ams or (self._waiting and not self.runs_task()):
            again += [*self._blocked_ams, *self._waiting]
        for app in again:
            self._see(app)
        self.arrange()

    def arrange(self) -> None:
        """Move applications whose place in their queue has changed."""
        version = self._view.capacity_version
        for queue in self.queues.values():
            if queue.stale or queue.capacity_version != version:
                queue.refresh(version, queue.key)

    def _see(self, app: Application) -> None:
        """Read again what an application uses and asks for; classify and charge it."""
        self._blocked_ams.pop(app, None)
        self._hopeless.pop(app, None)
        before = self.category_of.pop(app, None)
        if self.applications.get(app.number) is not app:
            self._charge(app, None, None)
            self._wait(app, None)
        else:
            job, am = self.jobs.get(app), am_of(app)
            asked = app in self.jobs.asked
            self.jobs.asked.pop(app, None)
            if asked or not job.peak:  # the memory has it where the pools are made anew
                self._demand(app, job, am)
            alone = am is not None and len(app.containers) == 1
            job.served = job.served or (bool(app.containers) and not alone)
            self.category_of[app] = now = UNKNOWN if asks_for_am(app) else job.kind
            self._charge(app, job, am)
            self._wait(app, am if am and alone and self._waits(app, job, am) else None)
            said = all(ask.reported_reason for ask in app.asks)
            if now == before and not asked and said and not self._moves(app, now):
                return
            self.queues[now].stale[app] = None
        if before is not None:
            self.queues[before].stale[app] = None

    def _moves(self, app: Application, category: str) -> bool:
        """Return whether its place in its queue has changed, though it asked for nothing new."""
        queue = self.queues[category]
        return not queue.is_current(app) if app.pending_count > 0 else app in queue.entries

    def _demand(self, app: Application, job: Job, am: Container | None) -> None:
        """Update a job's demand: what its tasks use and ask for; allocations and ends do not raise
        it.
        """
        demand = Resource(app.used)
        if am is not None:
            demand = demand.minus(am.size)
        for ask in app.asks:
            if not ask.is_am and ask.count > 0:
                demand = demand.plus(ask.size.times(ask.count))
        if any(demand):
            job.peak = tuple(map(max, demand, job.peak or demand))
            self._classify(app, job)
            if self._most is not None and job.kind == SMALL:
                self._most = list(map(max, job.peak, self._most))

    def _charge(self, app: Application, job: Job | None, am: Container | None) -> None:
        """Count what a large job uses to LARGE. What it uses more than before (after an allocation
        or since it became large) also counts to ``large_at_tick``.
        """
        if app not in self.charged and (job is None or job.pool == SMALL):
            return
        zero = self._view.zero
        held, of_am = self.charged.pop(app, ([0] * len(zero), zero))
        now, now_am = [0] * len(zero), zero
        if job is not None and job.pool == LARGE:
            now, now_am = list(app.used), zero if am is None else am.size
            self.charged[app] = now, now_am
        subtract_all([self.large], held)
        add_all([self.large], now)
        self.large_ams = self.large_ams.plus(now_am).minus(of_am)
        rows = zip(self.memory.large_at_tick, now, held, strict=False)  # none before the first tick
        self.memory.large_at_tick = [at + max(0, new - old) for at, new, old in rows]

    def _wait(self, app: Application, am: Container | None) -> None:
        """Count an AM as waiting for a task; None: the application has no waiting AM."""
        before = self._waiting.pop(app, None)
        if before is not None:
            self.waiting_ams = self.waiting_ams.minus(before)
        if am is None:
            self.new_ams.pop(app, None)
        else:
            self._waiting[app] = am.size
            self.waiting_ams = self.waiting_ams.plus(am.size)

    def _waits(self, app: Application, job: Job, am: Container) -> bool:
        """Return whether an AM waits for a task that it has asked for; a new AM may soon ask.

        If no node could run what it asks for, or only AMs block it, the end of a task cannot help:
        it does not count as waiting.
        """
        until_ms = am.allocated_ms + self.options.phase_window_ms
        if job.asked_ms is not None or until_ms <= self._view.now_ms:
            self.new_ams.pop(app, None)
            if job.asked_ms is None or app.pending_count <= 0:
                return False
            nodes = self._view.nodes
            if not any(why_never(ask, n) is None for ask in app.asks if ask.count for n in nodes):
                self._hopeless[app] = None
                return False
            if not self.runs_task() and not any(fits_with_ams(a, nodes) for a in app.asks):
                self._blocked_ams[app] = None
            return app not in self._blocked_ams
        self.new_ams[app] = until_ms
        return True

    def allocated(self, app: Application) -> None:
        """Count a new container. Tasks of small jobs need no count: they are the queue's rest."""
        self.memory.settled = False
        job, container = self.memory.jobs[app.number], next(reversed(app.containers))
        if not job.served or container.is_am or app in self._waiting:
            self._see(app)
        elif job.kind == LARGE:
            sums = [self.large, self.charged[app][0], self.memory.large_at_tick]
            add_all(sums if self.memory.large_at_tick else sums[:2], container.size)
        if not container.is_am:
            for other in list(self._blocked_ams):  # now it may wait for a task
                self._see(other)
        self.stale.pop(app, None)

    def collect_pending(self) -> None:
        """Collect what the jobs of either category ask for, in order of submission.

        Only asks count that fit on some empty node and that no limit of the queue tree forbids; of
        AMs only those that may start.
        """
        self.pending = {kind: [] for kind in CATEGORIES}
        self.pending_count = dict.fromkeys(CATEGORIES, 0)
        starting: Vector = self._view.zero
        demanding = [app for app in self.applications.values() if app.pending_count > 0]
        for app in sorted(demanding, key=lambda app: (app.submitted_ms, app.number)):
            amounts, count = self._outstanding(app)
            is_am = self.category_of[app] == UNKNOWN
            if not count or (is_am and not self.may_start(amounts, starting)):
                continue
            if is_am:
                starting = plus(starting, amounts)
            kind = LARGE if self.category_of[app] == LARGE else SMALL
            self.pending[kind].append(amounts)
            self.pending_count[kind] += count

    def _outstanding(self, app: Application) -> tuple[list[int], int]:
        """Return what an application asks for and might get, as amounts and in containers; 0 of a
        resource type whose total is 0.
        """
        amounts, count = [0] * len(app.used), 0
        limited, can_ever_fit = self._view.limited, self._view.can_ever_fit
        for ask in app.asks:
            if ask.count > 0 and can_ever_fit(ask.size, ask.label) and limited(ask) is None:
                amounts = [a + ask.count * b for a, b in zip(amounts, ask.size, strict=True)]
                count += ask.count
        return [a if whole else 0 for a, whole in zip(amounts, self.total, strict=True)], count

    # Which jobs are small

    def _classify(self, app: Application, job: Job) -> None:
        """Make a job large if it is; it never becomes small again, or its tail would hide there."""
        if job.kind == LARGE or not self.total:
            return
        job.kind = classify(job.peak, self.total, self.options.theta)
        if job.kind == LARGE:
            self.memory.large[app.id] = None

    def measure(self) -> None:
        """Compute the total that is divided; jobs that were small may be large now."""
        view = self._view
        total = list(potential(self._queue, view.root, view.cluster_capacity))
        if total == self.total:
            return
        self.memory.total, self.memory.settled = total, False
        self.divide()
        if self._most is not None and classify(self._most, total, self.options.theta) == SMALL:
            return  # the total changes whenever other queues' use does
        self._most = [0] * len(total)
        for number, job in self.memory.jobs.items():
            app = self.applications.get(number)
            if app is not None and job.peak:
                before = job.kind
                self._classify(app, job)
                if job.kind != before:
                    self.stale[app] = None
                if job.kind == SMALL:
                    self._most = list(map(max, job.peak, self._most))

    # Quotas

    def delta_inputs(self, releases: tuple[Vector, Vector]) -> DeltaInputs:
        """Return the input of Algorithm 3, for the quotas that were in force until now."""
        delta, small = self.memory.delta, self.held(SMALL)
        free = [max(0.0, a - b) for a, b in zip(self.total, self._queue.used, strict=True)]
        quota = [delta * whole for whole in self.total]
        parts = split(free, delta, quota, small, self.options.reading)
        return DeltaInputs(self.total, parts, releases, (self.pending[SMALL], self.pending[LARGE]))

    def divide(self) -> None:
        """Set the quotas by delta."""
        delta = self.memory.delta
        for kind, share in ((SMALL, delta), (LARGE, 1 - delta)):
            self._quotas[kind] = [share * whole * SLACK for whole in self.total]

    def held(self, pool: str) -> Sequence[int]:
        """Return what a category uses, including AMs."""
        if pool == LARGE:
            return self.large
        return list(map(sub, self._queue.used, self.large))

    def has_task(self, pool: str) -> bool:
        """Return whether a category uses more than its AMs do."""
        if pool == LARGE:
            return self.large != list(self.large_ams)
        return self.held(SMALL) != less(self._queue.am_used, self.large_ams)

    def runs_task(self) -> bool:
        """Return whether the queue uses more than its AMs do."""
        return self.has_task(SMALL) or self.has_task(LARGE)

    def may(self, category: str, size: Sequence[int]) -> bool:
        """Return whether a category's members may have a container of ``size``.

        They may if it is the category's first task, or if the category is then above its quota by
        at most half of the container. An AM may exceed the quota while no job has a task. Small
        jobs may exceed it if no large job could use what is free (``lifted``); large jobs may while
        no small job waits and SMALL's quota stays free.

        While small jobs wait, what large ones released since the last tick still counts as used by
        them: Algorithm 3 has not seen it yet.
        """
        if category == UNKNOWN and not self.may_start(size):
            return False
        if category == LARGE:
            waits = self._small_waits()
            held = (
                self.memory.large_at_tick if waits and self.options.defer_releases else self.large
            )
            if within(size, held, self._quotas[LARGE]) or not self.has_task(LARGE):
                return True
            return not waits and self._leaves_reserve(size)
        if self.lifted or within(size, self.held(SMALL), self._quotas[SMALL]):
            return True
        if category == UNKNOWN:
            return not any(self.held(SMALL)) or not self.runs_task()
        return not self.has_task(SMALL)

    def _leaves_reserve(self, size: Sequence[int]) -> bool:
        """Return whether SMALL's quota stays free beside a container of ``size``."""
        rows = zip(size, self._view.free, self._quotas[SMALL], self.held(SMALL), strict=True)
        return all(not a or free - a >= max(0.0, q - has) for a, free, q, has in rows)

    def may_start(self, size: Sequence[int], others: Sequence[float] = ()) -> bool:
        """Return whether an AM of ``size``, beside ``others`` that also start, leaves enough to the
        jobs that have an AM.

        AMs that wait for a first task use at most ``waiting_ams`` of the queue, or there is only
        one. All AMs use at most half of it, or there is only one and no job waits for tasks.
        """
        total, ams = self.total, self._queue.am_used
        starting = plus(size, others) if others else size
        one = not any(others)
        if any(self.waiting_ams) or not one:
            waiting = dominant(plus(self.waiting_ams, starting), total)
            if waiting > self.options.waiting_ams * SLACK:
                return False
        if dominant(plus(ams, starting), total) <= AMS_AT_MOST * SLACK:
            return True
        queues = self.queues
        return one and not (any(ams) or queues[SMALL].entries or queues[LARGE].entries)

    def _small_waits(self) -> bool:
        """Return whether a small job waits for tasks, or a job for its AM that may start."""
        return bool(self.queues[SMALL].entries) or self.queues[UNKNOWN].first_open() is not None

    def large_has_less(self) -> bool:
        """Return whether LARGE uses a smaller part of its quota than SMALL of its own; the largest
        part of any resource counts.
        """
        of_large, of_small = (
            filled(self.held(kind), self._quotas[kind], self.total) for kind in (LARGE, SMALL)
        )
        return of_large < of_small

    def left(self, pool: str) -> list[float]:
        """Return what is left of a category's quota, by resource type."""
        return less(self._quotas[pool], self.held(pool))


def fits_with_ams(ask: Ask, nodes: Iterable[Node]) -> bool:
    """Return whether a container of ``ask`` would fit on some node that runs only its AMs."""
    for node in nodes if ask.count > 0 else ():
        if why_never(ask, node) is None:
            room = list(node.capacity)
            for container in node.containers:
                if container.is_am:
                    subtract_all([room], container.size)
            if fits(ask.size, room):
                return True
    return False
