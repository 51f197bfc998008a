"""Use over time, in a fixed number of steps, for the plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


def edges(facts: dict[str, Any], containers: pl.DataFrame, steps: int) -> Floats:
    """Return the borders of the steps, from the first submission to the end of the last container,
    in ms.
    """
    first = min((each["submitted_ms"] for each in facts["applications"]), default=0)
    ends = containers["finished_ms"].drop_nulls() if containers.height else pl.Series([1])
    end = ends.max()
    last = max(first + 1, end if isinstance(end, int) else 0)  # None if nothing has ended
    return np.linspace(first, last, steps + 1)


def held(containers: pl.DataFrame, amounts: Sequence[float], borders: Floats) -> Floats:
    """Return the mean of what the containers used in each step. ``amounts``: what each counts for.
    The integral of a container up to a border is its amount times the time that it has run by then.
    Sums of them over all containers are two sorted arrays, evaluated at the borders.
    """
    ran = containers.with_columns(pl.Series("amount", amounts, dtype=pl.Float64)).filter(
        pl.col("started_ms").is_not_null()
    )
    last = borders[-1]
    begin = ran["started_ms"].cast(pl.Float64).to_numpy()
    end = ran["finished_ms"].cast(pl.Float64).fill_null(last).to_numpy()
    weight = ran["amount"].to_numpy()
    total = _area(begin, weight, borders) - _area(end, weight, borders)
    return np.asarray(np.diff(total) / np.diff(borders))


def _area(since: Floats, weight: Floats, borders: Floats) -> Floats:
    """Return at each border the sum of weight * (border - since) over those that began before
    it.
    """
    order = np.argsort(since, kind="stable")
    since, weight = since[order], weight[order]
    place = since.searchsorted(borders)
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    moments = np.concatenate([[0.0], np.cumsum(weight * since)])
    return np.asarray(sums[place] * borders - moments[place])


def capacity(facts: dict[str, Any], resource: int, borders: Floats) -> Floats:
    """Return the mean of the cluster's capacity of a resource in each step."""
    steps = facts.get("capacity") or [[0, [0]]]
    times = np.array([min(steps[0][0], borders[0]), *(time for time, _ in steps[1:])], dtype=float)
    values = np.array([amounts[resource] for _, amounts in steps], dtype=float)
    change = np.diff(values, prepend=0.0)
    return np.asarray(np.diff(_area(times, change, borders)) / np.diff(borders))


def dominant(facts: dict[str, Any], containers: pl.DataFrame) -> list[float]:
    """Return each container's dominant share of the first capacity of the cluster."""
    names = [name for name in facts["resource_types"] if name in containers.columns]
    steps = facts.get("capacity") or [[0, [0] * len(names)]]
    whole = dict(zip(facts["resource_types"], np.max([a for _, a in steps], axis=0), strict=True))
    parts = [pl.col(name) / float(whole[name]) for name in names if whole[name] > 0]
    if not parts or not containers.height:
        return [0.0] * containers.height
    return containers.select(pl.max_horizontal(parts)).to_series().to_list()
