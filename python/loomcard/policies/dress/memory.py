"""What DRESS remembers from round to round: plain data, with applications by their number."""

from __future__ import annotations

from dataclasses import dataclass, field

from loomcard.policies.dress.paper import LARGE, SMALL
from loomcard.policies.dress.phases import Tracker

UNKNOWN = "unknown"
"""Of a job that has asked for its AM alone: neither SMALL nor LARGE yet."""


@dataclass(slots=True)
class Job:
    """What is known of one application."""

    kind: str = UNKNOWN
    """SMALL, LARGE or UNKNOWN."""
    peak: tuple[int, ...] = ()
    """Amounts of tasks held and asked for together, at most so far."""
    asked_ms: int | None = None
    """When it first asked for tasks."""
    served: bool = False
    """It has had a task."""
    aged: bool = False
    """It waited ``age_ms`` for its first task."""
    told: tuple[int, ...] = ()
    """The headroom that its AM was told last."""
    tracker: Tracker = field(default_factory=Tracker)

    @property
    def pool(self) -> str:
        """What its containers are charged to. A large job's AM stays with SMALL until the job has
        a task: AMs that wait use up what lets further AMs start.
        """
        return LARGE if self.kind == LARGE and self.served else SMALL


@dataclass(slots=True)
class Figures:
    """What is shown of the last tick and of all, in containers."""

    released: int = 0
    """Tasks that ended since the last tick."""
    forecast: tuple[float, float] = (0.0, 0.0)
    """F_1 and F_2 for the tick that has begun."""
    expected: float = 0.0
    """F_1 + F_2 as it was forecast for the tick that has ended."""
    actual: int = 0
    """What was released in it."""
    error: float = 0.0
    """Sum over ticks of |expected - actual|."""
    ticks: int = 0
    branches: dict[str, int] = field(default_factory=dict)

    def ticked(self, forecast: tuple[float, float]) -> None:
        """A tick has ended, and so much is expected of the next one."""
        self.expected, self.actual = sum(self.forecast), self.released
        self.error += abs(self.expected - self.actual)
        self.ticks += 1
        self.released, self.forecast = 0, forecast

    def count(self, branch: str) -> None:
        """Algorithm 3 took this way."""
        self.branches[branch] = self.branches.get(branch, 0) + 1


@dataclass(slots=True)
class Memory:
    """All of it. ``delta`` and who was large are saved for good."""

    delta: float
    large: dict[str, None] = field(default_factory=dict)
    """Ids of the applications that are large, or were before this memory began."""
    jobs: dict[int, Job] = field(default_factory=dict)
    tick_ms: int | None = None
    """When the last tick was."""
    total: list[int] = field(default_factory=list)
    """What is divided, as of the last tick or change of ``capacity``: what the queue would be
    entitled to if it asked for everything.
    """
    capacity: list[int] = field(default_factory=list)
    """The cluster's, when ``total`` was last seen."""
    large_at_tick: list[float] = field(default_factory=list)
    """What LARGE held at the last tick, and all that it was charged with since."""
    live: dict[int, int] = field(default_factory=dict)
    """Jobs to evaluate at each tick, with the time of the last thing that happened to them."""
    since_ms: int = 0
    """When ``live`` ceased to be empty."""
    settled: bool = False
    """Nothing has changed since the last tick, which changed nothing either."""
    figures: Figures = field(default_factory=Figures)
