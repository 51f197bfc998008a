"""All four papers in one configuration (policies/organisations.yml) beside each paper's own policy,
on that paper's headline workload, in the simulator or on a real ResourceManager.

    python -m benchmarks.combined_card [--seeds 20] [--only dress] [--on yarn]

Under the card the jobs of a workload go to the queue for their kind of work; under the paper's
policy they have one queue, or the paper's tree. The change is that from paper to card by seed, with
the 95 % interval of its mean (bootstrap over seeds). The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from benchmarks.papers_on_yarn.dress import (
    WARM_UP_MS,
    scaled,
    scaled_options,
    warmed_up,
    without_warm_up,
)
from benchmarks.papers_on_yarn.progress import play
from loomcard.config import compile_config
from loomcard.config.shipped import PACKAGE
from loomcard.report.figures import interval
from loomcard.results.metrics import facts
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload import load

CARD = Path(__file__).parents[1] / "policies" / "organisations.yml"


@dataclass(frozen=True)
class Headline:
    """One figure of a paper. ``policy``: the paper's, by name or a file of the experiments;
    ``leaves``: where the card has the jobs of each queue ("": of all queues). ``measure``:
    completion_ms or waiting_ms, the mean ``of`` the jobs with that tag; or the share that a queue
    has of the vcores, from 300 to 1,000 s (more is better).
    """

    name: str
    workload: str
    policy: str
    leaves: Mapping[str, str]
    measure: str = "completion_ms"
    of: str = ""
    vary: Mapping[str, Any] = field(default_factory=dict)

    def leaf(self, queue: str) -> str:
        """Return where the card has the jobs of a queue."""
        return self.leaves.get(queue, self.leaves.get("", queue))


class Runs(dict[tuple[str, int], tuple[RunRecord, RunRecord]]):
    """By workload and seed, the runs under the paper's policy and under the card."""


_HEARTBEAT = {"cluster.heartbeat_ms": 3000}
"""Coupling counts heartbeats, so a cluster under the card has them."""
_SMALLER = {"gap_ms": 0, "jobs": 20, "servers": 5, "width": 4, "widest": 40}
_DRESS = {"": "root.shop.web"}
_CARBYNE = {"": "root.shop.reports"}
_COUPLING = {"": "root.shop.etl"}
_HDRF = {
    "root.n1.n1_1": "root.shop.web",
    "root.n2.n2_1": "root.lab.train",
    "root.n2.n2_2": "root.lab.prepare",
}

HEADLINES = (
    Headline("dress, Fig. 7: small jobs' completion", "dress-s", "dress", _DRESS, of="small"),
    Headline("dress, Table II: mean wait", "dress-s", "dress", _DRESS, "waiting_ms"),
    Headline("dress, Table II: mean completion", "dress-s", "dress", _DRESS),
    Headline(
        "carbyne, Fig. 4: mean completion", "carbyne-tpcds", "carbyne", _CARBYNE,
        vary={**_SMALLER, **_HEARTBEAT},
    ),
    Headline(
        "coupling, Fig. 3: mean completion", "coupling-table4", "coupling", _COUPLING,
        vary={"slowstart": 0},
    ),
    Headline(
        "coupling, Fig. 1: mean completion", "coupling-fig1", "coupling", _COUPLING,
        vary={"slowstart": 0},
    ),
    Headline("hdrf, Fig. 4: n2_1's share", "hdrf-fig4", "hdrf-fig4/paper.yml", _HDRF,
             "root.n2.n2_1", vary=_HEARTBEAT),
)  # fmt: skip


@dataclass(frozen=True)
class Yarn:
    """Runs on a real ResourceManager: where they are kept, and what all times are divided by."""

    folder: Path
    by: int


def figure(
    headline: Headline, record: RunRecord, leaf: str, by: int = 1, from_ms: int = 0
) -> float:
    """Return the figure of a run in percent or seconds of the workload; ``leaf``: where the run has
    the queue; ``by``: what the run's times are divided by; ``from_ms``: when its first job comes.
    """
    if headline.measure.startswith("root."):
        between = from_ms + 300_000 // by, from_ms + 1_000_000 // by
        jobs = {app.id for app in record.applications if app.queue == leaf}
        held = 0
        for row in record.containers:
            if row.application in jobs and row.allocated_ms is not None:
                ended = between[1] if row.finished_ms is None else row.finished_ms
                inside = min(ended, between[1]) - max(row.allocated_ms, between[0])
                held += row.size[1] * max(0, inside)
        return 100 * held / (record.capacity[0][1][1] * (between[1] - between[0]))
    rows = [
        row[headline.measure]
        for row in facts(record)["applications"]
        if headline.of in ("", *row["tags"])
    ]
    assert rows
    assert all(value is not None for value in rows), "a job has not ended"
    return float(np.mean(rows)) * by / 1000


def run(headline: Headline, seed: int, yarn: Yarn | None = None) -> tuple[RunRecord, RunRecord]:
    """Return the run under the paper's policy and that under the card. Raises as ``play`` does."""
    scenario = load(Path(headline.workload), seed=seed, vary=headline.vary)
    own = f"version: 1\nkind: policy\npolicy: {headline.policy}\n"
    if headline.policy.endswith(".yml"):
        own = (PACKAGE / "experiments" / "shipped" / headline.policy).read_text("utf-8")
    moved = [replace(app, queue=headline.leaf(app.queue)) for app in scenario.applications]
    both = (
        ("paper", own, scenario),
        ("card", CARD.read_text("utf-8"), replace(scenario, applications=moved)),
    )
    if yarn is None:
        records = [
            simulate(jobs, compile_config(text, name), policy=name) for name, text, jobs in both
        ]
        return records[0], records[1]
    played = {}
    for name, text, jobs in both[:: -1 if seed % 2 == 0 else 1]:
        place = yarn.folder / f"{headline.workload}-{seed}-{name}"
        place.mkdir(parents=True, exist_ok=True)
        config = place / f"{name}.yml"
        config.write_text(yaml.safe_dump(scaled_options(yaml.safe_load(text), yarn.by)), "utf-8")
        played[name] = without_warm_up(play(warmed_up(scaled(jobs, yarn.by)), config, folder=place))
    return played["paper"], played["card"]


def row(
    headline: Headline, seeds: Sequence[int], runs: Runs, yarn: Yarn | None = None
) -> dict[str, Any]:
    """Return the means of both over the seeds, and the change with its interval; ``runs`` keeps
    what was run, for other headlines of the workload.
    """
    by, from_ms = (1, 0) if yarn is None else (yarn.by, WARM_UP_MS)
    pairs = []
    for seed in seeds:
        key = headline.workload, seed
        if key not in runs:
            runs[key] = run(headline, seed, yarn)
        queues = headline.measure, headline.leaf(headline.measure)
        pairs.append(
            [
                figure(headline, record, leaf, by, from_ms)
                for record, leaf in zip(runs[key], queues, strict=True)
            ]
        )
    both = np.array(pairs)
    changes = 100 * (both[:, 1] / both[:, 0] - 1)
    low, high = interval(changes, np.mean, headline.name)
    paper, card = both.mean(axis=0)
    return {
        "headline": headline.name, "seeds": len(seeds), "paper": round(float(paper), 2),
        "card": round(float(card), 2), "change": round(float(changes.mean()), 2),
        "low": low, "high": high,
    }  # fmt: skip


def main() -> None:
    """Parse the command line, run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="", help="a part of the headlines' names")
    parser.add_argument("--on", choices=("simulator", "yarn"), default="simulator")
    parser.add_argument(
        "--out", type=Path, default=Path("results/combined-card"), help="on yarn: of the runs"
    )
    parser.add_argument("--time-divided-by", type=int, default=10, help="on yarn")
    wanted = parser.parse_args()
    yarn = Yarn(wanted.out, wanted.time_divided_by) if wanted.on == "yarn" else None
    table = Table("headline", "paper's policy", "card", "change", "95 % interval")
    rows, runs = [], Runs()
    for headline in HEADLINES:
        if wanted.only not in headline.name:
            continue
        found = row(headline, range(1, wanted.seeds + 1), runs, yarn)
        rows.append(found)
        bounds = "" if found["low"] is None else f"{found['low']:+.1f} to {found['high']:+.1f} %"
        table.add_row(
            headline.name, f"{found['paper']:.1f}", f"{found['card']:.1f}",
            f"{found['change']:+.1f} %", bounds,
        )  # fmt: skip
    Console().print(table)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
