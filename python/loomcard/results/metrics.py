"""A run's figures: waiting, completion, makespan, utilization, fairness; one dictionary a run.

Definitions, the same for either engine (times in ms since the run's zero):

- waiting: submission to the first container that is not the AM's RUNNING;
- completion: submission to the end of the last such container of an application that has ended;
- makespan: first submission to last completion;
- utilization: the mean over the makespan of what running containers hold, AMs' included, over the
  capacity of that moment;
- Jain's index: see ``loomcard.results.jain``.

None stands for what has not happened.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from loomcard.results.containers import (
    Floats,
    Occupation,
    capacity,
    container_frame,
    occupation,
    shares,
)
from loomcard.results.jain import WINDOW_MS, jain
from loomcard.results.record import RunRecord

_DECIMALS = 9  # beyond them the order of a sum would show


def summary(record: RunRecord) -> dict[str, Any]:
    """Return one object of ``--json``: policy, workload and figures. It is ready for JSON, and
    deterministic. Unfinished runs have ``makespan_ms`` None; their other figures count up to where
    they stopped.
    """
    return _summary(record)[0]


def facts(record: RunRecord) -> dict[str, Any]:
    """What results.json keeps of a run: the summary and what a report draws besides: the capacity
    over time (``[ms, amounts]`` steps in the order of ``resource_types``), the queues' shares
    and Jain's index of every window, plain and capped, the bounds, and each application's
    ``ideal_ms`` and the intervals in which it demanded.
    """
    found, windows, capped = _summary(record)
    demanding = {each.id: sorted(each.demanding) for each in record.applications}
    for each in found["applications"]:
        each["ideal_ms"] = record.ideals_ms.get(each["id"])
        each["demanding"] = [list(interval) for interval in demanding[each["id"]]]
    return found | {
        "bounds": dict(sorted(record.bounds.items())),
        "resource_types": record.resource_types,
        "capacity": [[time, list(amounts)] for time, amounts in record.capacity],
        "queues": {path: own._asdict() for path, own in sorted(record.queues.items())},
        "jain_windows": [round(value, _DECIMALS) for value in windows.tolist()],
        "capped_jain_windows": [round(value, _DECIMALS) for value in capped.tolist()],
        "window_ms": WINDOW_MS,
    }


def _summary(record: RunRecord) -> tuple[dict[str, Any], Floats, Floats]:
    frame = container_frame(record)
    applications = _applications(record, frame)
    between = _interval(record, applications)
    held = occupation(record, frame, between)
    windows, capped = jain(record, held, between)
    return (
        {
            "policy": record.policy,
            "workload": record.workload,
            "seed": record.seed,
            "parameters": dict(sorted(record.parameters.items())),
            "engine": record.engine,
            "finished": record.finished,
            "makespan_ms": _makespan(record, applications),
            "jain": _spread(windows),
            "utilization": _utilization(record, held, between),
            "refusals": dict(sorted(record.refusals.items())),
            "applications": applications,
        },
        windows,
        capped,
    )


def _applications(record: RunRecord, frame: pl.DataFrame) -> list[dict[str, Any]]:
    ran = frame.filter(~pl.col("is_am") & pl.col("started_ms").is_not_null())
    moments = ran.group_by("application").agg(
        pl.col("started_ms").min(), pl.col("finished_ms").max()
    )
    found = {name: (first, last) for name, first, last in moments.iter_rows()}
    rows = []
    for each in record.applications:
        first, last = found.get(each.id, (None, None))
        last = last if each.state else None
        rows.append(
            {
                "id": each.id,
                "queue": each.queue,
                "tags": list(each.tags),
                "state": each.state,
                "submitted_ms": each.submitted_ms,
                "first_container_ms": first,
                "finished_ms": last,
                "waiting_ms": None if first is None else first - each.submitted_ms,
                "completion_ms": None if last is None else last - each.submitted_ms,
                **({"diagnostics": each.diagnostics} if each.diagnostics else {}),
            }
        )
    return rows


def _makespan(record: RunRecord, applications: list[dict[str, Any]]) -> int | None:
    """Return None if an application has not ended, or if none ran."""
    ends = [row["finished_ms"] for row in applications if row["finished_ms"] is not None]
    if not ends or not record.finished or any(not row["state"] for row in applications):
        return None
    return int(max(ends) - min(row["submitted_ms"] for row in applications))


def _interval(record: RunRecord, applications: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the time from the first submission to the last completion, or to where an unfinished
    run stopped.
    """
    first = min((row["submitted_ms"] for row in applications), default=0)
    makespan = _makespan(record, applications)
    return first, max(first, record.ended_ms if makespan is None else first + makespan)


def _utilization(record: RunRecord, held: Occupation, between: tuple[int, int]) -> dict[str, float]:
    first, last = between
    steps = capacity(record)
    inside = steps.from_ms[(steps.from_ms > first) & (steps.from_ms < last)]
    times = np.concatenate([held.from_ms, held.to_ms, inside, [first, last]])
    nothing = np.zeros((len(inside) + 2, len(record.resource_types)), dtype=np.int64)
    change = np.concatenate([held.sizes, -held.sizes, nothing])
    order = np.argsort(times, kind="stable")
    used, times = change[order].cumsum(axis=0), times[order]
    parts = shares(used, steps.at(times))[:-1] * np.diff(times)[:, None]
    means = parts.sum(axis=0) / max(1, last - first)
    return {
        name: round(value, _DECIMALS)
        for name, value in zip(record.resource_types, means.tolist(), strict=True)
    }


def _spread(windows: Floats) -> dict[str, float]:
    """Return the mean over the windows; 1 if there is none."""
    values = windows if len(windows) else np.ones(1)
    named = {"min": values.min(), "mean": values.mean(), "max": values.max()}
    return {name: round(float(value), _DECIMALS) for name, value in named.items()}
