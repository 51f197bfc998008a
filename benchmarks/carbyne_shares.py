"""Where jobs stand to their fair shares, and what keeps them below: the causes of Jain's index.

    loomcard run carbyne-e6 --out run/e6
    python -m benchmarks.carbyne_shares run/e6

Each figure is a part of the cluster, the mean over a run. A job is below its share (an equal part
of the cluster for each job that demands) since nothing of it is runnable (barriers), since no
runnable task fits into the rest of the share (fragments), or though a task would: that is yielded,
or waits for room (yielded). The line of JSON below the table has the same names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from loomcard.report.runs import Run, read_study
from loomcard.results.run_folder import ResultError
from loomcard.workload import load
from loomcard.workload.scenario import ScenarioApplication

TINY = 1e-9


@dataclass
class Standing:
    """Figures of one run: what jobs use ``above`` their shares, and what they lack, by cause.
    ``barriers``: nothing is runnable; ``fragments``: a task is larger than the rest of the share;
    ``yielded``: neither.
    """

    above: float = 0.0
    barriers: float = 0.0
    fragments: float = 0.0
    yielded: float = 0.0

    def add(self, fair: float, held: float, waiting: Iterable[float], part: float) -> None:
        """Add a stretch of length ``part`` of the run, in which a job used ``held`` and its share
        was ``fair``. ``waiting``: dominant shares of one task of each stage that has runnable
        tasks.
        """
        if held >= fair:
            self.above += (held - fair) * part
        elif (least := min(waiting, default=None)) is None:
            self.barriers += (fair - held) * part
        elif held + least > fair + TINY:
            self.fragments += (fair - held) * part
        else:
            self.yielded += (fair - held) * part


def standing(
    applications: Sequence[ScenarioApplication], rows: pl.DataFrame, capacity: Sequence[int]
) -> Standing:
    """Return the figures of a run: ``rows`` are its containers (application, stage, started_ms,
    finished_ms).
    """
    own = {key: part for (key,), part in rows.group_by("application")}
    spans = {name: (a.submit_ms, int(own[name]["finished_ms"].to_numpy().max()))
             for a in applications if (name := a.id) in own}  # fmt: skip
    at = np.unique([time for span in spans.values() for time in span])
    begins, ends = (np.sort([span[i] for span in spans.values()]) for i in (0, 1))
    jobs = np.searchsorted(begins, at, "right") - np.searchsorted(ends, at, "right")
    found, whole = Standing(), float(at[-1] - at[0])
    for app in applications:
        if app.id in spans:
            for start, end, held, waiting in _stretches(app, own[app.id], capacity, at):
                there = int(jobs[np.searchsorted(at, start, "right") - 1])
                found.add(1 / there, held, waiting, (end - start) / whole)
    return found


def _stretches(
    app: ScenarioApplication, rows: pl.DataFrame, capacity: Sequence[int], at: np.ndarray
) -> Iterator[tuple[float, float, float, list[float]]]:
    """Yield a row for each stretch between two changes of the job, or of the number of jobs: start,
    end, the job's dominant share and those of its runnable tasks.
    """
    number = {stage.id: i for i, stage in enumerate(app.stages)}
    parts = np.array([[s / c for s, c in zip(g.size, capacity, strict=True)] for g in app.stages])
    changes: list[tuple[int, int, int, int]] = []  # ms, stage, running, runnable
    over: dict[int, int] = {}
    for stage, start, end in rows.select("stage", "started_ms", "finished_ms").iter_rows():
        i = number[stage]
        changes += [(start, i, 1, -1), (end, i, -1, 0)]
        over[i] = max(over.get(i, 0), end)
    for i, each in enumerate(app.stages):
        ready = max([app.submit_ms, *(over[parent] for parent in each.after)])
        changes.append((ready, i, 0, len(each.durations_ms)))
    last = max(over.values())
    changes += [(int(ms), -1, 0, 0) for ms in at if app.submit_ms <= ms <= last]
    changes.sort()
    running, waiting = np.zeros(len(parts)), np.zeros(len(parts))
    for (ms, i, runs, waits), (after, *_) in zip(changes, [*changes[1:], (last,)], strict=True):
        if i >= 0:
            running[i] += runs
            waiting[i] += waits
        if after > ms:
            held = float((running @ parts).max())
            yield ms, after, held, [float(parts[j].max()) for j in np.flatnonzero(waiting > 0)]


def of_run(run: Run) -> Standing:
    """Return the figures of one run of an experiment; its workload is drawn again."""
    parameters = {
        name.partition(".")[2]: value for name, value in run.facts["parameters"].items()
        if name.startswith("workload.")
    }  # fmt: skip
    scenario = load(Path(run.facts["workload"]), seed=run.seed, vary=parameters)
    rows = run.containers().filter(~pl.col("is_am"))
    return standing(scenario.applications, rows, run.facts["capacity"][0][1])


def main() -> None:
    """Print the table, and one line of JSON."""
    parser = argparse.ArgumentParser(prog="carbyne_shares", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    try:
        study = read_study(parser.parse_args().folder)
    except ResultError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    table = Table(title="parts of the cluster, mean over a run")
    names = ("above", "barriers", "fragments", "yielded")
    for name in ("setting", "policy", "jain", *names):
        table.add_column(name)
    printed = []
    for run in study.runs:
        found, jain = asdict(of_run(run)), run.facts["jain"]["mean"]
        figures = [f"{found[name]:.3f}" for name in names]
        table.add_row(f"{run.setting}, seed {run.seed}", run.policy, f"{jain:.3f}", *figures)
        printed.append({"setting": run.setting, "policy": run.policy, "jain": jain, **found})
    Console().print(table)
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
