"""``loomcard demo``."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import Json, console, print_json, waiting
from loomcard.cluster import paths
from loomcard.demo import plot
from loomcard.demo.demo import DemoResult, Sizes, run_demo

Picture = Annotated[
    Path | None, typer.Option("--picture", help="Where the PNG goes. Default: run/demo.")
]

NO_PICTURE = 'none (pip install "loomcard[report]")'


def demo(picture_file: Picture = None, as_json: Json = False) -> None:
    """Run the same jobs under fifo, drf (swapped while up) and stock CapacityScheduler."""
    if picture_file is not None:
        import_module("matplotlib")  # or its error, before half a minute has gone
    paths.jars()  # what is to be fetched has a bar of its own
    sizes = Sizes()
    folder = paths.run_folder("demo")
    with waiting("starting", total=sizes.steps) as bar:
        task = bar.task_ids[0]
        result = run_demo(folder, sizes, lambda done: bar.update(task, advance=1, description=done))
    file = None
    if find_spec("matplotlib") is not None:
        file = picture_file or folder / "containers.png"
        plot.png(result.phases, file)
    if as_json:
        print_json(result.document())
    else:
        _print(result, file)
    failed = [job for phase in result.phases for job in phase.jobs if job.state != "SUCCEEDED"]
    if failed or not result.replay_identical:
        raise typer.Exit(1)


def _print(result: DemoResult, file: Path | None) -> None:
    out = console()
    table = Table("job", title="waiting / completion time in seconds")
    for phase in result.phases:
        table.add_column(phase.policy, justify="right")
    names = [list(plot.labels(phase).values()) for phase in result.phases]
    for row, name in enumerate(names[0]):
        cells = []
        for phase in result.phases:
            job = phase.jobs[row]
            shown = f"{_seconds(job.waiting_ms)} / {_seconds(job.completion_ms)}"
            cells.append(shown if job.state == "SUCCEEDED" else f"{shown} {job.state}")
        table.add_row(name, *cells)
    out.print(table)
    out.print(plot.terminal(result.phases))
    refused = ", ".join(f"{why} {count}" for why, count in sorted(result.refused.items()))
    out.print(
        f"granted by the policy {result.granted_by_policy}, by the fallback "
        f"{result.granted_by_fallback}; refused: {refused or 'none'}"
    )
    same = "every plan came out identical" if result.replay_identical else "PLANS DIFFER"
    out.print(f"journal replayed: {same}")
    out.print(f"picture: {file or NO_PICTURE}")


def _seconds(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:.1f}"
