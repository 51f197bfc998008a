"""How many tasks of an experiment's runs had a node that they wish for: of maps, their input's.

    loomcard run coupling-table4 --out run/coupling-table4
    python -m benchmarks.local_maps run/coupling-table4

Percent of the tasks that wish for nodes: minimum, mean and maximum over the seeds, one row for each
policy in each setting (the workload with its parameters). The line of JSON below the table has the
same figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean

import polars as pl
from rich.console import Console
from rich.table import Table

from loomcard.report.runs import Run, read_study
from loomcard.results.run_folder import ResultError
from loomcard.validation.findings import FindingsError
from loomcard.workload import load
from loomcard.workload.scenario import ScenarioApplication

Row = tuple[str, str, int, str]
"""A task that completed: application, stage, number in its stage, node."""


def local_percent(applications: Sequence[ScenarioApplication], rows: Iterable[Row]) -> float | None:
    """Return how many of the tasks that wish for nodes ran on one of them; None if no task
    wishes.
    """
    wishes = {(app.id, stage.id): stage.nodes for app in applications for stage in app.stages}
    there = [
        node in wished[number]
        for app, stage, number, node in rows
        if (wished := wishes.get((app, stage))) and wished[number]
    ]
    return 100 * mean(there) if there else None


def of_run(run: Run) -> float | None:
    """Return the figure of one run of an experiment; its workload, one of Loomcard's own, is drawn
    again.
    """
    parameters = {
        name.partition(".")[2]: value for name, value in run.facts["parameters"].items()
        if name.startswith("workload.")
    }  # fmt: skip
    scenario = load(Path(run.facts["workload"]), seed=run.seed, vary=parameters)
    rows = run.containers().filter(~pl.col("is_am") & (pl.col("kind") == "completed"))
    return local_percent(
        scenario.applications, rows.select("application", "stage", "task", "node").iter_rows()
    )


def main() -> None:
    """Print the table, and one line of JSON."""
    parser = argparse.ArgumentParser(prog="local_maps", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    found: dict[tuple[str, str], list[float]] = {}
    try:
        for run in read_study(parser.parse_args().folder).runs:
            percent = of_run(run)
            if percent is not None:
                found.setdefault((run.setting, run.policy), []).append(percent)
    except (ResultError, FindingsError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    table = Table(title="tasks on a node that they wish for, %")
    for name in ("setting", "policy", "seeds", "min", "mean", "max"):
        table.add_column(name)
    printed = []
    for (setting, policy), all_of in found.items():
        figures = {"min": min(all_of), "mean": mean(all_of), "max": max(all_of)}
        shown = [f"{value:.1f}" for value in figures.values()]
        seeds = len(all_of)
        table.add_row(setting, policy, str(seeds), *shown)
        printed.append({"setting": setting, "policy": policy, "seeds": seeds, **figures})
    Console().print(table)
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
