"""``loomcard run``: a workload or an experiment is prepared, run and gathered."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from loomcard.experiments.cell import Orders, Outcome, Watch, failed, run_cell, run_manifest
from loomcard.experiments.engines import DOCKER, Engine, engine_of
from loomcard.experiments.expectations import Scalar
from loomcard.experiments.grid import Cell, Grid, cells, unknown_options
from loomcard.experiments.inputs import Choice, InputError, choices, findings_in, refuse_stock
from loomcard.experiments.run_cells import ProcessLostError, run_cells
from loomcard.experiments.schema import Experiment, names_in, read_experiment
from loomcard.results.record import SIMULATOR
from loomcard.results.run_folder import gather
from loomcard.simulator.engine import MismatchError, refuse_mismatch
from loomcard.validation.findings import FindingsError, nearest
from loomcard.validation.reading import read
from loomcard.workload.loading import LIMITS, find, shipped_names
from loomcard.workload.scenario import Scenario

SHIPPED: Final = Path(__file__).parent / "shipped"
PAPERS: Final = ("carbyne", "coupling", "dress", "hdrf")
"""The papers, by the names of their policies; the names of their experiments begin with them."""
_Drawn = tuple[str, tuple[tuple[str, Scalar], ...]]
"""A workload's name, and the values that replace its own."""


@dataclass(frozen=True)
class Request:
    """What is to be run. ``what``: a workload or an experiment, a file or the name of one that
    comes with Loomcard; if both have the name, the experiment, or with ``workload_first`` the
    workload. ``policies`` (relative to the present folder) and ``seeds`` replace the experiment's,
    unless they are empty.
    """

    what: str
    engine: str = SIMULATOR
    policies: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    journal: bool | None = None
    again: bool = False
    command: tuple[str, ...] = ()
    workload_first: bool = False


@dataclass(frozen=True)
class Prepared:
    """An experiment with correct inputs. ``order``: the cells, longest first."""

    experiment: Experiment
    cells: list[Cell]
    order: list[Cell]
    manifest: dict[str, Any]
    journal: bool
    again: bool


@dataclass(frozen=True)
class Finished:
    """The end of a run: the objects of results.json, and the outcome of each cell that began."""

    out: Path
    runs: list[dict[str, Any]]
    outcomes: list[Outcome]
    cells: int

    @property
    def failures(self) -> list[str]:
        """Return a line for each cell that failed."""
        return [outcome.message for outcome in self.outcomes if outcome.state == "failed"]

    @property
    def whole(self) -> bool:
        """Return whether every cell has run to its end."""
        ended = sum(outcome.state in ("done", "skipped") for outcome in self.outcomes)
        return ended == self.cells


def prepare(request: Request) -> Prepared:
    """Read and check everything that the request names; run and write nothing.

    Raises InputError with every finding, each with its file and line.
    """
    file = _experiment_file(request.what, request.workload_first)
    experiment, findings = _experiment(request, file)
    beside = file.parent if file is not None else Path()
    chosen = choices(experiment.policies, Path() if request.policies else beside)
    workloads = {Path(source).stem: _workload(source, beside) for source in experiment.workloads}
    findings += [said for choice in chosen for said in _problem(choice)]
    if findings:  # the checks below would report the same mistake in other words
        raise InputError(findings)
    grid = Grid(
        chosen, workloads, experiment.vary, experiment.seeds, request.engine, experiment.given
    )
    findings += _misfits(grid)
    if findings:
        raise InputError(findings)
    found = cells(grid)
    drawn = _sample(found)
    _check_fit(found, drawn)
    costs = {which: _tasks(scenario) for which, scenario in drawn.items()}
    order = sorted(found, key=lambda cell: (-costs[_which(cell)], cell.index))
    single = file is None
    names = names_in(experiment)  # with its own baseline, also where that is not run
    baseline = next((c.name for c in chosen if experiment.baseline in (c.source, c.name)), "")
    experiment = experiment.model_copy(update={"baseline": baseline})
    inputs = {f"policy {choice.name}": (choice.text or "").encode() for choice in chosen}
    inputs |= {f"workload {name}": each.read_bytes() for name, each in workloads.items()}
    if file is not None:
        inputs[f"experiment {experiment.name}"] = file.read_bytes()
    made = run_manifest(experiment, names, found, inputs, request.command)
    journal = single if request.journal is None else request.journal
    return Prepared(experiment, found, order, made, journal, request.again)


def run(
    prepared: Prepared,
    out: Path,
    watch: Watch,
    *,
    processes: int | None = None,
    engine: Engine | None = None,
    over: str | None = None,
) -> Finished:
    """Run the cells that have not run yet, and gather the results. ``processes``: by default the
    cores of this machine, and one for a real cluster; on docker, where all share one cluster, never
    more. ``engine``: replaces the named one. ``over``: the address of a Dask scheduler, whose
    workers simulate the cells. Raises InputError if they cannot.
    """
    named = str(prepared.manifest["engine"])
    orders = Orders(out, engine or engine_of(named), prepared.journal, prepared.again)
    if over is None:
        cores = len(os.sched_getaffinity(0)) if named == SIMULATOR else 1
        outcomes = _over_processes(
            prepared.order, orders, 1 if named == DOCKER else processes or cores, watch
        )
    else:
        outcomes = _over_dask(prepared.order, orders, over, watch)
    outcomes.sort(key=lambda outcome: outcome.index)
    there = {o.index for o in outcomes if o.state != "failed"}
    made = prepared.manifest | {"failures": [o.message for o in outcomes if o.state == "failed"]}
    runs = gather(out, [cell.folder for cell in prepared.cells if cell.index in there], made)
    return Finished(out, runs, outcomes, len(prepared.cells))


def _over_processes(
    order: Sequence[Cell], orders: Orders, processes: int, watch: Watch
) -> list[Outcome]:
    outcomes: list[Outcome] = []

    def note(_: int, outcome: Outcome) -> None:
        outcomes.append(outcome)
        watch(outcome)

    def on_message(position: int, now_ms: int) -> None:
        watch((order[position].index, now_ms))

    try:
        run_cells(order, partial(run_cell, orders), processes, note, on_message)
    except ProcessLostError as error:
        note(error.position, failed(order[error.position], error))
    return outcomes


def _over_dask(order: Sequence[Cell], orders: Orders, address: str, watch: Watch) -> list[Outcome]:
    if any(cell.engine != SIMULATOR for cell in order):
        said = "a real cluster runs on this machine (leave --on out, or --over)"
        raise InputError([f"--over {address}: {said}"])
    from loomcard.experiments.over_dask import run_over_dask  # Dask takes a second to import

    return run_over_dask(order, orders, address, watch)


def shipped() -> list[str]:
    """Return the names of the experiments that come with Loomcard."""
    return sorted(file.stem for file in SHIPPED.glob("*.yml"))


def of_papers() -> list[str]:
    """Return the names of those that state figures of a paper."""
    papers = tuple(f"{name}-" for name in PAPERS)
    return [name for name in shipped() if name.startswith(papers) and _states_figures(name)]


def _states_figures(name: str) -> bool:
    file = SHIPPED / f"{name}.yml"
    return bool(read_experiment(file.read_text(), file)[0].expect)


def _experiment_file(what: str, workload_first: bool) -> Path | None:
    """Return the experiment's file; None if ``what`` is a workload."""
    file = Path(what)
    if file.is_file():
        with findings_in(what):
            data = read(file.read_bytes().decode("utf-8-sig"), LIMITS).data
        keys = data if isinstance(data, dict) else {}
        is_one = keys.get("kind") == "experiment" or ("kind" not in keys and "policies" in keys)
        return file if is_one else None
    if what not in shipped() or (workload_first and what in shipped_names()):
        return None
    return SHIPPED / f"{what}.yml"


def _experiment(request: Request, file: Path | None) -> tuple[Experiment, list[str]]:
    """Return the experiment, changed as the command line says, and its findings."""
    over: dict[str, Any] = {}
    if request.policies:
        over["policies"] = list(request.policies)
    if request.seeds:
        over["seeds"] = list(request.seeds)
    if file is None:
        _workload(request.what, Path())
        if not request.policies:
            said = "a workload needs a policy to run under (add --policy drf, or a YAML file)"
            raise InputError([said])
        name = Path(request.what).stem
        return Experiment(version=1, workloads=[request.what], **over, name=name), []
    with findings_in(file):
        experiment, document = read_experiment(file.read_bytes().decode("utf-8-sig"), file)
    if request.engine == SIMULATOR and not request.policies:
        for index, source in enumerate(experiment.policies):
            if source.startswith("stock:"):
                message = f"{source} is YARN's own scheduler, and the simulator has none"
                hint = "run it --on local, or name the policies to run with --policy"
                document.report(("policies", index), message, hint)
    found = [str(replace(finding, file=str(file))) for finding in sorted(document.findings)]
    return experiment.model_copy(update=over), found


def _misfits(grid: Grid) -> list[str]:
    """Return what the engine cannot do, and options that no policy has."""
    if grid.engine == SIMULATOR:
        refuse_stock(grid.policies)
    stock = [c.source for c in grid.policies if c.text is None and grid.engine == DOCKER]
    said = "is YARN's own scheduler, and the compose cluster runs Loomcard (run it --on local)"
    known = sorted({option for choice in grid.policies for option in choice.options()})
    hint = f"they have {', '.join(known)}" if known else "none of them has options"
    return [f"policy {source!r} {said}" for source in stock] + [
        f"vary.{name}: none of the policies has such an option ({hint})"
        for name in unknown_options(grid)
    ]


def _problem(choice: Choice) -> tuple[str, ...]:
    try:
        choice.compiled({})
    except InputError as error:
        return error.findings
    return ()


def _workload(source: str, beside: Path) -> Path:
    """Return a file beside the experiment, otherwise one that comes with Loomcard."""
    file = beside / source
    if file.is_file():
        return file
    try:
        return find(Path(source).name if _is_name(source) else file)
    except FindingsError as error:
        if not _is_name(source):
            said = f"workload {file}: there is no such file (check the path)"
            raise InputError([said]) from error
        known = nearest(source, [*shipped_names(), *shipped()])
        said = f"{source!r} is not a file, nor a workload or experiment that comes with Loomcard"
        raise InputError([f"{said} ({known})"]) from error


def _is_name(source: str) -> bool:
    return Path(source).name == source and not Path(source).suffix


def _which(cell: Cell) -> _Drawn:
    return cell.workload, tuple(cell.changes.items())


def _sample(found: Sequence[Cell]) -> dict[_Drawn, Scenario]:
    """Draw each workload with each of its variations once. This finds errors before anything runs,
    and the number of tasks says how long a cell may take.
    """
    drawn: dict[_Drawn, Scenario] = {}
    for cell in found:
        if _which(cell) not in drawn:
            said = "".join(f" with {name}={value}" for name, value in cell.changes.items())
            with findings_in(f"{cell.file}{said}"):
                drawn[_which(cell)] = cell.drawn()
    return drawn


def _check_fit(found: Sequence[Cell], drawn: Mapping[_Drawn, Scenario]) -> None:
    wrong: list[str] = []
    for cell in found:
        try:
            if cell.config is not None:
                refuse_mismatch(drawn[_which(cell)], cell.config)
        except MismatchError as error:
            wrong.append(f"{cell.file}: {error} ({error.hint})")
    if wrong:
        raise InputError(list(dict.fromkeys(wrong)))


def _tasks(scenario: Scenario) -> int:
    return sum(len(s.durations_ms) for a in scenario.applications for s in a.stages)
