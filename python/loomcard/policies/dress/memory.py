"""What DRESS remembers from round to round: plain data, with applications by their number."""

from __future__ import annotations

from dataclasses import dataclass, field

from loomcard.policies.dress.classify import SD, Vector
from loomcard.policies.dress.phases import Size, Tracker
from loomcard.policies.dress.quotas import filled
from loomcard.policies.dress.reserve import Outlook, add_up

Durations = list[int]
"""Count of tasks that ended well, and the ms that they ran in all."""


@dataclass(slots=True)
class Job:
    """What is known of one application."""

    kind: str = SD
    """Its category; one that has asked for its AM alone is unknown, and counts as small."""
    known: bool = False
    """It has asked for tasks."""
    peak: tuple[int, ...] = ()
    """Amounts of tasks held and asked for together, at most so far."""
    asked_ms: int | None = None
    """When it first asked for tasks."""
    told: tuple[int, ...] = ()
    """The headroom that its AM was told last."""
    done: Durations = field(default_factory=lambda: [0, 0])
    tracker: Tracker = field(default_factory=Tracker)


@dataclass(slots=True)
class Scale:
    """The cluster in containers, as of the last tick."""

    tot: int = 0
    """Tot_R; below 2 there is nothing to divide, and all are served first in, first out."""
    unit: Size = ()
    """The size of one container; () while nobody has asked for any."""
    each: list[float] = field(default_factory=list)
    """What one of the Tot_R stands for, by resource type."""
    total: list[float] = field(default_factory=list)
    """tot times that."""
    seen: list[Size] = field(default_factory=list)
    """Capacity of cluster and queue when it was taken."""


@dataclass(slots=True)
class Tally:
    """What is shown of the last tick, and of all; in containers, but for ``released``."""

    released: dict[str, list[float]] = field(default_factory=dict)
    """By category, amounts of what ended since the last tick."""
    forecast: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """F_1 and F_2, for the tick that has begun."""
    pending: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """P_1 and P_2."""
    expected: float = 0.0
    """F_1 + F_2 as it was forecast for the tick that has ended."""
    actual: float = 0.0
    """What was released in it."""
    error: float = 0.0
    """Sum over ticks of |expected - actual|."""
    ticks: int = 0
    branches: dict[str, int] = field(default_factory=dict)

    def ticked(self, outlook: Outlook, each: Vector) -> None:
        """A tick has ended, and the next one looks like this; ``each``: one container's worth."""
        self.expected = sum(self.forecast)
        self.actual = sum(filled(amounts, each) for amounts in self.released.values())
        self.error += abs(self.expected - self.actual)
        self.ticks += 1
        self.released = {}
        self.forecast = [filled(f, each) for f in outlook.releases]
        self.pending = [filled(add_up(asks, len(each)), each) for asks in outlook.asks]

    def count(self, branch: str) -> None:
        """Algorithm 3 took this way."""
        self.branches[branch] = self.branches.get(branch, 0) + 1


@dataclass(slots=True)
class Memory:
    """All of it. ``delta`` alone, the unit, and who was large, are saved for good."""

    delta: float
    large: dict[str, None] = field(default_factory=dict)
    """Ids of applications that were large before this memory began."""
    jobs: dict[int, Job] = field(default_factory=dict)
    sizes: dict[Size, int] = field(default_factory=dict)
    """How many containers of each size were asked for so far; of SIZES_KEPT sizes at most."""
    unit: Size = ()
    """One container as it was saved; it stands until another size is asked for more."""
    scale: Scale = field(default_factory=Scale)
    tick_ms: int | None = None
    """When the last tick was."""
    held: list[float] = field(default_factory=list)
    """What LD held at the last tick, and all that it was charged with since."""
    live: dict[int, int] = field(default_factory=dict)
    """Jobs to evaluate at each tick, with the time of the last thing that happened to them."""
    since_ms: int = 0
    """When ``live`` ceased to be empty."""
    settled: bool = False
    """Nothing has changed since the last tick, which changed nothing either."""
    names: dict[str, Durations] = field(default_factory=dict)
    """Past tasks by the name of their application, and of all under ""."""
    tally: Tally = field(default_factory=Tally)
