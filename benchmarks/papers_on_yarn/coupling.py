"""Coupling on a real ResourceManager, compared with ``delay`` and ``fair``: fifty MapReduce jobs at
a time, the paper's 22 jobs (Figure 3, Table IV) and ten Greps without reduces (Figure 13).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any, Final

import polars as pl
from msgspec.structs import replace

from benchmarks.local_maps import local_percent
from benchmarks.papers_on_yarn.dress import scaled
from benchmarks.papers_on_yarn.fifty import Notify, spread
from benchmarks.papers_on_yarn.fifty import fifty as fifty_at_once
from benchmarks.papers_on_yarn.progress import play
from loomcard.report.expectation import starvation_ms
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

ENDS_WELL = ("completed", "released")
WORKLOADS: Final[Mapping[str, tuple[str, str]]] = {
    "coupling-table4": ("coupling-table4", "all"),
    "coupling-table4-ramp": ("coupling-table4", "ramp"),
    "coupling-fig13": ("coupling-fig13", "all"),
}
"""By the part of the study, the workload that is played, and how its AMs ask for reduces."""
DELAY_MS: Final = 15_000
"""T of delay scheduling."""
ROWS: Final[Mapping[str, str]] = {
    "delay": "policy: coupling\noptions: {{reduces: greedy, maps: delay, delay_node_ms: {delay_ms},"
    " delay_rack_ms: 0}}",
    "fair": "policy: fair",
    "coupling": "policy: coupling",
}
"""The policy by the name of a row; the others are compared with the first."""
SLOW_START: Final[Mapping[str, float]] = {"coupling": 0}
"""Slow start of the jobs under a row; other rows use the workload's own, which is Hadoop's."""


def fifty(folder: Path, repeats: int, notify: Notify) -> dict[str, Any]:
    """Run fifty MapReduce jobs at a time under coupling. Return also how many of their containers
    were taken back. Raises as ``play`` does.
    """
    return fifty_at_once(
        "coupling", fifty_jobs, folder, repeats, notify,
        lambda record: {"taken_back": taken_back(record)},
    )  # fmt: skip


def fifty_jobs(seed: int) -> Scenario:
    """Return fifty jobs that come at once, on 25 nodes."""
    file = Path(str(files("benchmarks.papers_on_yarn"))) / "workloads" / "coupling-fifty.yml"
    return load(file, seed=seed)


def compare(
    part: str, folder: Path, seeds: Sequence[int], by: int, notify: Notify
) -> dict[str, Any]:
    """Run the part's workload with its times divided by ``by`` under each row's policy, in an order
    that changes from seed to seed.

    Return minimum, median and maximum over the seeds of each figure (times in the workload's own
    seconds), and of the changes from ``delay`` with the same seed. Raises as ``play`` does, and
    ValueError if an application did not end.
    """
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ROWS}
    for number, seed in enumerate(seeds):
        for name, policy in list(ROWS.items())[:: -1 if number % 2 else 1]:
            notify(f"{part}, seed {seed}: {name}")
            place = folder / f"{seed}-{name}"
            place.mkdir(parents=True, exist_ok=True)
            config = place / "setup.yml"
            said = policy.format(delay_ms=DELAY_MS // by)
            config.write_text(f"version: 1\nkind: policy\n{said}\n", "utf-8")
            wanted = jobs_of(part, seed, by, name)
            found[name].append(figures(wanted, play(wanted, config, folder=place), place, by))
    base = found[next(iter(ROWS))]
    table = {}
    for name, runs in found.items():
        changes = {
            f"{key}_change": spread(
                [one[key] / other[key] - 1 for one, other in zip(runs, base, strict=True)]
            )
            for key in ("completion_s", "makespan_s")
        }
        table[name] = {key: spread([run[key] for run in runs]) for key in runs[0]} | changes
    return {"workload": part, "time_divided_by": by, "seeds": list(seeds), "rows": table}


def jobs_of(part: str, seed: int, by: int, row: str) -> Scenario:
    """Return the scenario that is played under a row."""
    workload, asks = WORKLOADS[part]
    vary = {"slowstart": SLOW_START[row]} if row in SLOW_START else {}
    made = load(Path(workload), seed=seed, vary=vary)
    applications = [replace(each, reduce_asks=asks) for each in made.applications]
    return scaled(replace(made, applications=applications), by)


def figures(wanted: Scenario, record: RunRecord, folder: Path, by: int) -> dict[str, float]:
    """Return the figures of one run, times in the workload's own seconds; write the summary to
    ``folder``.
    """
    run = summary(record)
    (folder / "summary.json").write_text(json.dumps(run, indent=1) + "\n")
    times = [row["completion_ms"] for row in run["applications"]]
    if None in times:
        raise ValueError(f"{record.workload} under {record.policy}: not every application ended")
    columns = ("application", "stage", "started_ms", "finished_ms")
    rows = [row for row in record.containers if not row.is_am and row.kind == "completed"]
    there = pl.DataFrame(
        {name: [getattr(row, name) for row in rows] for name in columns},
        schema={"application": pl.String, "stage": pl.String}
        | dict.fromkeys(columns[2:], pl.Int64),
    )
    late_ms = starvation_ms(there, [app.id for app in wanted.applications])
    ran = [(row.application, row.stage, row.task, row.node) for row in rows]
    refused, allocated = sum(record.refusals.values()), len(record.containers)
    return {
        "completion_s": mean(times) * by / 1000,
        "starvation_s": float(late_ms.mean()) * by / 1000,
        "makespan_s": run["makespan_ms"] * by / 1000,
        "local_percent": local_percent(wanted.applications, ran) or 0.0,
        "refused_percent": 100 * refused / max(1, allocated + refused),
        "taken_back": taken_back(record),
    }


def taken_back(record: RunRecord) -> int:
    """Count the containers that neither completed nor were given back unused: preempted, killed,
    lost.
    """
    return sum(row.kind not in ENDS_WELL for row in record.containers)
