"""Workloads under one policy after the other, all of them with the same inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from loomcard.cluster.rm_client import RestError
from loomcard.experiments.grid import Cell
from loomcard.results.run_folder import write_json
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import RunSettings
from loomcard.suite.hibench.drive import Ran, Step, Wanted, drive
from loomcard.suite.hibench.installation import Installation
from loomcard.suite.hibench.places import HOSTS, Place
from loomcard.suite.hibench.workloads import Framework, Workload
from loomcard.suite.record import allocations, allocations_of

RESULTS: Final = "hibench.json"
Row = dict[str, Any]
Notify = Callable[[str, int], None]
"""A function that gets a line about the progress, and how many scripts have ended."""


@dataclass(frozen=True)
class Comparison:
    """What is to be run. `policies`: None for the one in force on the cluster; `folder`: for the
    results, and a folder for each script; `more`: further keys of HiBench that the user sets;
    `parallelism`: how many maps, reduces or executors a workload asks for.

    `every_s` makes a mix: workloads arrive so far apart, whether or not those before have ended.
    `small` is the share of them that ask for one map or executor. `prepared`: the inputs are those
    of an earlier run.
    """

    chosen: Sequence[tuple[Workload, Framework]]
    policies: Sequence[Cell | None]
    there: Installation
    folder: Path
    scale: str = "tiny"
    queue: str = ""
    at_a_time: int = 1
    more: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = 2
    every_s: float | None = None
    small: float = 0.0
    prepared: bool = False

    @property
    def scripts(self) -> int:
        """How many scripts are to be run."""
        return len(self.chosen) * (len(self.policies) + (not self.prepared))

    def wanted(self, step: Step, policy: str = "") -> list[Wanted]:
        """Return the scripts of a step, in the order of their arrivals. Small workloads are spread
        over them: of ten with a share of 0.3 they are the fourth, the seventh and the tenth.
        """
        under = "prepare" if step == "prepare" else Path(policy).stem
        found = []
        for number, (each, on) in enumerate(self.chosen):
            words = ["loomcard", *([under] if under else []), each.name, on]
            tag = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower())
            share = Fraction(str(self.small))
            small = int((number + 1) * share) > int(number * share)
            after_s = number * (self.every_s or 0.0) if step == "run" else 0.0
            parallelism = 1 if small else self.parallelism
            found.append(Wanted(each, on, tag, step, parallelism, after_s))
        return found


@dataclass
class Results:
    """The results so far: a row for each script, stored in `file`."""

    file: Path
    prepared: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)

    def document(self) -> dict[str, list[Row]]:
        """Return the results as the file and `--json` contain them."""
        return {"prepared": self.prepared, "runs": self.runs}

    @property
    def failed(self) -> bool:
        """Return whether any script failed, or the fallback allocated a container under a
        policy.
        """
        rows = self.prepared + self.runs
        return any(row["wrong"] for row in rows) or bool(self.by_fallback())

    def by_fallback(self) -> list[str]:
        """The policies under which the fallback allocated containers."""
        found = {row["policy"] for row in self.runs if row["allocated"].get("fallback")}
        return sorted(found)

    def save(self) -> None:
        """Write the file."""
        write_json(self.file, self.document())


def check_folder(folder: Path) -> None:
    """Raise SuiteError if results cannot be written there, or the folder contains something
    else.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise SuiteError(f"{folder}: no folder", "name another with --out")
    there = sorted(each.name for each in folder.iterdir())
    strange = [name for name in there if not name.startswith((".", "loomcard-", HOSTS))]
    if RESULTS not in there and strange:
        said = f"{folder}: holds {strange[0]}, which no run of HiBench has written"
        raise SuiteError(said, "name another folder with --out, or remove this one")


def compare(asked: Comparison, place: Place, results: Results, notify: Notify) -> None:
    """Prepare every input under the first policy, then run the workloads under each policy. A
    workload whose input could not be made is not run. The results file contains each script that
    has ended, also after Ctrl-C or an error.
    """
    if not asked.prepared:
        _prepare(asked, place, results, notify)
    failed = {(row["workload"], row["framework"]) for row in results.prepared if row["wrong"]}
    for cell in asked.policies:
        wanted = asked.wanted("run", _name(cell))
        wanted = [each for each in wanted if (each.workload.name, each.framework) not in failed]
        at_a_time = asked.at_a_time if asked.every_s is None else max(1, len(wanted))
        _under(cell, wanted, asked, place, results.runs, results, notify, at_a_time)


def _prepare(asked: Comparison, place: Place, results: Results, notify: Notify) -> None:
    """Prepare one input for all policies, because HiBench's generators take no seed. It is complete
    before anything is measured, so no run shares the cluster with a generator.
    """
    cell, wanted = asked.policies[0], asked.wanted("prepare")
    _under(cell, wanted, asked, place, results.prepared, results, notify, asked.at_a_time)


def _under(
    cell: Cell | None,
    wanted: Sequence[Wanted],
    asked: Comparison,
    place: Place,
    rows: list[Row],
    results: Results,
    notify: Notify,
    at_a_time: int,
) -> None:
    """Run the scripts under a policy; add a row for each, with the allocations made meanwhile."""
    if not wanted:
        return
    said = f"{wanted[0].step} {_name(cell)}".strip()
    notify(said, len(results.prepared + results.runs))
    if cell is not None:
        place.schedule(cell)
    rest, begun = place.rest, len(rows)
    before = allocations(rest.scheduler())

    def done(ran: Ran) -> None:
        rows.append({"policy": _name(cell), **ran.document(), "allocated": {}})
        results.save()
        notify(said, len(results.prepared + results.runs))

    try:
        drive(
            wanted,
            asked.there,
            place.cluster(),
            rest,
            lambda each: _settings(each, asked),
            at_a_time=at_a_time,
            done=done,
        )
    finally:
        with suppress(RestError):  # it stays unknown if the cluster has stopped
            allocated = allocations_of(before, allocations(rest.scheduler()))
            rows[begun:] = [row | {"allocated": allocated} for row in rows[begun:]]
        results.save()


def _settings(each: Wanted, asked: Comparison) -> RunSettings:
    name = each.workload.name.replace(".", "-")
    data = f"{name}-{each.framework}-{asked.scale}-{each.parallelism}"
    return RunSettings(
        asked.folder / each.tag,
        each.tag,
        asked.scale,
        asked.queue,
        each.parallelism,
        asked.more,
        data,
    )


def _name(cell: Cell | None) -> str:
    return "" if cell is None else cell.policy
