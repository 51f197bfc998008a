"""Cells over a Dask cluster on this machine: the same bytes, lost workers, resumed runs, errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="`make rest` installs it, the extra dask")
from distributed import LocalCluster

from loomcard.experiments import over_dask
from loomcard.experiments.inputs import InputError
from loomcard.experiments.run import Finished, Request, prepare, run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_jars")]

GATHERED = ["cells.csv", "cells.parquet", "containers.parquet", "results.json"]
ENDS_ITS_WORKER_ONCE = """
import os, signal
from dataclasses import dataclass
from pathlib import Path
from loomcard import Plan, fill

ARMED = Path(__file__).with_name("armed")

@dataclass(frozen=True)
class EndsItsWorkerOnce:
    def decide(self, view):
        if ARMED.exists():
            ARMED.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        plan = Plan(view)
        return fill(plan, order=plan.dominant_share)
"""
RAISES = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Raises:
    def decide(self, view):
        raise ZeroDivisionError("mine")
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two worker processes that are restarted when they are lost."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as started:
        yield started


def run_over(cluster: LocalCluster, experiment: Path, out: Path, **options: bool) -> Finished:
    prepared = prepare(Request(str(experiment), **options))
    return run(prepared, out, lambda _: None, over=cluster.scheduler_address)


def gathered(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in GATHERED}


def states(finished: Finished) -> list[str]:
    return [outcome.state for outcome in finished.outcomes]


def test_the_same_bytes_as_here_and_nothing_runs_twice(
    cluster: LocalCluster, experiment: Path, tmp_path: Path
) -> None:
    """With and without Dask the files are equal; what ran here is skipped there, and vice versa."""
    here, there = tmp_path / "here", tmp_path / "there"
    run(prepare(Request(str(experiment), journal=True)), here, lambda _: None, processes=1)
    finished = run_over(cluster, experiment, there, journal=True)
    assert states(finished) == ["done"] * 8
    assert finished.whole
    assert gathered(here) == gathered(there)
    journals = [sorted(out.rglob("journal/*")) for out in (here, there)]
    assert [file.relative_to(here) for file in journals[0]] == [
        file.relative_to(there) for file in journals[1]
    ]
    assert journals[0] != []
    assert states(run_over(cluster, experiment, here)) == ["skipped"] * 8
    again = run(prepare(Request(str(experiment))), there, lambda _: None, processes=1)
    assert states(again) == ["skipped"] * 8


def test_a_worker_that_is_killed_costs_nothing(
    cluster: LocalCluster, experiment: Path, tmp_path: Path
) -> None:
    """Its cell runs again on another worker."""
    policy = tmp_path / "killer.py"
    policy.write_text(ENDS_ITS_WORKER_ONCE)
    text = experiment.read_text().replace("fifo, drf", f"'{policy}:EndsItsWorkerOnce'")
    experiment.write_text(text.replace("baseline: fifo\n", ""))
    prepared = prepare(Request(str(experiment)))
    armed = policy.with_name("armed")
    armed.touch()
    finished = run(prepared, tmp_path / "there", lambda _: None, over=cluster.scheduler_address)
    assert not armed.exists()
    assert finished.failures == []
    assert states(finished) == ["done"] * 4
    run(prepared, tmp_path / "here", lambda _: None, processes=1)
    assert gathered(tmp_path / "here") == gathered(tmp_path / "there")


def test_a_stopped_run_goes_on(cluster: LocalCluster, experiment: Path, tmp_path: Path) -> None:
    """Ctrl-C keeps the cells that are finished."""

    def press(_: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    prepared = prepare(Request(str(experiment)))
    stopped = run(prepared, out, press, over=cluster.scheduler_address)
    assert states(stopped) == ["done"]
    assert not stopped.whole
    again = run_over(cluster, experiment, out)
    assert "skipped" in states(again)
    assert again.whole


def test_a_bad_cell_does_not_stop_the_others(
    cluster: LocalCluster, experiment: Path, tmp_path: Path
) -> None:
    """A policy that raises on a worker is named in one line."""
    policy = tmp_path / "raises.py"
    policy.write_text(RAISES)
    text = experiment.read_text().replace("[fifo, drf]", f"[fifo, '{policy}:Raises']")
    experiment.write_text(text)
    finished = run_over(cluster, experiment, tmp_path / "out")
    assert states(finished) == ["done"] * 4 + ["failed"] * 4
    assert "ZeroDivisionError: mine" in finished.failures[0]


def test_workers_that_cannot_do_the_work_are_refused(
    cluster: LocalCluster, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of Loomcard, several threads, or no workers give one line each, and nothing
    is written.
    """
    monkeypatch.setattr(over_dask, "code", lambda: b"of another commit")
    with pytest.raises(InputError, match=r"worker tcp://\S+: has Loomcard .*install the same"):
        run_over(cluster, experiment, tmp_path / "out")
    monkeypatch.undo()
    asked = {"processes": False, "dashboard_address": ":0"}
    refused = [(0, 1, "has no workers"), (1, 2, "has 2 threads, and .*nthreads 1")]
    for workers, threads, said in refused:
        with (
            LocalCluster(n_workers=workers, threads_per_worker=threads, **asked) as wrong,
            pytest.raises(InputError, match=said),
        ):
            run_over(wrong, experiment, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_cannot_be_reached_is_named(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused are an address where nothing listens, an invalid one, and a real cluster together
    with Dask.
    """
    monkeypatch.setattr(over_dask, "CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(InputError, match=f"--over {address}: no Dask scheduler"):
            run(prepare(Request(str(experiment))), tmp_path / "out", print, over=address)
    prepared = prepare(Request(str(experiment), engine="local"))
    with pytest.raises(InputError, match="leave --on out"):
        run(prepared, tmp_path / "out", print, over="tcp://127.0.0.1:1")
