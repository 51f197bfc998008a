"""When and how much is preempted, and what a policy keeps of it from call to call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from loomcard.api.preempt.owed import OwedTask

EVERY_MS = 1000
"""The shortest time between two searches for starved leaves, in ms."""
LONGEST_MS = 3_600_000
"""The longest pause after room that was not used, in ms; also for how long after a pause the next
one of that leaf doubles.
"""


@dataclass
class Preemption:
    """What a call keeps for the next; leaves are named by ``word_of``."""

    starved: dict[str, int] = field(default_factory=dict)
    """By leaf: since when, in ms, it has wanted something within its guarantee."""
    pauses: dict[str, list[int]] = field(default_factory=dict)
    """By leaf that did not use its room: how long, and until when, in ms, nothing is taken for it.
    """
    owed: list[OwedTask] = field(default_factory=list)
    """Tasks for which containers were preempted, and which have not started."""
    rest_ms: int = 0
    """Nothing more is taken before this time, in ms."""
    look_ms: int = 0
    """When starved leaves are searched again, in ms."""

    def pause(self, words: Iterable[str], now_ms: int, first_ms: int) -> None:
        """Pause leaves that did not use what was taken for them: for ``first_ms``, then twice as
        long each time.
        """
        for word, (_, until_ms) in list(self.pauses.items()):
            if until_ms + LONGEST_MS <= now_ms:
                del self.pauses[word]
        for word in words:
            pause_ms = 2 * self.pauses[word][0] if word in self.pauses else first_ms
            pause_ms = min(pause_ms, LONGEST_MS)
            self.pauses[word] = [pause_ms, now_ms + pause_ms]


@dataclass(frozen=True, kw_only=True)
class PreemptionOptions:
    """The options of a policy that takes its queues' guarantees back.

    ``preempt_after_ms``: for how long a leaf must have wanted its guarantee before containers are
    taken for it, 0: never; ``preempt_grace_ms``: how long a victim's AM has; ``preempt_budget``:
    the part of the cluster that is taken at once; ``preempt_queue_budget``: the part of what is
    lacking that is taken at once, from each leaf by what it uses beyond its guarantee;
    ``preempt_cooldown_ms``: how long nothing is taken afterwards.
    """

    preempt_after_ms: int = 0
    preempt_grace_ms: int = 15_000
    preempt_budget: float = 0.1
    preempt_queue_budget: float = 1.0
    preempt_cooldown_ms: int = 15_000

    def __post_init__(self) -> None:
        for name in ("preempt_after_ms", "preempt_grace_ms", "preempt_cooldown_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0")
        for name in ("preempt_budget", "preempt_queue_budget"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} is above 0 and at most 1")

    @property
    def preempting(self) -> PreemptionRules | None:
        """When and how much is taken; None: never."""
        if not self.preempt_after_ms:
            return None
        return PreemptionRules(
            self.preempt_after_ms, self.preempt_grace_ms, self.preempt_budget,
            self.preempt_cooldown_ms, self.preempt_queue_budget,
        )  # fmt: skip


@dataclass(frozen=True)
class PreemptionRules:
    """When and how much is taken: a policy's options of these names, after ``preempt_``.

    ``queue_budget``: the part of what is lacking that is taken at once.
    """

    after_ms: int
    grace_ms: int
    budget: float
    cooldown_ms: int
    queue_budget: float = 1.0

    @property
    def until_ms(self) -> int:
        """For how long, in ms, room that is taken is reserved for its leaf."""
        return self.grace_ms + self.cooldown_ms + EVERY_MS
