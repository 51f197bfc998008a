"""Running experiments: equal bytes however they run, stopped and resumed, with failing cells."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import stubborn
from loomcard.experiments.cell import Outcome
from loomcard.experiments.engines import Engine, simulated
from loomcard.experiments.run import Finished, Request, prepare, run
from waiting import wait_until

ROOT = Path(__file__).parents[2]
GATHERED = ["cells.csv", "cells.parquet", "containers.parquet", "results.json"]
PROGRAM = """
import sys
from pathlib import Path
import stubborn
from loomcard.experiments.run import Request, prepare, run
if __name__ == "__main__":
    finished = run(prepare(Request(sys.argv[1])), Path(sys.argv[2]), lambda news: None,
        processes=int(sys.argv[3]), engine=getattr(stubborn, sys.argv[4]))
    sys.exit(0 if finished.whole else 77)
"""


def run_here(
    experiment: Path, out: Path, processes: int = 1, engine: Engine = simulated, again: bool = False
) -> Finished:
    prepared = prepare(Request(str(experiment), again=again))
    return run(prepared, out, lambda _: None, processes=processes, engine=engine)


def states(finished: Finished) -> list[str]:
    return [outcome.state for outcome in finished.outcomes]


def gathered(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in GATHERED}


def test_the_same_bytes_whatever_the_process_count(experiment: Path, tmp_path: Path) -> None:
    """With one process or two, every collected file is the same."""
    one = run_here(experiment, tmp_path / "one", processes=1)
    two = run_here(experiment, tmp_path / "two", processes=2)
    assert states(one) == states(two) == ["done"] * 8
    assert gathered(tmp_path / "one") == gathered(tmp_path / "two")
    assert len({json.dumps(run["applications"]) for run in one.runs}) > 2  # the seeds differ


def test_a_policy_runs_on_what_it_alone_is_given(experiment: Path, tmp_path: Path) -> None:
    """drf has 9 tasks of a where fifo has the varied count, under the same parameters."""
    experiment.write_text(experiment.read_text() + "given: {drf: {workload.tasks: 9}}\n")
    run_here(experiment, tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out" / "containers.parquet").filter(application="a", seed=1)
    counts = rows.group_by("policy", "workload.tasks").len().sort("policy", "workload.tasks").rows()
    assert counts == [("drf", 2, 9), ("drf", 6, 9), ("fifo", 2, 2), ("fifo", 6, 6)]


def test_the_table_is_tidy(experiment: Path, tmp_path: Path) -> None:
    """There is one row per application and cell, with the parameters as columns, in the
    experiment's order.
    """
    run_here(experiment, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "cells.parquet")
    assert table.height == 8 * 2
    keys = table.select("policy", "workload.tasks", "seed", "id").rows()
    assert keys[:5] == [
        ("fifo", 2, 1, "a"),
        ("fifo", 2, 1, "b"),
        ("fifo", 2, 2, "a"),
        ("fifo", 2, 2, "b"),
        ("fifo", 6, 1, "a"),
    ]
    csv = pl.read_csv(tmp_path / "out" / "cells.csv")
    assert csv["completion_ms"].to_list() == table["completion_ms"].to_list()
    assert csv["tags"].to_list()[:2] == ["small", "large"]


def test_what_has_run_is_skipped_while_its_inputs_are_the_same(
    experiment: Path, tmp_path: Path
) -> None:
    """Nothing runs twice; a workload that changed runs again, and so does what --again names."""
    out = tmp_path / "out"
    run_here(experiment, out)
    before = gathered(out)
    assert states(run_here(experiment, out)) == ["skipped"] * 8
    assert gathered(out) == before
    assert states(run_here(experiment, out, again=True)) == ["done"] * 8
    assert gathered(out) == before
    workload = experiment.with_name("small.yml")
    workload.write_text(workload.read_text().replace("tasks: 12", "tasks: 13"))
    assert states(run_here(experiment, out)) == ["done"] * 8
    assert gathered(out)["results.json"] != before["results.json"]


def test_a_damaged_cell_runs_again(experiment: Path, tmp_path: Path) -> None:
    """Half a file is not a result."""
    out = tmp_path / "out"
    run_here(experiment, out)
    before = gathered(out)
    damaged = sorted((out / "cells").iterdir())[0] / "results.json"
    damaged.write_text(damaged.read_text()[:40])
    assert sorted(states(run_here(experiment, out))) == ["done"] + ["skipped"] * 7
    assert gathered(out) == before


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("processes", "engine", "number"),
    [
        pytest.param(
            1, "first_seed_then_wait", signal.SIGINT, id="one process", marks=pytest.mark.slow
        ),
        pytest.param(2, "first_seed_then_wait", signal.SIGINT, id="two processes"),
        pytest.param(2, "deaf", signal.SIGKILL, id="killed outright", marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_keeps_what_it_has_and_goes_on(
    experiment: Path, tmp_path: Path, processes: int, engine: str, number: int
) -> None:
    """After Ctrl-C while cells run, files are complete, no process is left, and resuming ends as if
    never stopped.
    """
    out, signs = tmp_path / "out", tmp_path / "signs"
    signs.mkdir()
    paths = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "support")])
    env = os.environ | {"PYTHONPATH": paths, stubborn.SIGNS: str(signs)}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(experiment), str(out), str(processes), engine]
    running = subprocess.Popen(command, env=env, start_new_session=True)
    wait_until(lambda: len(list(signs.iterdir())) == processes)
    os.killpg(running.pid, number) if number == signal.SIGINT else running.kill()
    assert running.wait(60) == (77 if number == signal.SIGINT else -number)
    workers = [int(sign.name) for sign in signs.iterdir()]
    wait_until(lambda: not any(alive(worker) for worker in workers if worker != running.pid))
    if number == signal.SIGINT:
        partial = json.loads((out / "results.json").read_text())
        assert [run["seed"] for run in partial if run["finished"]] != []
        assert [run["seed"] for run in partial if not run["finished"]] == [2] * processes
        assert pl.read_parquet(out / "cells.parquet").height == 2 * len(partial)
    again = run_here(experiment, out)
    assert "skipped" in states(again)
    assert again.whole
    run_here(experiment, tmp_path / "never stopped")
    assert gathered(out) == gathered(tmp_path / "never stopped")


@pytest.mark.parametrize("processes", [1, 2])
def test_one_bad_cell_does_not_stop_the_others(
    experiment: Path, tmp_path: Path, processes: int
) -> None:
    """It is named in one line, and is not in the results."""
    finished = run_here(experiment, tmp_path / "out", processes, stubborn.raises_on_second)
    assert sorted(states(finished)) == ["done"] * 4 + ["failed"] * 4
    assert not finished.whole
    assert finished.failures[0] == (
        "fifo on small, seed 2, workload.tasks=2: ZeroDivisionError: a policy's own mistake"
    )
    assert [run["seed"] for run in finished.runs] == [1] * 4
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(manifest["failures"]) == 4
    assert [f for f in (tmp_path / "out" / "cells").iterdir() if f.name.startswith(".")] == []


def test_a_process_that_is_killed_is_reported(experiment: Path, tmp_path: Path) -> None:
    """The error is one line with the remedy, and the results so far are kept."""
    finished = run_here(experiment, tmp_path / "out", 2, stubborn.dies_on_second)
    assert [outcome.state for outcome in finished.outcomes].count("failed") == 1
    assert "ended, status -9 (either by the policy, as" in finished.failures[0]
    assert not finished.whole
    assert run_here(experiment, tmp_path / "out").whole


def test_a_watcher_hears_of_every_cell(experiment: Path, tmp_path: Path) -> None:
    """The progress bar uses these events."""
    heard: list[object] = []
    run(prepare(Request(str(experiment))), tmp_path / "out", heard.append, processes=1)
    ended = [news for news in heard if isinstance(news, Outcome)]
    assert sorted(outcome.index for outcome in ended) == list(range(8))
    assert all(outcome.reached_ms > 5000 for outcome in ended)
