"""Bounds: worked examples, and no schedule that is below them."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.results.lower_bounds import (
    BoundedJob,
    BoundedStage,
    makespan_ms,
    mean_completion_ms,
    path_ms,
    shortest_remaining_first,
)


def job(submitted: float, *durations: float, size: tuple[int, ...] = (1,)) -> BoundedJob:
    """Return a job with one stage of tasks."""
    return BoundedJob(submitted, [BoundedStage(durations, size)])


DIAMOND = BoundedJob(
    5, [BoundedStage([10, 20], (1,)), BoundedStage([30], (1,), [0]), BoundedStage([7], (1,), [0]),
        BoundedStage([1, 2], (1,), [1, 2])],
)  # fmt: skip


def test_the_path_goes_through_the_longest_task_of_each_stage():
    """It is 20 + 30 + 2, however many tasks there are."""
    assert path_ms(DIAMOND) == 52


@pytest.mark.parametrize(
    ("jobs", "capacity", "want"),
    [
        pytest.param([DIAMOND], (9,), 52, id="the path, from its submission on"),
        pytest.param([job(0, *[10] * 8)], (2,), 40, id="the work"),
        pytest.param([job(0, 10), job(90, *[10] * 8)], (2,), 130, id="what came late must follow"),
        pytest.param([job(0, 10, 10, size=(1, 3))], (9, 3), 20, id="the scarcest resource"),
        pytest.param([], (1,), 0, id="no job"),
    ],
)
def test_the_makespan_is_at_least(jobs, capacity, want):
    """The bound is the largest value of all rules."""
    assert makespan_ms(jobs, capacity) == want


def test_the_mean_completion_is_that_of_the_shortest_first():
    """One unit, jobs of 1 and 10 ms, together at 0: they end at 1 and 11; with the long one first
    at 10 and 11.
    """
    assert mean_completion_ms([job(0, 10), job(0, 1)], (1,)) == 6


def test_a_short_job_that_comes_later_interrupts():
    """With 10 ms from 0 and 2 ms from 3, the second ends at 5 and the first at 12."""
    assert shortest_remaining_first([(0, 10), (3, 2)]) == 2 + 12


JOBS = st.lists(
    st.builds(
        lambda at, durations, size: job(at, *durations, size=size),
        st.integers(0, 20),
        st.lists(st.integers(1, 9), min_size=1, max_size=4),
        st.tuples(st.integers(1, 3), st.integers(0, 3)),
    ),
    min_size=1, max_size=4,
)  # fmt: skip
CAPACITY = (4, 3)


def schedule(jobs: list[BoundedJob], order: tuple[int, ...]) -> list[int]:
    """Return the completion times of a greedy list schedule, ms by ms, on one node."""
    left = {i: sorted(jobs[i].stages[0].durations_ms) for i in order}
    running: list[tuple[int, int]] = []  # (ends, job)
    ends = dict.fromkeys(order, 0)
    for now in range(2000):
        running = [(end, i) for end, i in running if end > now]
        for i in order:
            size = jobs[i].stages[0].size
            while left[i] and jobs[i].submitted_ms <= now:
                used = [sum(jobs[k].stages[0].size[r] for _, k in running) for r in (0, 1)]
                if any(u + s > c for u, s, c in zip(used, size, CAPACITY, strict=True)):
                    break
                ends[i] = max(ends[i], now + left[i][-1])
                running.append((now + left[i].pop(), i))
        if not any(left.values()):
            break
    return [ends[i] for i in range(len(jobs))]


@settings(max_examples=40, deadline=None)
@given(JOBS)
def test_no_list_schedule_comes_below_either_bound(jobs):
    """Every order of the jobs is scheduled greedily on one node of that capacity."""
    first = min(j.submitted_ms for j in jobs)
    for order in permutations(range(len(jobs))):
        ends = schedule(jobs, order)
        flow = [end - j.submitted_ms for end, j in zip(ends, jobs, strict=True)]
        assert makespan_ms(jobs, CAPACITY) <= max(ends) - first + 1e-6
        assert mean_completion_ms(jobs, CAPACITY) <= sum(flow) / len(jobs) + 1e-6
