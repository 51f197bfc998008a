"""The request of ``loomcard suite run``, read and checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loomcard.experiments.grid import Grid, cells
from loomcard.experiments.inputs import Choice, InputError, choices, findings_in
from loomcard.experiments.schema import Experiment, read_experiment
from loomcard.suite.benchmarks import BENCHMARKS, Size, SuiteError
from loomcard.suite.checks import (
    EMBEDDED_HINT,
    check_queues,
    check_room,
    check_users,
    embedded_nodes,
)
from loomcard.suite.mix import Mix, find, one_each, read_mix
from loomcard.suite.shipped_mixes import shipped
from loomcard.suite.study import Study
from loomcard.validation.findings import FindingsError, nearest
from loomcard.validation.reading import read

BASELINE = "stock:capacity"
AM_SHARE = "am_share: 50%"


@dataclass(frozen=True)
class Asked:
    """The request. `what`: benchmarks by name, or a mix or an experiment (a file, or a mix that
    ships); `policies` and `repeats`, if given, replace the experiment's. `size`: of benchmarks by
    name, tiny by default; a mix gives the size of each job.
    """

    what: tuple[str, ...]
    engine: str
    policies: tuple[str, ...] = ()
    repeats: int | None = None
    size: Size | None = None
    command: tuple[str, ...] = ()


def prepare(asked: Asked) -> Study:
    """Read and check everything; nothing runs. Raises InputError, FindingsError and SuiteError."""
    experiment, mixes, files, beside = _experiment(asked)
    over: dict[str, Any] = {}
    if asked.policies:
        over["policies"] = list(asked.policies)
    if asked.repeats:
        over["seeds"] = list(range(1, asked.repeats + 1))
    experiment = experiment.model_copy(update=over)
    if experiment.vary or experiment.given:
        said = "`vary` and `given` change workloads, and a mix has nothing that they could change"
        raise InputError([f"{experiment.name}: {said} (write a mix for each variant)"])
    chosen = [with_am_share(each) for each in choices(experiment.policies, beside)]
    grid = Grid(chosen, dict.fromkeys(mixes, Path()), {}, experiment.seeds, asked.engine)
    found = cells(grid)
    experiment = experiment.model_copy(update={"baseline": _baseline(experiment, chosen)})
    study = Study(experiment, mixes, found, asked.engine, asked.command, files)
    check_queues(study)
    check_users(study)
    if asked.engine == "local":
        check_room(study, embedded_nodes(study), EMBEDDED_HINT)
    return study


def has_mixes(what: str) -> bool:
    """Return whether it is a mix, or an experiment whose workloads are mixes, as a file or by name.
    The suite runs these; the simulator and the player run everything else.
    """
    try:
        file = find(what)
        data = read(file.read_bytes().decode("utf-8-sig")).data
    except (
        SuiteError,
        FindingsError,
        UnicodeDecodeError,
    ):  # for the program that reports the error
        return False
    if not isinstance(data, dict) or data.get("kind") != "experiment":
        return isinstance(data, dict) and data.get("kind") == "mix"
    named = data.get("workloads")
    return isinstance(named, list) and any(
        has_mixes(str(file.parent / str(each))) or str(each) in shipped() for each in named
    )


def uses_spark(study: Study) -> bool:
    """Return whether any of its jobs needs the environment with pyspark."""
    names = [name for mix in study.mixes.values() for name in mix.warm_up]
    names += [job.benchmark for mix in study.mixes.values() for job in mix.jobs]
    return any(BENCHMARKS[name].framework == "spark" for name in names)


def _experiment(asked: Asked) -> tuple[Experiment, dict[str, Mix], dict[str, Path], Path]:
    """Return the experiment, its mixes, their files, and the folder that its paths are relative
    to.
    """
    if all(name in BENCHMARKS for name in asked.what):
        mix = one_each(list(asked.what), asked.size or "tiny")
        return _of_one(mix, asked), {mix.name: mix}, {}, Path()
    if len(asked.what) > 1:
        strange = next(name for name in asked.what if name not in BENCHMARKS)
        if strange in shipped() or Path(strange).is_file():
            raise SuiteError(f"{strange} is not a benchmark", "name a mix or an experiment alone")
        raise SuiteError(f"no benchmark {strange!r}", nearest(strange, BENCHMARKS))
    [what] = asked.what
    file = find(what)
    if asked.size is not None:
        said = f"--size {asked.size}: {what} says the size of each of its jobs"
        raise InputError([f"{said} (leave --size out, or name benchmarks in place of it)"])
    with findings_in(file):
        text = file.read_bytes().decode("utf-8-sig")
        data = read(text).data
        if not isinstance(data, dict) or data.get("kind") != "experiment":
            mix = read_mix(file)
            return _of_one(mix, asked), {mix.name: mix}, {mix.name: file}, Path()
        experiment, _ = read_experiment(text, file)
    files = {Path(each).stem: find(each, file.parent) for each in experiment.workloads}
    return experiment, {name: read_mix(each) for name, each in files.items()}, files, file.parent


def _of_one(mix: Mix, asked: Asked) -> Experiment:
    if not asked.policies:
        raise InputError(["the suite needs a policy to run under (add --policy drf, or a file)"])
    return Experiment(
        version=1, policies=list(asked.policies), workloads=[mix.name], name=mix.name,
        kind="experiment", description=mix.description, vary={}, given={}, seeds=[1],
        over_seeds="mean", baseline="", expect=[],
    )  # fmt: skip


def with_am_share(choice: Choice) -> Choice:
    """Give a policy that is named without options the share for AMs that stock schedulers get here.
    Without a limit the drivers of several Spark jobs take all the room, and no executor starts.
    """
    if choice.text is None or Path(choice.source).suffix:
        return choice
    data = read(choice.text).data
    return choice if "am_share" in data else replace(choice, text=f"{choice.text}{AM_SHARE}\n")


def _baseline(experiment: Experiment, chosen: Sequence[Choice]) -> str:
    """Return the experiment's baseline; by default stock Capacity, if it is one of the policies."""
    named = {choice.source: choice.name for choice in chosen}
    return named.get(experiment.baseline or BASELINE, "")
