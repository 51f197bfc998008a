"""``loomcard demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.table import Table

from loomcard.cli.output import Json, console, print_json, waiting
from loomcard.cluster import paths

if TYPE_CHECKING:
    from rich.console import Console

    from loomcard.demo.demo import DemoResult
    from loomcard.demo.gains import Figure, Figures


def demo(as_json: Json = False) -> None:
    """Swap a policy under real jobs, then compare dress, hdrf and carbyne with CapacityScheduler.

    It takes about three minutes. Results and a picture are then in run/yarn-demo.
    """
    # Report what an installation lacks before the first cluster starts.
    from loomcard.demo.demo import run_demo, steps

    paths.java_home()
    paths.jars()  # a download has its own progress bar
    folder = paths.run_folder("yarn-demo")
    with waiting("starting", total=steps()) as bar:
        task = bar.task_ids[0]
        result = run_demo(folder, lambda done: bar.update(task, advance=1, description=done))
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    if not result.good:
        raise typer.Exit(1)


def _print(result: DemoResult) -> None:
    from loomcard.demo.real_jobs import AFTER, BEFORE

    out = console()
    before, after = result.real.started
    for job in result.real.jobs:
        took = "-" if job.completion_ms is None else f"{job.completion_ms / 1000:.1f} s"
        out.print(f"{job.name}: {job.state}, complete after {took}")
    out.print(
        f"policy swapped from {BEFORE} to {AFTER} meanwhile: {before} containers started before,"
        f" {after} after\n"
    )
    _print_table(out, result)
    for gain in result.gains:
        out.print(gain.sentence, soft_wrap=True)
        for line in gain.rest:
            out.print(f"  {line}", soft_wrap=True)
    out.print()
    out.print(result.verdict)
    for name in result.failed:
        out.print(f"did not succeed: {name}")
    out.print(f"{result.picture.parent}: {result.picture.name}; see `loomcard report`")
    state = "ok" if result.good else "FAILED"
    out.print(f"demo {state} in {result.seconds:.0f} s")


def _print_table(out: Console, result: DemoResult) -> None:
    """Return a table with a row per figure and a column per scheduler; the best value of each row
    is marked.
    """
    from loomcard.demo.gains import FIGURES, LEAST, figures_of

    found = {run.policy: figures_of(run) for run in result.study.runs}
    table = Table("", title=f"{result.study.settings[0]}, on a real YARN; * the best of its row")
    for policy in found:
        table.add_column(policy, justify="right")
    for figure in FIGURES:
        table.add_row(figure.name, *_cells(figure, list(found.values())))
    for queue in next(iter(found.values())).shares:
        shares = [each.shares[queue] for each in found.values()]
        table.add_row(f"share of {queue}", *map(LEAST.said, shares))
    out.print(table)


def _cells(figure: Figure, found: list[Figures]) -> list[str]:
    values = [each.values[figure] for each in found]
    known = [value for value in values if value is not None]
    best = (min if figure.better == "less" else max)(known, default=None)
    return [figure.said(v) + (" *" if v is not None and v == best else "") for v in values]
