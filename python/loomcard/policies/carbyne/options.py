"""The options of Carbyne with their defaults; docs/papers/carbyne.md says what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from loomcard import RESERVE_AFTER_MS
from loomcard.policies.carbyne.paper import Rule

Default = Literal["tetris", "srtf"]
Loan = Literal["free", "guarded", "preempt"]
CHOICES = {
    "default_rule": get_args(Default),
    "leftover_rule": get_args(Rule),
    "loan": get_args(Loan),
}
NOT_NEGATIVE = ("most_borrowed", "tolerance_ms", "reserve_after_ms")
POSITIVE = ("assumed_ms", "most_steps")


@dataclass(frozen=True)
class Options:
    """What the paper fixes, what docs/papers/carbyne.md resolves, and from ``loan`` on, additions
    to both. Raises ValueError for an impossible value.
    """

    altruism: float = 1.0
    default_rule: Default = "tetris"
    leftover_rule: Rule = "srtf"
    seed: int = 1
    tolerance_ms: int = 100
    assumed_ms: float = 30_000.0
    loan: Loan = "free"
    most_borrowed: float = 3.0
    learn: bool = True
    error_percent: float = 0.0
    error_part: float = 1.0
    most_steps: int = 20_000
    reserve_after_ms: int = RESERVE_AFTER_MS

    def __post_init__(self) -> None:
        for name in ("altruism", "error_part"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies between 0 and 1")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")
        for name in NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0")
        for name in POSITIVE:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is above 0")
        if not self.error_percent > -100:
            raise ValueError("error_percent is above -100")
