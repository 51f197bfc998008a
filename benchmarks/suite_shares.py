"""What the queues of a suite's run hold while all of them want more, beside H-DRF's static
allocation (Algorithm 1).

    loomcard suite run hdrf-users --on docker --policy policies/hdrf-users.yml --out run/hdrf-users
    python -m benchmarks.suite_shares run/hdrf-users

The steady phase begins some seconds after each queue had its first task, and ends when the first
queue was allocated its last container. A queue's containers count in the mean of those that it
holds in that phase, AMs and tasks: so many of them the static allocation gives it, as a fluid.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import polars as pl
from rich.console import Console
from rich.table import Table

from loomcard.policies.hdrf.paper import Node, static_hdrf
from loomcard.report.runs import Run, read_study

SETTLE_MS = 20_000
EVERY_MS = 1_000
SERIES_MS = 15_000
SLICE = 1e-4
"""A slice of the static allocation, as a part of the cluster."""


@dataclass(frozen=True)
class Leaf:
    """A queue in the steady phase: its mean container, how many of them the static allocation gives
    it, how many it had, and the mean of each step of the whole run.
    """

    container: tuple[float, ...]
    static: float
    median: float
    least: int
    most: int
    series: list[float]

    @property
    def apart(self) -> float:
        """Return how many containers the median is from the static allocation."""
        return abs(self.median - self.static)


def steady(rows: pl.DataFrame, settle_ms: int = SETTLE_MS) -> tuple[int, int]:
    """Return the phase in which every queue wants more: its begin and end, in ms. Raises ValueError
    if there is none. `rows`: containers with `queue`, `is_am` and `allocated_ms`.
    """
    tasks = rows.filter(~pl.col("is_am")).group_by("queue")
    spans = tasks.agg(first=pl.col("allocated_ms").min(), last=pl.col("allocated_ms").max())
    begin, end = (
        int(spans["first"].to_numpy().max()) + settle_ms,
        int(spans["last"].to_numpy().min()),
    )
    if end - begin < EVERY_MS:
        raise ValueError(f"no time from {begin} to {end} ms in which every queue wants more")
    return begin, end


def static_counts(
    containers: Mapping[str, Sequence[float]],
    weights: Mapping[str, float],
    capacity: Sequence[float],
) -> dict[str, float]:
    """Return how many containers the static allocation gives each leaf queue, by path.
    `containers`: the size of one; `weights`: of every queue on the way, 1 if it is not named.
    """
    nodes: dict[str, Node] = {}

    def node(path: str) -> Node:
        if path not in nodes:
            weight, demand = weights.get(path, 1.0), tuple(containers.get(path, ()))
            nodes[path] = Node(path, weight, None if demand else [], demand=demand)
            parent = path.rpartition(".")[0]
            if parent:
                node(parent).add(nodes[path])
        return nodes[path]

    leaves = {path: node(path) for path in containers}
    root = next(iter(leaves.values())).path()[-1]
    held = static_hdrf(root, tuple(capacity), SLICE)
    return {
        path: max(got / need for got, need in zip(held[leaf], leaf.demand, strict=True) if need)
        for path, leaf in leaves.items()
    }


def leaves_of(run: Run, settle_ms: int = SETTLE_MS) -> tuple[tuple[int, int], dict[str, Leaf]]:
    """Return the steady phase of a run, and its leaf queues by path. Raises ValueError."""
    queues = {each["id"]: each["queue"] for each in run.facts["applications"]}
    rows = run.containers().with_columns(
        queue=pl.col("application").replace_strict(queues, return_dtype=pl.String),
        finished_ms=pl.col("finished_ms").fill_null(run.facts["makespan_ms"]),
    )
    phase = steady(rows, settle_ms)
    resources = run.facts["resource_types"]
    own = {str(key): part for (key,), part in sorted(rows.group_by("queue"))}
    held = {
        path: [_count(part, at) for at in range(*phase, EVERY_MS)] for path, part in own.items()
    }
    sizes = {path: _mean_size(part, phase, resources) for path, part in own.items()}
    weights = {path: each["weight"] for path, each in run.facts["queues"].items()}
    due = static_counts(sizes, weights, run.facts["capacity"][0][1])
    last = int(rows["finished_ms"].to_numpy().max())
    return phase, {
        path: Leaf(
            sizes[path], due[path], median(held[path]), min(held[path]), max(held[path]),
            [_mean(part, at) for at in range(0, last, SERIES_MS)],
        )
        for path, part in own.items()
    }  # fmt: skip


def _count(rows: pl.DataFrame, at_ms: int) -> int:
    there = (pl.col("allocated_ms") <= at_ms) & (at_ms < pl.col("finished_ms"))
    return rows.filter(there).height


def _mean(rows: pl.DataFrame, from_ms: int) -> float:
    counts = [_count(rows, at) for at in range(from_ms, from_ms + SERIES_MS, EVERY_MS)]
    return round(sum(counts) / len(counts), 1)


def _mean_size(
    rows: pl.DataFrame, phase: tuple[int, int], resources: Sequence[str]
) -> tuple[float, ...]:
    """Return the mean of the containers that it has in the phase, each weighted by its time
    there.
    """
    inside = rows.with_columns(
        ms=(
            pl.min_horizontal("finished_ms", pl.lit(phase[1]))
            - pl.max_horizontal("allocated_ms", pl.lit(phase[0]))
        ).clip(0)
    )
    held_ms = inside["ms"].to_numpy()
    means = [(inside[name].to_numpy() * held_ms).sum() / held_ms.sum() for name in resources]
    return tuple(round(float(mean), 3) for mean in means)


def main() -> None:
    """Print each run's table, and one line of JSON."""
    parser = argparse.ArgumentParser(prog="suite_shares", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settle-ms", type=int, default=SETTLE_MS)
    asked = parser.parse_args()
    printed = []
    for run in read_study([asked.folder]).runs:
        if "foretold" in run.policy:
            continue
        phase, leaves = leaves_of(run, asked.settle_ms)
        seconds = f"{phase[0] / 1000:.0f} to {phase[1] / 1000:.0f} s"
        names = ("queue", "container", "static", "median", "least", "most", "apart")
        table = Table(*names, title=f"{run.policy}, seed {run.seed}: containers from {seconds}")
        for path, leaf in leaves.items():
            size = ", ".join(f"{amount:.2f}".rstrip("0").rstrip(".") for amount in leaf.container)
            figures = (leaf.static, leaf.median, leaf.least, leaf.most, leaf.apart)
            table.add_row(path, size, *(f"{each:.1f}" for each in figures))
        Console().print(table)
        found = {path: asdict(leaf) | {"apart": leaf.apart} for path, leaf in leaves.items()}
        printed.append({"policy": run.policy, "seed": run.seed, "phase_ms": phase, "leaves": found})
    print(json.dumps(printed))


if __name__ == "__main__":
    main()
