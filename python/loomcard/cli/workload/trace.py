"""``loomcard trace``: what is inside a workload or a trace, and a trace as a workload file.

What reads them is imported when a command is called: help needs none of it.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from loomcard.cli.output import Json, console, print_json
from loomcard.workload.ascii_plot import bar, columns, duration

trace = typer.Typer(name="trace", help="Look into workloads and traces.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Argument(
        help="A workload, a shipped workload's name, a trace, or a journal's folder.",
        metavar="FILE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="workload, swim, tpch, sls, synth or journal. Default: by the file."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random values.")]


@trace.command()
def inspect(file: File, format: Format = None, seed: Seed = 1, as_json: Json = False) -> None:  # noqa: A002
    """Show how many applications and tasks are inside, when they come and how long they run."""
    from loomcard.workload.inspection import inspected
    from loomcard.workload.open_any import opened

    kind, scenario = opened(file, seed=seed, format=format)
    figures = {"file": str(file), "format": kind, **inspected(scenario)}
    if as_json:
        print_json(figures)
        return
    out = console()
    out.print(_heading(figures))
    out.print(_classes(figures))
    if any(one["graph"]["critical_path"].get("p100", 0) > 1 for one in figures["classes"]):
        out.print(_graphs(figures))
    out.print(_quantiles(figures))
    _arrivals(out, figures)
    _durations(out, figures)


@trace.command()
def convert(
    file: File,
    out: Annotated[Path, typer.Option("--out", help="The workload file to write.")],
    format: Format = None,  # noqa: A002
    seed: Seed = 1,
) -> None:
    """Write a workload or trace as a workload file with all random values sampled."""
    from loomcard.workload.open_any import opened
    from loomcard.workload.write_yaml import written

    kind, scenario = opened(file, seed=seed, format=format)
    text = written(scenario)
    out.write_text(text, encoding="utf-8")
    typer.echo(f"{out}: {len(scenario.applications)} applications from {file} ({kind})")


def _heading(f: dict[str, Any]) -> Table:
    cluster = f["cluster"]
    sizes = ", ".join(f"{amount} {name}" for name, amount in cluster["capacity"].items())
    loads = [f"{100 * x:.0f} % of {n}" for n, x in f["load"].items() if x is not None]
    table = Table(box=None, show_header=False, title=f"{f['name']} ({f['format']})", pad_edge=False)
    table.add_row("applications", f"{f['applications']}, submitted within {duration(f['span_ms'])}")
    table.add_row("tasks", f"{f['tasks']} in {f['stages']} stages")
    table.add_row("work", f"{f['container_hours']:.6g} container-hours")
    table.add_row(
        "cluster",
        f"{_many(cluster['nodes'], 'node')} in {_many(cluster['racks'], 'rack')}: {sizes}",
    )
    table.add_row("load", ", ".join(loads) + " while they come" if loads else "all come at once")
    for key in ("queues", "users", "kinds"):
        parts = [f"{name} {count}" for name, count in list(f[key].items())[:6]]
        table.add_row(key, ", ".join(parts) + (", ..." if len(f[key]) > 6 else ""))
    return table


def _many(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _classes(f: dict[str, Any]) -> Table:
    table = Table(title="classes")
    table.add_column("class")
    for name in ("applications", "tasks", "hours", "median", "p95"):
        table.add_column(name, justify="right")
    for one in f["classes"][:25]:
        times = [duration(one["duration_ms"].get(q, 0)) for q in ("p50", "p95")]
        counts = [str(one["applications"]), str(one["tasks"]), f"{one['container_hours']:.4g}"]
        table.add_row(one["class"], *counts, *times)
    return table


def _graphs(f: dict[str, Any]) -> Table:
    """Median and 95th percentile over a class's applications."""
    table = Table(title="stages of an application, median and 95th percentile")
    table.add_column("class")
    for name in ("stages", "barriers", "input work", "critical path"):
        table.add_column(name, justify="right")
    for one in f["classes"][:25]:
        rows = [(values["p50"], values["p95"]) for values in one["graph"].values()]
        counts, barriers, work, path = rows
        texts = [f"{a:g} / {b:g}" for a, b in (counts, barriers, path)]
        texts.insert(2, f"{100 * work[0]:.0f} / {100 * work[1]:.0f} %")
        table.add_row(one["class"], *texts)
    return table


def _quantiles(f: dict[str, Any]) -> Table:
    from loomcard.workload.inspection import QUANTILES

    table = Table(title="gaps between submissions, times of tasks, tasks of an application")
    table.add_column("")
    names = ["mean", *(f"p{100 * q:g}" for q in QUANTILES)]
    for name in names:
        table.add_column(
            {"p0": "least", "p50": "median", "p100": "most"}.get(name, name), justify="right"
        )
    for title, key in (("gap", "gap_ms"), ("task", "duration_ms")):
        if f[key]:
            table.add_row(title, *(duration(f[key][name]) for name in names))
    counts = f["tasks_per_application"]
    if counts:
        table.add_row("tasks each", *(f"{counts[name]:g}" for name in names))
    return table


def _arrivals(out: Console, f: dict[str, Any]) -> None:
    counts = f["arrivals"].get("counts", [])
    if len(counts) < 2:
        return
    width = min(out.width - 12, 120)
    lines = columns(counts, width, 5)
    out.print(Text("submissions over time", style="italic"), justify="left")
    for row, line in enumerate(lines):
        out.print(Text(f"{max(counts) if row == 0 else '':>8} │{line}"), no_wrap=True)
    drawn = len(lines[0])
    end = duration(f["span_ms"])
    out.print(Text(f"{'':>8} └{'─' * drawn}"), no_wrap=True)
    out.print(Text(f"{'':>10}0{end:>{max(1, drawn - 1)}}"), no_wrap=True)


def _durations(out: Console, f: dict[str, Any]) -> None:
    most = max((one["tasks"] for one in f["durations"]), default=0)
    if not most:
        return
    width = min(out.width - 34, 80)
    out.print(Text("tasks by their time", style="italic"))
    for one in f["durations"]:
        name = f"{duration(one['from_ms'])} - {duration(one['to_ms'])}"
        out.print(
            Text(f"{name:>20} │{bar(one['tasks'], most, width)} {one['tasks']}"), no_wrap=True
        )
