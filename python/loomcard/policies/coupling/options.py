"""The options of Coupling with their defaults; docs/papers/coupling.md says what they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf
from typing import Literal, get_args, get_origin, get_type_hints

from loomcard import RESERVE_AFTER_MS
from loomcard.policies.coupling.paper import LARGEST_THRESHOLD


@dataclass(frozen=True)
class Options:
    """What the paper fixes, what docs/papers/coupling.md resolves, and from ``fairness`` on,
    additions to both. Raises ValueError for an impossible value.
    """

    threshold: float = 3.0
    kept_nodes: int = 7
    peeked_nodes: int = 0
    peek_counts_own: bool = False
    alpha_rack_reduce: float = 0.7
    alpha_rack: float = 0.8
    alpha_remote: float = 1.0
    beta_least: float = 0.1
    beta_fixed: float = 0.0
    seed: int = 1
    reduces: Literal["coupled", "greedy"] = "coupled"
    maps: Literal["peek", "delay", "any"] = "peek"
    delay_node_ms: int = 15_000
    delay_rack_ms: int = 15_000
    distances: dict[str, dict[str, float]] = field(default_factory=dict)
    fairness: Literal["maps", "memory", "dominant"] = "maps"
    unknown_reduces: Literal["hold", "launch"] = "hold"
    give_up_rounds: int = 4
    lists: Literal["open", "all"] = "open"
    nodes_per_candidate: int = 100
    reserve_after_ms: int = RESERVE_AFTER_MS
    early_share: float = 0.5
    reclaim_after_ms: int = 300_000

    def candidates(self, nodes: int) -> int:
        """Return how many reduces may wait for a place at the same time, on so many nodes."""
        return max(1, ceil(nodes / self.nodes_per_candidate)) if self.nodes_per_candidate else 1

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= LARGEST_THRESHOLD:
            raise ValueError(f"threshold is above 0 and at most {LARGEST_THRESHOLD:.3f}")
        for name, kind in get_type_hints(Options).items():
            value, least = getattr(self, name), int(name == "kept_nodes")
            if kind is float and name != "threshold" and not 0 <= value <= 1:
                raise ValueError(f"{name} lies between 0 and 1")
            if kind is int and name != "seed" and value < least:
                raise ValueError(f"{name} is at least {least}")
            if get_origin(kind) is Literal and value not in get_args(kind):
                raise ValueError(f"{name} is one of {', '.join(get_args(kind))}")
        if any(not 0 <= hops < inf for row in self.distances.values() for hops in row.values()):
            raise ValueError("distances: hops are finite and at least 0")
