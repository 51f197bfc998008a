"""A run's containers as a table (one row per container, one column per fact), and arrays for
sums.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from loomcard.results.container_rows import NEVER, ContainerRows
from loomcard.results.record import RunRecord

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TYPES = {
    "application": pl.String,
    "stage": pl.String,
    "task": pl.Int64,
    "attempt": pl.Int64,
    "node": pl.String,
    "is_am": pl.Boolean,
    "allocated_ms": pl.Int64,
    "started_ms": pl.Int64,
    "finished_ms": pl.Int64,
    "kind": pl.String,
}
"""The columns of a table of containers, without those of the resource types."""
TIMES = ("allocated_ms", "started_ms", "finished_ms")


def resource_columns(types: list[str]) -> list[str]:
    """Return the columns of a container's size: the resource types by name. A type with the name of
    another column gets the prefix ``resource_``.
    """
    return [f"resource_{name}" if name in TYPES else name for name in types]


def container_frame(record: RunRecord) -> pl.DataFrame:
    """Return the record's containers in a total order, that of their allocations. Columns: those of
    ``ContainerRow``, with ``size`` in one column per resource type.
    """
    rows = ContainerRows.of(record.containers)
    table: dict[str, object] = {}
    for name, kind in TYPES.items():
        column = getattr(rows, name)
        series = pl.Series(name, np.array(column) if isinstance(column, array) else column)
        table[name] = series.replace(NEVER, None) if name in TIMES else series.cast(kind)
    names = resource_columns(record.resource_types)
    sizes = np.array(rows.size, dtype=np.int64).reshape(len(rows), len(names))
    for index, name in enumerate(names):
        table[name] = pl.Series(name, sizes[:, index])
    order = ["allocated_ms", "application", "stage", "task", "attempt", "node", "started_ms"]
    head = ["application", "stage", "task", "attempt", "node", "is_am", *names]
    frame = pl.DataFrame(table).select([*head, *(c for c in TYPES if c not in head)])
    return frame.sort(order, nulls_last=True, maintain_order=True)


@dataclass(frozen=True)
class Occupation:
    """What was used, and when: containers that ran, from RUNNING to their end. ``application``: its
    index in the record; ``sizes``: one row per container, one column per resource type.
    """

    application: Integers
    from_ms: Integers
    to_ms: Integers
    sizes: Integers


def occupation(record: RunRecord, frame: pl.DataFrame, between: tuple[int, int]) -> Occupation:
    """Return the containers that ran ``between`` two moments, cut to them; without an end they
    still run.
    """
    first, last = between
    index = pl.DataFrame(
        {
            "application": pl.Series([a.id for a in record.applications], dtype=pl.String),
            "index": pl.Series(range(len(record.applications)), dtype=pl.Int64),
        }
    )
    ran = (
        frame.filter(pl.col("started_ms").is_not_null())
        .join(index, on="application", how="inner", maintain_order="left")
        .with_columns(
            pl.col("started_ms").clip(first, last),
            pl.col("finished_ms").fill_null(last).clip(first, last),
        )
        .filter(pl.col("finished_ms") > pl.col("started_ms"))
    )
    names = resource_columns(record.resource_types)
    return Occupation(
        ran["index"].to_numpy(),
        ran["started_ms"].to_numpy(),
        ran["finished_ms"].to_numpy(),
        ran.select(names).to_numpy().reshape(ran.height, len(names)),
    )


@dataclass(frozen=True)
class Capacity:
    """The cluster's capacity over time: at ``from_ms[i]`` it becomes row ``amounts[i]``."""

    from_ms: Integers
    amounts: Integers

    def at(self, times: Integers) -> Integers:
        """Return the capacity at each of the times, one row per time; before the first step, the
        first.
        """
        return self.amounts[np.maximum(np.searchsorted(self.from_ms, times, "right") - 1, 0)]


def capacity(record: RunRecord) -> Capacity:
    """Return the record's steps; of several at one moment the last."""
    steps = dict(record.capacity) or {0: tuple(0 for _ in record.resource_types)}
    times = sorted(steps)
    amounts = np.array([steps[time] for time in times], dtype=np.int64)
    return Capacity(np.array(times, dtype=np.int64), amounts.reshape(len(times), -1))


def shares(used: Integers, whole: Integers) -> Floats:
    """Return used over capacity, by resource; 0 if there is no capacity."""
    return np.divide(used, whole, out=np.zeros(used.shape), where=whole > 0)
