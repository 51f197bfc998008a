"""Cells over processes, in the order given: longest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from loomcard.experiments.cell import Outcome, run_cell
from loomcard.experiments.engines import Engine
from loomcard.experiments.grid import Cell
from loomcard.simulator.processes import WorkerLostError, run_in_processes

TELL_S = 0.2


@dataclass(frozen=True)
class Orders:
    """What holds for every cell of a run."""

    out: Path
    engine: Engine
    journal: bool = False
    again: bool = False


Watch = Callable[[Outcome | tuple[int, int]], None]
"""Called with each outcome, and now and then with (index of a running cell, the ms that it has
reached).
"""

_LOST: Final = (
    "a process was killed from outside (for its memory? then run again with fewer --processes;"
    " what has run is kept)"
)


def run_cells(cells: Sequence[Cell], orders: Orders, processes: int, watch: Watch) -> list[Outcome]:
    """Runs the cells in the order given, ``processes`` at a time; the outcomes by index.

    One process: in this one. Ctrl-C (and SystemExit) ends it early: cells that run write what they
    have, and the outcomes are those of the cells that were begun.
    """
    outcomes: list[Outcome] = []

    def note(position: int, outcome: Outcome) -> None:  # noqa: ARG001 - the outcome knows its cell
        outcomes.append(outcome)
        watch(outcome)

    def on_message(position: int, now_ms: int) -> None:
        watch((cells[position].index, now_ms))

    work = partial(_work, orders)
    try:
        if processes > 1:
            run_in_processes(work, cells, processes, note, on_message)
        for position, cell in enumerate(cells if processes == 1 else ()):
            note(position, work(cell, partial(on_message, position)))
            if outcomes[-1].state == "stopped":
                break
    except KeyboardInterrupt:
        pass
    except WorkerLostError as error:
        lost = Outcome(cells[error.position].index, "failed", message=_LOST)
        note(error.position, lost)
    return sorted(outcomes, key=lambda outcome: outcome.index)


def _work(orders: Orders, cell: Cell, notify: Callable[[int], None]) -> Outcome:
    return run_cell(
        cell,
        orders.out,
        orders.engine,
        _Throttled(notify),
        journal=orders.journal,
        again=orders.again,
    )


class _Throttled:
    """Calls on at most every so often: a simulator has more to say than anyone can read."""

    def __init__(self, notify: Callable[[int], None]) -> None:
        self._notify = notify
        self._next = 0.0

    def __call__(self, now_ms: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_S
            self._notify(now_ms)
