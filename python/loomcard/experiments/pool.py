"""Cells over processes: longest first, stopped cleanly, and never a process left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

from loomcard.experiments.cell import Outcome, run_cell
from loomcard.experiments.engines import Engine
from loomcard.experiments.grid import Cell

TELL_S = 0.2
STOP_S = 10.0
"""So long a process may take to write what it has after Ctrl-C, before it is ended."""


@dataclass(frozen=True)
class Orders:
    """What holds for every cell of a run."""

    out: Path
    engine: Engine
    journal: bool = False
    again: bool = False


Watch = Callable[[Outcome | tuple[int, int]], None]
"""Told each outcome, and now and then (index of a running cell, the ms that it has reached)."""


def run_cells(cells: Sequence[Cell], orders: Orders, processes: int, watch: Watch) -> list[Outcome]:
    """Runs the cells in the order given, ``processes`` at a time; the outcomes by index.

    One process: in this one. Ctrl-C (and SystemExit) ends it early: cells that run write what they
    have, and the outcomes are those of the cells that were begun.
    """
    outcomes: list[Outcome] = []

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        watch(outcome)

    if processes == 1:
        _here(cells, orders, note, watch)
    else:
        _spread(cells, orders, processes, note, watch)
    return sorted(outcomes, key=lambda outcome: outcome.index)


def _here(
    cells: Sequence[Cell], orders: Orders, note: Callable[[Outcome], None], watch: Watch
) -> None:
    for cell in cells:
        tell = _Throttled(lambda now, index=cell.index: watch((index, now)))  # type: ignore[misc]
        try:
            outcome = run_cell(
                cell, orders.out, orders.engine, tell, journal=orders.journal, again=orders.again
            )
        except KeyboardInterrupt:
            return
        note(outcome)
        if outcome.state == "stopped":
            return


class _Throttled:
    """Calls on at most every so often: a simulator has more to say than anyone can read."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._next = 0.0

    def __call__(self, now_ms: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_S
            self._tell(now_ms)


def _spread(
    cells: Sequence[Cell],
    orders: Orders,
    processes: int,
    note: Callable[[Outcome], None],
    watch: Watch,
) -> None:
    context = multiprocessing.get_context("spawn")
    told: SimpleQueue[tuple[int, int]] = context.SimpleQueue()
    stop = context.Event()
    pool = ProcessPoolExecutor(
        min(processes, max(1, len(cells))), context, _begin, (told, stop, orders)
    )
    with _interrupts_wait():  # the new processes inherit it: Ctrl-C is this one's to hear
        waiting = {pool.submit(_work, cell): cell.index for cell in cells}
    try:
        while waiting:
            done = wait(waiting, TELL_S, FIRST_COMPLETED).done
            for future in done:
                _take(future, waiting.pop(future), note)
            while not told.empty():
                watch(told.get())
    except _LostError as error:
        note(Outcome(error.index, "failed", message=_LOST))
    except BaseException as error:
        stop.set()
        begun = {future: index for future, index in waiting.items() if not future.cancel()}
        with contextlib.suppress(_LostError):
            for future in wait(begun, STOP_S).done:
                _take(future, begun[future], note)
        if not isinstance(error, KeyboardInterrupt):
            raise
    finally:
        _end(pool)


_LOST: Final = (
    "a process was killed from outside (for its memory? then run again with fewer --processes;"
    " what has run is kept)"
)


class _LostError(Exception):
    """A process of the pool is gone, and with it the pool."""

    def __init__(self, index: int) -> None:
        self.index = index
        super().__init__(index)


def _take(future: Future[Outcome | None], index: int, note: Callable[[Outcome], None]) -> None:
    try:
        outcome = future.result()
    except BrokenProcessPool as error:
        raise _LostError(index) from error
    if outcome is not None:
        note(outcome)


def _end(pool: ProcessPoolExecutor) -> None:
    """No process outlives the pool, whatever it is doing."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    until = time.monotonic() + 1
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Worker:
    """What a process of the pool was begun with."""

    told: SimpleQueue[tuple[int, int]]
    stop: Event
    orders: Orders


def _begin(told: SimpleQueue[tuple[int, int]], stop: Event, orders: Orders) -> None:
    """In each new process: Ctrl-C is its parent's to hear, and it ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Worker.told, _Worker.stop, _Worker.orders = told, stop, orders
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(cell: Cell) -> Outcome | None:
    """Runs a cell in a process of the pool; None where it was stopped before there was a run."""
    orders = _Worker.orders
    if _Worker.stop.is_set():
        return None
    tell = _Throttled(lambda now: _tell(cell.index, now))
    try:
        return run_cell(
            cell, orders.out, orders.engine, tell, journal=orders.journal, again=orders.again
        )
    except KeyboardInterrupt:
        return None


def _tell(index: int, now_ms: int) -> None:
    if _Worker.stop.is_set():
        raise KeyboardInterrupt
    _Worker.told.put((index, now_ms))
