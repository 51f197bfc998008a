"""How far jobs are from their shares, on runs that are worked out by hand."""

from pathlib import Path

import polars as pl
import pytest

from benchmarks.carbyne_shares import Standing, main, standing
from loomcard.workload.scenario import ScenarioApplication, Stage

ROWS = {"application": pl.String, "stage": pl.String, "started_ms": pl.Int64,
        "finished_ms": pl.Int64}  # fmt: skip


def job(name: str, *stages: tuple[int, int, list[int]], size: int = 1) -> ScenarioApplication:
    """Return a job with stages of (tasks, ms, after)."""
    made = [Stage(f"s{i}", (size, size), 20, i + 1, [ms] * n, after)
            for i, (n, ms, after) in enumerate(stages)]  # fmt: skip
    return ScenarioApplication(name, 0, "root.default", "u", "dag", made)


def found(jobs: list[ScenarioApplication], *rows: tuple[str, str, int, int]) -> Standing:
    """Return the figures on 8 slots."""
    return standing(jobs, pl.DataFrame(list(rows), schema=ROWS, orient="row"), (8, 8))


def test_a_folder_without_results_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["carbyne_shares", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: holds no results.json")


def test_who_has_nothing_runnable_and_who_has_more_than_its_share() -> None:
    """b uses 1 of 8 slots for 10 ms and has nothing else to run; a uses the other 7."""
    jobs = [job("a", (7, 10, [])), job("b", (1, 10, []))]
    rows = [("a", "s0", 0, 10)] * 7 + [("b", "s0", 0, 10)]
    assert found(jobs, *rows) == Standing(above=pytest.approx(3 / 8), barriers=pytest.approx(3 / 8))


def test_who_could_run_more_yields_until_it_does() -> None:
    """b runs its two tasks one after the other, though its share has room for both."""
    jobs = [job("a", (4, 10, [])), job("b", (2, 5, []))]
    rows = [("a", "s0", 0, 10)] * 4 + [("b", "s0", 0, 5), ("b", "s0", 5, 10)]
    half = found(jobs, *rows)
    assert half == Standing(barriers=pytest.approx(3 / 8 * 0.5), yielded=pytest.approx(3 / 8 * 0.5))


def test_a_task_that_is_larger_than_the_rest_of_the_share() -> None:
    """b's tasks need three slots each: beside one, only one slot of its four is left."""
    jobs = [job("a", (4, 10, [])), job("b", (2, 5, []), size=3)]
    rows = [("a", "s0", 0, 10)] * 4 + [("b", "s0", 0, 5), ("b", "s0", 5, 10)]
    assert found(jobs, *rows) == Standing(
        fragments=pytest.approx(1 / 8 * 0.5), barriers=pytest.approx(1 / 8 * 0.5)
    )


def test_the_share_grows_when_a_job_has_ended() -> None:
    """From the fifth ms on b has the whole cluster as its share, and uses an eighth of it."""
    jobs = [job("a", (4, 5, [])), job("b", (1, 10, []))]
    rows = [("a", "s0", 0, 5)] * 4 + [("b", "s0", 0, 10)]
    assert found(jobs, *rows) == Standing(barriers=pytest.approx(3 / 8 * 0.5 + 7 / 8 * 0.5))
