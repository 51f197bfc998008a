"""What the CPU of an allocation grows with: one dimension of a full cluster changes at a time.

Run it with `make bench-curve`; docs/benchmarks/speed.md has the results.
"""

import json
import signal
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from benchmarks.speed import bridge
from benchmarks.speed.bridge_figures import Window

BASE = {
    "nodes": 1000, "slots": 40, "applications": 200, "queues": 4, "shapes": 1, "warm_s": 30,
    "windows": 3, "window_s": 5, "paced_windows": 0, "light_windows": 0,
}  # fmt: skip
"""Each point changes one number of this load. The cluster has 40,000 slots, however many nodes it
has; 400 queues and 100 sizes need more applications.
"""
POINTS: tuple[dict[str, int], ...] = (
    {},
    {"nodes": 100, "slots": 400},
    {"nodes": 10_000, "slots": 4},
    {"applications": 20},
    {"applications": 400},
    {"applications": 2_000},
    {"applications": 10_000},
    {},
    {"queues": 40},
    {"queues": 400, "applications": 400},
    {"shapes": 10},
    {"shapes": 100, "applications": 400},
    {},
)
"""In the order in which they are measured. The base comes again: a machine's speed changes."""
OURS = ("scheduler", "round", "python")
"""The groups of threads that schedule. Masters, dispatcher and collector have their own costs."""


class Point(msgspec.Struct, frozen=True):
    """Medians over the windows of one point, in microseconds of CPU per container: of all that
    counts, of what schedules, and of the policy process alone.
    """

    changed: dict[str, int]
    allocations_per_s: float
    all_us: float
    ours_us: float
    python_us: float


def point(changed: dict[str, int], windows: Sequence[Window]) -> Point:
    """Return the figures of a point from its windows."""

    def middle(*groups: str) -> float:
        sums = [sum(map(window.group_us_per_allocation, groups)) for window in windows]
        return round(statistics.median(sums), 1)

    rate = statistics.median(map(Window.allocations_per_s, windows))
    total = statistics.median(map(Window.cpu_us_per_allocation, windows))
    return Point(changed, round(rate), round(total, 1), middle(*OURS), middle("python"))


def main(
    policy: Annotated[str, typer.Option(help="A built-in policy.")] = "drf",
    heap: Annotated[str, typer.Option(help="Heap of each JVM.")] = "4g",
    python: Annotated[
        Path, typer.Option(help="The policy process's interpreter.", exists=True, dir_okay=False)
    ] = bridge.Trial.python,
) -> None:
    """Measure every point once, a minute or two each; the last line is JSON."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    (ours,) = bridge.ours_of([policy])
    found = []
    try:
        for changed in POINTS:
            trial = bridge.Trial(BASE | changed, heap, python=python)
            windows = list(bridge.measure(ours, 0, trial))
            for window in windows:
                bridge.check(window)
            one = point(changed, windows)
            what = ", ".join(f"{name} {value}" for name, value in changed.items()) or "base"
            print(
                f"{what}: {one.all_us} us an allocation; scheduling {one.ours_us}, of which the"
                f" policy process {one.python_us}; {one.allocations_per_s:,} allocations/s",
                flush=True,
            )
            found.append(one)
    except bridge.BenchError as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    print(json.dumps(msgspec.to_builtins(found)))


if __name__ == "__main__":
    typer.run(main)
