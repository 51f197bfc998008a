"""DRESS on a real ResourceManager, compared with stock CapacityScheduler, with time scaled."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

import yaml
from msgspec.structs import replace

from benchmarks.papers_on_yarn.progress import play
from loomcard.config import compile_config
from loomcard.experiments.run import SHIPPED
from loomcard.player.launch_rate import wanted_per_second
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario, ScenarioApplication, Stage

WORKLOADS: Final = ("dress-s", "dress-x30")
OURS: Final = "dress"
LETTER: Final = "dress/paper.yml"
"""The letter of the paper: a configuration that is shipped with its experiments."""
STOCK: Final = "stock:capacity"
SMALL: Final = "small"
"""The tag of the applications that DRESS shall help."""

# Every constant with a unit of time is scaled like the workload; counts and shares are not.
TICK_MS: Final = 1_000
WINDOW_MS: Final = 10_000
QUEUES: Final = "version: 1\nkind: policy\npolicy: capacity\n"
"""What stock CapacityScheduler gets: the same single queue as ``dress``, served in order of
arrival.
"""

ROWS: Final = (OURS, LETTER, STOCK)
CONTROL: Final = "capacity"
"""Stock's rule under Loomcard: a gain of this control over stock does not come from DRESS."""

WARM_UP: Final = "warm-up-"
WARM_UPS: Final = 10
WARM_UP_MS: Final = 12_000
"""Time before the first application, in real time. In it the cluster's JVMs compile the code they
run; otherwise this would cost the first applications as much as a scheduler can.
"""

Run = dict[str, Any]
"""A run's summary (`loomcard.results.metrics.summary`), times in the workload's own ms."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One scheduler compared with stock on one workload and seed, as changes from stock's figure
    (-0.2: a fifth less): mean completion of small and of large applications, and the columns of the
    paper's Table II.
    """

    seed: int
    small_completion: float
    large_completion: float
    makespan: float
    waiting: float
    median_waiting: float
    completion: float
    median_completion: float


def scaled(scenario: Scenario, by: int) -> Scenario:
    """Return the scenario with all its times divided by ``by``, at least 1 ms if they were
    positive.
    """

    def part(ms: int) -> int:
        return max(1, round(ms / by)) if ms > 0 else 0

    def stage(each: Stage) -> Stage:
        fails = {task: [part(ms) for ms in each.fails_ms[task]] for task in each.fails_ms}
        return replace(each, durations_ms=[part(ms) for ms in each.durations_ms], fails_ms=fails)

    def application(each: ScenarioApplication) -> ScenarioApplication:
        return replace(
            each,
            submit_ms=part(each.submit_ms),
            ms_per_map=part(each.ms_per_map),
            stages=[stage(one) for one in each.stages],
        )

    return replace(
        scenario,
        applications=[application(each) for each in scenario.applications],
        heartbeat_ms=part(scenario.heartbeat_ms),
        am_heartbeat_ms=part(scenario.am_heartbeat_ms),
        launch_delay_ms=part(scenario.launch_delay_ms),
        am_start_ms=part(scenario.am_start_ms),
        faults=[
            replace(
                fault,
                at_ms=part(fault.at_ms),
                down_ms=None if fault.down_ms is None else part(fault.down_ms),
            )
            for fault in scenario.faults
        ],
    )


def warmed_up(scenario: Scenario) -> Scenario:
    """Return the scenario some seconds later, with small applications before it that count in no
    figure. They do not change DRESS: it has forgotten them at its first tick with a real one.
    """
    first = scenario.applications[0]
    nothing = Stage("s", first.stages[0].size, 20, 1, [100] * 8)
    before = [
        ScenarioApplication(
            f"{WARM_UP}{number}", 500 * number, first.queue, first.user, "plain", [nothing]
        )
        for number in range(WARM_UPS)
    ]
    after = [replace(each, submit_ms=each.submit_ms + WARM_UP_MS) for each in scenario.applications]
    faults = [replace(each, at_ms=each.at_ms + WARM_UP_MS) for each in scenario.faults]
    return replace(scenario, applications=before + after, faults=faults)


def without_warm_up(record: RunRecord) -> RunRecord:
    """Return the same record without the warm-up."""
    record.applications = [row for row in record.applications if not _warms_up(row.id)]
    record.containers = [row for row in record.containers if not _warms_up(row.application)]
    return record


def _warms_up(application: str) -> bool:
    return application.startswith(WARM_UP)


def compare(
    workload: str, folder: Path, seeds: Sequence[int], by: int, notify: Callable[[str], None]
) -> dict[str, Any]:
    """Run the workload under each scheduler, in an order that changes from seed to seed, and with
    the first seed under the control. Raises as ``play`` does, and ValueError if an application did
    not end.
    """
    runs: dict[str, list[Run]] = {policy: [] for policy in (*ROWS, CONTROL)}
    rates = []
    for number, seed in enumerate(seeds):
        scenario = scaled(load(Path(workload), seed=seed), by)
        rates.append(wanted_per_second(scenario))
        turn = (*ROWS, CONTROL) if number == 0 else ROWS
        for policy in turn if number % 2 == 0 else turn[::-1]:
            notify(f"{workload}, seed {seed}: {policy}")
            place = folder / f"{Path(workload).stem}-{seed}-{re.sub('[:/]', '-', policy)}"
            run = _checked(_play(warmed_up(scenario), policy, place, by))
            (place / "summary.json").write_text(json.dumps(run, indent=1) + "\n")
            runs[policy].append(run)
    return {
        "workload": workload,
        "time_divided_by": by,
        "wanted_per_second": round(max(rates), 1),
        "gains": {name: gains(runs[name], runs[STOCK]) for name in (OURS, LETTER, CONTROL)},
        "table": {policy: figures(runs[policy], by) for policy in ROWS},
        "jobs": jobs({policy: runs[policy] for policy in ROWS}, by),
    }


def gains(ours: Sequence[Run], stock: Sequence[Run]) -> dict[str, Any]:
    """Return the gain for each seed that both ran, and the mean gain."""
    each = [asdict(gain(*pair)) for pair in zip(ours, stock, strict=False)]
    keys = [key for key in each[0] if key != "seed"]
    return {"mean": {key: round(mean(row[key] for row in each), 4) for key in keys}, "seeds": each}


def gain(ours: Run, stock: Run) -> Gain:
    """Compare one scheduler with stock, in one pair of runs."""

    def change(of: Callable[[Run], float]) -> float:
        return round(of(ours) / of(stock) - 1, 4)

    return Gain(
        ours["seed"],
        change(lambda run: _mean(run, "completion_ms", small=True)),
        change(lambda run: _mean(run, "completion_ms", small=False)),
        change(lambda run: float(run["makespan_ms"])),
        change(lambda run: _mean(run, "waiting_ms")),
        change(lambda run: float(median(_all(run, "waiting_ms")))),
        change(lambda run: _mean(run, "completion_ms")),
        change(lambda run: float(median(_all(run, "completion_ms")))),
    )


def figures(runs: Sequence[Run], by: int) -> dict[str, float]:
    """Return the columns of the paper's Table II in the workload's unscaled seconds, means over
    runs.
    """

    def over(of: Callable[[Run], float]) -> float:
        return round(mean(of(run) for run in runs) * by / 1000, 1)

    return {
        "makespan_s": over(lambda run: float(run["makespan_ms"])),
        "mean_wait_s": over(lambda run: mean(_all(run, "waiting_ms"))),
        "median_wait_s": over(lambda run: median(_all(run, "waiting_ms"))),
        "mean_completion_s": over(lambda run: mean(_all(run, "completion_ms"))),
        "median_completion_s": over(lambda run: median(_all(run, "completion_ms"))),
        "small_completion_s": over(lambda run: _mean(run, "completion_ms", small=True)),
        "small_wait_s": over(lambda run: _mean(run, "waiting_ms", small=True)),
    }


def jobs(runs: dict[str, list[Run]], by: int) -> list[dict[str, Any]]:
    """Return a row per application in order of submission: wait and completion under each, in the
    workload's unscaled seconds, means over the seeds.
    """
    seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    small: dict[str, int] = defaultdict(int)
    for policy, all_of_it in runs.items():
        for run in all_of_it:
            for row in run["applications"]:
                small[row["id"]] += SMALL in row["tags"] and policy == OURS
                for what in ("waiting", "completion"):
                    seen[row["id"]][f"{policy} {what}_s"].append(row[f"{what}_ms"])
    return [
        {"id": name, "small_in": small[name]}
        | {key: round(mean(values) * by / 1000, 1) for key, values in columns.items()}
        for name, columns in seen.items()
    ]


def _play(scenario: Scenario, policy: str, folder: Path, by: int) -> RunRecord:
    folder.mkdir(parents=True, exist_ok=True)
    if policy == STOCK:
        return play(scenario, STOCK, config=compile_config(QUEUES, "queues.yml"), folder=folder)
    config = folder / f"{Path(policy).stem}.yml"
    config.write_text(QUEUES if policy == CONTROL else card(policy, by), "utf-8")
    return play(scenario, config, folder=folder)


def card(policy: str, by: int) -> str:
    """Return the configuration of ``dress``, or of the letter, with its times divided by ``by``."""
    document: dict[str, Any] = {"version": 1, "kind": "policy", "policy": OURS}
    if policy == LETTER:
        document = yaml.safe_load((SHIPPED / LETTER).read_text("utf-8"))
    return str(yaml.safe_dump(scaled_options(document, by)))


def scaled_options(document: dict[str, Any], by: int) -> dict[str, Any]:
    """Return a configuration, or a queue of one, whose queues under ``dress`` have its times
    divided by ``by``.
    """
    made = dict(document)
    if made.get("policy") == OURS:
        times = {"tick_ms": TICK_MS // by, "phase_window_ms": WINDOW_MS // by}
        made["options"] = made.get("options", {}) | times
    if "queues" in made:
        made["queues"] = {name: scaled_options(queue, by) for name, queue in made["queues"].items()}
    return made


def _checked(record: RunRecord) -> Run:
    run = summary(without_warm_up(record))
    unfinished = [row["id"] for row in run["applications"] if row["completion_ms"] is None]
    if unfinished:
        raise ValueError(f"{record.workload} under {record.policy}: {unfinished} did not end")
    return run


def _all(run: Run, what: str) -> list[float]:
    return [row[what] for row in run["applications"]]


def _mean(run: Run, what: str, small: bool | None = None) -> float:
    rows = run["applications"]
    return float(mean(row[what] for row in rows if small in (None, SMALL in row["tags"])))
