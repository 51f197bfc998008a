"""Tests of a distribution of DAGs in place of stages."""

from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.validation.findings import FindingsError
from loomcard.workload.drawn_dag import scaled, shape
from loomcard.workload.loading import build, load
from loomcard.workload.scenario import Scenario, Stage
from loomcard.workload.stage_graphs import barriers, graph_figures, input_work, path_length

DAG: dict[str, Any] = {
    "stages": 8, "critical_path": 5, "barriers": 2, "tasks": 20, "memory_mb": 1024,
    "duration_ms": 30000,
}  # fmt: skip


E1 = {
    "tpcds": [(8, 23), (1, 4), (0.11, 0.88)],
    "tpch": [(8, 12), (2, 4), (0.46, 0.82)],
    "bigbench": [(7, 19), (2, 6), (0.24, 0.70)],
    "microsoft": [(13, 121), (4, 13), (0.34, 0.85)],
}
"""Carbyne's Table 1: the median and the 95th percentile of stages, barriers and input work."""


def made(count: int = 1, seed: int = 1, kind: str = "dag", more: str = "", **keys: Any) -> Scenario:
    dag = ", ".join(f"{key}: {value}" for key, value in (DAG | keys).items())
    text = f"""version: 1
cluster: {{nodes: [{{count: 4, memory_mb: 65536, vcores: 64, gpu: 2}}], resources: {{gpu: count}}}}
generate:
  count: {count}
  classes: [{{id: d, application: {{kind: {kind}, {more} dag: {{{dag}}}}}}}]
"""
    return build(text, "w", Path(), seed=seed)


def stages_of(after: list[list[int]]) -> list[Stage]:
    return [Stage(f"s{i}", (1, 1), 20, i + 1, [1], list(row)) for i, row in enumerate(after)]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 70), st.integers(0, 10**6))
def test_the_shape_is_what_was_asked_for(count: int, levels: int, wanted: int, seed: int) -> None:
    """Parents come first, the longest path is exact, and there are as many barriers as the levels
    have room for.
    """
    levels = min(count, levels)
    after = shape(count, levels, wanted, Random(seed))  # noqa: S311
    stages = stages_of(after)
    assert len(after) == count
    assert all(parent < i for i, row in enumerate(after) for parent in row)
    assert all(row == sorted(set(row)) for row in after)
    assert path_length(stages) == levels
    level: list[int] = []
    for row in after:
        level.append(1 + max((level[parent] for parent in row), default=0))
    able = sum(sum(other < own for other in level) > 1 for own in level)
    assert barriers(stages) == min(wanted, able)


def test_barriers_bring_paths_together() -> None:
    """With a barrier at the end of every level, nearly every stage before the last is followed by
    another.
    """
    after = shape(30, 6, 40, Random(3))  # noqa: S311
    followed = {parent for row in after for parent in row}
    assert len(set(range(30)) - followed) < 5
    assert len(set(range(30)) - {p for row in shape(30, 6, 0, Random(3)) for p in row}) > 5  # noqa: S311


def test_the_work_of_the_first_stages_is_a_part_of_all() -> None:
    """The counts of tasks are scaled; the sum of all task times stays."""
    tasks = scaled([10, 10, 20], [1000, 3000, 500], [True, False, False], 0.2)
    assert tasks == pytest.approx([10, 40 / 4.0 * 0.8 * 50 / 40 * 1.0, 20 * 0.8 * 50 / 40])
    works = [n * ms for n, ms in zip(tasks, [1000, 3000, 500], strict=True)]
    assert sum(works) == pytest.approx(50_000)
    assert works[0] == pytest.approx(0.2 * 50_000)
    assert scaled([5, 5], [10, 10], [True, True], 0.3) == [5, 5]


def test_a_stage_is_of_one_kind() -> None:
    """The tasks of a stage are equal, apart from the noise; stages differ; every ask names its
    stage.
    """
    one = made(tasks=200, vcores="{uniform: {low: 1, high: 9}}", gpu="{choice: {values: [0, 1]}}",
               duration_ms="{lognormal: {median: 30000, sigma: 0.8}}").applications[0]  # fmt: skip
    assert all(len(set(stage.durations_ms)) == 1 for stage in one.stages)
    assert len({stage.durations_ms[0] for stage in one.stages}) == 8
    assert len({stage.size for stage in one.stages}) > 4
    assert {stage.size[2] for stage in one.stages} == {0, 1}
    assert [stage.request_id for stage in one.stages] == list(range(1, 9))
    noisy = made(tasks=200, noise=0.3).applications[0].stages[0].durations_ms
    assert len(set(noisy)) > 150
    assert sorted(noisy)[100] == pytest.approx(30_000, rel=0.1)


def test_applications_differ_and_seeds_repeat() -> None:
    """If one key of the DAG changes, the values drawn for the others stay."""
    stages = "{lognormal: {median: 8, sigma: 0.6, at_least: 2}}"
    first, again = made(5, stages=stages), made(5, stages=stages)
    assert first == again
    assert len({len(one.stages) for one in first.applications}) > 2
    assert made(5, seed=2, stages=stages).applications != first.applications
    longer = made(5, stages=stages, duration_ms=60000)
    for mine, other in zip(first.applications, longer.applications, strict=True):
        assert [s.after for s in mine.stages] == [s.after for s in other.stages]


def test_numbers_and_nested_distributions_are_drawn_once_for_each_application() -> None:
    tasks = "{constant: {uniform: {low: 2, high: 90}}}"
    counts = [
        {len(s.durations_ms) for s in one.stages} for one in made(9, tasks=tasks).applications
    ]
    assert all(len(each) == 1 for each in counts)
    assert len(set.union(*counts)) > 5
    one = made(more="numbers: {n: 3},", stages="{drawn: {name: n, times: 2}}").applications[0]
    assert len(one.stages) == 6


@pytest.mark.parametrize("part", [0.05, 0.3, 0.9])
def test_the_input_work_is_met(part: float) -> None:
    """The part is met, apart from the rounding of counts."""
    for one in made(20, tasks=100, input_work=part).applications:
        assert input_work(one.stages) == pytest.approx(part, abs=0.02)


def test_figures_of_a_graph_by_hand() -> None:
    """The graph has two inputs, a join of them, and one stage after it."""
    stages = stages_of([[], [], [0, 1], [2]])
    assert (barriers(stages), path_length(stages), input_work(stages)) == (1, 3, 0.5)
    (one,) = made(stages=4, critical_path=4, barriers=0).applications
    figures = graph_figures([one])
    assert figures["stages"] == [4.0]
    assert figures["critical_path"] == [4.0]
    assert figures["input_work"] == [0.25]


@pytest.mark.parametrize(
    ("keys", "message", "place"),
    [
        ({"stages": -1}, "expected a number greater than or equal to 0", "stages"),
        ({"stages": "{constant: 3000}"}, "more than 2,000 stages", "stages"),
        ({"stages": "{constant: -3}"}, "expected a number from 0", "stages"),
        ({"input_work": 1.5}, "expected a number from 0 to 1", "input_work"),
        ({"tasks": "{constant: 1.0e+300}"}, "expected a number from 0 to 9.01e+15", "tasks"),
        ({"duration_ms": "{lognormal: {median: 0, sigma: 1}}"}, "median must be above 0",
         "duration_ms"),
        ({"noise": "{drawn: {name: x}}"}, "there is no number 'x' here", "noise"),
        ({"tasks": 30_000_000}, "a stage has at most 20,000,000", ""),
        ({"memory_mb": 99_999}, "no node can hold", ""),
        ({"memory_mb": 0, "vcores": 0}, "a container needs some of a resource", ""),
        ({"fpga": 1}, "unknown key 'fpga'", "fpga"),
        ({"paths": 1}, "unknown key 'paths'", "paths"),
        ({"more": "stages: [{id: s, tasks: 1, memory_mb: 1, duration_ms: 1}],"},
         "it has stages, too", "dag"),
        ({"kind": "mapreduce"}, "kind mapreduce has maps and reduces", "dag"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_at_its_place(
    keys: dict[str, Any], message: str, place: str
) -> None:
    with pytest.raises(FindingsError) as caught:
        made(**keys)
    first = caught.value.findings[0]
    assert message in str(first)
    assert first.path.endswith(place)
    assert first.line > 1


def test_an_application_has_stages_or_a_dag() -> None:
    text = "version: 1\ncluster: {nodes: [{memory_mb: 1, vcores: 1}]}\napplications: [{id: a}]\n"
    with pytest.raises(FindingsError, match="it has no stages"):
        build(text, "w", Path(), seed=1)


def test_the_largest_dag_is_drawn_in_time() -> None:
    """Each stage looks at those before it, not at all pairs of them."""
    (one,) = made(stages=2000, critical_path=40, barriers=ceil(300), tasks=1).applications
    assert (len(one.stages), path_length(one.stages), barriers(one.stages)) == (2000, 40, 300)


@pytest.mark.slow
@pytest.mark.parametrize("family", list(E1))
def test_the_families_have_the_papers_statistics(family: str) -> None:
    """The figures are those of Carbyne's Table 1 over a thousand jobs: stages and barriers within
    one or a tenth, the input work within seven points. The median critical path is 5.
    """
    jobs = load(Path(f"carbyne-{family}"), seed=1, vary={"jobs": 1000}).applications
    figures = graph_figures(jobs)
    found = {key: np.quantile(values, [0.5, 0.95]) for key, values in figures.items()}
    stages, barriers_, work = E1[family]
    assert found["stages"] == pytest.approx(stages, abs=1, rel=0.1)
    assert found["barriers"] == pytest.approx(barriers_, abs=1)
    assert found["input_work"] == pytest.approx(work, abs=0.07)
    assert found["critical_path"][0] == 5
