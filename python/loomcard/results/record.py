"""The facts of one run, from which every figure follows: applications, containers, capacity.

Either engine fills it in: the simulator as it goes, the player on a real cluster from what AMs and
NodeManagers saw. Times are ms since the run's zero, the first millisecond of the workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from loomcard.results.container_rows import ContainerRow, ContainerRows
from loomcard.results.policy_series import StateRow

SIMULATOR = "simulator"
"""The engine that simulates."""


@dataclass(slots=True)
class ApplicationRecord:
    """One application: when it was submitted, and the intervals in which it demanded: it used or
    asked for at least one container other than its AM's. ``diagnostics``: why it failed or was
    killed, if the engine says so.
    """

    id: str
    queue: str
    submitted_ms: int
    tags: list[str] = field(default_factory=list)
    demanding: list[tuple[int, int]] = field(default_factory=list)
    state: str = ""  # SUCCEEDED, FAILED, KILLED, or "" while unfinished
    diagnostics: str = ""


Limit = float | dict[str, int]
"""The form of a queue's amount: a part of its parent's, or amounts by resource type."""


class QueueShare(NamedTuple):
    """A queue's share among its siblings, as its configuration says."""

    weight: float = 1.0
    guaranteed: Limit = 0.0  # a part: of what its parent is guaranteed
    maximum: Limit = 1.0  # a part: of its parent's maximum


@dataclass(slots=True)
class RunRecord:
    """One run of one workload under one policy with one seed, on one engine.

    ``capacity``: (from_ms, whole cluster) steps, since nodes come and go. ``queues``: the share of
    each among its siblings, by path. ``finished``: False if the run was stopped before its end.
    ``ideals_ms``: by application, its least time if it could use the whole cluster alone;
    ``bounds``: what no policy can beat (makespan_ms, mean_completion_ms); empty: not known.
    ``states``: what policies reported of theirs, over time. ``stalls``: how often a queue stalled,
    since its policy left an ask waiting that could have been served. ``allocations``: how many
    containers were allocated by the ``policy`` and by the ``fallback``; {} if unknown.
    """

    policy: str
    workload: str
    seed: int
    engine: str  # simulator, local, docker
    resource_types: list[str]
    capacity: list[tuple[int, tuple[int, ...]]]
    applications: list[ApplicationRecord] = field(default_factory=list)
    containers: Sequence[ContainerRow] = field(default_factory=ContainerRows)
    queues: dict[str, QueueShare] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    stalls: int = 0
    allocations: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, float | int | str | bool] = field(default_factory=dict)
    ideals_ms: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)
    states: list[StateRow] = field(default_factory=list)
    ended_ms: int = 0
    finished: bool = True
    seconds: float = 0.0  # wall clock that the run took; never part of results.json
