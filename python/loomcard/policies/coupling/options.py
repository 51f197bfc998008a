"""The options of Coupling with their defaults; docs/policies/coupling.md says what they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf
from typing import Literal, get_args

from loomcard import HOLD_AFTER_MS
from loomcard.policies.coupling.paper import LARGEST_THRESHOLD

ReduceRule = Literal["coupled", "greedy"]
MapRule = Literal["peek", "delay", "any"]
UnknownReduces = Literal["hold", "launch"]
ListRule = Literal["open", "all"]
Fairness = Literal["maps", "memory", "dominant"]
CHOICES = {
    "reduces": get_args(ReduceRule), "maps": get_args(MapRule), "fairness": get_args(Fairness),
    "unknown_reduces": get_args(UnknownReduces), "lists": get_args(ListRule),
}  # fmt: skip
LEAST = {
    "kept_nodes": 1, "peeked_nodes": 0, "delay_node_ms": 0, "delay_rack_ms": 0,
    "give_up_rounds": 0, "nodes_per_candidate": 0, "hold_after_ms": 0, "reclaim_after_ms": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What the paper fixes, what docs/papers/coupling.md resolves, and from ``fairness`` on
    what goes beyond both. Raises ValueError on what cannot be.
    """

    threshold: float = 3.0
    kept_nodes: int = 7
    peeked_nodes: int = 0
    alpha_rack_reduce: float = 0.7
    alpha_rack: float = 0.8
    alpha_remote: float = 1.0
    beta_least: float = 0.1
    beta_fixed: float = 0.0
    seed: int = 1
    reduces: ReduceRule = "coupled"
    maps: MapRule = "peek"
    delay_node_ms: int = 15_000
    delay_rack_ms: int = 15_000
    distances: dict[str, dict[str, float]] = field(default_factory=dict)
    fairness: Fairness = "maps"
    unknown_reduces: UnknownReduces = "hold"
    give_up_rounds: int = 4
    lists: ListRule = "open"
    nodes_per_candidate: int = 100
    hold_after_ms: int = HOLD_AFTER_MS
    reclaim_after_ms: int = 300_000

    def candidates(self, nodes: int) -> int:
        """How many reduces may wait for a place at a time, on so many nodes."""
        return max(1, ceil(nodes / self.nodes_per_candidate)) if self.nodes_per_candidate else 1

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= LARGEST_THRESHOLD:
            raise ValueError(
                f"threshold is above 0 and at most {LARGEST_THRESHOLD:.3f}: beyond it a job with"
                " maps left could go before one without"
            )
        for name in ("alpha_rack_reduce", "alpha_rack", "alpha_remote", "beta_least", "beta_fixed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies between 0 and 1")
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is at least {least}")
        if any(not 0 <= hops < inf for row in self.distances.values() for hops in row.values()):
            raise ValueError("distances: hops are finite and at least 0")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")
