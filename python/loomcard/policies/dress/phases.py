"""Algorithms 1 and 2: from starts and ends of a job's tasks to its phases (docs/papers/dress.md
2.4).

Times are ms. A phase is a group of tasks that do the same work in parallel. A burst of starts
reveals it (Algorithm 1). From a burst of ends on it releases containers (Algorithm 2), and it
passes its trailing tasks to the next phase. Everything is evaluated on ticks, because no event
shows silence (docs/papers/dress.md 3-5).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass, field

Size = tuple[int, ...]
"""Amounts of one task, by resource type; (1,) if containers are counted."""

MOST_OVER = 32
"""How many phases that are over are kept, at most: a service has one burst after the other."""

FINISH, START = 0, 1
"""The kinds of events. At equal times, ends are applied before starts."""


@dataclass(frozen=True, slots=True)
class Windows:
    """pw, t_s and t_e: within ``window_ms``, more than ``start`` starts open a burst, and after
    more than ``finish`` ends a phase releases.

    For a phase of w tasks no threshold is above w - 1. Otherwise a phase of five tasks or fewer
    could never exceed the paper's 5 (docs/papers/dress.md 3-4).
    """

    window_ms: int = 10_000
    start: int = 5
    finish: int = 5

    def recent(self, times: list[int], t: int) -> int:
        """Return how many of the sorted ``times`` are in the window (t - pw, t]; remove earlier
        ones, because ticks never go back.
        """
        del times[: bisect_right(times, t - self.window_ms)]
        return len(times)


@dataclass(slots=True)
class Phase:
    """p_j: the times of its tasks, and what the forecast needs."""

    starts: list[int] = field(default_factory=list)
    """When tasks started, only those in the window; sorted, as ``fins`` is."""
    fins: list[int] = field(default_factory=list)
    """When tasks ended well, only those in the window."""
    running: dict[int, Size] = field(default_factory=dict)
    """R_pj: its running tasks with their sizes."""
    c: int = 0
    """c_pj: containers counted to it, including those that an earlier phase passed on."""
    began: int = 0
    """How many tasks started in it."""
    w: int = 0
    """Its width: the most so far, until the burst was seen, of its own starts plus the tasks asked
    for or allocated and not yet running."""
    burst: bool = False
    """S_pj: whether the burst of starts was seen."""
    moved: bool = False
    """Whether its trailing tasks were passed on."""
    psf: int | None = None
    psl: int | None = None
    """When the first and the last of its tasks so far started."""
    dps: int | None = None
    """Starting variation: last start minus first, set after a window without a start."""
    gamma: int | None = None
    """The moment from which it releases containers."""

    @property
    def variation(self) -> int:
        """dps; while the phase is open, its value if no further task started."""
        if self.dps is not None:
            return self.dps
        return 0 if self.psf is None or self.psl is None else self.psl - self.psf

    def begin(self, at: int) -> None:
        """Note the start of one of its own tasks."""
        insort(self.starts, at)
        self.began += 1
        self.psf = at if self.psf is None else min(self.psf, at)
        self.psl = at if self.psl is None else max(self.psl, at)


@dataclass(slots=True)
class Tracker:
    """One job's phases. ``note_*`` store events; ``advance`` applies and evaluates them."""

    phases: list[Phase] = field(default_factory=list)
    forming: int | None = None
    """The index of the phase to which new starts belong."""
    owner: dict[int, int] = field(default_factory=dict)
    """The phase of each running task."""
    carry: dict[int, Size] = field(default_factory=dict)
    """Trailing tasks that no phase has taken over; not forecast until one does."""
    alpha: int | None = None
    """Start of the job's first task."""
    events: list[tuple[int, int, int, Size, bool]] = field(default_factory=list)
    """Events not yet applied: time, kind, task, size, ended well."""
    dropped: int = 0
    """How many phases are over and not kept."""

    def note_start(self, at: int, task: int, size: Size = (1,)) -> None:
        """Note that a container entered RUNNING."""
        self.events.append((at, START, task, size, True))

    def note_finish(self, at: int, task: int, ok: bool = True) -> None:
        """Note that a container ended; ``ok``: with exit status 0, or released by its job."""
        self.events.append((at, FINISH, task, (), ok))

    def advance(self, t: int, waiting: Callable[[], int], windows: Windows) -> None:
        """Apply the events until ``t``; then evaluate the tick ``t``.

        ``waiting()``: how many of the job's tasks are asked for or allocated and not yet running.
        """
        self.apply(t)
        self.evaluate(t, waiting, windows)

    def apply(self, t: int) -> None:
        """Apply the events until ``t``, by time, ends first."""
        if not self.events:
            return
        unknown: dict[int, None] = {}  # ended when it began: only frees its container
        self.events.sort()
        due = bisect_right(self.events, t, key=lambda event: event[0])
        for at, kind, task, size, ok in self.events[:due]:
            if kind == FINISH:
                if not self.finish(task, at, ok):
                    unknown[task] = None
            elif task not in unknown:
                self.start(task, at, size)
        del self.events[:due]

    def start(self, task: int, at: int, size: Size = (1,)) -> None:
        """Start a task in the phase that is forming, or in a new one (Algorithm 1, lines 5-10)."""
        if task in self.owner or task in self.carry:
            return
        if self.alpha is None:
            self.alpha = at
        if self.forming is None:  # a new phase takes over trailing tasks: they count, and run
            self.forming = len(self.phases)
            self.phases.append(Phase())
            self._give(self.forming, self.carry)
            self.carry = {}
        self.phases[self.forming].begin(at)
        self._give(self.forming, {task: size})

    def finish(self, task: int, at: int, ok: bool = True) -> bool:
        """End a task (Algorithm 2, lines 5-7); return False if no such task runs. A carried task is
        only removed.
        """
        if self.carry.pop(task, None) is not None:
            return True
        index = self.owner.pop(task, None)
        if index is None:
            return False
        phase = self.phases[index]
        del phase.running[task]
        if ok:
            insort(phase.fins, at)
        return True

    def evaluate(self, t: int, waiting: Callable[[], int], windows: Windows) -> None:
        """Run Algorithms 1 and 2 at the tick ``t``, for every phase in the order of creation."""
        for index, phase in enumerate(self.phases):
            if self.forming == index:
                self._bursts(phase, t, waiting, windows)
            if phase.gamma is not None and not phase.running:
                continue
            ended = windows.recent(phase.fins, t)
            if phase.gamma is None:
                if ended > _within(windows.finish, phase):
                    phase.gamma = phase.fins[0]  # heading tasks ended before this window
            elif not ended and phase.running and not phase.moved:
                self._pass_on(index, phase)
        if len(self.phases) > MOST_OVER:
            self._drop()

    def _drop(self) -> None:
        """Drop the first phases if none of their tasks runs: nothing can change in them, and none
        before them can pass tasks on to them.
        """
        over = 0
        while over < len(self.phases) and over != self.forming and not self.phases[over].running:
            over += 1
        if over < MOST_OVER:
            return
        del self.phases[:over]
        self.dropped += over
        self.owner = {task: index - over for task, index in self.owner.items()}
        if self.forming is not None:
            self.forming -= over

    def _bursts(self, phase: Phase, t: int, waiting: Callable[[], int], windows: Windows) -> None:
        """Detect the burst or its end, which ends the forming (Algorithm 1, lines 11-17)."""
        started = windows.recent(phase.starts, t)
        if not phase.burst:
            phase.w = max(phase.w, phase.began + waiting())
            phase.burst = started > _within(windows.start, phase)
        elif not started:
            phase.dps = phase.variation
            self.forming = None

    def _pass_on(self, index: int, phase: Phase) -> None:
        """Count trailing tasks to the next phase, once (Algorithm 2, lines 11-12;
        docs/papers/dress.md 3-12).
        """
        trailing, phase.running = phase.running, {}
        phase.c -= len(trailing)
        phase.moved = True
        if index + 1 < len(self.phases):
            self._give(index + 1, trailing)
        else:
            self.carry |= trailing
            for task in trailing:
                del self.owner[task]

    def _give(self, index: int, tasks: dict[int, Size]) -> None:
        phase = self.phases[index]
        phase.c += len(tasks)
        for task, size in tasks.items():
            phase.running[task] = size
            self.owner[task] = index


def _within(threshold: int, phase: Phase) -> int:
    """Return min(t_k, max(0, w - 1)): a threshold that a phase of this width can exceed."""
    return min(threshold, max(0, phase.w - 1))
