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
from loomcard.policies.dress.memory import UNKNOWN, Job, Memory
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL, phase_expected, phase_release
from loomcard.policies.dress.phases import Phase


class Jobs:
    """The jobs in a memory, beside the applications that are there."""

    def __init__(
        self, memory: Memory, options: Options, applications: Mapping[int, Application]
    ) -> None:
        self._memory = memory
        self._options = options
        self._apps = applications
        self._fresh: set[int] = set()  # containers whose start is reported in this call

    def get(self, app: Application) -> Job:
        """What is known of an application; of one that was not known before, its running tasks
        too, though not when they began: they are carried, and never forecast on their own.
        """
        job = self._memory.jobs.get(app.number)
        if job is None:
            kind = LARGE if app.id in self._memory.large else UNKNOWN
            job = self._memory.jobs[app.number] = Job(kind)
            for container in app.containers:
                self._carry(job, container)
        return job

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
                    self._memory.figures.released += 1
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
        self._touch(container.application, at)

    def _ask(self, change: AskChanged) -> None:
        app = change.ask.application
        if app.number in self._apps:
            job = self.get(app)
            if not change.ask.is_am and job.asked_ms is None:
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

    # At a tick

    def evaluate(self, now_ms: int) -> None:
        """Algorithms 1 and 2 for every job to which something happened of late, at each tick that
        was missed and now.
        """
        m, options = self._memory, self._options
        windows = options.windows
        t = now_ms if m.tick_ms is None else m.tick_ms + options.tick_ms
        t += max(0, -((t - m.since_ms) // options.tick_ms)) * options.tick_ms
        while m.live:
            t = min(t, now_ms)
            for number, touched_ms in list(m.live.items()):
                tracker = m.jobs[number].tracker
                tracker.advance(t, partial(self._waiting, number), windows)
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

    def releases(
        self, now_ms: int, width: int
    ) -> tuple[tuple[list[float], list[float]], tuple[float, float]]:
        """F_1 and F_2 for the tick that begins (Eq 5: the sum over the jobs' phases), as amounts of
        ``width`` resource types, and in containers.
        """
        found = {kind: [0.0] * width for kind in CATEGORIES}
        counts = dict.fromkeys(CATEGORIES, 0.0)
        for number in self._memory.live if self._options.forecast != "none" else ():
            job = self._memory.jobs[number]
            kind = LARGE if job.kind == LARGE else SMALL
            for phase in job.tracker.phases:
                expected = self._expected(now_ms, job.tracker.alpha, phase)
                if expected > 0:
                    counts[kind] += expected
                    _add(found[kind], phase, expected)
        return (found[SMALL], found[LARGE]), (counts[SMALL], counts[LARGE])

    def _expected(self, now_ms: int, alpha: int | None, phase: Phase) -> float:
        tau = self._options.tick_ms
        if self._options.forecast == "incremental":
            return phase_expected(now_ms, tau, alpha, phase, tau)
        return phase_release(now_ms + tau, alpha, phase.gamma, phase.variation, phase.c, tau)


def _add(total: list[float], phase: Phase, expected: float) -> None:
    """Releases as amounts: each of the mean size of the phase's running tasks, or of its last one
    where none runs any more (specification 2.8).
    """
    sizes = list(phase.running.values()) or [phase.size]
    for r in range(len(total)):
        total[r] += expected * sum(size[r] for size in sizes) / len(sizes)


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
