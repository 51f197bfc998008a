"""Cells over a Dask cluster: this machine draws and writes them, workers simulate them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import loomcard
from loomcard.experiments.cell import (
    Orders,
    Outcome,
    Watch,
    cell_manifest,
    failed,
    fill_folder,
    has_run,
    outcome_of,
    put,
    work_folder,
)
from loomcard.experiments.engines import simulated
from loomcard.experiments.grid import Cell
from loomcard.experiments.inputs import InputError, code
from loomcard.results.manifest import checkout
from loomcard.results.run_folder import CELLS
from loomcard.workload.scenario import read_scenario, write_scenario

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S: Final = 10.0
AHEAD: Final = 2
"""How many cells a worker has at the same time: one runs, and the next has arrived."""

Files = dict[str, bytes]
"""The files of a cell's folder, by their path in it."""


def run_over_dask(
    cells: Sequence[Cell], orders: Orders, address: str, watch: Watch
) -> list[Outcome]:
    """Run the cells on the workers of the scheduler at ``address``, in the order given; return the
    outcomes. Cells that have run are skipped, as on this machine.

    A cell whose worker is lost runs again on another. Ctrl-C ends it early: finished cells are
    kept, and cells that still run are given up. Raises InputError if the scheduler cannot be
    reached, or if a worker cannot do the work.
    """
    with _connected(address) as client:
        _check_workers(client, address)
        return _DaskRun(client, cells, orders, watch).run()


class _DaskRun:
    """The cells that are still to be distributed, those that are distributed, and the outcomes of
    the others.
    """

    def __init__(self, client: Client, cells: Sequence[Cell], orders: Orders, watch: Watch) -> None:
        self._client = client
        self._left = iter(cells)
        self._orders = orders
        self._watch = watch
        self._out: dict[Future, tuple[Cell, dict[str, Any]]] = {}
        self._outcomes: list[Outcome] = []

    def run(self) -> list[Outcome]:
        """Run all cells. After Ctrl-C, return the outcomes so far."""
        from distributed import wait

        try:
            self._give_out()
            while self._out:
                for future in wait(list(self._out), return_when="FIRST_COMPLETED").done:
                    self._take(future)
                self._give_out()
        except KeyboardInterrupt:
            self._client.cancel(list(self._out))
        return self._outcomes

    def _give_out(self) -> None:
        """Distribute enough cells for every worker, also for workers that joined late."""
        workers = len(self._client.scheduler_info(n_workers=-1)["workers"])
        while len(self._out) < AHEAD * max(1, workers):
            cell = next(self._left, None)
            if cell is None:
                return
            self._submit(cell)

    def _submit(self, cell: Cell) -> None:
        try:
            text = write_scenario(cell.drawn())
            made = cell_manifest(cell, text)
        except Exception as error:  # as for a cell that runs here: the others continue
            self._note(failed(cell, error))
            return
        if not self._orders.again and has_run(self._folder(cell), made):
            self._note(Outcome(cell.index, "skipped"))
            return
        future = self._client.submit(
            simulate_elsewhere, cell, text, self._orders.journal, pure=False
        )
        self._out[future] = (cell, made)

    def _take(self, future: Future) -> None:
        cell, made = self._out.pop(future)
        try:
            outcome, inputs, files = future.result()
            if inputs is not None and inputs != made["inputs"]:
                raise InputError([_OTHER_INPUTS])
            if files:
                self._write(cell, files)
        except Exception as error:  # of Dask: a cell whose workers were lost again and again
            outcome = failed(cell, error)
        self._note(outcome)

    def _write(self, cell: Cell, files: Files) -> None:
        folder = self._folder(cell)
        work = work_folder(folder)
        try:
            for name, data in files.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_bytes(data)
            put(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _folder(self, cell: Cell) -> Path:
        return self._orders.out / CELLS / cell.folder

    def _note(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        self._watch(outcome)


def simulate_elsewhere(
    cell: Cell, scenario_text: bytes, journal: bool
) -> tuple[Outcome, dict[str, str] | None, Files]:
    """Simulate the cell, on a worker. Return its outcome, the hashes of its inputs as this worker
    has them, and the files of its folder. A failure is an outcome, not an error.
    """
    with TemporaryDirectory(prefix="loomcard-") as temporary:
        folder = Path(temporary) / "cell"
        try:
            scenario = read_scenario(scenario_text)
            made = cell_manifest(cell, scenario_text)
            record = fill_folder(
                cell, scenario, made, folder, simulated, lambda _: None, journal=journal
            )
        except Exception as error:  # a policy may raise anything, also what no pickle can hold
            return failed(cell, error), None, {}
        files = (file for file in sorted(folder.rglob("*")) if file.is_file())
        found = {str(file.relative_to(folder)): file.read_bytes() for file in files}
        return outcome_of(cell, record), made["inputs"], found


_OTHER_INPUTS: Final = (
    "the worker read another Loomcard, or another file of the policy, than this machine (install"
    " the same on all; a policy's file must have the same path and text on each)"
)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError as error:
        said = "--over needs dask.distributed (pip install 'loomcard[dask]')"
        raise InputError([said]) from error
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        said = (
            f"--over {address}: no Dask scheduler can be reached there: {why} (start one with"
            " `dask scheduler`, and name it as tcp://HOST:8786)"
        )
        raise InputError([said]) from error
    with client, client.as_current():
        yield client


def installed() -> dict[str, Any]:
    """Return this process's Loomcard: version, digest of its sources, commit of a checkout."""
    commit = (checkout() or {}).get("commit")
    return {"version": loomcard.__version__, "code": code().hex(), "commit": commit}


def _check_workers(client: Client, address: str) -> None:
    """Raise InputError unless there are workers, each with this Loomcard and one thread."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        said = f"the scheduler has no workers (start `dask worker {address} --nthreads 1`)"
        raise InputError([f"--over {address}: {said}"])
    wrong = [
        f"worker {name}: has {about['nthreads']} threads, and a cell takes a process of its own"
        " (start it with --nthreads 1)"
        for name, about in sorted(workers.items())
        if about["nthreads"] != 1
    ]
    mine = installed()
    found = client.run(installed, on_error="return")
    for name, theirs in sorted(found.items()):
        if isinstance(theirs, BaseException):
            why = f"{type(theirs).__name__}: {theirs}"
            wrong.append(f"worker {name}: cannot load Loomcard: {why} (install {_named(mine)})")
        elif any(theirs[key] != mine[key] for key in ("version", "code")):
            said = f"has Loomcard {_named(theirs)}, and this machine {_named(mine)}"
            wrong.append(f"worker {name}: {said} (install the same on both)")
    if wrong:
        raise InputError([f"--over {address}: {each}" for each in wrong])


def _named(about: dict[str, Any]) -> str:
    commit = f", commit {about['commit'][:12]}" if about["commit"] else ""
    return f"{about['version']}{commit} (sources {about['code'][:12]})"
