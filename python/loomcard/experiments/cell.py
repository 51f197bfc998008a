"""One cell: its workload drawn, run on an engine, and written to its own folder; or skipped, if it
has run before.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loomcard.config import FindingsError, canonical_json
from loomcard.experiments.engines import Engine, Task, hadoop_version, simulated
from loomcard.experiments.expectations import Names, resolved
from loomcard.experiments.grid import Cell
from loomcard.experiments.inputs import code, foreign_code
from loomcard.experiments.lower_bounds import keep_bounds
from loomcard.experiments.schema import Experiment
from loomcard.results.manifest import manifest
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import (
    CELLS,
    MANIFEST,
    RESULTS,
    ResultError,
    read_json,
    write_cell,
)
from loomcard.workload.scenario import Scenario, write_scenario

TELL_S = 0.2
_COMPARED = ("inputs", "engine", "seeds")


@dataclass(frozen=True)
class Orders:
    """What is the same for every cell of a run. ``out``: the run folder; ``again``: run cells that
    have run already.
    """

    out: Path
    engine: Engine
    journal: bool = False
    again: bool = False


@dataclass(frozen=True)
class Outcome:
    """The end of a cell. ``stopped``: it was ended early; its folder has what happened until then,
    and it will run again. ``trace``: the traceback of a policy that raised.
    """

    index: int
    state: Literal["done", "skipped", "stopped", "failed"]
    reached_ms: int = 0
    seconds: float = 0.0
    message: str = ""
    trace: str = ""

    @property
    def finished(self) -> bool:
        """Whether it was not ended early."""
        return self.state != "stopped"


Watch = Callable[[Outcome | tuple[int, int]], None]
"""Called with each outcome, and now and then with (index of a running cell, the ms that it has
reached).
"""


def run_cell(orders: Orders, cell: Cell, notify: Callable[[int], None]) -> Outcome:
    """Run the cell and write its folder. A failure is an outcome, not an error.

    A cell is skipped if its folder was written from the same inputs (workload as drawn,
    configuration, code).
    """
    folder = orders.out / CELLS / cell.folder
    work = work_folder(folder)
    try:
        scenario = cell.drawn()
        made = cell_manifest(cell, write_scenario(scenario))
        if not orders.again and has_run(folder, made):
            return Outcome(cell.index, "skipped")
        often = _Throttled(notify)
        record = fill_folder(
            cell, scenario, made, work, orders.engine, often, journal=orders.journal
        )
        put(work, folder)
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:  # a policy may raise anything; the other cells continue
        return failed(cell, error)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return outcome_of(cell, record)


def simulate_cell(cell: Cell, notify: Callable[[int], None]) -> RunRecord:  # noqa: ARG001
    """Simulate the cell and write nothing. Raises what the simulator raises."""
    return _record(cell, Task(cell, cell.drawn()))


def work_folder(folder: Path) -> Path:
    """Return where this process writes what becomes ``folder``."""
    return folder.with_name(f".{folder.name}.{os.getpid()}")


def fill_folder(
    cell: Cell,
    scenario: Scenario,
    made: dict[str, Any],
    work: Path,
    engine: Engine,
    notify: Callable[[int], None],
    *,
    journal: bool,
) -> RunRecord:
    """Run the cell on its engine and write all its files into the folder ``work``, which is
    replaced. Raises what the engine or the policy raises.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    task = Task(cell, scenario, work, work / "journal" if journal else None, notify)
    record = _record(cell, task, engine)
    write_cell(work, record, made)
    return record


def _record(cell: Cell, task: Task, engine: Engine = simulated) -> RunRecord:
    """Run the task; the record has the cell's names and the bounds of its workload."""
    record = engine(task)
    record.workload, record.seed, record.engine = cell.workload, cell.seed, cell.engine
    record.parameters = dict(cell.parameters)
    keep_bounds(record, task.scenario)
    return record


def outcome_of(cell: Cell, record: RunRecord) -> Outcome:
    """Return the outcome of a cell that has a record."""
    state: Literal["done", "stopped"] = "done" if record.finished else "stopped"
    return Outcome(cell.index, state, record.ended_ms, record.seconds)


def failed(cell: Cell, error: Exception) -> Outcome:
    """Return the outcome of a cell that failed: one line, and the traceback of a policy."""
    hint = getattr(error, "hint", "")
    trace = hint if "\n" in hint else ""
    return Outcome(cell.index, "failed", message=failure_text(cell, error), trace=trace)


def cell_manifest(
    cell: Cell, workload: bytes, more: Mapping[str, bytes] | None = None
) -> dict[str, Any]:
    """Return the manifest of the cell's folder; its ``inputs`` say whether it has to run again.
    ``more``: inputs besides code, policy and workload.
    """
    governs = cell.config or cell.queues
    config = cell.source + ("" if governs is None else canonical_json(governs))
    inputs = {
        "code": code() + foreign_code(cell.config),
        f"policy {cell.policy}": config.encode(),
        f"workload {cell.workload}": workload,
    }
    return manifest(inputs | dict(more or {}), seeds=[cell.seed], engine=cell.engine)


def run_manifest(
    experiment: Experiment,
    names: Names,
    cells: Sequence[Cell],
    inputs: Mapping[str, bytes],
    command: Sequence[str],
) -> dict[str, Any]:
    """Return the manifest of a run folder. ``names``: what the experiment's file may name;
    ``inputs``: those besides the code.
    """
    engine = cells[0].engine
    made = manifest(
        dict(inputs) | {"code": code()},
        command=command,
        seeds=experiment.seeds,
        engine=engine,
        hadoop=hadoop_version(engine),
    )
    stated = {"name", "description", "over_seeds", "baseline", "vary", "given"}
    said = experiment.model_dump(include=stated)
    called = {cell.source: cell.policy for cell in cells}
    said["expect"] = [resolved(each, names, called) for each in experiment.expect]
    return made | {"experiment": said, "cells": len(cells)}


def has_run(folder: Path, made: dict[str, Any]) -> bool:
    """Return whether the folder has a finished run of the same inputs."""
    try:
        before, results = read_json(folder / MANIFEST), read_json(folder / RESULTS)
        same = all(before[key] == made[key] for key in _COMPARED)
        return same and all(run["finished"] for run in results)
    except (OSError, ResultError, KeyError, TypeError):
        return False


def put(work: Path, folder: Path) -> None:
    """Replace a folder by a new one; no reader sees a part of it."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def failure_text(cell: Cell, error: Exception) -> str:
    """Return one line: which cell, what happened, and the remedy if the error knows one."""
    hint = next(iter(reversed(getattr(error, "hint", "").splitlines())), "")  # of a traceback
    text = str(error) if isinstance(error, FindingsError) else f"{type(error).__name__}: {error}"
    where = f"{cell.policy} on {cell.workload}, seed {cell.seed}"
    parameters = "".join(f", {name}={value}" for name, value in cell.parameters.items())
    first = next(iter(text.splitlines()), "")
    return f"{where}{parameters}: {first}" + (f" ({hint})" if hint else "")


class _Throttled:
    """Calls a function at most every ``TELL_S``: a simulator has more to say than one can read."""

    def __init__(self, notify: Callable[[int], None]) -> None:
        self._notify = notify
        self._next = 0.0

    def __call__(self, now_ms: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + TELL_S
            self._notify(now_ms)
