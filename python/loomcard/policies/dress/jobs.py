"""What DRESS remembers of a queue's jobs and their tasks: events update trackers, and trackers give
a forecast. The memory is plain data, with applications by their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from loomcard import (
    Application,
    ApplicationRemoved,
    AskChanged,
    Container,
    ContainerAdded,
    ContainerCompleted,
    ContainerResized,
    ContainerStarted,
    Event,
    Refused,
)
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL, phase_expected
from loomcard.policies.dress.phases import Phase, Tracker

UNKNOWN = "unknown"
"""The kind of a job that has asked only for its AM: neither SMALL nor LARGE yet."""


@dataclass(slots=True)
class Job:
    """What is known of one application."""

    kind: str = UNKNOWN
    """SMALL, LARGE or UNKNOWN."""
    peak: tuple[int, ...] = ()
    """The most so far that its tasks used and asked for together, as amounts."""
    asked_ms: int | None = None
    """When it first asked for tasks."""
    served: bool = False
    """It has had a task."""
    aged: bool = False
    """It waited ``age_ms`` for its first task."""
    reported_headroom: tuple[int, ...] = ()
    """The headroom last reported to its AM."""
    tracker: Tracker = field(default_factory=Tracker)

    @property
    def pool(self) -> str:
        """The category to which its containers are charged.

        A large job's AM counts to SMALL until the job has a task: AMs that wait use up what lets
        further AMs start.
        """
        return LARGE if self.kind == LARGE and self.served else SMALL


@dataclass(slots=True)
class Figures:
    """The figures shown of the last tick and of all ticks, in containers."""

    released: int = 0
    """Tasks that ended since the last tick."""
    forecast: tuple[float, float] = (0.0, 0.0)
    """F_1 and F_2 for the tick that has begun."""
    expected: float = 0.0
    """F_1 + F_2 that was forecast for the tick that has ended."""
    actual: int = 0
    """What was released in it."""
    error: float = 0.0
    """Sum over ticks of |expected - actual|."""
    ticks: int = 0
    branches: dict[str, int] = field(default_factory=dict)

    def ticked(self, forecast: tuple[float, float]) -> None:
        """Close a tick; ``forecast`` is for the next one."""
        self.expected, self.actual = sum(self.forecast), self.released
        self.error += abs(self.expected - self.actual)
        self.ticks += 1
        self.released, self.forecast = 0, forecast

    def count(self, branch: str) -> None:
        """Count that Algorithm 3 took this branch."""
        self.branches[branch] = self.branches.get(branch, 0) + 1


@dataclass(slots=True)
class Memory:
    """All that DRESS remembers. Only ``delta`` and ``large`` are saved permanently."""

    delta: float
    large: dict[str, None] = field(default_factory=dict)
    """Ids of the applications that are large, or were before this memory began."""
    jobs: dict[int, Job] = field(default_factory=dict)
    tick_ms: int | None = None
    """When the last tick was."""
    total: list[int] = field(default_factory=list)
    """What is divided, since the last tick or change of ``capacity``: the queue's entitlement if it
    asked for everything.
    """
    capacity: list[int] = field(default_factory=list)
    """The cluster's capacity when ``total`` was last computed."""
    large_at_tick: list[int] = field(default_factory=list)
    """What LARGE used at the last tick, plus all that was charged to it since."""
    live: dict[int, int] = field(default_factory=dict)
    """Jobs to evaluate at each tick, each with the time of its last event."""
    since_ms: int = 0
    """When ``live`` last became non-empty."""
    settled: bool = False
    """Whether nothing has changed since the last tick, and that tick changed nothing either."""
    figures: Figures = field(default_factory=Figures)


class Jobs:
    """The jobs in a memory, together with the applications of the queue."""

    def __init__(
        self, memory: Memory, options: Options, applications: Mapping[int, Application]
    ) -> None:
        self.asked: dict[Application, None] = {}
        """Applications with a demand that may have grown since the last look."""
        self._memory = memory
        self._options = options
        self._apps = applications
        self._changes: Sequence[Event] = ()  # of this call, while ``follow`` runs
        self._touched: dict[int, None] = {}  # jobs whose trackers have events to apply

    def get(self, app: Application) -> Job:
        """Return what is known of an application.

        The running tasks of a new one are adopted. Their start is unknown, so they are carried and
        never forecast on their own.
        """
        job = self._memory.jobs.get(app.number)
        if job is None:
            kind = LARGE if app.id in self._memory.large else UNKNOWN
            job = self._memory.jobs[app.number] = Job(kind)
            started = (c.container for c in self._changes if isinstance(c, ContainerStarted))
            fresh = {container.number for container in started}
            for container in app.containers:
                if container.number not in fresh:
                    _adopt(job, container)
        return job

    # What happened

    def follow(self, changes: Sequence[Event]) -> None:
        """Note what happened to tasks and asks."""
        self._changes = changes
        for change in changes:
            if isinstance(change, AskChanged):
                self._ask(change)
            elif isinstance(change, ContainerStarted):
                if (job := self._job_of(change.container, change.at_ms)) is not None:
                    container = change.container
                    size = tuple(container.size)
                    job.tracker.note_start(change.at_ms, container.number, size)
            elif isinstance(change, ContainerCompleted):
                self._end(change)
            elif isinstance(change, Refused):
                if change.ask is not None:
                    self.asked[change.ask.application] = None
            elif isinstance(change, ContainerResized):
                self.asked[change.container.application] = None
            elif isinstance(change, ContainerAdded):
                if (job := self._job_of(change.container, None)) is not None:
                    self.asked[change.container.application] = None
                    _adopt(job, change.container)
            elif isinstance(change, ApplicationRemoved):
                self._forget(change.application)
        self._changes = ()

    def _job_of(self, container: Container, at_ms: int | None) -> Job | None:
        """Return the job of a task; None for an AM, or an application outside the queue.

        ``at_ms``: the time of an event that trackers look at.
        """
        app = container.attempt.application
        if container.is_am or app.number not in self._apps:
            return None
        if at_ms is not None:
            self._touch(app, at_ms)
        return self.get(app)

    def _end(self, change: ContainerCompleted) -> None:
        container = change.container
        if not container.is_am:
            self._memory.figures.released += 1
        if (job := self._job_of(container, change.at_ms)) is not None:
            well = change.kind == "completed" and change.exit_status == 0
            well = well or change.kind == "released"
            job.tracker.note_finish(change.at_ms, container.number, well)

    def _ask(self, change: AskChanged) -> None:
        app = change.ask.application
        if app.number in self._apps:
            job = self.get(app)
            if not change.ask.is_am and job.asked_ms is None:
                job.asked_ms = change.at_ms
            self.asked[app] = None
            self._touch(app, change.at_ms)

    def _forget(self, app: Application) -> None:
        if self._apps.get(app.number) is not app:  # it did not come back in the same batch
            self._memory.jobs.pop(app.number, None)
            self._memory.live.pop(app.number, None)
            self._touched.pop(app.number, None)
            self._memory.large.pop(app.id, None)

    def _touch(self, app: Application, at_ms: int) -> None:
        m = self._memory
        self._touched[app.number] = None
        if not m.live:
            m.since_ms = at_ms
        m.live[app.number] = max(m.live.get(app.number, at_ms), at_ms)

    def apply(self, now_ms: int) -> None:
        """Apply between two ticks what trackers were told, so that the next tick has less to do."""
        for number in self._touched:
            self._memory.jobs[number].tracker.apply(now_ms)
        self._touched.clear()

    # At a tick

    def evaluate(self, now_ms: int) -> None:
        """Run Algorithms 1 and 2 for every job with recent events, at each missed tick and now."""
        m, options = self._memory, self._options
        windows = options.windows
        self._touched.clear()
        t = now_ms if m.tick_ms is None else m.tick_ms + options.tick_ms
        t += max(0, -((t - m.since_ms) // options.tick_ms)) * options.tick_ms
        while m.live:
            t = min(t, now_ms)
            for number, touched_ms in list(m.live.items()):
                m.jobs[number].tracker.advance(t, partial(self._waiting, number), windows)
                if t >= touched_ms + options.phase_window_ms:
                    del m.live[number]  # windows are empty: nothing can change
            if t == now_ms:
                break
            t += options.tick_ms

    def _waiting(self, number: int) -> int:
        """Return how many tasks of a job are asked for or allocated, and not yet running."""
        app, tracker = self._apps[number], self._memory.jobs[number].tracker
        asked = sum(ask.count for ask in app.asks if not ask.is_am)
        return asked + max(0, tasks_held(app) - len(tracker.owner) - len(tracker.carry))

    def releases(
        self, now_ms: int, width: int
    ) -> tuple[tuple[list[float], list[float]], tuple[float, float]]:
        """Return F_1 and F_2 for the tick that begins (Eq 5: the sum over the jobs' phases), as
        amounts of ``width`` resource types, and in containers.
        """
        found = {kind: [0.0] * width for kind in CATEGORIES}
        counts = dict.fromkeys(CATEGORIES, 0.0)
        tau = self._options.tick_ms
        for number in self._memory.live if self._options.forecast else ():
            job = self._memory.jobs[number]
            kind = LARGE if job.kind == LARGE else SMALL
            for phase in job.tracker.phases:
                expected = phase_expected(now_ms, tau, job.tracker.alpha, phase, tau)
                if expected > 0:
                    counts[kind] += expected
                    _add(found[kind], phase, expected)
        return (found[SMALL], found[LARGE]), (counts[SMALL], counts[LARGE])


def _adopt(job: Job, container: Container) -> None:
    """Carry a running task that was not seen to start."""
    running = container.started_ms is not None and container.number not in job.tracker.owner
    if running and not container.is_am:
        job.tracker.carry[container.number] = tuple(container.size)


def _add(total: list[float], phase: Phase, expected: float) -> None:
    """Add releases as amounts, each of the mean size of the phase's running tasks
    (docs/papers/dress.md 2.5).
    """
    sizes = list(phase.running.values())
    same = sizes[:1] if sizes.count(sizes[0]) == len(sizes) else sizes  # as tasks of a stage are
    for r, amounts in enumerate(zip(*same, strict=True)):
        total[r] += expected * sum(amounts) / len(same)


def am_of(app: Application) -> Container | None:
    """Return the AM's container: the first one, unless a later attempt started its own."""
    first = next(iter(app.containers), None)
    if first is None or first.is_am:
        return first
    for attempt in app.attempts.values():
        if not attempt.unmanaged:
            return next((container for container in app.containers if container.is_am), None)
    return None


def tasks_held(app: Application) -> int:
    """Return how many containers an application has, without its AM's."""
    return len(app.containers) - (am_of(app) is not None)


def asks_for_am(app: Application) -> bool:
    """Return whether an application asks for its AM."""
    return any(ask.is_am and ask.count > 0 for ask in app.asks)
