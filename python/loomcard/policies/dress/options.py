"""The options of DRESS with the specification's defaults; docs/policies.md says what they do."""

from __future__ import annotations

from dataclasses import dataclass, field

from loomcard.policies.dress.forecast import MODES
from loomcard.policies.dress.phases import Windows
from loomcard.policies.dress.reserve import GROWTHS, LEFTOVERS, PACKS, Rule

CHOICES = {
    "forecast": MODES,
    "leftover": LEFTOVERS,
    "growth": GROWTHS,
    "pack": PACKS,
    "order": ("submission", "demand"),
    "classifier": ("demand", "work"),
}


@dataclass(frozen=True)
class Options:
    """What the paper fixes, what the specification resolves, and from ``classifier`` on what goes
    beyond both. Raises ValueError on what cannot be.
    """

    theta: float = 0.10
    delta: float = 0.10
    phase_window_ms: int = 10_000
    start_threshold: int = 5
    finish_threshold: int = 5
    adaptive_thresholds: bool = True
    use_priority: bool = False
    tick_ms: int = 1_000
    forecast: str = "incremental"
    leftover: str = "net"
    defer_releases: bool = True
    dmin: float = 0.0
    dmax: float = 0.0
    fixed: bool = False
    order: str = "submission"
    unit: dict[str, int] = field(default_factory=dict)
    classifier: str = "demand"
    growth: str = "surplus"
    pack: str = "whole"
    age_ms: int = 0
    rate_limit: float = 0.0
    dead_band: float = 0.0
    floor_need: bool = False
    floor_demand: bool = False

    def __post_init__(self) -> None:
        for name in ("theta", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 and 1, both excluded")
        for name in ("dmin", "dmax", "rate_limit"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 (no such bound) and 1, 1 excluded")
        if self.dmax and self.dmin > self.dmax:
            raise ValueError("dmin is at most dmax")
        for name in ("start_threshold", "finish_threshold", "age_ms", "dead_band"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0")
        if not 0 < self.tick_ms <= self.phase_window_ms:
            raise ValueError("tick_ms is above 0, and phase_window_ms is at least tick_ms")
        amounts = self.unit.values()
        if any(amount < 0 for amount in amounts) or (self.unit and not any(amounts)):
            raise ValueError("unit is amounts by resource type, at least one of them above 0")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")

    @property
    def windows(self) -> Windows:
        """pw, t_s and t_e."""
        return Windows(
            self.phase_window_ms, self.start_threshold, self.finish_threshold,
            self.adaptive_thresholds,
        )  # fmt: skip

    def rule(self, tot: int, *, lends: bool = True) -> Rule:
        """How Algorithm 3 is applied on a cluster of ``tot`` containers; either category keeps one
        of them, whatever dmin and dmax say.
        """
        low, high = 1 / tot, 1 - 1 / tot
        dmin, dmax = (min(max(d, low), high) for d in (self.dmin, self.dmax or high))
        return Rule(
            dmin, dmax, self.leftover, self.growth, lends,
            self.rate_limit, self.dead_band / tot, self.floor_need, self.floor_demand,
            self.pack,
        )  # fmt: skip
