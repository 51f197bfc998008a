"""What a job leaves of its share, on jobs that are worked out by hand."""

import pytest

from benchmarks.carbyne_leftover import disjoint_paths, leftover_of
from loomcard.workload.scenario import ScenarioApplication, Stage


def job(*stages: tuple[int, int, list[int]]) -> ScenarioApplication:
    """Return a job with stages of (tasks, ms, after); a task is 1 of 8."""
    made = [Stage(f"s{i}", (1, 1), 20, i + 1, [ms] * n, after)
            for i, (n, ms, after) in enumerate(stages)]  # fmt: skip
    return ScenarioApplication("j", 0, "root.default", "u", "dag", made)


def test_what_is_left_of_half_a_machine() -> None:
    """4 slots run for 10 ms, one for 30 ms: of 40 ms, 10 are full and 30 leave three quarters."""
    found = leftover_of(job((4, 10, []), (1, 30, [0])), (8, 8), 0.5)
    assert found.mean == pytest.approx(30 * 0.75 / 40)
    assert found.amount == pytest.approx(22.5)
    assert found.often == pytest.approx(0.75)
    assert (found.stages, found.barriers, found.critical_path, found.disjoint_paths) == (2, 0, 2, 1)


def test_a_job_that_fills_its_share_leaves_nothing() -> None:
    found = leftover_of(job((8, 10, [])), (8, 8), 0.5)
    assert (found.mean, found.often) == (pytest.approx(0), 0)


@pytest.mark.parametrize(
    ("after", "paths"),
    [([[], [], []], 3), ([[], [0], [1]], 1), ([[], [], [0, 1], [2]], 2), ([[], [0], [0], [1]], 2)],
)
def test_disjoint_paths(after: list[list[int]], paths: int) -> None:
    """The cases are a single stage, a chain, a join and a fork."""
    assert disjoint_paths(job(*((1, 1, row) for row in after))) == paths
