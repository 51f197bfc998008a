"""DRESS's books of a leaf queue: who is small, who holds and asks for what, what tasks did.

Amounts are read from the cluster's own books for applications that changed, so that a refusal, a
lost node or a snapshot needs no care of its own; the memory keeps what those books do not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from loomcard.model.cluster import Application, Container, Member
from loomcard.model.events import (
    ApplicationRemoved,
    AskChanged,
    ContainerAdded,
    ContainerCompleted,
    ContainerStarted,
    Event,
)
from loomcard.model.view import ClusterView
from loomcard.policies.dress.classify import CATEGORIES, LD, SD, classify_vector, predicted_work
from loomcard.policies.dress.lines import Line
from loomcard.policies.dress.memory import Durations, Job, Memory, Scale
from loomcard.policies.dress.quotas import containers_of, times, worth

NAMES_KEPT = 1_000
"""Of so many names of applications past tasks are remembered; the oldest is forgotten."""


class Settings(Protocol):
    """The policy's options that the books go by."""

    @property
    def theta(self) -> float: ...  # noqa: D102
    @property
    def unit(self) -> dict[str, int]: ...  # noqa: D102
    @property
    def use_priority(self) -> bool: ...  # noqa: D102
    @property
    def classifier(self) -> str: ...  # noqa: D102


class Books:
    """``used``: what either category holds, AMs too, by resource type; see ``Books.of``."""

    def __init__(self, view: ClusterView, settings: Settings, memory: Memory) -> None:
        self.memory = memory
        nothing = [0] * len(view.resource_types)
        self.used: dict[str, list[int]] = dict.fromkeys(CATEGORIES, nothing)
        self.lines = {kind: Line(view.queue, kind, self.kind_of) for kind in CATEGORIES}
        self._view = view
        self._settings = settings
        self._apps = view.queue.applications
        self._charged: dict[Application, tuple[str, list[int]]] = {}
        self._pending: dict[Application, list[int]] = {}
        self._stale: dict[Member, None] = dict.fromkeys(self._apps.values())
        self._fresh: set[int] = set()  # containers whose start is told in this call
        view.queue.watchers.append(self._stale)

    @staticmethod
    def of(view: ClusterView, settings: Settings, memory: Memory) -> Books:
        """Those of an instance, brought up to date; new ones for a new memory."""
        found: Books | None = view._indexes.get("books")
        if found is None or found.memory is not memory:
            if found is not None:
                found._close()
            found = view._indexes["books"] = Books(view, settings, memory)
        found._follow(view.changes)
        seen = memory.scale.seen
        if memory.scale.tot == 0 or not seen or seen[0] != view.cluster_capacity:
            found.measure()
        found._update()
        return found

    def _close(self) -> None:
        watchers = self._view.queue.watchers
        for mine in (self._stale, *(line.stale for line in self.lines.values())):
            watchers[:] = [watcher for watcher in watchers if watcher is not mine]

    def kind_of(self, app: Application) -> str:
        """The category that an application counts to."""
        job = self.memory.jobs.get(app.number)
        return SD if job is None else job.kind

    def job(self, app: Application) -> Job:
        """What is known of an application; of one that was not known before, its running tasks
        too, though not when they began: they are carried, and never forecast on their own.
        """
        job = self.memory.jobs.get(app.number)
        if job is None:
            kind = LD if app.id in self.memory.large else SD
            job = self.memory.jobs[app.number] = Job(kind, known=kind == LD)
            for container in app.containers:
                self._carry(job, container)
        return job

    def _carry(self, job: Job, container: Container) -> None:
        running = container.started_ms is not None and container.number not in self._fresh
        if running and not container.is_am and container.number not in job.tracker.owner:
            job.tracker.carry[container.number] = tuple(container.size)

    # What happened

    def _follow(self, changes: Sequence[Event]) -> None:
        if changes:
            self.memory.settled = False
        self._fresh = {c.container.number for c in changes if isinstance(c, ContainerStarted)}
        for change in changes:
            if isinstance(change, ContainerStarted | ContainerAdded | ContainerCompleted):
                app = change.container.application
                if not change.container.is_am:
                    self._count_release(change)
                    if app.number in self._apps:
                        self._follow_container(change, self.job(app))
            elif isinstance(change, AskChanged):
                self._follow_ask(change)
            elif isinstance(change, ApplicationRemoved):
                self._forget(change.application)
        self._fresh = set()

    def _follow_container(
        self, change: ContainerStarted | ContainerAdded | ContainerCompleted, job: Job
    ) -> None:
        container, at = change.container, change.at_ms
        size = tuple(container.size)
        if isinstance(change, ContainerAdded):
            self._carry(job, container)
            return
        if isinstance(change, ContainerStarted):
            key = container.ask_key.priority if self._settings.use_priority else 0
            job.tracker.note_start(at, container.number, key, size)
        else:
            well = change.kind == "completed" and change.exit_status == 0
            job.tracker.note_finish(at, container.number, well or change.kind == "released")
            if well and container.started_ms is not None:
                self._learn(container.application, job, at - container.started_ms)
        self._touch(container.application, at)

    def _count_release(self, change: Event) -> None:
        if isinstance(change, ContainerCompleted):
            released, kind = self.memory.tally.released, self.kind_of(change.container.application)
            before = released[kind] or [0.0] * len(change.container.size)
            released[kind] = [a + b for a, b in zip(before, change.container.size, strict=True)]

    def _forget(self, app: Application) -> None:
        if self._apps.get(app.number) is not app:
            self.memory.jobs.pop(app.number, None)
            self.memory.live.pop(app.number, None)
            self.memory.large.pop(app.id, None)

    def _follow_ask(self, change: AskChanged) -> None:
        ask, sizes = change.ask, self.memory.sizes
        more = change.new_count - change.old_count
        if more > 0:
            size = tuple(change.new_size)
            sizes[size] = sizes.get(size, 0) + more
        app = ask.application
        if app.number in self._apps:
            job = self.job(app)
            if not ask.is_am and job.asked_ms is None:
                job.asked_ms = change.at_ms
            self._touch(app, change.at_ms)

    def _touch(self, app: Application, at_ms: int) -> None:
        m = self.memory
        if not m.live:
            m.since_ms = at_ms
        m.live[app.number] = max(m.live.get(app.number, at_ms), at_ms)

    def _learn(self, app: Application, job: Job, ran_ms: int) -> None:
        names = self.memory.names
        for known in (job.done, names.setdefault(app.name, [0, 0]), names.setdefault("", [0, 0])):
            known[0] += 1
            known[1] += ran_ms
        if len(names) > NAMES_KEPT:
            del names[next(name for name in names if name)]

    # What stands

    def _update(self) -> None:
        """Read anew what applications hold and ask for that changed."""
        for app in list(self._stale):
            if isinstance(app, Application):
                self._recount(app)
        self._stale.clear()

    def _recount(self, app: Application) -> None:
        if self._apps.get(app.number) is not app:
            self._uncharge(app)
            self._pending.pop(app, None)
            return
        asked, tasks = self._asked(app)
        if any(asked):
            self._pending[app] = asked
        else:
            self._pending.pop(app, None)
        job = self.job(app)
        held = [used - am for used, am in zip(app.used, self._am(app), strict=True)]
        demand = [a + h for a, h in zip(tasks, held, strict=True)]
        if any(demand):
            job.peak = tuple(map(max, demand, job.peak or demand))
            if not job.known or self._settings.classifier == "demand":
                self._classify(app, job)
            job.known = True
        self.charge(app)

    def _asked(self, app: Application) -> tuple[list[int], list[int]]:
        """All that it asks for, and what of it is for tasks."""
        width = len(app.used)
        every, tasks = [0] * width, [0] * width
        for ask in app.asks:
            for r in range(width):
                every[r] += ask.count * ask.size[r]
                tasks[r] += 0 if ask.is_am else ask.count * ask.size[r]
        return every, tasks

    def _am(self, app: Application) -> Sequence[int]:
        if any(not attempt.unmanaged for attempt in app.attempts.values()):
            for container in app.containers:  # it came first
                if container.is_am:
                    return container.size
        return [0] * len(app.used)

    def _classify(self, app: Application, job: Job) -> None:
        """A job may become large, and is never small again: it would hide its tail there."""
        if job.kind == LD or not self.memory.scale.total:
            return
        peak: Sequence[float] = job.peak
        if self._settings.classifier == "work":
            known = job.done if job.done[0] else self.memory.names.get(app.name, [0, 0])
            peak = predicted_work(peak, _mean(known), _mean(self.memory.names.get("", [0, 0])))
        job.kind = classify_vector(peak, self.memory.scale.total, self._settings.theta)
        if job.kind == LD:
            self.memory.large[app.id] = None
            for line in self.lines.values():
                line.stale[app] = None
            self.charge(app)

    def charge(self, app: Application) -> None:
        """What the application holds counts to its category."""
        self._uncharge(app)
        kind, held = self.job(app).kind, list(app.used)
        self._charged[app] = kind, held
        self.used[kind] = [a + b for a, b in zip(self.used[kind], held, strict=True)]

    def _uncharge(self, app: Application) -> None:
        kind, held = self._charged.pop(app, (SD, []))
        if held:
            self.used[kind] = [a - b for a, b in zip(self.used[kind], held, strict=True)]

    def measure(self) -> None:
        """Count the cluster in containers; who is small by that may be large now."""
        view, m = self._view, self.memory
        unit = self._unit()
        seen = [tuple(view.cluster_capacity), tuple(view.capacity)]
        if (unit, seen) == (m.scale.unit, m.scale.seen):
            return
        m.settled = False
        m.scale = Scale(unit=unit, seen=seen)
        if any(unit):
            m.scale.tot = containers_of(unit, (node.capacity for node in view.nodes), view.capacity)
            m.scale.each = worth(unit, view.capacity)
            m.scale.total = times(m.scale.each, m.scale.tot)
        self.classify_all()

    def classify_all(self) -> None:
        """Look again at who is small, where more than a job's own demand decides."""
        for number, job in self.memory.jobs.items():
            if job.peak and number in self._apps:
                self._classify(self._apps[number], job)

    def _unit(self) -> tuple[int, ...]:
        if self._settings.unit:
            return tuple(self._settings.unit.get(name, 0) for name in self._view.resource_types)
        sizes = self.memory.sizes
        if not sizes and self._apps:  # a memory made in mid-run
            for app in self._apps.values():
                for size, count in [
                    *((tuple(ask.size), ask.count) for ask in app.asks),
                    *((tuple(c.size), 1) for c in app.containers),
                ]:
                    sizes[size] = sizes.get(size, 0) + count
        return max(sizes, key=lambda size: (sizes[size], [-r for r in size]), default=())

    def asks(self) -> tuple[list[list[int]], list[list[int]]]:
        """The pending demand of each job, of SD and of LD, in order of submission; of those alone
        that limits of the queue tree let have something.
        """
        found: dict[str, list[list[int]]] = {kind: [] for kind in CATEGORIES}
        limited = self._view._ledger.limited
        for app in sorted(self._pending, key=lambda app: (app.submitted_ms, app.number)):
            if any(limited(ask) is None for ask in app.asks):
                found[self.kind_of(app)].append(self._pending[app])
        return found[SD], found[LD]

    def waiting(self, number: int, key: int) -> int:
        """Tasks of a job that are asked for or granted, and not yet running."""
        app = self._apps[number]
        tracker = self.memory.jobs[number].tracker
        by_key = self._settings.use_priority
        asks = (a for a in app.asks if not a.is_am and (not by_key or a.priority == key))
        asked = sum(ask.count for ask in asks)
        if by_key:
            held = (c for c in app.containers if not c.is_am and c.ask_key.priority == key)
            return asked + sum(c.started_ms is None for c in held)
        ams = sum(not attempt.unmanaged for attempt in app.attempts.values())
        return asked + max(0, len(app.containers) - ams - len(tracker.owner) - len(tracker.carry))

    def starved(self, now_ms: int, age_ms: int) -> bool:
        """Some large job has waited so long, and has not got its first task yet."""
        for app in self._pending:
            job = self.memory.jobs[app.number]
            waits = job.kind == LD and job.asked_ms is not None
            if waits and now_ms - (job.asked_ms or 0) >= age_ms:
                ams = sum(not attempt.unmanaged for attempt in app.attempts.values())
                if len(app.containers) <= ams:
                    return True
        return False


def _mean(known: Durations) -> float | None:
    return known[1] / known[0] if known[0] else None
