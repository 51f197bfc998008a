"""Fifty applications at a time on a real ResourceManager: how they ended, and what deciding
cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.papers_on_yarn.deciding import DecidingObserver
from benchmarks.papers_on_yarn.progress import play
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario

Notify = Callable[[str], None]
FULL: Final = 45
"""The cost of deciding is measured while at least this many of the fifty run."""


def fifty(
    policy: str,
    jobs: Callable[[int], Scenario],
    folder: Path,
    repeats: int,
    notify: Notify,
    more: Callable[[RunRecord], Mapping[str, int]] = lambda _: {},
) -> dict[str, Any]:
    """Run the ``jobs`` of each seed from 1 on under the policy. Return each run's figures, extended
    by ``more``, and minimum, median and maximum of each figure. Raises as ``play`` does.
    """
    runs = []
    for seed in range(1, repeats + 1):
        notify(f"{policy}-fifty, seed {seed}")
        observer = DecidingObserver()
        record = play(
            jobs(seed), policy, folder=folder / str(seed),
            on_progress=observer.look, on_up=observer.meet,
        )  # fmt: skip
        runs.append(fifty_figures(record, observer) | dict(more(record)))
    keys = [key for key, value in runs[0].items() if isinstance(value, int | float)]
    return {"applications": len(record.applications), "runs": runs} | {
        key: spread([run[key] for run in runs]) for key in keys
    }


def fifty_figures(record: RunRecord, observer: DecidingObserver) -> dict[str, Any]:
    """Return how fifty applications ended, and what deciding cost while ``FULL`` of them ran.
    Raises ValueError if that many never ran at a time.
    """
    refused = sum(record.refusals.values())
    allocated = len(record.containers)
    window = observer.while_running(FULL)
    return {
        "succeeded": sum(app.state == "SUCCEEDED" for app in record.applications),
        "containers": allocated,
        "fallback": observer.fallback,
        "refused_percent": round(100 * refused / max(1, allocated + refused), 2),
        "deciding_percent": round(100 * observer.cpu_part(window), 2),
        "deciding_percent_whole": round(100 * observer.cpu_part(observer.samples), 2),
        "window_s": round((window[-1].at_ms - window[0].at_ms) / 1000, 1),
        "makespan_s": round(record.ended_ms / 1000, 1),
        "refusals": record.refusals,
    }


def spread(values: Sequence[float]) -> list[float]:
    """Return minimum, median and maximum."""
    return [round(value, 3) for value in (min(values), median(values), max(values))]
