"""When the gate fails, and how it pairs."""

from pathlib import Path

import pytest

from benchmarks.speed.bridge import BenchError
from benchmarks.speed.gate import Ratio, pairs, tree_of


@pytest.mark.parametrize(
    ("head", "fails"),
    [
        ([106, 107, 108], True),  # beyond 5 %, in every pair
        ([104, 104, 104], False),  # within 5 %
        ([90, 150, 95], False),  # beyond in the mean, but by chance
    ],
)
def test_more_cpu_fails_unless_it_is_small_or_chance(head: list[int], fails: bool) -> None:
    """A ratio fails beyond 5 % if its whole interval is above 1."""
    ratio = Ratio.of([(mine, 100) for mine in head])
    assert ratio.low <= ratio.mean <= ratio.high
    assert ratio.fails() is fails


def test_each_tree_is_first_in_every_other_round() -> None:
    """A drift of the machine's speed must not favour either."""
    order = []

    def costs(tree: Path, number: int) -> dict[str, float]:
        order.append((str(tree), number))
        return {"cost": 2.0 if tree == Path("head") else 1.0}

    found = list(pairs(Path("head"), Path("base"), 2, costs))
    assert found == [({"cost": 2.0}, {"cost": 1.0})] * 2
    assert order == [("head", 0), ("base", 0), ("base", 1), ("head", 1)]


def test_an_unknown_commit_is_one_clear_error() -> None:
    """The error names what was given and what was expected."""
    with pytest.raises(BenchError, match="COMMIT=nonsense: expected a commit"):
        tree_of("nonsense")
