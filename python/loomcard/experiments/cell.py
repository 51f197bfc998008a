"""One cell: drawn, run, written whole to its own folder; or skipped, as it has run before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loomcard.config import FindingsError, canonical_json
from loomcard.experiments.engines import Engine, Task
from loomcard.experiments.grid import Cell
from loomcard.experiments.inputs import code, foreign_code
from loomcard.experiments.lower_bounds import keep_bounds
from loomcard.results.manifest import manifest
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import MANIFEST, RESULTS, ResultError, read_json, write_run
from loomcard.workload import load
from loomcard.workload.scenario import Scenario, write_scenario

CELLS = "cells"
_COMPARED = ("inputs", "engine", "seeds")


@dataclass(frozen=True)
class Outcome:
    """What became of a cell. ``stopped``: what there is of it is written, and it will run again."""

    index: int
    state: Literal["done", "skipped", "stopped", "failed"]
    reached_ms: int = 0
    seconds: float = 0.0
    message: str = ""


def run_cell(
    cell: Cell,
    out: Path,
    engine: Engine,
    notify: Callable[[int], None],
    *,
    journal: bool = False,
    again: bool = False,
) -> Outcome:
    """Runs the cell and writes its folder below ``out``; a failure is an outcome, not an error.

    A cell whose folder was written from the same inputs (workload as drawn, configuration, code) is
    skipped, unless ``again``.
    """
    folder = out / CELLS / cell.folder
    work = work_folder(folder)
    try:
        scenario, made = drawn(cell)
        if not again and has_run(folder, made):
            return Outcome(cell.index, "skipped")
        record = fill_folder(cell, scenario, made, work, engine, notify, journal=journal)
        put(work, folder)
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:  # a policy may raise anything; the other cells go on
        return Outcome(cell.index, "failed", message=failure_text(cell, error))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return outcome_of(cell, record)


def work_folder(folder: Path) -> Path:
    """Where this process writes what becomes ``folder``."""
    return folder.with_name(f".{folder.name}.{os.getpid()}")


def drawn(cell: Cell) -> tuple[Scenario, dict[str, Any]]:
    """The cell's workload with its random values sampled, and the manifest of its folder."""
    scenario = load(cell.file, seed=cell.seed, vary=cell.changes)
    return scenario, cell_manifest(cell, write_scenario(scenario))


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
    """Runs the cell on its engine and writes all its files into the folder ``work``, which is
    replaced. Raises what the engine or the policy raises.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    journals = work / "journal" / f"{cell.policy}-{cell.seed}" if journal else None
    task = Task(
        scenario, cell.policy, cell.source, cell.text, cell.config, work, journals,
        cell.engine, notify, cell.queues, cell.home,
    )  # fmt: skip
    record = engine(task)
    _name(record, cell)
    keep_bounds(record, scenario)
    write_run(work, [record], made)
    return record


def outcome_of(cell: Cell, record: RunRecord) -> Outcome:
    """What became of a cell that has a record."""
    state: Literal["done", "stopped"] = "done" if record.finished else "stopped"
    return Outcome(cell.index, state, record.ended_ms, record.seconds)


def cell_manifest(cell: Cell, scenario_text: bytes) -> dict[str, Any]:
    """The manifest of the cell's folder; its ``inputs`` say whether it has to run again."""
    governs = cell.config or cell.queues
    config = cell.source + ("" if governs is None else canonical_json(governs))
    inputs = {
        "code": code() + foreign_code(cell.config),
        f"policy {cell.policy}": config.encode(),
        f"workload {cell.workload}": scenario_text,
    }
    return manifest(inputs, seeds=[cell.seed], engine=cell.engine)


def has_run(folder: Path, made: dict[str, Any]) -> bool:
    """Whether the folder holds a finished run of the same inputs."""
    try:
        before, results = read_json(folder / MANIFEST), read_json(folder / RESULTS)
        same = all(before[key] == made[key] for key in _COMPARED)
        return same and all(run["finished"] for run in results)
    except (OSError, ResultError, KeyError, TypeError):
        return False


def _name(record: RunRecord, cell: Cell) -> None:
    """Engines know a scenario; what it is called in the experiment is the cell's matter."""
    record.workload, record.seed, record.engine = cell.workload, cell.seed, cell.engine
    record.parameters = dict(cell.parameters)


def put(work: Path, folder: Path) -> None:
    """The new folder in the old one's place; nobody sees half of one."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def failure_text(cell: Cell, error: Exception) -> str:
    """One line: which cell, what happened, and the remedy if the error knows one."""
    hint = next(iter(reversed(getattr(error, "hint", "").splitlines())), "")  # of a traceback
    text = str(error) if isinstance(error, FindingsError) else f"{type(error).__name__}: {error}"
    where = f"{cell.policy} on {cell.workload}, seed {cell.seed}"
    parameters = "".join(f", {name}={value}" for name, value in cell.parameters.items())
    first = next(iter(text.splitlines()), "")
    return f"{where}{parameters}: {first}" + (f" ({hint})" if hint else "")
