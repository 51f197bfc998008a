"""The options of DRESS with their defaults; docs/papers/dress.md says what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from loomcard import RESERVE_AFTER_MS
from loomcard.policies.dress.paper import Pack, Reading
from loomcard.policies.dress.phases import Windows

Order = Literal["submission", "demand"]
CHOICES = {"reading": get_args(Reading), "pack": get_args(Pack), "order": get_args(Order)}
NOT_NEGATIVE = ("start_threshold", "finish_threshold", "age_ms", "reserve_after_ms")


@dataclass(frozen=True)
class Options:
    """The options; the table in docs/papers/dress.md says what each means. Raises ValueError for an
    impossible value.
    """

    theta: float = 0.10
    delta: float = 0.10
    phase_window_ms: int = 10_000
    start_threshold: int = 5
    finish_threshold: int = 5
    tick_ms: int = 1_000
    reading: Reading = "share"
    order: Order = "submission"
    forecast: bool = True
    defer_releases: bool = True
    dmin: float = 0.0
    dmax: float = 0.0
    eager: bool = True
    waiting_ams: float = 0.05
    pack: Pack = "whole"
    age_ms: int = 0
    reserve_after_ms: int = RESERVE_AFTER_MS

    def __post_init__(self) -> None:
        for name in ("theta", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 and 1, both excluded")
        for name in ("dmin", "dmax"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 (no such bound) and 1, 1 excluded")
        if self.dmax and self.dmin > self.dmax:
            raise ValueError("dmin is at most dmax")
        if not 0 < self.waiting_ams <= 0.5:
            raise ValueError("waiting_ams is above 0 and at most 0.5")
        for name in NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0")
        if not 0 < self.tick_ms <= self.phase_window_ms:
            raise ValueError("tick_ms is above 0, and phase_window_ms is at least tick_ms")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")

    @property
    def windows(self) -> Windows:
        """pw, t_s and t_e."""
        return Windows(self.phase_window_ms, self.start_threshold, self.finish_threshold)
