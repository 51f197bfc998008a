"""What the tasks of a queue's jobs did: from events to trackers, from trackers to a forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from loomcard.model.cluster import Application, Container
from loomcard.model.events import (
    ApplicationRemoved,
    AskChanged,
    ContainerAdded,
    ContainerCompleted,
    ContainerStarted,
    Event,
)
from loomcard.policies.dress.classify import CATEGORIES, LD, SD
from loomcard.policies.dress.forecast import amounts, job_release
from loomcard.policies.dress.memory import Job, Memory
from loomcard.policies.dress.options import Options

NAMES_KEPT = 1_000
"""Of so many names of applications past tasks are remembered; the oldest is forgotten."""


SIZES_KEPT = 64
"""Of so many sizes it is counted how often they were asked for; the rarest gives way to a new one,
which takes its count over, so that one that becomes common gets ahead.
"""


class Jobs:
    """The jobs in a memory, beside the applications that are there."""

    def __init__(
        self, memory: Memory, options: Options, applications: Mapping[int, Application]
    ) -> None:
        self._memory = memory
        self._options = options
        self._apps = applications
        self._fresh: set[int] = set()  # containers whose start is told in this call

    def get(self, app: Application) -> Job:
        """What is known of an application; of one that was not known before, its running tasks
        too, though not when they began: they are carried, and never forecast on their own.
        """
        job = self._memory.jobs.get(app.number)
        if job is None:
            kind = LD if app.id in self._memory.large else SD
            job = self._memory.jobs[app.number] = Job(kind, known=kind == LD)
            for container in app.containers:
                self._carry(job, container)
        return job

    def kind_of(self, app: Application) -> str:
        """The category that an application counts to."""
        job = self._memory.jobs.get(app.number)
        return SD if job is None else job.kind

    def _carry(self, job: Job, container: Container) -> None:
        running = container.started_ms is not None and container.number not in self._fresh
        if running and not container.is_am and container.number not in job.tracker.owner:
            job.tracker.carry[container.number] = tuple(container.size)

    # What happened

    def follow(self, changes: Sequence[Event]) -> None:
        """Note what happened to tasks and asks; trackers apply it at the next tick."""
        self._fresh = {c.container.number for c in changes if isinstance(c, ContainerStarted)}
        for change in changes:
            if isinstance(change, AskChanged):
                self._ask(change)
            elif isinstance(change, ApplicationRemoved):
                self._forget(change.application)
            elif isinstance(change, ContainerStarted | ContainerAdded | ContainerCompleted):
                app = change.container.application
                if change.container.is_am:
                    continue
                if isinstance(change, ContainerCompleted):
                    self._count_release(change)
                if app.number in self._apps:
                    self._task(change, self.get(app))
        self._fresh = set()

    def _task(
        self, change: ContainerStarted | ContainerAdded | ContainerCompleted, job: Job
    ) -> None:
        container, at = change.container, change.at_ms
        if isinstance(change, ContainerAdded):
            self._carry(job, container)
            return
        if isinstance(change, ContainerStarted):
            key = container.ask_key.priority if self._options.use_priority else 0
            job.tracker.note_start(at, container.number, key, tuple(container.size))
        else:
            well = change.kind == "completed" and change.exit_status == 0
            job.tracker.note_finish(at, container.number, well or change.kind == "released")
            if well and container.started_ms is not None:
                self._learn(container.application.name, job, at - container.started_ms)
        self._touch(container.application, at)

    def _count_release(self, change: ContainerCompleted) -> None:
        released, kind = self._memory.tally.released, self.kind_of(change.container.application)
        before = released.get(kind) or [0.0] * len(change.container.size)
        released[kind] = [a + b for a, b in zip(before, change.container.size, strict=True)]

    def _ask(self, change: AskChanged) -> None:
        ask, sizes = change.ask, self._memory.sizes
        more = change.new_count - change.old_count
        if more > 0:
            size = tuple(change.new_size)
            rarest = 0
            if size not in sizes and len(sizes) >= SIZES_KEPT:
                rarest = sizes.pop(min(sizes, key=lambda each: (sizes[each], each)))
            sizes[size] = sizes.get(size, rarest) + more
        app = ask.application
        if app.number in self._apps:
            job = self.get(app)
            if not ask.is_am and job.asked_ms is None:
                job.asked_ms = change.at_ms
            self._touch(app, change.at_ms)

    def _forget(self, app: Application) -> None:
        if self._apps.get(app.number) is not app:  # it did not come back in the same batch
            self._memory.jobs.pop(app.number, None)
            self._memory.live.pop(app.number, None)
            self._memory.large.pop(app.id, None)

    def _touch(self, app: Application, at_ms: int) -> None:
        m = self._memory
        if not m.live:
            m.since_ms = at_ms
        m.live[app.number] = max(m.live.get(app.number, at_ms), at_ms)

    def _learn(self, name: str, job: Job, ran_ms: int) -> None:
        names = self._memory.names
        for known in (job.done, names.setdefault(name, [0, 0]), names.setdefault("", [0, 0])):
            known[0] += 1
            known[1] += ran_ms
        if len(names) > NAMES_KEPT:
            del names[next(each for each in names if each)]

    # At a tick

    def evaluate(self, now_ms: int) -> None:
        """Algorithms 1 and 2 for every job to which something happened of late, at each tick that
        was missed and now.
        """
        m, options = self._memory, self._options
        t = now_ms if m.tick_ms is None else m.tick_ms + options.tick_ms
        t += max(0, -((t - m.since_ms) // options.tick_ms)) * options.tick_ms
        while m.live:
            t = min(t, now_ms)
            for number, touched_ms in list(m.live.items()):
                tracker = m.jobs[number].tracker
                tracker.advance(t, partial(self._waiting, number), options.windows)
                released_ms = tracker.released_ms(options.tick_ms)
                if t >= max(touched_ms + options.phase_window_ms, released_ms):
                    del m.live[number]  # windows are empty, and ramps over: nothing can change
            if t == now_ms:
                break
            t += options.tick_ms

    def _waiting(self, number: int, key: int) -> int:
        """Tasks of a job that are asked for or granted, and not yet running."""
        app, tracker = self._apps[number], self._memory.jobs[number].tracker
        by_key = self._options.use_priority
        asks = (a for a in app.asks if not a.is_am and (not by_key or a.priority == key))
        asked = sum(ask.count for ask in asks)
        if by_key:
            held = (c for c in app.containers if not c.is_am and c.ask_key.priority == key)
            return asked + sum(c.started_ms is None for c in held)
        return asked + max(0, tasks_held(app) - len(tracker.owner) - len(tracker.carry))

    def releases(self, now_ms: int, width: int) -> tuple[list[float], list[float]]:
        """F_1 and F_2 for the tick that begins, as amounts of ``width`` resource types."""
        tau, mode = self._options.tick_ms, self._options.forecast
        found: dict[str, list[float]] = {kind: [0.0] * width for kind in CATEGORIES}
        for number in self._memory.live:
            job = self._memory.jobs[number]
            phases = job_release(now_ms, tau, job.tracker, mode, tau)
            if phases:
                f = amounts(phases, width)
                found[job.kind] = [a + b for a, b in zip(found[job.kind], f, strict=True)]
        return found[SD], found[LD]


def am_of(app: Application) -> Container | None:
    """The AM's container, which came first, but for a later attempt's."""
    first = next(iter(app.containers), None)
    if first is None or first.is_am:
        return first
    if all(attempt.unmanaged for attempt in app.attempts.values()):
        return None
    return next((container for container in app.containers if container.is_am), None)


def tasks_held(app: Application) -> int:
    """How many containers an application holds, less its AM's."""
    return len(app.containers) - (am_of(app) is not None)
