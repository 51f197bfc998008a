"""Our ``capacity`` and ``fair`` compared with YARN's own: the same queues and workload on real
YARN, and how each scheduler splits the containers when the cluster is full.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import combinations, product
from pathlib import Path
from statistics import median
from typing import Any, Final

from loomcard.install.convert import convert, written
from loomcard.results.record import RunRecord
from loomcard.simulator import Progress
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

Play = Callable[[Scenario, str, Path, Path], RunRecord]
"""Runs a scenario under a scheduler (loomcard, or stock:...) with the queues of a configuration's
file, in a folder.
"""

WINDOW_MS: Final = (15_000, 75_000)
"""The sixty seconds in which the split is measured: the cluster is full, and no application has
ended.
"""
EVERY_MS: Final = 1_000
LATE_MS: Final = (16_000, 34_000)
"""In the workload with a late queue: its guarantee has been taken back, and no task has ended."""
MONITORS: Final = {
    "capacity": {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval": "1000",
        "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "3000",
    },
    "fair": {
        "yarn.scheduler.fair.preemption": "true",
        "yarn.scheduler.fair.waitTimeBeforeKill": "3000",
    },
}
"""What yarn-site.xml says of preemption beside the files to import."""
IMPORTED_MS: Final = (0, 120_000)
"""The run with imported files: from the first application on."""
REPEATS: Final = 3
"""Of the runs with imported files: YARN's schedulers differ from run to run, too."""
PAIRS: Final = {"capacity": "stock:capacity", "fair": "stock:fair"}


@dataclass(frozen=True, slots=True)
class Split:
    """How one scheduler split the cluster: the median count of running containers, by queue and by
    application.
    """

    scheduler: str
    queues: dict[str, float]
    applications: dict[str, float]


def split(record: RunRecord, scheduler: str, window_ms: tuple[int, int] = WINDOW_MS) -> Split:
    """Return the medians over the window, sampled once per second."""
    queue_of = {app.id: app.queue for app in record.applications}
    by_application: dict[str, list[int]] = {name: [] for name in queue_of}
    by_queue: dict[str, list[int]] = {queue: [] for queue in queue_of.values()}
    for at_ms in range(*window_ms, EVERY_MS):
        counts = _running(record, at_ms)
        for name, count in counts.items():
            by_application[name].append(count)
        for queue, seen in by_queue.items():
            seen.append(sum(counts[name] for name in counts if queue_of[name] == queue))
    return Split(
        scheduler,
        {name: median(seen) for name, seen in sorted(by_queue.items())},
        {name: median(seen) for name, seen in sorted(by_application.items())},
    )


def _running(record: RunRecord, at_ms: int) -> dict[str, int]:
    """Return how many containers of each application run at a time, without AMs."""
    counts = {app.id: 0 for app in record.applications}
    for row in record.containers:
        begun = row.started_ms is not None and row.started_ms <= at_ms
        if begun and not row.is_am and (row.finished_ms is None or at_ms < row.finished_ms):
            counts[row.application] += 1
    return counts


def queues_at(record: RunRecord, at_ms: int) -> dict[str, int]:
    """Return how many containers run in each queue at a time, without AMs."""
    found: dict[str, int] = {app.queue: 0 for app in record.applications}
    counts = _running(record, at_ms)
    for app in record.applications:
        found[app.queue] += counts[app.id]
    return found


def agree(one: RunRecord, other: RunRecord, window_ms: tuple[int, int]) -> float:
    """Return the part of the samples in a window in which each queue runs as many containers in
    both records, or one more or less.
    """
    return within(one, [other], window_ms)


def within(record: RunRecord, others: Sequence[RunRecord], window_ms: tuple[int, int]) -> float:
    """Return the part of the samples in a window in which each queue runs as many containers as in
    one of the others or between them, or one more or less.
    """
    times = range(*window_ms, EVERY_MS)
    return sum(_is_near(record, others, at_ms) for at_ms in times) / len(times)


def _is_near(record: RunRecord, others: Sequence[RunRecord], at_ms: int) -> bool:
    seen = [queues_at(other, at_ms) for other in others]
    for queue, count in queues_at(record, at_ms).items():
        there = [each[queue] for each in seen]
        if not min(there) - 1 <= count <= max(there) + 1:
            return False
    return True


def apart(one: Split, other: Split, leaves_too: bool) -> float:
    """Return the largest difference between two schedulers, in containers: of any queue, and with
    ``leaves_too`` of any application. A leaf that serves in order of arrival has no steady split.
    """
    pairs = [(one.queues, other.queues)]
    if leaves_too:
        pairs.append((one.applications, other.applications))
    return max(abs(mine[name] - theirs[name]) for mine, theirs in pairs for name in mine)


def run_late(
    play: Play, folder: Path, names: Sequence[str] = tuple(PAIRS),
    notify: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:  # fmt: skip
    """Play the workload in which a late queue takes its guarantee back, under ours and YARN's with
    preemption. Return, by name: the part of the samples that agree, after settling and from the
    start, and the counts over time.
    """
    room = Path(str(files("benchmarks.agreement"))) / "stock_workloads"
    scenario = load(room / "late.yml", seed=1)
    found = {}
    for name in names:
        records = []
        for scheduler in ("loomcard", PAIRS[name]):
            notify(f"{name} with a late queue: {scheduler}")
            place = folder / f"late-{name}-{scheduler.replace(':', '-')}"
            records.append(play(scenario, scheduler, room / f"{name}-late.yml", place))
        times = range(0, LATE_MS[1], EVERY_MS)
        found[name] = {
            "agree": agree(records[0], records[1], LATE_MS),
            "agree_from_start": agree(records[0], records[1], (0, LATE_MS[1])),
            "ours": [queues_at(records[0], at_ms) for at_ms in times],
            "yarn": [queues_at(records[1], at_ms) for at_ms in times],
        }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "late.json").write_text(json.dumps(found, indent=1) + "\n")
    return found


def run_imported(
    play: Callable[..., RunRecord], folder: Path, names: Sequence[str] = tuple(PAIRS),
    notify: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:  # fmt: skip
    """Play a workload under YARN's schedulers with files of their own, and under ours with what
    `loomcard policy import` makes of these, in turn. Return, by name: the parts of the samples that
    agree in each pair of runs, and in which ours is within one of the range of all of YARN's; and
    of each run what was preempted and the counts over time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    room = Path(str(files("benchmarks.agreement"))) / "stock_workloads"
    scenario = load(room / "imported.yml", seed=1)
    found = {}
    for name in names:
        file = room / f"imported-{name}.xml"
        policy = folder / f"imported-{name}.yml"
        policy.write_text(written(convert(file, running=MONITORS[name])), "utf-8")
        ours, stock = [], []
        for repeat in range(1, REPEATS + 1):
            notify(f"{name} with an imported file: loomcard, {repeat} of {REPEATS}")
            place = folder / f"imported-{name}-{repeat}-loomcard"
            ours.append(play(scenario, policy, folder=place, on_progress=_end))
            notify(f"{name} with an imported file: {PAIRS[name]}, {repeat} of {REPEATS}")
            place = folder / f"imported-{name}-{repeat}-stock"
            stock.append(
                play(
                    scenario, PAIRS[name], stock_file=file, yarn=MONITORS[name], folder=place,
                    on_progress=_end,
                )
            )  # fmt: skip
        found[name] = {
            "ours_yarn": _pairs(product(ours, stock)),
            "ours_within_yarn": sorted(within(record, stock, IMPORTED_MS) for record in ours),
            "yarn_yarn": _pairs(combinations(stock, 2)),
            "ours_ours": _pairs(combinations(ours, 2)),
            "ours": [_told(record) for record in ours],
            "yarn": [_told(record) for record in stock],
        }
    (folder / "imported.json").write_text(json.dumps(found, indent=1) + "\n")
    return found


def _pairs(records: Iterable[tuple[RunRecord, RunRecord]]) -> list[float]:
    return sorted(agree(one, other, IMPORTED_MS) for one, other in records)


def _told(record: RunRecord) -> dict[str, Any]:
    """Return how many containers were preempted, and by queue the counts at each sample."""
    counts = [queues_at(record, at_ms) for at_ms in range(*IMPORTED_MS, EVERY_MS)]
    return {
        "preempted": sum(row.kind == "preempted" for row in record.containers),
        "counts": {queue: [each[queue] for each in counts] for queue in counts[0]},
    }


def _end(progress: Progress) -> None:
    if progress.now_ms > IMPORTED_MS[1]:
        raise KeyboardInterrupt


def run_all(
    play: Play, folder: Path, seed: int, notify: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure ours and YARN's, one after the other. Return the document that is written to
    steady.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    room = Path(str(files("benchmarks.agreement"))) / "stock_workloads"
    scenario = load(room / "steady.yml", seed=seed)
    found = {}
    for name, stock in PAIRS.items():
        both = []
        for scheduler in ("loomcard", stock):
            notify(f"{name}: {scheduler}")
            place = folder / f"{name}-{scheduler.replace(':', '-')}"
            record = play(scenario, scheduler, room / f"{name}.yml", place)
            both.append(split(record, scheduler))
        found[name] = {
            "ours": asdict(both[0]),
            "yarn": asdict(both[1]),
            "apart_containers": apart(both[0], both[1], leaves_too=name == "fair"),
        }
    (folder / "steady.json").write_text(json.dumps(found, indent=1) + "\n")
    return found
