"""Tests of the contents of a workload, and of a workload written to a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from loomcard.validation.findings import FindingsError
from loomcard.workload import load
from loomcard.workload.ascii_plot import bar, columns, duration
from loomcard.workload.inspection import inspected
from loomcard.workload.loading import build, shipped_names
from loomcard.workload.open_any import guessed, opened
from loomcard.workload.scenario import Scenario
from loomcard.workload.write_yaml import written

HERE = Path(__file__).parent
LARGE = ("facebook", "tpch", "hdrf-e5", "carbyne-b", "carbyne-m", "carbyne-tpc")
LOCAL = [n for n in shipped_names() if not n.startswith(LARGE)]
"""The shipped workloads that need no trace and are not too large for a file."""


def again(scenario: Scenario) -> Scenario:
    """Write the scenario and read it again, under its own name and seed."""
    read = build(written(scenario), scenario.name, Path(), seed=99)
    return replace(read, seed=scenario.seed)


SMALL = [str(HERE / "example.yml"), "demo", "dress-s", "carbyne-fig2", "two-queues"]


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(n, marks=pytest.mark.slow) for n in LOCAL if n not in SMALL)]
)
def test_a_workload_survives_being_written(name: str) -> None:
    """Nothing is left to draw, so another seed reads the same scenario."""
    scenario = load(Path(name), seed=7)
    assert again(scenario) == scenario


def test_everything_survives_being_written(loaded: Any) -> None:
    """This includes the minimum, lost nodes, drawn failures, wishes of single tasks, and names that
    need quotes.
    """
    scenario = loaded(
        """\
        version: 1
        stop_ms: 90000
        cluster:
          thrashing: 2.5
          minimum: {memory_mb: 100, vcores: 1}
          nodes: [{count: 2, memory_mb: 4000, vcores: 4, physical_memory_mb: 3000}]
          faults: [{at_ms: 5, node: n1}, {at_ms: 7, node: n2, down_ms: 1}]
        applications:
        - id: "1"
          user: "null"
          tags: ["a: b", "it's"]
          max_attempts: 2
          stages:
          - {id: s, tasks: 9, memory_mb: 50, duration_ms: 9, failures: 0.5, nodes: {replicas: 1}}
        """
    )
    assert scenario.applications[0].stages[0].fails_ms
    assert again(scenario) == scenario


def test_bins_begin_at_their_edges(loaded: Any) -> None:
    """A task of exactly 5 ms is in the bin from 5 to 10."""
    times = [0, 1, 2, 5, 10, 20, 50, 100]
    text = f"""\
        version: 1
        cluster: {{nodes: [{{memory_mb: 1, vcores: 1}}]}}
        applications: [{{id: a, stages: [{{id: s, memory_mb: 1, duration_ms: {times}}}]}}]
        """
    bins = inspected(loaded(text))["durations"]
    assert [(one["from_ms"], one["tasks"]) for one in bins] == [(ms, 1) for ms in times]


def test_figures_by_hand(loaded: Any) -> None:
    """The sums of these two applications are easy to check."""
    scenario = loaded(
        """\
        version: 1
        cluster: {nodes: [{count: 2, rack: a, memory_mb: 4000, vcores: 4}]}
        applications:
        - {id: a, tags: [x], stages: [{id: s, tasks: 2, memory_mb: 1000, duration_ms: 1800000}]}
        - id: b
          submit_ms: 3600000
          stages: [{id: s, memory_mb: 500, vcores: 2, duration_ms: [3, 3600000]}]
        """
    )
    figures = inspected(scenario)
    assert (figures["applications"], figures["stages"], figures["tasks"]) == (2, 2, 4)
    assert (figures["span_ms"], figures["container_hours"]) == (3600000, 2.0)
    assert figures["resource_hours"] == {"memory_mb": 1500.0, "vcores": 3.0}
    assert figures["load"] == {"memory_mb": 0.1875, "vcores": 0.375}
    assert figures["cluster"]["racks"] == 1
    assert [(c["class"], c["tasks"]) for c in figures["classes"]] == [("plain", 2), ("x", 2)]
    assert figures["duration_ms"]["p50"] == 1800000
    assert figures["gap_ms"]["p50"] == 3600000
    assert [sum(f["counts"]) for f in (figures["arrivals"],)] == [2]
    assert [d["tasks"] for d in figures["durations"] if d["tasks"]] == [1, 2, 1]
    assert figures["durations"][0] == {"from_ms": 2, "to_ms": 5, "tasks": 1}


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=50))
@settings(max_examples=50, deadline=None)
def test_nothing_falls_out_of_the_plots(times: list[int]) -> None:
    """Every submission is in a slice, and every task in a bin that contains its time."""
    stages = f"{{id: s, memory_mb: 1, duration_ms: {times}}}"
    lines = [f"- {{id: a{i}, submit_ms: {t}, stages: [{stages}]}}" for i, t in enumerate(times)]
    head = "version: 1\ncluster: {nodes: [{memory_mb: 1, vcores: 1}]}\napplications:\n"
    figures = inspected(build(head + "\n".join(lines), "w", Path(), seed=1))
    assert sum(figures["arrivals"]["counts"]) == len(times)
    assert sum(one["tasks"] for one in figures["durations"]) == len(times) ** 2
    for one in figures["durations"]:
        within = sum(one["from_ms"] <= ms < one["to_ms"] for ms in times)
        assert one["tasks"] == within * len(times)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("example.yml", "workload"),
        ("data/swim.tsv", "swim"),
        ("data/sls.json", "sls"),
        ("data/synth.json", "synth"),
        ("data/tpch", "tpch"),
        ("data/tpch/cloudlab_22query_tpch_profiles.json", "tpch"),
    ],
)
def test_formats_are_guessed(path: str, kind: str) -> None:
    """The name of the file is considered first, then its beginning."""
    assert guessed(HERE / path) == kind


def test_any_of_them_opens() -> None:
    """A trace without nodes gets a hundred nodes."""
    kind, scenario = opened(HERE / "data" / "swim.tsv", seed=1)
    assert (kind, len(scenario.nodes), len(scenario.applications)) == ("swim", 100, 3)
    kind, scenario = opened(HERE / "data" / "sls.json", seed=1)
    assert (kind, len(scenario.nodes)) == ("sls", 2)
    assert opened(Path("demo"), seed=1)[1] == load(Path("demo"), seed=1)


@pytest.mark.parametrize(
    ("name", "format_", "part"),
    [("data", None, "neither a workload"), ("data/swim.tsv", "tape", "no format 'tape'")],
)
def test_what_is_no_trace_is_one_finding(name: str, format_: str | None, part: str) -> None:
    """The finding lists the formats."""
    with pytest.raises(FindingsError, match=part) as error:
        opened(HERE / name, seed=1, format=format_)
    assert "swim" in error.value.findings[0].hint


def test_what_is_too_large_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that could not be read again is refused, with the remedy."""
    monkeypatch.setattr("loomcard.workload.write_yaml.MOST_TASKS", 10)
    with pytest.raises(FindingsError, match="too many for a file"):
        written(load(Path("demo"), seed=1))


@dataclass(frozen=True)
class Picture:
    """A plot made of characters."""

    counts: list[int]
    width: int
    height: int
    lines: list[str]


@pytest.mark.parametrize(
    "case",
    [
        Picture([0, 1, 2], 3, 1, [" ▄█"]),
        Picture([0, 8, 16], 3, 2, ["  █", " ██"]),
        Picture([1, 1, 2, 2], 2, 1, ["▄█"]),
        Picture([1], 3, 1, ["███"]),
    ],
)
def test_columns(case: Picture) -> None:
    """The highest count has the full height; neighbours are added if there is not enough room."""
    assert columns(case.counts, case.width, case.height) == case.lines


def test_bars_and_durations() -> None:
    """The largest bar has the full width, and every number above 0 is visible."""
    assert [bar(count, 16, 2) for count in (0, 1, 8, 16)] == ["", "▏", "█", "██"]
    texts = [duration(ms) for ms in (0, 250, 1500, 90_000, 86_400_000)]
    assert texts == ["0 ms", "250 ms", "1.5 s", "1.5 min", "24 h"]
