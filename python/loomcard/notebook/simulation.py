"""``loomcard.simulate``: a workload under policies, in this process or over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loomcard.experiments.inputs import Choice, InputError
from loomcard.experiments.lower_bounds import keep_bounds
from loomcard.notebook.policies import Policy, chosen, here_only
from loomcard.notebook.results import SimulationResult
from loomcard.results.manifest import manifest
from loomcard.results.record import RunRecord
from loomcard.simulator.engine import refuse_mismatch
from loomcard.simulator.parallel import Run, simulate_all
from loomcard.workload.loading import find, load
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
    scenarios, inputs = _scenarios(workload, seeds)
    configs = [choice.compiled({}) or {} for choice in choices]
    for config in configs:
        refuse_mismatch(scenarios[0], config)
    runs = [Run(c.name, config) for c, config in zip(choices, configs, strict=True)]
    count = 1 if any(map(here_only, choices)) else processes
    records = _simulated(scenarios, runs, count)
    whole = len(records) == len(runs) * len(scenarios) and all(r.finished for r in records)
    about = manifest(inputs | _texts(choices), seeds=[each.seed for each in scenarios])
    return SimulationResult(records, about, baseline, whole)


def _simulated(
    scenarios: Sequence[Scenario], runs: Sequence[Run], processes: int
) -> list[RunRecord]:
    found: list[RunRecord] = []
    for scenario in scenarios:
        records = simulate_all(scenario, runs, processes)
        for record in records:
            keep_bounds(record, scenario)
        found += records
        if len(records) < len(runs) or not all(record.finished for record in records):
            break  # Ctrl-C
    return found


def _scenarios(
    workload: str | Path | Scenario, seeds: int | Sequence[int] | None
) -> tuple[list[Scenario], dict[str, bytes]]:
    """Return the workload with each seed, and what was read for it."""
    if isinstance(workload, Scenario):
        if seeds is not None:
            said = f"{workload.name} is a Scenario, drawn with seed {workload.seed}"
            raise InputError([f"seeds: {said} (leave them out, or give the workload's file)"])
        return [workload], {workload.name: write_scenario(workload)}
    file = find(workload)
    return [load(file, seed=seed) for seed in _numbers(seeds)], {file.name: file.read_bytes()}


def _numbers(seeds: int | Sequence[int] | None) -> list[int]:
    found = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds or [1])
    if not found or any(not isinstance(each, int) or each < 0 for each in found):
        said = f"expected how many, or a list of whole numbers from 0 on, not {seeds!r}"
        raise InputError([f"seeds: {said}"])
    if len(set(found)) < len(found):
        raise InputError([f"seeds: {seeds!r} names one twice (each once)"])
    return found


def _texts(choices: Sequence[Choice]) -> dict[str, bytes]:
    return {f"policy {choice.name}": (choice.text or "").encode() for choice in choices}
