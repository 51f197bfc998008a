"""The required content of the documents of a run folder, checked before a report computes with
them.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""The type of a column of whole numbers."""
Number = Whole | float
Step = tuple[Whole, list[Whole]]
"""From this ms on, these amounts."""


class _Application(TypedDict):
    id: str
    queue: str
    tags: list[str]
    state: str
    submitted_ms: Whole
    first_container_ms: Whole | None
    finished_ms: Whole | None
    waiting_ms: Whole | None
    completion_ms: Whole | None
    diagnostics: NotRequired[str]
    ideal_ms: NotRequired[Whole | None]
    demanding: NotRequired[list[tuple[Whole, Whole]]]


class _Spread(TypedDict):
    min: Number
    mean: Number
    max: Number


class _Run(TypedDict):
    """As ``metrics.facts`` returns it; other keys are not checked."""

    policy: str
    workload: str
    seed: Whole
    parameters: dict[str, Any]
    engine: str
    finished: bool
    makespan_ms: Whole | None
    jain: _Spread
    utilization: dict[str, Number]
    applications: list[_Application]
    bounds: dict[str, Number]
    resource_types: list[str]
    capacity: list[Step]
    jain_windows: list[Number]
    capped_jain_windows: NotRequired[list[Number]]
    window_ms: Whole
    folder: NotRequired[str]


class _Experiment(TypedDict, total=False):
    name: str
    description: str
    baseline: str
    vary: dict[str, list[Any]]


class _Manifest(TypedDict, total=False):
    command: list[str]
    seeds: list[Whole]
    inputs: dict[str, str]
    versions: dict[str, str]
    host: dict[str, Any]
    git: dict[str, Any] | None
    made_at: str
    failures: list[str]
    experiment: _Experiment


def check_runs(document: Any) -> None:
    """Raise ValueError, which names the place, if a ``results.json`` is not a list of runs with
    figures of the right types and one amount per resource type.
    """
    for index, run in enumerate(msgspec.convert(document, list[_Run])):
        types = run["resource_types"]
        if sorted(run["utilization"]) != sorted(types):
            raise ValueError(f"expected a share of each of {types} - at `$[{index}].utilization`")
        for at, (_, amounts) in enumerate(run["capacity"]):
            if len(amounts) != len(types):
                place = f"$[{index}].capacity[{at}]"
                raise ValueError(f"expected an amount of each of {types} - at `{place}`")


def check_manifest(document: Any) -> None:
    """Raise ValueError, which names the place, if a ``manifest.json`` is not one."""
    msgspec.convert(document, _Manifest)
