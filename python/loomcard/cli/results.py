"""What commands that run workloads share: options, and how results are printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loomcard.cli.output import console, print_json

if TYPE_CHECKING:
    from loomcard.report.runs import Study

INTERRUPTED = 130
DETAILS = (
    "resource_types",
    "capacity",
    "queues",
    "jain_windows",
    "capped_jain_windows",
    "window_ms",
    "folder",
)

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
Again = Annotated[
    bool, typer.Option("--again", help="Run cells again that have run, inputs unchanged.")
]


def shown(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what `--json` prints of the results of a run folder."""
    return [{name: value for name, value in run.items() if name not in DETAILS} for run in runs]


def print_end(
    folder: Path,
    runs: Sequence[dict[str, Any]],
    failures: Sequence[str],
    trace: str = "",
    *,
    whole: bool,
    as_json: bool,
) -> None:
    """Print what has run, then a line for each failure and the traceback of a policy. Raises
    typer.Exit if a run failed, or if not the whole was run.
    """
    if as_json:
        print_json(shown(runs))
    else:
        _print_results(folder, runs)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    if trace:
        print(trace, file=sys.stderr)
    if failures:
        raise typer.Exit(1)
    if not whole:
        print(f"error: interrupted; the same command continues from {folder}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


def _print_results(folder: Path, runs: Sequence[dict[str, Any]]) -> None:
    """Print the tables of a run folder, what they leave out, and what the folder contains."""
    from loomcard.report.runs import read_study  # and with it polars

    if any(each["finished"] for each in runs):
        print_tables(read_study([folder]), runs)
    out = console(markup=True)
    out.print(f"{folder}: results.json, cells.csv, cells.parquet; see `loomcard report`")


def print_tables(study: Study, runs: Sequence[dict[str, Any]]) -> None:
    """Print the tables of a study, and how its runs ended before their work was done."""
    from loomcard.report.terminal import numbers, tables

    out = console(markup=True)
    for table in tables(numbers(study)):
        out.print(table)
    for run in runs:
        left = sum(not application["state"] for application in run["applications"])
        if left and run["finished"]:
            out.print(
                f"{run['policy']}, seed {run['seed']}: given up when nothing could happen any more"
                f" and {left} applications had not ended",
                markup=False,
            )
    refused = sum(sum(run["refusals"].values()) for run in runs)
    if refused:
        out.print(f"{refused} decisions were refused: see refusals in --json")


def print_papers(folders: Sequence[Path], out: Path, *, as_json: bool) -> None:
    """Write every figure of papers that the run folders have, and the time that the runs took, to
    ``out``/papers.md; print it unless JSON is printed.
    """
    from loomcard.report.papers import as_markdown, paper_figures  # and with it polars
    from loomcard.report.runs import read_study

    studies = [read_study([folder]) for folder in folders]
    took = {
        folder.name: sum(made["seconds"].values())
        for folder, study in zip(folders, studies, strict=True)
        for made in study.manifests.values()
    }
    text, file = as_markdown(paper_figures(studies), took), out / "papers.md"
    file.write_text(text)
    if not as_json:
        print(f"{text}\n{file}")
