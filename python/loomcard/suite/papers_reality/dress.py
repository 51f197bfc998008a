"""DRESS on a real ResourceManager, beside stock CapacityScheduler, with time scaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from msgspec.structs import replace

from loomcard.config import compile_setup
from loomcard.outcome.metrics import summary
from loomcard.outcome.record import RunRecord
from loomcard.suite.launch_rate import wanted_per_second
from loomcard.suite.play import play
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario, ScenarioApplication, Stage

WORKLOADS: Final = ("dress-s", "dress-x30")
OURS: Final = "dress"
STOCK: Final = "stock:capacity"
SMALL: Final = "small"
"""The tag of the applications that DRESS is to help."""

# Every constant with a unit of time goes with the workload's; counts and shares do not.
SETUP: Final = """\
version: 1
kind: policy
policy: dress
options: {{tick_ms: {tick_ms}, phase_window_ms: {window_ms}}}
"""
TICK_MS: Final = 1_000
WINDOW_MS: Final = 10_000
QUEUES: Final = "version: 1\nkind: policy\npolicy: capacity\n"
"""What stock CapacityScheduler gets: the one queue that ``dress`` has, first come first served."""

Run = dict[str, Any]
"""A run's summary (`loomcard.outcome.metrics.summary`), times in the workload's own ms."""


@dataclass(frozen=True, slots=True)
class Gain:
    """DRESS against stock on one workload and seed, as changes of stock's figure (-0.2: a fifth
    less): mean completion of small and of large applications, makespan, means over all.
    """

    seed: int
    small_completion: float
    large_completion: float
    makespan: float
    waiting: float
    completion: float


def scaled(scenario: Scenario, by: int) -> Scenario:
    """The scenario with all its times divided by ``by``, at least 1 ms where they were positive."""

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


def compare(
    workload: str, folder: Path, seeds: Sequence[int], by: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The workload under both, in turns, the order changing from seed to seed. Raises as ``play``
    does, and ValueError where an application did not end.
    """
    runs: dict[str, list[Run]] = {OURS: [], STOCK: []}
    rates = []
    for seed in seeds:
        scenario = scaled(load(Path(workload), seed=seed), by)
        rates.append(wanted_per_second(scenario))
        for policy in (OURS, STOCK) if seed % 2 else (STOCK, OURS):
            tell(f"{workload}, seed {seed}: {policy}")
            place = folder / f"{workload}-{seed}-{policy.replace(':', '-')}"
            runs[policy].append(_checked(_play(scenario, policy, place, by)))
    gains = [gain(*pair) for pair in zip(runs[OURS], runs[STOCK], strict=True)]
    return {
        "workload": workload,
        "time_divided_by": by,
        "wanted_per_second": round(max(rates), 1),
        "mean": {
            name: round(mean(getattr(each, name) for each in gains), 4)
            for name in Gain.__slots__
            if name != "seed"
        },
        "seeds": [asdict(each) for each in gains],
        "table": {policy: figures(runs[policy], by) for policy in runs},
        "jobs": jobs(runs, by),
    }


def gain(ours: Run, stock: Run) -> Gain:
    """DRESS against stock, in one pair of runs."""

    def change(of: Callable[[Run], float]) -> float:
        return round(of(ours) / of(stock) - 1, 4)

    return Gain(
        ours["seed"],
        change(lambda run: _mean(run, "completion_ms", small=True)),
        change(lambda run: _mean(run, "completion_ms", small=False)),
        change(lambda run: float(run["makespan_ms"])),
        change(lambda run: _mean(run, "waiting_ms")),
        change(lambda run: _mean(run, "completion_ms")),
    )


def figures(runs: Sequence[Run], by: int) -> dict[str, float]:
    """The columns of the paper's Table II in the workload's unscaled seconds, means over runs."""

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
    """A row per application in order of submission: wait and completion under both, in the
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
        return play(scenario, STOCK, setup=compile_setup(QUEUES, "queues.yml"), folder=folder)
    setup = folder / "dress.yml"
    setup.write_text(SETUP.format(tick_ms=TICK_MS // by, window_ms=WINDOW_MS // by), "utf-8")
    return play(scenario, setup, folder=folder)


def _checked(record: RunRecord) -> Run:
    run = summary(record)
    unfinished = [row["id"] for row in run["applications"] if row["completion_ms"] is None]
    if unfinished:
        raise ValueError(f"{record.workload} under {record.policy}: {unfinished} did not end")
    return run


def _all(run: Run, what: str) -> list[float]:
    return [row[what] for row in run["applications"]]


def _mean(run: Run, what: str, small: bool | None = None) -> float:
    rows = run["applications"]
    return float(mean(row[what] for row in rows if small in (None, SMALL in row["tags"])))
