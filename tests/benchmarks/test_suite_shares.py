"""Shares of queues in a suite's run, worked out by hand."""

import polars as pl
import pytest

from benchmarks.suite_shares import static_counts, steady

ROWS = {"queue": pl.String, "is_am": pl.Boolean, "allocated_ms": pl.Int64}


def test_figure_4_of_the_paper() -> None:
    """n1,1 and n2,1 take CPUs, n2,2 takes GPUs: 5, 5 and 10 of ten each."""
    containers = {"root.n1.a": (1, 0), "root.n2.b": (1, 0), "root.n2.c": (0, 1)}
    found = static_counts(containers, {}, (10, 10))
    assert found == pytest.approx({"root.n1.a": 5, "root.n2.b": 5, "root.n2.c": 10}, abs=0.01)


def test_weights_count_at_every_level() -> None:
    """n1 gets two thirds of ten, and its first child a quarter of that."""
    containers = {"root.n1.a": (1,), "root.n1.b": (1,), "root.n2.c": (1,)}
    weights = {"root.n1": 2.0, "root.n1.b": 3.0}
    found = static_counts(containers, weights, (12,))
    assert found == pytest.approx({"root.n1.a": 2, "root.n1.b": 6, "root.n2.c": 4}, abs=0.01)


def test_the_steady_phase() -> None:
    """It lasts from some seconds after the last queue's first task until the first queue's last
    task; AMs are not tasks.
    """
    rows = [("a", True, 0), ("a", False, 10), ("b", False, 400), ("b", False, 9000),
            ("a", False, 7000), ("a", True, 9999)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=ROWS, orient="row")
    assert steady(frame, 600) == (1000, 7000)
    with pytest.raises(ValueError, match="no time from 7400 to 7000 ms"):
        steady(frame, 7000)
