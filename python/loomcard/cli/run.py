"""``loomcard run``: a workload or an experiment, on the simulator or on a real cluster."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from loomcard.cli.output import Json, command_line, console, print_json
from loomcard.cluster import paths
from loomcard.experiments import run as experiments
from loomcard.experiments.cell import Outcome
from loomcard.experiments.run_cells import Watch
from loomcard.report.runs import read_study
from loomcard.report.terminal import numbers, tables

INTERRUPTED = 130
DETAILS = ("resource_types", "capacity", "queues", "jain_windows", "window_ms", "folder")


class Engine(StrEnum):
    """What runs the cells."""

    SIMULATOR = "simulator"
    LOCAL = "local"
    DOCKER = "docker"


What = Annotated[
    str, typer.Argument(help="A workload or an experiment: a file, or a name that ships with it.")
]
On = Annotated[
    Engine, typer.Option("--on", help="The simulator, the embedded or the compose cluster.")
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="A set-up's file, a policy's name, or stock:capacity|fair|fifo on a real cluster;"
        " repeatable. In place of an experiment's.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="The (first) seed. Default: 1.")]
Seeds = Annotated[int | None, typer.Option("--seeds", min=1, help="How many, one after another.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="The run folder. Default: run/NAME of what is run.")
]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Cells at a time. Default: all cores.")
]
Journal = Annotated[
    bool | None,
    typer.Option(
        "--journal/--no-journal", help="Keep each run's journal. Default: of a workload's runs."
    ),
]
ReplayedRun = Annotated[
    bool, typer.Option("--again", help="Run cells again that have run, inputs unchanged.")
]


def run(
    what: What,
    on: On = Engine.SIMULATOR,
    policy: Policies = None,
    seed: Seed = None,
    seeds: Seeds = None,
    out: Out = None,
    processes: Processes = None,
    journal: Journal = None,
    again: ReplayedRun = False,
    as_json: Json = False,
) -> None:
    """Run a workload or an experiment; go on where an earlier run of it was stopped."""
    prepared = experiments.prepare(
        experiments.Request(
            what,
            on.value,
            tuple(policy or ()),
            _seeds(seed, seeds),
            journal,
            again,
            command_line(),
        )
    )
    folder = out or paths.run_folder(prepared.experiment.name)
    with _watching(len(prepared.cells)) as watch:
        finished = experiments.run(prepared, folder, watch, processes=processes)
    if as_json:
        print_json(shown(finished.runs))
    else:
        print_results(finished.out, finished.runs)
    for failure in finished.failures:
        print(f"error: {failure}", file=sys.stderr)
    if finished.failures:
        raise typer.Exit(1)
    if not finished.whole:
        print(f"error: interrupted; the same command goes on from {folder}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


def _seeds(first: int | None, count: int | None) -> tuple[int, ...]:
    """None stated: the experiment's own."""
    if first is None and count is None:
        return ()
    begin = 1 if first is None else first
    return tuple(range(begin, begin + (count or 1)))


def shown(runs: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """What `--json` prints of a run folder's results."""
    return [{name: value for name, value in run.items() if name not in DETAILS} for run in runs]


@contextmanager
def _watching(cells: int) -> Iterator[Watch]:
    """A bar of the cells that are done, and the simulated time so far; none in a pipe."""
    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    done: dict[int, int] = {}
    running: dict[int, int] = {}
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("cells", total=cells)

        def watch(news: Outcome | tuple[int, int]) -> None:
            if isinstance(news, Outcome):
                done[news.index] = news.reached_ms
                running.pop(news.index, None)
                bar.advance(task)
            elif news[0] not in done:
                running[news[0]] = news[1]
            hours = (sum(done.values()) + sum(running.values())) / 3_600_000
            bar.update(task, description=f"cells ({hours:.1f} simulated hours)")

        yield watch


def print_results(folder: Path, runs: Sequence[dict[str, object]]) -> None:
    """The tables of a run folder, and what it holds."""
    out = console(markup=True)
    if any(each["finished"] for each in runs):
        for table in tables(numbers(read_study([folder]))):
            out.print(table)
    out.print(f"{folder}: results.json, cells.csv, cells.parquet; see `loomcard report`")
