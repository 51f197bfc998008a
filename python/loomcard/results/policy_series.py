"""What policies reported of their state during a run, as time series: one row per moment and
figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

MOST = 100_000
"""The most rows of one run; a longer run has fewer moments of each figure."""


class StateRow(NamedTuple):
    """One figure of one queue at one moment, as one row of states.parquet."""

    at_ms: int
    queue: str
    panel: str  # figures of one panel are drawn together
    figure: str  # by name
    label: str  # the name for people
    unit: str
    value: float


STATE_TYPES = dict(
    zip(StateRow._fields, [pl.Int64, *[pl.String] * 5, pl.Float64], strict=True)
)  # fmt: skip


_Key = tuple[str, str, str, str, str]


class States:
    """Collects figures during a run. Of each figure it keeps the last value in every stretch of
    time, and the length of stretches doubles whenever there are more than ``most`` rows. The result
    depends only on what was reported, not on when it is read.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._interval_ms = 1
        self._count = 0
        self._reported: dict[_Key, dict[int, tuple[int, float]]] = {}

    def add(self, at_ms: int, queue: str, figures: Iterable[Mapping[str, Any]]) -> None:
        """Yield what a policy reported of a queue: name, label, unit, panel and value of its
        figures. Figures without a panel and values that are not numbers are left out.
        """
        for figure in figures:
            value, panel = figure["value"], figure["panel"]
            if panel and isinstance(value, int | float) and not isinstance(value, bool):
                key: _Key = (queue, panel, figure["name"], figure["label"], figure["unit"])
                series = self._reported.setdefault(key, {})
                before = len(series)
                series[at_ms // self._interval_ms] = at_ms, float(value)
                self._count += len(series) - before
        while self._count > self._most and self._interval_ms <= at_ms:
            self._thin()

    def _thin(self) -> None:
        self._interval_ms *= 2
        for key, series in self._reported.items():
            self._reported[key] = {
                at_ms // self._interval_ms: (at_ms, v) for at_ms, v in series.values()
            }
        self._count = sum(map(len, self._reported.values()))

    def rows(self) -> list[StateRow]:
        """Yield the rows figure by figure, in the order in which they were first reported; each by
        time.
        """
        return [
            StateRow(at_ms, *key, value)
            for key, series in self._reported.items()
            for at_ms, value in series.values()
        ]


def state_frame(rows: Iterable[StateRow]) -> pl.DataFrame:
    """Return the rows as a table, in their order."""
    return pl.DataFrame(list(rows), schema=STATE_TYPES, orient="row")
