"""How much of its share a job leaves, and what that goes with: Carbyne's section 2.2 (E3 and E4 of
docs/papers/carbyne.md), from the schedules of ``policies.carbyne.paper``, a job at a time.

    python -m benchmarks.carbyne_leftover --workload carbyne-microsoft --jobs 500

A job's schedule is as late as its end allows; what its share has beyond it is left over.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from loomcard.policies.carbyne import Stage, Wave, inter_job, intra_job
from loomcard.workload import load
from loomcard.workload.scenario import ScenarioApplication
from loomcard.workload.stage_graphs import barriers, path_length

PAPER = {"barriers": 0.75, "critical path": 0.71, "stages": 0.66, "disjoint paths": 0.57}
"""E4: the correlation of what is left over with what a DAG has."""
OFTEN = 0.2
"""E3: half of the time at least this part of the share is left over."""


@dataclass(frozen=True)
class Leftover:
    """What one job leaves of its share: ``mean`` of the dominant resource over its run, ``amount``:
    the mean times the run's length (shares times ms), ``often``: the part of the run with at least
    ``OFTEN``, and the properties of its DAG.
    """

    mean: float
    amount: float
    often: float
    stages: int
    barriers: int
    critical_path: int
    disjoint_paths: int


def leftover_of(app: ScenarioApplication, capacity: Sequence[float], part: float) -> Leftover:
    """Return what a job leaves whose share is this part of the cluster, along the demand of its
    whole DAG.
    """
    stages = [
        Stage(len(s.durations_ms), [float(a) for a in s.size], float(np.mean(s.durations_ms)),
              s.after)
        for s in app.stages
    ]  # fmt: skip
    demand = [sum(s.tasks * s.dur * s.size[r] for s in stages) for r in range(len(capacity))]
    whole, _ = inter_job([demand], [1.0], capacity)
    share = [amount * part for amount in whole[0]]
    found = intra_job(stages, share, capacity)
    at, used = usage(found.late, stages, found.end)
    free = 1 - (used / np.array(share)).max(axis=1)
    lengths = np.diff([*at, found.end])
    amount = float((np.maximum(free, 0) * lengths).sum())
    return Leftover(
        amount / found.end, amount, float(lengths[free >= OFTEN].sum() / found.end),
        len(stages), barriers(app.stages), path_length(app.stages), disjoint_paths(app),
    )  # fmt: skip


def usage(
    waves: Sequence[Wave], stages: Sequence[Stage], end: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return what waves use from each moment on, one row for each moment, until ``end``."""
    rows = [(max(0.0, wave.start), wave.end, wave.stage, wave.tasks) for wave in waves]
    at = np.unique([0.0, *(start for start, *_ in rows), *(stop for _, stop, *_ in rows)])
    at = at[at < end * (1 - 1e-9)]
    change = np.zeros((len(at) + 1, len(stages[0].size)))
    for start, stop, stage, tasks in rows:
        amounts = tasks * np.array(stages[stage].size)
        change[np.searchsorted(at, start)] += amounts
        change[np.searchsorted(at, stop)] -= amounts
    return at, change[:-1].cumsum(axis=0)


def disjoint_paths(app: ScenarioApplication) -> int:
    """Return the least number of paths that contain every stage once: the stages less the largest
    matching of parents with children.
    """
    children: list[list[int]] = [[] for _ in app.stages]
    for i, stage in enumerate(app.stages):
        for parent in stage.after:
            children[parent].append(i)
    taken: dict[int, int] = {}

    def match(parent: int, seen: set[int]) -> bool:
        for child in children[parent]:
            if child not in seen:
                seen.add(child)
                if child not in taken or match(taken[child], seen):
                    taken[child] = parent
                    return True
        return False

    return len(children) - sum(match(i, set()) for i in range(len(children)))


def correlations(rows: Sequence[Leftover]) -> dict[str, float]:
    """Return Spearman's rank correlation of the left-over amount with each property."""
    ranks = {name: _ranks([getattr(row, name) for row in rows]) for name in asdict(rows[0])}
    names = ("stages", "barriers", "critical_path", "disjoint_paths")
    return {
        name.replace("_", " "): round(float(np.corrcoef(ranks["amount"], ranks[name])[0, 1]), 3)
        for name in names
    }


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Return the ranks; equal values have the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return (last - (counts - 1) / 2)[place]


def main() -> None:
    """Print the two tables, and one line of JSON."""
    parser = argparse.ArgumentParser(prog="carbyne_leftover", description=__doc__)
    parser.add_argument("--workload", default="carbyne-microsoft")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--part", type=float, default=0.02, help="of the cluster, a job's share")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scenario = load(Path(options.workload), seed=options.seed, vary={"jobs": options.jobs})
    sizes = [node.capacity for node in scenario.nodes]
    capacity = [float(sum(amounts)) for amounts in zip(*sizes, strict=True)]
    rows = [leftover_of(app, capacity, options.part) for app in scenario.applications]
    found = correlations(rows)
    table = Table(title=f"{options.workload}: {len(rows)} jobs, each in {options.part:.3g} of it")
    for name in ("", "paper", "ours"):
        table.add_column(name)
    often = float(np.mean([row.often for row in rows]))
    table.add_row(f"part of the time with at least {OFTEN:.0%} left over", "0.5", f"{often:.2f}")
    for name, paper in PAPER.items():
        table.add_row(f"correlation with {name}", f"{paper}", f"{found[name]:.2f}")
    console = Console()
    console.print(table)
    mean = float(np.mean([row.mean for row in rows]))
    print(json.dumps({"often": often, "mean": mean, "correlations": found}))


if __name__ == "__main__":
    main()
