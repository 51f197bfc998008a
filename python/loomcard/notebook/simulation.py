"""``loomcard.simulate``: a workload under policies, in this process or over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loomcard.experiments.cell import simulate_cell
from loomcard.experiments.grid import Grid, cells
from loomcard.experiments.inputs import InputError
from loomcard.experiments.run_cells import run_cells
from loomcard.notebook.policies import Policy, chosen, here_only
from loomcard.notebook.results import SimulationResult
from loomcard.results.manifest import manifest
from loomcard.results.record import SIMULATOR, RunRecord
from loomcard.simulator.engine import refuse_mismatch
from loomcard.workload.loading import find
from loomcard.workload.scenario import Scenario, write_scenario


def simulate(
    workload: str | Path | Scenario,
    policies: Policy | Sequence[Policy] | Mapping[str, Policy] = "fifo",
    *,
    seeds: int | Sequence[int] | None = None,
    baseline: str = "",
    processes: int = 1,
) -> SimulationResult:
    """Simulate a workload under one or more policies and return the runs.

    ``workload``: the name of one that ships with Loomcard (``"mixed-30"``), a workload file, or a
    Scenario. ``policies``: one, several, or a mapping from the name in results to each: a policy's
    name (``"drf"``), ``path/to/file.py:Class``, the path or the text of a policy configuration, or
    a policy class or object, as one written in the notebook. ``seeds``: of the workload's random
    values: 5 stands for 1 to 5, ``[7]`` for one; default: 1. A Scenario has been drawn already and
    takes none. ``baseline``: the name of the policy that reports compare with. ``processes``: how
    many runs at a time; a class written in the notebook runs in this process whatever it says, and
    a policy in a file always in one of its own. No process runs the caller's script again.

    Ctrl-C, or the notebook's stop button, ends it and returns what there is, ``whole`` False.

    Raises FindingsError or InputError with everything that is wrong in workload and policies,
    MismatchError where an application's queue is none of a policy's, PolicyFaultError where a
    policy raises.
    """
    choices = chosen(policies)
    if baseline and baseline not in [choice.name for choice in choices]:
        known = ", ".join(choice.name for choice in choices)
        raise InputError([f"baseline: there is no policy {baseline!r} here (they are {known})"])
    if processes < 1:
        raise InputError([f"processes: expected at least 1, not {processes}"])
    source, numbers, inputs = _workload(workload, seeds)
    name = source.name if isinstance(source, Scenario) else source.stem
    found = cells(Grid(choices, {name: source}, {}, numbers, SIMULATOR))
    scenario = found[0].drawn()
    for cell in found:
        refuse_mismatch(scenario, cell.config or {})
    count = 1 if any(here_only(cell.config or {}) for cell in found) else processes
    records: dict[int, RunRecord] = {}
    whole = run_cells(found, simulate_cell, count, records.__setitem__)
    inputs |= {f"policy {choice.name}": (choice.text or "").encode() for choice in choices}
    about = manifest(inputs, seeds=numbers)
    return SimulationResult([records[index] for index in sorted(records)], about, baseline, whole)


def _workload(
    workload: str | Path | Scenario, seeds: int | Sequence[int] | None
) -> tuple[Path | Scenario, list[int], dict[str, bytes]]:
    """Return the workload, its seeds, and what was read for it."""
    if isinstance(workload, Scenario):
        if seeds is not None:
            said = f"{workload.name} is a Scenario, drawn with seed {workload.seed}"
            raise InputError([f"seeds: {said} (leave them out, or give the workload's file)"])
        return workload, [workload.seed], {workload.name: write_scenario(workload)}
    file = find(workload)
    return file, _numbers(seeds), {file.name: file.read_bytes()}


def _numbers(seeds: int | Sequence[int] | None) -> list[int]:
    found = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds or [1])
    if not found or any(not isinstance(each, int) or each < 0 for each in found):
        said = f"expected how many, or a list of whole numbers from 0 on, not {seeds!r}"
        raise InputError([f"seeds: {said}"])
    if len(set(found)) < len(found):
        raise InputError([f"seeds: {seeds!r} names one twice (each once)"])
    return found
