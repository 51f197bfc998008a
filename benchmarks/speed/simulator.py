"""The bench of the simulator: its time and memory, by the number of tasks.

Each cell runs in a process of its own. docs/benchmarks/speed.md says what is measured and what is
not. Run it with `make bench-simulator`.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.speed import kernels, sls
from benchmarks.speed.simulator_cell import Figures
from benchmarks.speed.simulator_load import Cell, cells, config
from loomcard.simulator import simulate

POLICIES = ("drf", "capacity", "tetris")
NODES = (100, 5_000)
FULL = {10_000: 3, 100_000: 3, 1_000_000: 1}
"""By the number of tasks: how often each cell of that size is measured."""
QUICK = {10_000: 1, 30_000: 1}
KERNEL_TASKS = 200_000
KERNEL_SLOTS = 1_600
SLS_QUICK = sls.Trace(nodes=50, jobs=10, map_ms=8_000, reduce_ms=8_000)
ROOT = Path(__file__).resolve().parents[2]
CELL_LIMIT_S = 3_600


class BenchError(Exception):
    """A cell could not be measured; the text says why."""


def measure(cell: Cell, python: Path = Path(sys.executable)) -> Figures:
    """Measure one cell, in a process of its own. Raises BenchError."""
    command = [str(python), "-m", "benchmarks.speed.simulator_cell"]
    done = subprocess.run(  # noqa: S603
        command, input=msgspec.json.encode(cell), capture_output=True, timeout=CELL_LIMIT_S,
        cwd=ROOT, check=False,
    )  # fmt: skip
    if done.returncode:
        raise BenchError(f"{cell} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Figures)


def line(measured: Iterable[Figures]) -> list[dict[str, float | int | str]]:
    """Return one object per policy, cluster and count of tasks: medians over repeats, but the
    largest peak memory.
    """
    found: list[dict[str, float | int | str]] = []
    for (policy, nodes, tasks), runs in _by_cell(measured).items():
        found.append({
            "policy": policy, "nodes": nodes, "tasks": tasks,
            "seconds": round(median(f.seconds for f in runs), 2),
            "cpu_seconds": round(median(f.cpu_seconds for f in runs), 2),
            "tasks_per_cpu_s": round(tasks / median(f.cpu_seconds for f in runs)),
            "peak_mb": max(f.peak_mb for f in runs),
        })  # fmt: skip
    return found


def _by_cell(measured: Iterable[Figures]) -> dict[tuple[str, int, int], list[Figures]]:
    grouped: dict[tuple[str, int, int], list[Figures]] = {}
    for figures in measured:
        cell = figures.cell
        grouped.setdefault((cell.policy, cell.nodes, cell.tasks), []).append(figures)
    return {key: grouped[key] for key in sorted(grouped)}


def table(measured: Iterable[Figures]) -> Table:
    """Return a table of all cells, CPU time as minimum / median / maximum over repeats."""
    result = Table(title="simulated tasks: minimum / median / maximum over repeats")
    columns = ("policy", "nodes", "tasks", "CPU us a task", "tasks per CPU s", "seconds",
               "peak MB", "use")  # fmt: skip
    for name in columns:
        result.add_column(name, justify="left" if name == "policy" else "right")
    for (policy, nodes, tasks), runs in _by_cell(measured).items():
        each = sorted(f.cpu_seconds / tasks * 1e6 for f in runs)
        result.add_row(
            policy, f"{nodes:,}", f"{tasks:,}",
            f"{each[0]:.0f} / {median(each):.0f} / {each[-1]:.0f}",
            f"{1e6 / median(each):,.0f}", f"{median(f.seconds for f in runs):,.1f}",
            f"{max(f.peak_mb for f in runs):,}", f"{runs[0].utilization:.0%}",
        )  # fmt: skip
    return result


def bare_kernels(tasks: int) -> dict[str, float | int]:
    """Return the timed completions per CPU second of SimPy's kernel and of ours. Raises BenchError
    if they do not end at the same time.
    """
    lengths_ms = kernels.lengths(tasks)
    theirs, their_end = kernels.on_simpy(lengths_ms, KERNEL_SLOTS)
    ours, our_end = kernels.on_ours(lengths_ms, KERNEL_SLOTS)
    if our_end != their_end:
        raise BenchError(f"SimPy ends at {their_end} ms, the Clock at {our_end} ms")
    rates = {"simpy_per_cpu_s": round(tasks / theirs), "clock_per_cpu_s": round(tasks / ours)}
    return {"tasks": tasks, **rates}


def beside_sls(trace: sls.Trace) -> Iterator[dict[str, float | int | str]]:
    """Run YARN's load simulator and ours on the same trace, under each of its schedulers. Raises
    SlsError.
    """
    sls.resolve()
    for scheduler in sls.SCHEDULERS:
        theirs = sls.run(scheduler, trace)
        given, compiled = sls.scenario(trace, theirs.submitted_ms), config(scheduler)
        began, cpu = perf_counter(), process_time()
        record = simulate(given, compiled, policy=scheduler)
        ours, our_cpu = perf_counter() - began, process_time() - cpu
        if len(record.containers) != trace.containers:
            raise BenchError(f"{len(record.containers)} containers, {trace.containers} expected")
        yield {
            "scheduler": scheduler, "containers": trace.containers,
            "makespan_s": record.ended_ms / 1000, "sls_makespan_s": theirs.seconds,
            "seconds": round(ours, 2), "sls_seconds": theirs.process_seconds,
            "ratio": round(theirs.process_seconds / ours, 1),
            "cpu_us_a_container": round(our_cpu / trace.containers * 1e6),
            "sls_cpu_us_a_container": round(theirs.cpu_seconds / trace.containers * 1e6),
            "sls_peak_mb": theirs.peak_mb,
        }  # fmt: skip


def run(plan: Sequence[Cell], processes: int, out: Path) -> list[Figures]:
    """Measure all cells, ``processes`` at a time, each result written to ``out`` as it comes."""
    found: list[Figures] = []
    with out.open("a") as records, ThreadPoolExecutor(processes) as pool:
        for figures in pool.map(measure, plan):
            found.append(figures)
            records.write(msgspec.json.encode(figures).decode() + "\n")
            records.flush()
            cell = figures.cell
            name = f"{cell.policy}, {cell.nodes:,} nodes, {cell.tasks:,} tasks"
            print(f"{name}: {figures.cpu_seconds:.1f} CPU s, {figures.peak_mb} MB", file=sys.stderr)
    return found


def main(
    quick: Annotated[bool, typer.Option(help="Small cells only; about two minutes.")] = False,
    with_sls: Annotated[
        bool, typer.Option("--sls", help="Beside YARN's SLS, too; Maven brings it.")
    ] = False,
    policies: Annotated[str, typer.Option(help="With commas between.")] = ",".join(POLICIES),
    processes: Annotated[int, typer.Option(help="Cells measured at a time.", min=1)] = 2,
    out: Annotated[Path, typer.Option(help="JSON lines; further runs are appended.")] = Path(
        "results/bench-simulator.jsonl"
    ),
) -> None:
    """Measure the simulator; the last line is JSON."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    load = QUICK if quick else FULL
    plan = list(cells(policies.split(","), NODES, load))
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        measured = run(plan, processes, out)
        summary: dict[str, object] = {
            "cells": line(measured),
            "kernel": bare_kernels(KERNEL_TASKS),
        }
        if with_sls:
            summary["sls"] = list(beside_sls(SLS_QUICK if quick else sls.Trace()))
    except (BenchError, sls.SlsError) as error:
        typer.echo(f"bench-simulator: {error}", err=True)
        raise typer.Exit(1) from None
    Console(width=None if sys.stdout.isatty() else 120).print(table(measured))
    print(json.dumps(summary))


if __name__ == "__main__":
    typer.run(main)
