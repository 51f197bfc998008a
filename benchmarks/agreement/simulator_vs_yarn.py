"""How well the simulator predicts the embedded cluster: the same workloads and policy files on both
engines, in one table.

The simulator is calibrated once, by one workload of its own: how long a container's launch takes,
and how long an AM's JVM needs until it asks. All other workloads then run with those two numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any, Final

from msgspec.structs import replace

from loomcard.config import compile_config
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

Play = Callable[[Scenario, Path, Path], RunRecord]
"""Runs a scenario under a configuration's file on a real cluster, in a folder."""

POLICIES: Final = {
    "sleep-dags": "drf",
    "mapreduce": "fifo",
    "contention": "fair",
    "locality": "drf",
    "two-queues": "two-queues-policy.yml",
    "failures-and-gpus": "drf",
    "spark": "fifo",
}
"""Each workload of ``agreement_workloads/``, and the policy or configuration that both engines
run.
"""
SEPARATE: Final = 0.15
"""Ends that differ by more than this part of the makespan must come in the same order."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the simulator assumes about this machine, in ms."""

    launch_delay_ms: int
    am_start_ms: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One workload on both engines. ``errors``: the error of each application's completion, as a
    part of the measured one; ``disorder``: pairs of well-separated applications that ended in
    another order.
    """

    workload: str
    policy: str
    applications: int
    containers: int
    errors: dict[str, float]
    mean_absolute_error: float
    measured_makespan_ms: int
    simulated_makespan_ms: int
    makespan_error: float
    disorder: int


def calibrate(play: Play, folder: Path, seed: int) -> Calibration:
    """Return the two numbers, from one run. The launch of a container is the time that a chain of
    stages takes longer than simulated. The start of an AM is the time that an application with an
    AM then still waits longer.
    """
    policy = _policy("drf", folder)
    scenario = _scenario("calibration", seed)
    measured = _completions(play(scenario, policy, folder / "calibration"))
    stages = {app.id: len(app.stages) for app in scenario.applications}
    bare = _completions(_simulate(scenario, policy))
    delay = round(max(0.0, (measured["chain"] - bare["chain"]) / stages["chain"]))
    delayed = _completions(_simulate(replace(scenario, launch_delay_ms=delay), policy))
    return Calibration(delay, round(max(0, measured["managed"] - delayed["managed"])))


def compare(name: str, calibration: Calibration, play: Play, folder: Path, seed: int) -> Comparison:
    """Run one workload on both engines. Raises ValueError if an application did not end."""
    policy = _policy(POLICIES[name], folder)
    scenario = _scenario(name, seed)
    measured = play(scenario, policy, folder / name)
    simulated = _simulate(replace(scenario, **asdict(calibration)), policy)
    return comparison(name, POLICIES[name].removesuffix("-policy.yml"), measured, simulated)


def comparison(name: str, policy: str, measured: RunRecord, simulated: RunRecord) -> Comparison:
    """Return the figures of two runs of one scenario."""
    real, virtual = _completions(measured), _completions(simulated)
    errors = {app: virtual[app] / real[app] - 1 for app in real}
    makespan, foretold = _makespan(measured), _makespan(simulated)
    return Comparison(
        workload=name,
        policy=policy,
        applications=len(real),
        containers=len(measured.containers),
        errors=errors,
        mean_absolute_error=mean(abs(error) for error in errors.values()),
        measured_makespan_ms=makespan,
        simulated_makespan_ms=foretold,
        makespan_error=foretold / makespan - 1,
        disorder=_disorder(_ends(measured), _ends(simulated), SEPARATE * makespan),
    )


def run_all(
    play: Play, folder: Path, seed: int, notify: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Calibrate, then run every workload. Return the document that is written to agreement.json."""
    folder.mkdir(parents=True, exist_ok=True)
    notify("calibration")
    calibration = calibrate(play, folder, seed)
    found = []
    for name in POLICIES:
        notify(name)
        found.append(compare(name, calibration, play, folder, seed))
    document = {
        "calibration": asdict(calibration),
        "seed": seed,
        "workloads": [asdict(each) for each in found],
    }
    (folder / "agreement.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "agreement.md").write_text(table(found))
    return document


def table(found: list[Comparison]) -> str:
    """Return the table of docs/simulate/agreement.md."""
    lines = [
        "| workload | policy | applications | containers | completion: mean absolute error"
        " | largest | makespan measured, simulated | error | pairs out of order |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in found:
        largest = max(each.errors.values(), key=abs)
        lines.append(
            f"| {each.workload} | {each.policy} | {each.applications} | {each.containers}"
            f" | {each.mean_absolute_error:.1%} | {largest:+.1%}"
            f" | {each.measured_makespan_ms / 1000:.1f} s,"
            f" {each.simulated_makespan_ms / 1000:.1f} s"
            f" | {each.makespan_error:+.1%} | {each.disorder} |"
        )
    return "\n".join(lines) + "\n"


def _scenario(name: str, seed: int) -> Scenario:
    return load(_file(f"{name}.yml"), seed=seed)


def _file(name: str) -> Path:
    return Path(str(files("benchmarks.agreement"))) / "workloads" / name


def _policy(named: str, folder: Path) -> Path:
    """Return the configuration's file: one of ours, or one written for the bare name of a
    policy.
    """
    if named.endswith(".yml"):
        return _file(named)
    file = folder / f"{named}.yml"
    file.write_text(f"version: 1\npolicy: {named}\n")
    return file


def _simulate(scenario: Scenario, policy: Path) -> RunRecord:
    config = compile_config(policy.read_text(), policy.name)
    return simulate(scenario, config, policy=policy.stem)


def _completions(record: RunRecord) -> dict[str, int]:
    return _of_applications(record, "completion_ms")


def _ends(record: RunRecord) -> dict[str, int]:
    return _of_applications(record, "finished_ms")


def _of_applications(record: RunRecord, key: str) -> dict[str, int]:
    found = {app["id"]: app[key] for app in summary(record)["applications"]}
    unfinished = sorted(name for name, value in found.items() if value is None)
    if unfinished:
        raise ValueError(f"{record.workload} on {record.engine}: {unfinished} did not end")
    return found


def _makespan(record: RunRecord) -> int:
    return int(summary(record)["makespan_ms"])


def _disorder(real: Mapping[str, int], virtual: Mapping[str, int], apart_ms: float) -> int:
    return sum(
        1
        for one, other in combinations(real, 2)
        if abs(real[one] - real[other]) > apart_ms
        and (real[one] < real[other]) != (virtual[one] < virtual[other])
    )
