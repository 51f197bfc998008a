"""The figures of a workload: amounts, times and durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log10
from typing import Any, Final

from loomcard.workload.scenario import Scenario, ScenarioApplication
from loomcard.workload.stage_graphs import graph_figures

HOUR_MS: Final = 3_600_000
SLICES: Final = 60
QUANTILES: Final = (0, 0.25, 0.5, 0.75, 0.95, 1)


def inspected(scenario: Scenario) -> dict[str, Any]:
    """The figures of a scenario, as ``loomcard trace inspect --json`` prints them.

    ``span_ms``: from the first submission to the last. ``resource_hours``: tasks' sizes times their
    times. ``load``: those over what the cluster has during the span; null where all come at once.
    A class is an application's first tag, or its kind; ``graph``: of its applications' stages.
    """
    applications = scenario.applications
    submitted = [one.submit_ms for one in applications]
    span = max(submitted, default=0) - min(submitted, default=0)
    capacity = [sum(amounts) for amounts in zip(*[n.capacity for n in scenario.nodes], strict=True)]
    work = [_work(applications, index) for index in range(len(scenario.resource_types))]
    load = [
        w / (c * span / HOUR_MS) if c and span else None
        for w, c in zip(work, capacity, strict=True)
    ]
    named = scenario.resource_types
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "cluster": {
            "nodes": len(scenario.nodes),
            "racks": len({node.rack for node in scenario.nodes}),
            "capacity": dict(zip(named, capacity, strict=True)),
            "faults": len(scenario.faults),
        },
        "span_ms": span,
        **_sums(applications),
        "resource_hours": {n: round(w, 3) for n, w in zip(named, work, strict=True)},
        "load": {n: None if x is None else round(x, 4) for n, x in zip(named, load, strict=True)},
        "queues": _counted(one.queue for one in applications),
        "users": _counted(one.user for one in applications),
        "kinds": _counted(one.kind for one in applications),
        "classes": [
            {
                "class": name,
                **_sums(some),
                "duration_ms": _quantiles(_durations(some)),
                "graph": {k: _quantiles(values) for k, values in graph_figures(some).items()},
            }
            for name, some in _classes(applications)
        ],
        "gap_ms": _quantiles([b - a for a, b in pairwise(submitted)]),
        "tasks_per_application": _quantiles(
            [sum(len(s.durations_ms) for s in one.stages) for one in applications]
        ),
        "duration_ms": _quantiles(_durations(applications)),
        "arrivals": _slices(submitted),
        "durations": _decades(_durations(applications)),
    }


def _sums(applications: Sequence[ScenarioApplication]) -> dict[str, Any]:
    stages = [stage for one in applications for stage in one.stages]
    hours = sum(sum(stage.durations_ms) for stage in stages) / HOUR_MS
    return {
        "applications": len(applications),
        "stages": len(stages),
        "tasks": sum(len(stage.durations_ms) for stage in stages),
        "container_hours": round(hours, 3),
    }


def _work(applications: Iterable[ScenarioApplication], index: int) -> float:
    stages = (stage for one in applications for stage in one.stages)
    return sum(stage.size[index] * sum(stage.durations_ms) for stage in stages) / HOUR_MS


def _classes(
    applications: Iterable[ScenarioApplication],
) -> list[tuple[str, list[ScenarioApplication]]]:
    found: dict[str, list[ScenarioApplication]] = {}
    for one in applications:
        found.setdefault(one.tags[0] if one.tags else one.kind, []).append(one)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _durations(applications: Iterable[ScenarioApplication]) -> list[int]:
    return [ms for one in applications for stage in one.stages for ms in stage.durations_ms]


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    """Return the mean and the value at each quantile; empty for no values."""
    if not values:
        return {}
    values = sorted(values)
    last = len(values) - 1
    placed = {f"p{100 * q:g}": round(values[round(q * last)], 4) for q in QUANTILES}
    return {"mean": round(sum(values) / len(values), 4), **placed}


def _slices(submitted: list[int]) -> dict[str, Any]:
    """Return the submissions in each of sixty equal slices of the span."""
    if not submitted:
        return {}
    first = min(submitted)
    width = max(1, -(-(max(submitted) - first + 1) // SLICES))
    counts = [0] * min(SLICES, (max(submitted) - first) // width + 1)
    for at in submitted:
        counts[(at - first) // width] += 1
    return {"from_ms": first, "slice_ms": width, "counts": counts}


def _decades(durations: list[int]) -> list[dict[str, int]]:
    """Return tasks by their time, in bins that begin at 1, 2 and 5 times a power of ten."""
    counts: dict[int, int] = {}
    for ms in durations:
        counts[_bin(ms)] = counts.get(_bin(ms), 0) + 1
    if not counts:
        return []
    return [
        {"from_ms": _edge(index), "to_ms": _edge(index + 1), "tasks": counts.get(index, 0)}
        for index in range(min(counts), max(counts) + 1)
    ]


def _bin(ms: int) -> int:
    if ms < 1:
        return -1
    decade = floor(log10(ms) + 1e-12)
    lead = ms / int(10**decade)
    return 3 * decade + (lead >= 2) + (lead >= 5)


def _edge(index: int) -> int:
    return 0 if index < 0 else int((1, 2, 5)[index % 3] * 10 ** (index // 3))
