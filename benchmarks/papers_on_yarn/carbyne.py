"""Carbyne on a real ResourceManager: Figure 2, fifty applications at a time, and fifty jobs like
the paper's that come at once or one by one. They are compared with other policies, with less
altruism, and with what the simulator predicts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.papers_on_yarn.dress import scaled, warmed_up, without_warm_up
from benchmarks.papers_on_yarn.fifty import Notify, spread
from benchmarks.papers_on_yarn.fifty import fifty as fifty_at_once
from benchmarks.papers_on_yarn.progress import play
from loomcard.config import compile_config
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

UNIT_MS: Final = 5_000
"""The unit of time of Figure 2."""
FIG2: Final[Mapping[str, tuple[str, str, float]]] = {
    "strict": ("strict", "unmarked", 2.05),
    "drf": ("drf", "unmarked", 1.55),
    "carbyne, by the hint": ("carbyne", "unmarked", 1.55),
    "carbyne, by the AMs' marks": ("carbyne", "altruistic", 1.55),
}
"""By the name of a row: the policy, who plans, and the figure's mean completion."""

HEARTBEAT_MS: Final = 100
JOBS: Final = 50
SERVERS: Final = 20
WIDTH: Final = {"width": 4, "widest": 150}
"""A quarter of the tasks per stage of ``carbyne-tpcds``."""
GAP_MS: Final = 25_000
"""Between two jobs that come one by one: 20 s in the paper, where a job has four times the tasks
and the cluster five times the servers.
"""
POLICIES: Final[Mapping[str, str]] = {"drf": "", "carbyne": "", "tetris": "", "sjf": ""}
ONLINE: Final[Mapping[str, str]] = {**POLICIES, "the letter": "{most_borrowed: 0}"}
ALTRUISM: Final[Mapping[str, str]] = {
    "drf": "",
    "P = 0": "{altruism: 0.0}",
    "P = 0.5": "{altruism: 0.5}",
    "P = 1": "{altruism: 1.0}",
}
"""Options by the name of a row; the name is that of the policy, or a variant of carbyne."""

FIFTY: Final = 50

_Figures = tuple[float, float]
"""Mean completion and makespan, in seconds."""


def fig2(folder: Path, repeats: int, notify: Notify) -> dict[str, Any]:
    """Return the completions of Figure 2's jobs in its unit of time. Time begins when the
    application ends that occupies the machine until both jobs are there. Raises as ``play`` does.
    """
    ends: dict[str, list[list[float]]] = {name: [] for name in FIG2}
    for repeat in range(repeats):
        for name, (policy, asks, _) in _in_turn(FIG2, repeat):
            notify(f"fig2, repeat {repeat + 1}: {name}")
            place = folder / f"{repeat}-{policy}-{asks}"
            ends[name].append(gated_ends(play(gated(asks), policy, folder=place)))
    return {
        name: {
            "paper": paper,
            "j1": spread([one for one, _ in ends[name]]),
            "j2": spread([two for _, two in ends[name]]),
            "mean": spread([mean(both) for both in ends[name]]),
        }
        for name, (_, _, paper) in FIG2.items()
    }


def gated(asks: str) -> Scenario:
    """Return the figure's two jobs, which come while an application occupies the whole machine. The
    first task of either starts when that application ends, at their time 0. ``asks``: as in an
    application.
    """
    file = Path(str(files("benchmarks.papers_on_yarn"))) / "workloads" / "carbyne-fig2.yml"
    return load(file, seed=1, vary={"unit_ms": UNIT_MS, "asks": asks})


def gated_ends(record: RunRecord) -> list[float]:
    """Return when j1 and j2 end, in units of time from the end of the gate (the application that
    comes first). Raises ValueError if one failed or came after the gate's end.
    """
    gate, *jobs = record.applications
    opened_ms = gate.demanding[-1][1]
    for job in jobs:
        if job.state != "SUCCEEDED" or job.demanding[0][0] >= opened_ms:
            asked = f"{job.id} is {job.state} and asked from {job.demanding[0][0]} ms on"
            raise ValueError(f"{asked}; the gate ended at {opened_ms} ms: the machine was too slow")
    return [(job.demanding[-1][1] - opened_ms) / UNIT_MS for job in jobs]


def fifty(folder: Path, repeats: int, notify: Notify) -> dict[str, Any]:
    """Run fifty applications at a time under carbyne; every second one plans itself. Raises as
    ``play`` does.
    """
    return fifty_at_once("carbyne", fifty_jobs, folder, repeats, notify)


def fifty_jobs(seed: int) -> Scenario:
    """Return fifty applications that come at once, on 25 nodes, with a tenth of the workload's
    times and heartbeats of a second as YARN ships them.
    """
    made = _jobs(seed, FIFTY, servers=25, by=10, heartbeat_ms=1_000)
    applications = [
        replace(app, asks="altruistic" if number % 2 else "unmarked")
        for number, app in enumerate(made.applications)
    ]
    return replace(made, applications=applications)


def compare(
    rows: Mapping[str, str],
    folder: Path,
    seeds: Sequence[int],
    by: int,
    notify: Notify,
    gap_ms: int = 0,
) -> dict[str, Any]:
    """Run fifty jobs under each row's policy, in an order that changes from seed to seed. They come
    at once, or one by one with ``gap_ms`` between two in the mean. Return mean completion and
    makespan in seconds, and both divided by drf's of the same seed, on YARN and in the simulator.
    Raises as ``play`` does, and ValueError if an application did not end.
    """
    found: dict[str, list[_Figures]] = {name: [] for name in rows}
    predicted: dict[str, list[_Figures]] = {name: [] for name in rows}
    for number, seed in enumerate(seeds):
        wanted = warmed_up(_jobs(seed, JOBS, SERVERS, by, HEARTBEAT_MS, gap_ms))
        for name, options in _in_turn(rows, number):
            notify(f"seed {seed}: {name}")
            place = folder / f"{seed}-{name.replace(' ', '')}"
            place.mkdir(parents=True, exist_ok=True)
            config = place / "setup.yml"
            text = _config(name, options)
            config.write_text(text, "utf-8")
            simulated = simulate(wanted, compile_config(text, str(config)), policy=name)
            predicted[name].append(_figures(simulated, place / "predicted.json"))
            played = play(wanted, config, folder=place)
            found[name].append(_figures(played, place / "summary.json"))
    table = {}
    for name, runs in found.items():
        parts, foretold = _to_drf(found, name), _to_drf(predicted, name)
        table[name] = {
            "completion_s": spread([run[0] for run in runs]),
            "makespan_s": spread([run[1] for run in runs]),
            "completion": spread([part[0] for part in parts]),
            "completion_predicted": spread([part[0] for part in foretold]),
            "makespan": spread([part[1] for part in parts]),
            "makespan_predicted": spread([part[1] for part in foretold]),
        }
    return {"jobs": JOBS, "time_divided_by": by, "seeds": list(seeds), "rows": table}


def _to_drf(runs: Mapping[str, Sequence[_Figures]], name: str) -> list[_Figures]:
    """Return a row's figures divided by drf's of the same seed."""
    return [(a[0] / b[0], a[1] / b[1]) for a, b in zip(runs[name], runs["drf"], strict=True)]


def _jobs(
    seed: int, jobs: int, servers: int, by: int, heartbeat_ms: int, gap_ms: int = 0
) -> Scenario:
    vary = {"jobs": jobs, "servers": servers, "gap_ms": gap_ms} | WIDTH
    made = scaled(load(Path("carbyne-tpcds"), seed=seed, vary=vary), by)
    return replace(made, heartbeat_ms=heartbeat_ms, am_heartbeat_ms=heartbeat_ms)


def _config(name: str, options: str) -> str:
    policy = f"policy: carbyne\noptions: {options}" if options else f"policy: {name}"
    return f"version: 1\nkind: policy\n{policy}\n"


def _figures(record: RunRecord, file: Path) -> _Figures:
    run = summary(without_warm_up(record))
    file.write_text(json.dumps(run, indent=1) + "\n")
    times = [row["completion_ms"] for row in run["applications"]]
    if None in times:
        raise ValueError(f"{record.workload} under {record.policy}: not every application ended")
    return mean(times) / 1000, run["makespan_ms"] / 1000


def _in_turn(rows: Mapping[str, Any], number: int) -> list[tuple[str, Any]]:
    """Return all rows, in reverse order every second time."""
    return list(rows.items())[:: -1 if number % 2 else 1]
