"""What DRESS remembers from round to round: plain data, with applications by their number."""

from __future__ import annotations

from dataclasses import dataclass, field

from loomcard.policies.dress.classify import LD, SD
from loomcard.policies.dress.phases import Size, Tracker

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
    """What pages and reports show of the last tick, and of all."""

    forecast: dict[str, list[float]] = field(default_factory=dict)
    """F of either category for the tick that has begun, by resource type."""
    pending: dict[str, list[float]] = field(default_factory=dict)
    """P of either category at the last tick."""
    released: dict[str, list[float]] = field(default_factory=lambda: {SD: [], LD: []})
    """What ended since the last tick."""
    actual: dict[str, list[float]] = field(default_factory=lambda: {SD: [], LD: []})
    """What ended between the last tick and the one before."""
    error: float = 0.0
    """Sum over ticks of |forecast - actual|, in containers."""
    branches: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Memory:
    """All of it. ``delta`` alone, and who was large, are saved for good."""

    delta: float
    large: dict[str, None] = field(default_factory=dict)
    """Ids of applications that were large before this memory began."""
    jobs: dict[int, Job] = field(default_factory=dict)
    sizes: dict[Size, int] = field(default_factory=dict)
    """How many containers of each size were asked for so far."""
    scale: Scale = field(default_factory=Scale)
    tick_ms: int | None = None
    """When the last tick was."""
    held: list[float] = field(default_factory=list)
    """What LD held at the last tick, and was granted since."""
    live: dict[int, int] = field(default_factory=dict)
    """Jobs to evaluate at each tick, with the time of the last thing that happened to them."""
    since_ms: int = 0
    """When ``live`` ceased to be empty."""
    settled: bool = False
    """Nothing has changed since the last tick, which changed nothing either."""
    names: dict[str, Durations] = field(default_factory=dict)
    """Past tasks by the name of their application, and of all under ""."""
    tally: Tally = field(default_factory=Tally)
