"""Algorithms 1 and 2: from starts and ends of a job's tasks to its phases (docs/papers/dress.md
2.4).

Times are ms. A phase is a group of tasks that do the same work in parallel. It is seen by a burst
of starts (Algorithm 1), releases from a burst of ends on (Algorithm 2), and passes those that trail
on to the next. Everything is evaluated on ticks: silence cannot be seen by an event
(docs/papers/dress.md 3-5).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass, field

Size = tuple[int, ...]
"""Amounts of one task, by resource type; (1,) where containers are counted."""

FINISH, START = 0, 1
"""At equal times ends are applied before starts."""


@dataclass(frozen=True, slots=True)
class Windows:
    """pw, t_s and t_e: within ``window_ms`` more than ``start`` starts open a burst, more than
    ``finish`` ends let a phase release.

    For a phase of w tasks no threshold is above w - 1, or else a phase of five tasks or fewer could
    never exceed the paper's 5 (docs/papers/dress.md 3-4).
    """

    window_ms: int = 10_000
    start: int = 5
    finish: int = 5

    def recent(self, times: list[int], t: int) -> int:
        """How many of sorted ``times`` are in the window (t - pw, t]; those before it are dropped,
        for ticks never go back.
        """
        del times[: bisect_right(times, t - self.window_ms)]
        return len(times)


@dataclass(slots=True)
class Phase:
    """p_j: its tasks' times, and what the forecast needs of them."""

    starts: list[int] = field(default_factory=list)
    """When tasks started, those in the window; sorted, as ``fins`` are."""
    fins: list[int] = field(default_factory=list)
    """When tasks ended well, those in the window."""
    running: dict[int, Size] = field(default_factory=dict)
    """R_pj: its running tasks with their sizes."""
    c: int = 0
    """c_pj: containers counted to it, those passed on by an earlier phase too."""
    began: int = 0
    """How many tasks started in it."""
    w: int = 0
    """Its width: its own starts and those asked for or allocated and not yet running, at most, till
    the burst was seen."""
    burst: bool = False
    """S_pj: the burst of starts was seen."""
    moved: bool = False
    """Its trailing tasks were passed on."""
    psf: int | None = None
    psl: int | None = None
    """When the first and the last of its tasks so far started."""
    dps: int | None = None
    """Starting variation: last start less first, once no start was seen for a window."""
    gamma: int | None = None
    """The moment from which it releases containers."""

    @property
    def variation(self) -> int:
        """dps; while the phase is open, what it would be if no further task started."""
        if self.dps is not None:
            return self.dps
        return 0 if self.psf is None or self.psl is None else self.psl - self.psf

    def begin(self, at: int) -> None:
        """A task of its own started."""
        insort(self.starts, at)
        self.began += 1
        self.psf = at if self.psf is None else min(self.psf, at)
        self.psl = at if self.psl is None else max(self.psl, at)


@dataclass(slots=True)
class Tracker:
    """One job's phases. ``note_*`` keep what happened; ``advance`` applies it and evaluates."""

    phases: list[Phase] = field(default_factory=list)
    forming: int | None = None
    """The phase that new starts belong to, by its place."""
    owner: dict[int, int] = field(default_factory=dict)
    """By running task, its phase."""
    carry: dict[int, Size] = field(default_factory=dict)
    """Trailing tasks that no phase has taken over; never forecast till one does."""
    alpha: int | None = None
    """Start of the job's first task."""
    events: list[tuple[int, int, int, Size, bool]] = field(default_factory=list)
    """Not yet applied: time, kind, task, size, ended well."""

    def note_start(self, at: int, task: int, size: Size = (1,)) -> None:
        """A container entered RUNNING."""
        self.events.append((at, START, task, size, True))

    def note_finish(self, at: int, task: int, ok: bool = True) -> None:
        """A container ended; ``ok``: with exit status 0, or released by its job."""
        self.events.append((at, FINISH, task, (), ok))

    def advance(self, t: int, waiting: Callable[[], int], windows: Windows) -> None:
        """Apply what happened until ``t``, by time, ends first; then evaluate the tick ``t``.

        ``waiting()``: the job's tasks that are asked for or allocated and not yet running.
        """
        unknown: dict[int, None] = {}  # ended as it began: it only frees its container
        self.events.sort()
        due = bisect_right(self.events, t, key=lambda event: event[0])
        for at, kind, task, size, ok in self.events[:due]:
            if kind == FINISH:
                if not self.finish(task, at, ok):
                    unknown[task] = None
            elif task not in unknown:
                self.start(task, at, size)
        del self.events[:due]
        self.evaluate(t, waiting, windows)

    def start(self, task: int, at: int, size: Size = (1,)) -> None:
        """Algorithm 1, lines 5-10: a task starts in the phase that is forming, or in a new one."""
        if task in self.owner or task in self.carry:
            return
        if self.alpha is None:
            self.alpha = at
        if self.forming is None:  # a new phase takes over what trails: it counts, and runs
            self.forming = len(self.phases)
            self.phases.append(Phase())
            self._give(self.forming, self.carry)
            self.carry = {}
        self.phases[self.forming].begin(at)
        self._give(self.forming, {task: size})

    def finish(self, task: int, at: int, ok: bool = True) -> bool:
        """Algorithm 2, lines 5-7; False where no such task runs. A task that is carried only
        leaves.
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
        """Algorithms 1 and 2 at the tick ``t``, every phase in the order of creation."""
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

    def _bursts(self, phase: Phase, t: int, waiting: Callable[[], int], windows: Windows) -> None:
        """Algorithm 1, lines 11-17: the burst begins, or it is over and so is the phase's start."""
        started = windows.recent(phase.starts, t)
        if not phase.burst:
            phase.w = max(phase.w, phase.began + waiting())
            phase.burst = started > _within(windows.start, phase)
        elif not started:
            phase.dps = phase.variation
            self.forming = None

    def _pass_on(self, index: int, phase: Phase) -> None:
        """Algorithm 2, lines 11-12: trailing tasks count to the next phase, once
        (docs/papers/dress.md 3-12).
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
    """min(t_k, max(0, w - 1)): what a phase of this width can exceed."""
    return min(threshold, max(0, phase.w - 1))
