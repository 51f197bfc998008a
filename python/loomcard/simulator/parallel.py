"""Several runs at once, each in its own process; whatever stops them, what they have is kept."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from loomcard.outcome.record import RunRecord
from loomcard.simulator.engine import Progress, simulate
from loomcard.simulator.resourcemanager import PolicyFaultError
from loomcard.workload.scenario import Scenario, read_scenario, write_scenario

Tell = Callable[[int, Progress], None]
STOP_S = 5.0
"""So long a process may take to send what it has, once it is told to stop."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run to be made: a compiled set-up, its name in the results, where its journal goes."""

    policy: str
    setup: Mapping[str, Any]
    journal: Path | None = None


def simulate_all(
    scenario: Scenario, runs: Sequence[Run], processes: int, tell: Tell = lambda *_: None
) -> list[RunRecord]:
    """A record for each run, in their order, whatever the count of processes; ``tell(index,
    progress)`` hears how far each is.

    Ctrl-C ends them all: those that had begun give a record with ``finished`` False, the others
    none. Raises PolicyFaultError with the first policy's that raised.
    """
    if len(runs) == 1 or processes <= 1:
        return _one_by_one(scenario, runs, tell)
    return _Pool(scenario, runs, processes, tell).run()


def _one_by_one(scenario: Scenario, runs: Sequence[Run], tell: Tell) -> list[RunRecord]:
    records = []
    for index, run in enumerate(runs):
        records.append(_simulate(scenario, run, _teller(tell, index)))
        if not records[-1].finished:
            break
    return records


def _teller(tell: Tell, index: int) -> Callable[[Progress], None]:
    return lambda progress: tell(index, progress)


def _simulate(scenario: Scenario, run: Run, tell: Callable[[Progress], None]) -> RunRecord:
    return simulate(scenario, run.setup, policy=run.policy, journal=run.journal, on_progress=tell)


class _Pool:
    """At most so many processes; each sends its progress, then its record or what went wrong."""

    def __init__(self, scenario: Scenario, runs: Sequence[Run], processes: int, tell: Tell) -> None:
        self._text = write_scenario(scenario)
        self._runs = runs
        self._processes = processes
        self._tell = tell
        self._left = deque(range(len(runs)))
        self._active: dict[Connection, tuple[int, BaseProcess]] = {}
        self._records: dict[int, RunRecord] = {}
        self._fault: PolicyFaultError | None = None
        self._stopped = False
        self._deadline: float | None = None

    def run(self) -> list[RunRecord]:
        while self._left or self._active:
            try:
                self._step()
            except KeyboardInterrupt:
                self._stop()
        if self._fault is not None:
            raise self._fault
        return [self._records[index] for index in sorted(self._records)]

    def _step(self) -> None:
        while self._left and len(self._active) < self._processes:
            self._begin(self._left.popleft())
        wait_s = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        found = wait(list(self._active), wait_s)
        if not found:  # told to stop, and deaf
            for _, process in self._active.values():
                process.kill()
            self._deadline = None
        for ready in found:
            assert isinstance(ready, Connection)
            index, process = self._active[ready]
            try:
                kind, what = ready.recv()
            except EOFError:
                process.join()
                kind = "fault"
                what = PolicyFaultError(
                    f"{self._runs[index].policy}: its process ended, status {process.exitcode}"
                )
            if kind == "progress":
                self._tell(index, what)
                continue
            if kind == "record":
                self._records[index] = what
            elif self._fault is None and not self._stopped:
                self._fault = what
                self._left.clear()
            process.join()
            del self._active[ready]

    def _stop(self) -> None:
        """Tell the processes to send what they have, and wait a little for it."""
        self._left.clear()
        if not self._stopped:
            for _, process in self._active.values():
                process.terminate()
        self._stopped, self._deadline = True, time.monotonic() + STOP_S

    def _begin(self, index: int) -> None:
        context = multiprocessing.get_context("spawn")  # no state of ours, on any system
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_work, args=(self._text, self._runs[index], theirs), daemon=True
        )
        with _deaf():  # Ctrl-C is the parent's; it tells its children once
            process.start()
        theirs.close()
        self._active[ours] = index, process


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A process that starts inside does not hear Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _work(text: bytes, run: Run, out: Connection) -> None:
    signal.signal(signal.SIGTERM, _interrupt)

    def tell(progress: Progress) -> None:
        out.send(("progress", progress))

    try:
        out.send(("record", _simulate(read_scenario(text), run, tell)))
    except PolicyFaultError as error:
        out.send(("fault", error))
    except KeyboardInterrupt:
        pass  # stopped before it began: there is nothing to send
