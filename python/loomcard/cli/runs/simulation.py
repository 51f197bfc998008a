"""What ``loomcard simulate`` runs and prints."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from loomcard.cli.output import command_line, console, print_json
from loomcard.experiments.inputs import Choice, InputError, choices
from loomcard.experiments.lower_bounds import keep_bounds
from loomcard.results.manifest import manifest
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import MANIFEST, read_json, write_run
from loomcard.simulator.engine import Progress as Step
from loomcard.simulator.engine import refuse_mismatch
from loomcard.simulator.parallel import Run, simulate_all
from loomcard.workload.loading import find, load

STOPPED = 130


def run_simulation(
    workload: str,
    policies: list[str],
    seed: int,
    out: Path | None,
    processes: int | None,
    as_json: bool,
) -> None:
    """Simulate each policy, print the figures and, with ``out``, keep the runs there. Raises
    typer.Exit with STOPPED if Ctrl-C ended it.
    """
    chosen = choices(policies, Path())
    only_ours(chosen)
    configs = [choice.compiled({}) or {} for choice in chosen]
    file = find(workload)
    scenario = load(file, seed=seed)
    for config in configs:
        refuse_mismatch(scenario, config)
    runs = [
        Run(choice.name, config, None if out is None else out / "journal" / f"{choice.name}-{seed}")
        for choice, config in zip(chosen, configs, strict=True)
    ]
    inputs = {file.name: file.read_bytes()}
    inputs |= {choice.source: (choice.text or "").encode() for choice in chosen}
    about = manifest(inputs, command=command_line(), seeds=[seed])
    if out is not None:
        _refuse_other_results(out, about)
        _refuse_unwritable(out)
    with _bars([run.policy for run in runs], len(scenario.applications)) as notify:
        records = simulate_all(scenario, runs, processes or os.cpu_count() or 1, notify)
    for record in records:
        keep_bounds(record, scenario)
    summaries = [summary(record) for record in records]
    if as_json:
        print_json(summaries)
    else:
        _print(records, summaries)
    if out is not None:  # last: a full disk loses no figures
        write_run(out, records, about)
    if len(records) < len(runs) or not all(record.finished for record in records):
        kept = "what there was is shown" if out is None else f"what there was is in {out}"
        print(f"error: interrupted; {kept}", file=sys.stderr)
        raise typer.Exit(STOPPED)


def _refuse_other_results(out: Path, about: dict[str, Any]) -> None:
    """Raise InputError if the folder contains another run's results."""
    if not (out / MANIFEST).exists():
        return
    before = read_json(out / MANIFEST)
    if any(before.get(key) != about[key] for key in ("inputs", "seeds", "engine")):
        raise InputError([f"{out}: holds the results of another run (name another, or remove it)"])


def _refuse_unwritable(out: Path) -> None:
    """Said before the runs, which may take an hour. Raises OSError, which names the path."""
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(out))


def only_ours(chosen: Sequence[Choice]) -> None:
    """Raise InputError for stock schedulers, which run only on real YARN."""
    stock = [choice.name for choice in chosen if choice.text is None]
    if stock:
        raise InputError(
            [
                f"{name}: YARN's own scheduler is not simulated (take"
                f" {name.removeprefix('stock:')}, or `loomcard run --on local`)"
                for name in stock
            ]
        )


@contextmanager
def _bars(names: list[str], total: int) -> Iterator[Callable[[int, Step], None]]:
    """Show one bar per run on standard error: simulated time, applications, containers per s."""
    screen = Console(stderr=True)
    text = TextColumn("{task.fields[said]}")
    columns = [TextColumn("{task.description}"), BarColumn(), text, TimeElapsedColumn()]
    with Progress(
        *columns, console=screen, transient=True, disable=not screen.is_terminal
    ) as progress:
        bars = [progress.add_task(name, total=total, said="waits") for name in names]

        def notify(index: int, step: Step) -> None:
            elapsed = progress.tasks[index].elapsed or 1e-9
            said = (
                f"{step.now_ms / 1000:,.0f} s simulated, {step.finished} of {step.applications}"
                f" applications, {step.containers / elapsed:,.0f} containers/s"
            )
            progress.update(bars[index], completed=step.finished, said=said)

        yield notify


def _print(records: list[RunRecord], summaries: list[dict[str, Any]]) -> None:
    out = console()
    if summaries:
        first = summaries[0]
        out.print(
            f"{first['workload']}, seed {first['seed']}: {len(first['applications'])} applications"
        )
        out.print(figures(summaries))
    for record in records:
        left = sum(not app.state for app in record.applications)
        if left and record.finished:
            out.print(
                f"{record.policy}: given up at {record.ended_ms / 1000:,.0f} s, when nothing could"
                f" happen any more and {left} applications had not ended"
            )
    refused = sum(sum(record.refusals.values()) for record in records)
    if refused:
        out.print(f"{refused} decisions were refused: see refusals in --json")


def figures(summaries: list[dict[str, Any]]) -> Table:
    """A row a run; eighty columns hold it. Who failed is in no mean: the caption counts them."""
    table = Table("policy", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("makespan", "waiting", "median", "completion", "median", "used", "Jain", "open"):
        table.add_column(name, justify="right")
    failed = []
    for each in summaries:
        states = [a["state"] for a in each["applications"]]
        good = [a for a in each["applications"] if a["state"] == "SUCCEEDED"]
        if bad := len(states) - len(good) - states.count(""):
            failed.append(f"{each['policy']} {bad}")
        waits = [a["waiting_ms"] for a in good if a["waiting_ms"] is not None]
        ends = [a["completion_ms"] for a in good if a["completion_ms"] is not None]
        table.add_row(
            each["policy"],
            _seconds(each["makespan_ms"]),
            _seconds(mean(waits) if waits else None),
            _seconds(median(waits) if waits else None),
            _seconds(mean(ends) if ends else None),
            _seconds(median(ends) if ends else None),
            f"{max(each['utilization'].values(), default=0):.0%}",
            f"{each['jain']['mean']:.2f}",
            str(states.count("")),
        )
    table.caption = "seconds, mean and median of what succeeded; open: applications not ended"
    if failed:
        table.caption += f"\nfailed applications, left out: {', '.join(failed)}"
    return table


def _seconds(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:,.1f}"
