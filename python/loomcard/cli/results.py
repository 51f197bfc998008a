"""What commands that run experiments share: options, and how results are printed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import console

INTERRUPTED = 130
DETAILS = ("resource_types", "capacity", "queues", "jain_windows", "window_ms", "folder")

Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="A YAML file, a policy's name, or stock:capacity|fair|fifo on a real cluster;"
        " repeatable. In place of an experiment's.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="The run folder. Default: run/NAME of what is run.")
]
ReplayedRun = Annotated[
    bool, typer.Option("--again", help="Run cells again that have run, inputs unchanged.")
]


def shown(runs: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """What `--json` prints of a run folder's results."""
    return [{name: value for name, value in run.items() if name not in DETAILS} for run in runs]


def print_results(folder: Path, runs: Sequence[dict[str, object]]) -> None:
    """The tables of a run folder, and what it holds."""
    from loomcard.report.runs import read_study  # and with it polars
    from loomcard.report.terminal import numbers, tables

    out = console(markup=True)
    if any(each["finished"] for each in runs):
        for table in tables(numbers(read_study([folder]))):
            out.print(table)
    out.print(f"{folder}: results.json, cells.csv, cells.parquet; see `loomcard report`")
