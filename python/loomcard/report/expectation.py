"""One figure of one run, as an experiment's ``expect`` names it: for which applications, and which
statistic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from loomcard.report.runs import Run
from loomcard.results.containers import resource_columns

Floats = npt.NDArray[np.float64]
Intervals = Sequence[tuple[float, float]]
UNITS = {
    "completion": "s", "waiting": "s", "makespan": "s", "completed": "applications",
    "running": "containers", "share": "", "jain": "", "capped_jain": "", "speedup": "",
    "starvation": "s",
}  # fmt: skip
"""The unit of each measure; a share is a part of 1, as papers print it."""
_OVER_TIME = ("running", "share")
Figure = float | dict[str, float]
"""A number; for a speedup the completion of each application by its id, to be compared with another
run.
"""


class Measured:
    """A run that is measured; its containers are read once, if a figure needs them."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def containers(self) -> pl.DataFrame:
        """As the run has them."""
        return self.run.containers()


def measured(of: Measured, what: Mapping[str, Any]) -> Figure | None:
    """Return the figure that an entry of ``expect`` names, in its shown unit (``UNITS``); None if
    the run has none, for example of an application that did not succeed.
    """
    run = of.run
    measure = what["measure"]
    chosen = applications_of(run.facts["applications"], what.get("of", ""))
    statistic = what.get("statistic") or ("median" if measure in _OVER_TIME else "mean")
    good = [each for each in chosen if each["state"] == "SUCCEEDED"]
    if not chosen:
        return None
    if measure in ("jain", "capped_jain"):
        windows = np.array(run.facts.get(f"{measure}_windows") or [], dtype=float)
        return weighted(windows, np.ones(len(windows)), statistic)
    if measure == "speedup":
        return {each["id"]: each["completion_ms"] for each in good if each["completion_ms"]}
    if measure == "completed":
        return float(len(good))
    if measure == "makespan":
        if len(good) < len(chosen):
            return None
        ended = max(each["finished_ms"] or 0 for each in good)
        return float(ended - min(each["submitted_ms"] for each in good)) / 1000
    if measure in _OVER_TIME:
        return _over_time(of, chosen, what, statistic)
    if measure == "starvation":
        late = starvation_ms(of.containers, [each["id"] for each in good])
        return weighted(late, np.ones(len(late)), statistic, 0.001)
    times = [each[f"{measure}_ms"] for each in good if each[f"{measure}_ms"] is not None]
    values = np.array(times, dtype=float)
    return weighted(values, np.ones(len(values)), statistic, 0.001)


def starvation_ms(containers: pl.DataFrame, applications: Sequence[str]) -> Floats:
    """Of each MapReduce job, for how long its reduces waited after its last map: the mean of start
    less the last map's end, over the reduces that started after it; 0 where none did.
    """
    found = []
    for rows in containers.filter(pl.col("application").is_in(applications)).partition_by(
        "application"
    ):
        last = rows.filter(pl.col("stage") == "map")["finished_ms"].max()
        starts = rows.filter(pl.col("stage") == "reduce")["started_ms"].drop_nulls()
        if last is not None:
            late = (starts - last).filter(starts > last)
            found.append(late.mean() if len(late) else 0.0)
    return np.array(found, dtype=float)


def speedup(
    mine: Mapping[str, float], theirs: Mapping[str, float], what: Mapping[str, Any]
) -> float | None:
    """Return the statistic over the applications that have completed in two runs; with ``above`` or
    ``below`` the percentage of them.
    """
    found = np.array([theirs[name] / own for name, own in mine.items() if name in theirs])
    for key, holds in (("above", np.greater), ("below", np.less)):
        if what.get(key) is not None:
            return float(100 * holds(found, what[key]).mean()) if len(found) else None
    return weighted(found, np.ones(len(found)), what.get("statistic") or "mean")


def applications_of(applications: Sequence[dict[str, Any]], of: str) -> list[dict[str, Any]]:
    """Return the applications that ``of`` means: those with the tag; otherwise those in the queue
    or below it; otherwise the one with the id. ``*`` matches any text; "" means all.
    """
    if not of:
        return list(applications)
    tagged = [a for a in applications if any(fnmatchcase(tag, of) for tag in a.get("tags") or ())]
    queued = [
        a for a in applications
        if fnmatchcase(a["queue"], of) or fnmatchcase(a["queue"], f"{of}.*")
    ]  # fmt: skip
    return tagged or queued or [a for a in applications if fnmatchcase(a["id"], of)]


def weighted(values: Floats, weights: Floats, statistic: str, scale: float = 1.0) -> float | None:
    """A statistic of values that weigh so much; None where nothing weighs anything.

    The median and the 95th percentile of equal weights are the usual ones, interpolated; of others
    (time) the value that half, or 95 %, of the weight does not exceed.
    """
    values, weights = values[weights > 0] * scale, weights[weights > 0]
    if not len(values):
        return None
    if statistic in ("max", "min"):
        return float(values.max() if statistic == "max" else values.min())
    if statistic == "mean":
        return float((values * weights).sum() / weights.sum())
    part = 0.5 if statistic == "median" else float(statistic.removeprefix("p")) / 100
    if (weights == weights[0]).all():
        return float(np.quantile(values, part))
    order = np.argsort(values, kind="stable")
    reached = weights[order].cumsum()
    return float(values[order][np.searchsorted(reached, part * reached[-1])])


@dataclass(frozen=True)
class _Held:
    """Return the containers that ran, from RUNNING to their end (ms), and what each counts for, in
    one column per figure.
    """

    begin: Floats
    end: Floats
    amounts: Floats

    def at(self, times: Floats) -> Floats:
        """Return what is used from each time on, one row per time."""
        moments = np.concatenate([self.begin, self.end])
        order = np.argsort(moments, kind="stable")
        change = np.concatenate([self.amounts, -self.amounts])[order].cumsum(axis=0)
        nothing = np.zeros((1, self.amounts.shape[1]))
        return np.concatenate([nothing, change])[np.searchsorted(moments[order], times, "right")]


def _over_time(
    of: Measured, chosen: Sequence[dict[str, Any]], what: Mapping[str, Any], statistic: str
) -> float | None:
    """Of ``running`` and ``share``, over the time that counts."""
    run, frame = of.run, of.containers
    if not frame.height:
        return None
    running = what["measure"] == "running"
    between = what.get("from_s") is not None or what.get("to_s") is not None
    ran = frame.filter(
        pl.col("started_ms").is_not_null()
        & pl.col("application").is_in([each["id"] for each in chosen])
    )
    times = _window(run.facts["applications"], what)
    if running:
        ran, times = ran.filter(~pl.col("is_am")), times if between else _union(chosen)
    last = max([end for _, end in times], default=0.0)
    names = resource_columns(run.facts["resource_types"])
    amounts = np.ones((ran.height, 1)) if running else ran.select(names).to_numpy().astype(float)
    begin = ran["started_ms"].cast(pl.Float64).to_numpy()
    end = ran["finished_ms"].cast(pl.Float64).fill_null(max(last, 0.0)).to_numpy()
    held = _Held(begin, end, amounts)
    steps = run.facts["capacity"]
    since = np.array([time for time, _ in steps], dtype=float)
    edges = [edge for interval in times for edge in interval]
    breaks = np.unique(np.concatenate([begin, end, since, edges]))
    counts = _lengths(breaks, times)
    used = held.at(breaks[:-1])
    if running:
        return weighted(used[:, 0], counts, statistic)
    whole = np.array([amounts for _, amounts in steps], dtype=float)
    whole = whole[np.maximum(np.searchsorted(since, breaks[:-1], "right") - 1, 0)]
    shares = np.divide(used, whole, out=np.zeros_like(used), where=whole > 0)
    if resource := what.get("resource", ""):
        if resource not in run.facts["resource_types"]:
            return None
        return weighted(shares[:, run.facts["resource_types"].index(resource)], counts, statistic)
    return weighted(shares.max(axis=1), counts, statistic)


def _lengths(breaks: Floats, times: Intervals) -> Floats:
    """Return for each stretch between two breaks its length if it lies in one of the intervals,
    otherwise 0.
    """
    counts = np.zeros(max(0, len(breaks) - 1))
    for begin, end in times:
        first, last = np.searchsorted(breaks, [begin, end])
        counts[first:last] = np.diff(breaks)[first:last]
    return counts


def _union(applications: Sequence[dict[str, Any]]) -> Intervals:
    """Return the intervals in which at least one of them demanded; for results without that: from
    submission to end.
    """
    found: list[tuple[float, float]] = []
    for begin, end in sorted(interval for each in applications for interval in _demand(each)):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return found


def _demand(application: dict[str, Any]) -> list[tuple[float, float]]:
    intervals = application.get("demanding")
    if intervals is None:
        end = application["finished_ms"]
        intervals = [] if end is None else [(application["submitted_ms"], end)]
    return [(float(begin), float(end)) for begin, end in intervals]


def _window(applications: Sequence[dict[str, Any]], what: Mapping[str, Any]) -> Intervals:
    """From ``from_s`` to ``to_s``; where neither is said, while every queue that has applications
    demands, or every application where all are in one queue.
    """
    if what.get("from_s") is not None or what.get("to_s") is not None:
        last = max([end for _, end in _union(applications)], default=0.0)
        to_s = what.get("to_s")
        begin = 1000 * float(what.get("from_s") or 0)
        return [(begin, last if to_s is None else 1000 * float(to_s))]
    queues = dict.fromkeys(each["queue"] for each in applications)
    key = "queue" if len(queues) > 1 else "id"
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in applications:
        groups.setdefault(each[key], []).append(each)
    common: Intervals = [(-np.inf, np.inf)]
    for members in groups.values():
        mine = _union(members)
        common = [
            (max(a, c), min(b, d)) for a, b in common for c, d in mine if max(a, c) < min(b, d)
        ]
    return common if groups else []
