"""``loomcard suite run``: mixes x policies x repetitions on one cluster after the other. Its folder
is that of an experiment, so the same report reads it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from loomcard.experiments.cell import (
    Outcome,
    cell_manifest,
    failed,
    has_run,
    put,
    run_manifest,
    work_folder,
)
from loomcard.experiments.grid import Cell
from loomcard.experiments.schema import Experiment, names_in
from loomcard.player.run_record import refusals
from loomcard.results.fair_share import queue_shares
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import CELLS, MANIFEST, gather, read_json, write_cell
from loomcard.simulator.engine import MismatchError
from loomcard.simulator.resourcemanager import PolicyFaultError
from loomcard.suite.cluster import Journal, SuiteCluster
from loomcard.suite.environment import REQUIREMENTS
from loomcard.suite.foretold import NAME, beside, foretell
from loomcard.suite.mix import Mix, arrivals
from loomcard.suite.play import Progress, Run, warm_up
from loomcard.suite.record import allocations, allocations_of, amounts, problems, record
from loomcard.wire.journal import JournalError

Notify = Callable[[Cell, Progress], None]


@dataclass(frozen=True)
class Study:
    """A run of the suite with checked inputs. `mixes`, and the `files` of those that have one, by
    their names in the cells.
    """

    experiment: Experiment
    mixes: dict[str, Mix]
    cells: list[Cell]
    engine: str
    command: tuple[str, ...] = ()
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def order(self) -> list[Cell]:
        """The cells, repetition by repetition. Each repetition begins with another policy, so that
        none always comes first.
        """
        seeds, names = self.experiment.seeds, list(dict.fromkeys(c.policy for c in self.cells))
        turn = {name: index for index, name in enumerate(names)}
        mixes = list(self.mixes)

        def place(cell: Cell) -> tuple[int, int, int]:
            repetition = seeds.index(cell.seed)
            turned = (turn[cell.policy] - repetition) % len(names)
            return repetition, mixes.index(cell.workload), turned

        return sorted(self.cells, key=place)


@dataclass
class Finished:
    """The results of a study: results.json's objects, outcomes, and what went wrong, one line
    each.
    """

    out: Path
    runs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    whole: bool = False


def run_study(
    study: Study, cluster: SuiteCluster, out: Path, notify: Notify, *, again: bool = False
) -> Finished:
    """Run the cells that have not run yet, write each one when it ends, and collect all."""
    out.mkdir(parents=True, exist_ok=True)
    finished = Finished(out)
    for cell in study.order:
        outcome = _run_cell(study, cell, cluster, out, notify, again)
        finished.outcomes.append(outcome)
        if outcome.state == "failed":
            finished.problems.append(outcome.message)
        elif (out / CELLS / cell.folder / MANIFEST).exists():
            said = read_json(out / CELLS / cell.folder / MANIFEST)["suite"]["problems"]
            finished.problems += [f"{_called(cell)}: {each}" for each in said]
        if outcome.state == "stopped":
            break
    there = {o.index for o in finished.outcomes if o.state != "failed"}
    ended = [o for o in finished.outcomes if o.state in ("done", "skipped")]
    finished.whole = len(ended) == len(study.cells)
    made = _study_manifest(study) | {
        "failures": finished.problems,
    }
    ran = [cell for cell in study.cells if cell.index in there]
    # Each measured policy is followed by the simulator's prediction, if there is one.
    names = [cell.folder for cell in [*ran, *map(_foretold_cell, ran)]]
    finished.runs = gather(out, names, made)
    return finished


def _called(cell: Cell) -> str:
    return f"{cell.policy} on {cell.workload}, repetition {cell.seed}"


def _run_cell(
    study: Study, cell: Cell, cluster: SuiteCluster, out: Path, notify: Notify, again: bool
) -> Outcome:
    folder = out / CELLS / cell.folder
    work = work_folder(folder)
    mix = study.mixes[cell.workload]
    made = _cell_manifest(cell, mix)
    if not again and has_run(folder, made) and not _problems_in(folder):
        return Outcome(cell.index, "skipped")
    began = time.monotonic()
    try:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        found, predicted, account = _played(cell, mix, cluster, work, lambda p: notify(cell, p))
        found.seconds = time.monotonic() - began
        _write_foretold(cell, predicted, out, made)
        write_cell(work, found, made | {"suite": account})
        put(work, folder)
    except KeyboardInterrupt:
        return Outcome(cell.index, "stopped")
    except Exception as error:  # the other cells continue
        return failed(cell, error)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    # One that its limit ended is complete: the others continue.
    state: Literal["done", "stopped"] = "stopped" if account["interrupted"] else "done"
    return Outcome(cell.index, state, found.ended_ms, found.seconds)


def _problems_in(folder: Path) -> list[str]:
    found: list[str] = read_json(folder / MANIFEST).get("suite", {}).get("problems", [])
    return found


def _played(
    cell: Cell,
    mix: Mix,
    cluster: SuiteCluster,
    work: Path,
    notify: Callable[[Progress], None],
) -> tuple[RunRecord, RunRecord | None, dict[str, Any]]:
    """Return the run's record, the simulator's record for a policy of Loomcard, and further entries
    of the manifest.
    """
    jobs = arrivals(mix, cell.seed)
    cluster.schedule(cell)
    cluster.provide([each.job for each in jobs])
    warm_up(cluster, mix.warm_up, work / "warm-up", mix.limit_s)
    before, capacity = cluster.rest.scheduler(), amounts(cluster.rest)
    run = Run(
        cluster, jobs, work / "clients",
        submitters=mix.submitters, limit_s=mix.limit_s, notify=notify,
    )  # fmt: skip
    load = [os.getloadavg()[0]]
    run.play()
    load.append(os.getloadavg()[0])
    allocated = allocations_of(allocations(before), allocations(cluster.rest.scheduler()))
    if not run.interrupted:
        run.check()
    runs = cluster.container_runs(run.zero_ms)
    journal = cluster.journal(work / "journal", run.zero_ms)
    found = record(run, runs, journal, capacity, refusals(before))
    found.policy, found.workload, found.seed = cell.policy, cell.workload, cell.seed
    found.engine = cell.engine
    found.queues = queue_shares(cell.config or cell.queues or {"queues": []})
    names = {job.yarn: job.arrival.id for job in run.jobs}
    predicted, why_not = _foretold(cell, found, journal, names)
    account = {
        "interrupted": run.interrupted,
        "jobs": run.account(),
        "allocations": allocated,
        "problems": problems(run, allocated),
        "capacity": {"memory_mb": capacity[0], "vcores": capacity[1]},
        "nodes": len(cluster.rest.nodes()),
        "load": [round(each, 1) for each in load],  # of this machine: what else was running
        "foretold": [] if predicted is None else beside(found, predicted),
        "not_foretold": why_not,
    }
    return found, predicted, account


def _foretold(
    cell: Cell, found: RunRecord, journal: Journal | None, names: dict[str, str]
) -> tuple[RunRecord | None, str]:
    """Return the simulator's record, or why there is none."""
    if journal is None or cell.config is None:
        return None, "a stock scheduler leaves no journal"
    if not found.finished:
        return None, "the run was stopped"
    try:
        return foretell(journal.folder, cell.config, found, names), ""
    except (JournalError, MismatchError, PolicyFaultError) as error:  # what was measured is kept
        return None, str(error).partition("\n")[0]


def _foretold_cell(cell: Cell) -> Cell:
    return replace(cell, policy=NAME.format(cell.policy))


def _write_foretold(
    cell: Cell, predicted: RunRecord | None, out: Path, made: dict[str, Any]
) -> None:
    """Replace the prediction of an earlier run."""
    folder = out / CELLS / _foretold_cell(cell).folder
    shutil.rmtree(folder, ignore_errors=True)
    if predicted is None:
        return
    work = work_folder(folder)
    write_cell(work, predicted, made)
    put(work, folder)


def _cell_manifest(cell: Cell, mix: Mix) -> dict[str, Any]:
    return cell_manifest(cell, mix.model_dump_json().encode(), {"spark": REQUIREMENTS.read_bytes()})


def _study_manifest(study: Study) -> dict[str, Any]:
    inputs = {f"policy {cell.policy}": (cell.text or "").encode() for cell in study.cells}
    for name, mix in study.mixes.items():
        inputs[f"workload {name}"] = mix.model_dump_json().encode()
    inputs["spark"] = REQUIREMENTS.read_bytes()
    names = names_in(study.experiment)
    made = run_manifest(study.experiment, names, study.cells, inputs, study.command)
    mixes = {name: mix.model_dump(mode="json") for name, mix in study.mixes.items()}
    return made | {"mixes": mixes}
