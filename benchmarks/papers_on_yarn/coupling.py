"""Coupling on a real ResourceManager: fifty MapReduce jobs at a time."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.papers_on_yarn.fifty import Notify
from benchmarks.papers_on_yarn.fifty import fifty as fifty_at_once
from loomcard.results.record import RunRecord
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

ENDS_WELL = ("completed", "released")


def fifty(folder: Path, repeats: int, notify: Notify) -> dict[str, Any]:
    """Fifty MapReduce jobs at a time under coupling, and how many of their containers were taken
    back. Raises as ``play`` does.
    """
    return fifty_at_once(
        "coupling", fifty_jobs, folder, repeats, notify,
        lambda record: {"taken_back": taken_back(record)},
    )  # fmt: skip


def fifty_jobs(seed: int) -> Scenario:
    """At once, on 25 nodes."""
    file = Path(str(files("benchmarks.papers_on_yarn"))) / "workloads" / "coupling-fifty.yml"
    return load(file, seed=seed)


def taken_back(record: RunRecord) -> int:
    """Containers that neither completed nor were given back unused: preempted, killed, lost."""
    return sum(row.kind not in ENDS_WELL for row in record.containers)
