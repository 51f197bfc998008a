"""Coupling on a real ResourceManager: fifty MapReduce jobs at a time."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.papers_on_yarn.carbyne import fifty_figures, spread
from benchmarks.papers_on_yarn.deciding import DecidingObserver
from loomcard.player.play import play
from loomcard.results.record import RunRecord
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

Notify = Callable[[str], None]
ENDS_WELL = ("completed", "released")


def fifty(folder: Path, repeats: int, notify: Notify) -> dict[str, Any]:
    """Fifty MapReduce jobs at a time under coupling: who succeeded, what was refused or taken back,
    and what deciding cost. Raises as ``play`` does.
    """
    runs = []
    for repeat in range(repeats):
        notify(f"coupling-fifty, seed {repeat + 1}")
        observer = DecidingObserver()
        record = play(
            fifty_jobs(repeat + 1), "coupling", folder=folder / str(repeat + 1),
            on_progress=observer.look, on_up=observer.meet,
        )  # fmt: skip
        runs.append(fifty_figures(record, observer) | {"taken_back": taken_back(record)})
    keys = [key for key, value in runs[0].items() if isinstance(value, int | float)]
    return {"applications": len(record.applications), "runs": runs} | {
        key: spread([run[key] for run in runs]) for key in keys
    }


def fifty_jobs(seed: int) -> Scenario:
    """At once, on 25 nodes."""
    file = Path(str(files("benchmarks.papers_on_yarn"))) / "workloads" / "coupling-fifty.yml"
    return load(file, seed=seed)


def taken_back(record: RunRecord) -> int:
    """Containers that neither completed nor were given back unused: preempted, killed, lost."""
    return sum(row.kind not in ENDS_WELL for row in record.containers)
