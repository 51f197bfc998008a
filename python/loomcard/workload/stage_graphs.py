"""Figures of applications' graphs of stages, as papers on DAG schedulers report them."""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.workload.scenario import ScenarioApplication, Stage


def barriers(stages: Sequence[Stage]) -> int:
    """Return how many stages follow two or more."""
    return sum(len(stage.after) > 1 for stage in stages)


def input_work(stages: Sequence[Stage]) -> float:
    """Return the part of the total task time that belongs to stages without parents."""
    times = [sum(stage.durations_ms) for stage in stages]
    first = sum(ms for ms, stage in zip(times, stages, strict=True) if not stage.after)
    return first / (sum(times) or 1)


def path_length(stages: Sequence[Stage]) -> int:
    """Return how many stages the longest path has."""
    lengths: list[int] = []
    for stage in stages:  # parents first
        lengths.append(1 + max((lengths[parent] for parent in stage.after), default=0))
    return max(lengths, default=0)


def graph_figures(applications: Sequence[ScenarioApplication]) -> dict[str, list[float]]:
    """Return for each application: stages, barriers, input work and longest path."""
    graphs = [one.stages for one in applications]
    return {
        "stages": [float(len(stages)) for stages in graphs],
        "barriers": [float(barriers(stages)) for stages in graphs],
        "input_work": [input_work(stages) for stages in graphs],
        "critical_path": [float(path_length(stages)) for stages in graphs],
    }
