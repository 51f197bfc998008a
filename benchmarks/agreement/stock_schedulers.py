"""Our ``capacity`` and ``fair`` compared with YARN's own: the same queues and workload on real
YARN, and how each scheduler splits the containers when the cluster is full.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any, Final

from loomcard.results.record import RunRecord
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
        counts = dict.fromkeys(queue_of, 0)
        for row in record.containers:
            begun = row.started_ms is not None and row.started_ms <= at_ms
            if begun and not row.is_am and (row.finished_ms is None or at_ms < row.finished_ms):
                counts[row.application] += 1
        for name, count in counts.items():
            by_application[name].append(count)
        for queue, seen in by_queue.items():
            seen.append(sum(counts[name] for name in counts if queue_of[name] == queue))
    return Split(
        scheduler,
        {name: median(seen) for name, seen in sorted(by_queue.items())},
        {name: median(seen) for name, seen in sorted(by_application.items())},
    )


def apart(one: Split, other: Split, leaves_too: bool) -> float:
    """Return the largest difference between two schedulers, in containers: of any queue, and with
    ``leaves_too`` of any application. A leaf that serves in order of arrival has no steady split.
    """
    pairs = [(one.queues, other.queues)]
    if leaves_too:
        pairs.append((one.applications, other.applications))
    return max(abs(mine[name] - theirs[name]) for mine, theirs in pairs for name in mine)


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
