"""Tests of applications that are generated in numbers."""

from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.validation.findings import FindingsError
from loomcard.workload import load
from loomcard.workload.loading import build
from loomcard.workload.scenario import Scenario

STAGES = (
    "stages: [{id: s, tasks: {uniform: {low: 1, high: 9}}, memory_mb: 64,"
    " duration_ms: {exponential: {mean: 500}}}]"
)
HEAD = "version: 1\ncluster: {nodes: [{memory_mb: 4096, vcores: 8}]}\n"


def workload(classes: list[str], more: str = "") -> str:
    """Return a workload whose classes have these keys."""
    lines = [
        f"  - {{id: c{index}, {keys} application: {{{STAGES}}}}}"
        for index, keys in enumerate(classes)
    ]
    return "\n".join([HEAD + "generate:", *more.splitlines(), "  classes:", *lines]) + "\n"


def made(text: str, seed: int = 1) -> Scenario:
    return build(text, "w", Path(), seed=seed)


@pytest.mark.parametrize(
    ("classes", "more", "counts"),
    [
        (["count: 3,", "count: 4,"], "", [3, 4]),
        (["share: 0.3,", ""], "  count: 30", [9, 21]),
        (["share: 0.5,", "share: 0.5,"], "  count: 7", [4, 3]),
        (["count: 2,", "share: 0.25,", ""], "  count: 8", [2, 2, 4]),
        (["", "", ""], "  count: 10", [4, 3, 3]),
        (["share: 0.3333,", "share: 0.3333,", ""], "  count: 3", [1, 1, 1]),
        (["share: 0,", ""], "  count: 2", [0, 2]),
    ],
)
def test_classes_have_exact_counts(classes: list[str], more: str, counts: list[int]) -> None:
    """Shares are rounded by largest remainder; a class that states nothing gets the rest."""
    applications = made(workload(classes, more)).applications
    ids = [one.tags[0] for one in applications]
    assert [ids.count(f"c{index}") for index in range(len(classes))] == counts


@pytest.mark.parametrize(
    ("classes", "more", "part"),
    [
        ([""], "", "how many applications"),
        (["count: 3,"], "  count: 2", "take 3 of 2"),
        (["share: 0.4,", "share: 0.4,"], "  count: 10", "take 8 of 10"),
        (["share: 0.7,", "share: 0.7,"], "  count: 10", "take 14 of 10"),
        (["share: 0.5, count: 1,"], "  count: 1", "not both"),
        (["count: 2,"], "  arrivals: {exponential: {mean: -1}}", "mean must not be negative"),
    ],
)
def test_what_does_not_add_up_is_a_finding(classes: list[str], more: str, part: str) -> None:
    """The finding is at the place of the generator."""
    with pytest.raises(FindingsError, match=part) as error:
        made(workload(classes, more))
    assert error.value.findings[0].line >= 4


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 1 << 32))
@settings(max_examples=40, deadline=None)
def test_what_is_generated_is_valid(count: int, share: float, seed: int) -> None:
    """There are as many applications as wanted, ordered by time and with different names; a second
    run gives the same.
    """
    text = workload([f"share: {share:.6f},", ""], f"  count: {count}\n  arrivals: 100")
    scenario = made(text, seed)
    applications = scenario.applications
    assert len({one.id for one in applications}) == count
    assert [one.submit_ms for one in applications] == [100 * n for n in range(count)]
    assert all(1 <= len(s.durations_ms) <= 9 for one in applications for s in one.stages)
    assert made(text, seed) == scenario


@given(st.integers(0, 1 << 32), st.integers(2, 30))
@settings(max_examples=30, deadline=None)
def test_more_applications_leave_the_first_alone(seed: int, count: int) -> None:
    """Random values belong to names: small-3 is the same, however many applications follow it."""
    few = made(workload(["count: 2,"]), seed).applications
    many = made(workload([f"count: {count},"]), seed).applications
    stages = {one.id: one.stages for one in many}
    assert {one.id: one.stages for one in few}.items() <= stages.items()


def test_arrivals_have_their_mean() -> None:
    """Gaps are drawn, not times; the first application comes at start_ms."""
    more = "  start_ms: 50\n  arrivals: {exponential: {mean: 1000}}"
    times = [one.submit_ms for one in made(workload(["count: 3000,"], more)).applications]
    assert times[0] == 50
    assert fmean(b - a for a, b in pairwise(times)) == pytest.approx(1000, rel=0.1)


def test_mixed_30_follows_its_parameters() -> None:
    """An experiment can vary the shares, which change the counts, and the gaps, which change the
    times.
    """
    few = load(Path("mixed-30"), seed=1, vary={"small_share": 0.1, "mean_gap_ms": 0.001})
    many = load(Path("mixed-30"), seed=1, vary={"parameters.small_share": 0.4})

    def small(scenario: Any) -> int:
        return sum("small" in one.tags for one in scenario.applications)

    assert (small(few), small(many)) == (3, 12)
    assert few.applications[-1].submit_ms == 0 < many.applications[-1].submit_ms


NUMBERED = (
    HEAD
    + """
generate:
  order: [wide, narrow, wide]
  name: j
  arrivals: 10
  classes:
    - id: wide
      application: &job
        queue: [root.a, root.b]
        user: [u1, u2, u3]
        numbers: {width: {uniform: {low: 20, high: 60}}, half: {drawn: {name: width, times: 0.5}}}
        stages:
          - {id: map, tasks: {drawn: {name: width}}, memory_mb: 64, duration_ms: 100}
          - id: reduce
            tasks: {drawn: {name: half, times: 0.5, at_most: 12}}
            memory_mb: 64
            duration_ms: {lognormal: {median: {drawn: {name: width}}, sigma: 0}}
    - {id: narrow, tag: small, numbers: {width: 4}, application: *job}
"""
)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_places_that_name_the_same_number_hold_the_same_draw(seed: int) -> None:
    """A class may replace the number by its own; bounds and factors belong to the place."""
    for one in made(NUMBERED, seed).applications:
        maps, reduces = one.stages
        width = len(maps.durations_ms)
        assert width == 4 if one.tags == ["small"] else 20 <= width <= 60
        assert abs(len(reduces.durations_ms) - min(12, width / 4)) <= 0.5
        assert abs(reduces.durations_ms[0] - width) <= 0.5


def test_an_order_says_who_comes_when_and_names_may_count_places() -> None:
    """The order contains nothing drawn. Queues and users of a list are drawn for each
    application.
    """
    several = [made(NUMBERED, seed).applications for seed in range(12)]
    for applications in several:
        assert [(one.id, one.tags, one.submit_ms) for one in applications] == [
            ("j1", ["wide"], 0), ("j2", ["small"], 10), ("j3", ["wide"], 20),
        ]  # fmt: skip
    assert {one.queue for each in several for one in each} == {"root.a", "root.b"}
    assert {one.user for each in several for one in each} == {"u1", "u2", "u3"}


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("[wide, narrow, wide]", "[wide, narow]", 5, "'narow'"),
        ("id: wide\n", "id: wide\n      count: 3\n", 5, "how many applications there are"),
        ("drawn: {name: half", "drawn: {name: quarter", 17, "no number 'quarter'"),
        ("arrivals: 10", "arrivals: {drawn: {name: width}}", 7, "no number 'width'"),
        ("user: [u1, u2, u3]", "user: []", 12, "at least one"),
    ],
)
def test_what_names_nothing_is_said_with_its_line(old: str, new: str, line: int, part: str) -> None:
    """This is checked for classes of an order and for numbers of an application."""
    with pytest.raises(FindingsError) as error:
        made(NUMBERED.replace(old, new))
    places = {(each.line, part in each.message) for each in error.value.findings}
    assert (line, True) in places, error.value.findings


def test_a_mean_gap_of_0_is_all_at_once() -> None:
    """So a parameter can choose between both."""
    text = workload(["count: 5,"], "  arrivals: {exponential: {mean: 0}}")
    assert [one.submit_ms for one in made(text).applications] == [0] * 5
