"""Workloads under one policy after the other, all of them with the same inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
    results, and a folder for each script; `more`: further keys of HiBench that the user sets.
    """

    chosen: Sequence[tuple[Workload, Framework]]
    policies: Sequence[Cell | None]
    there: Installation
    folder: Path
    scale: str = "tiny"
    queue: str = ""
    at_a_time: int = 1
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def scripts(self) -> int:
        """How many scripts are to be run."""
        return len(self.chosen) * (1 + len(self.policies))


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
    chosen = _prepare(asked, place, results, notify)
    for cell in asked.policies:
        wanted = [_wanted(each, "run", _name(cell)) for each in chosen]
        _under(cell, wanted, asked, place, results.runs, results, notify)


def _prepare(
    asked: Comparison, place: Place, results: Results, notify: Notify
) -> list[tuple[Workload, Framework]]:
    """Prepare one input for all policies, because HiBench's generators take no seed. It is complete
    before anything is measured, so no run shares the cluster with a generator.
    """
    wanted = {_wanted(each, "prepare"): each for each in asked.chosen}
    _under(asked.policies[0], list(wanted), asked, place, results.prepared, results, notify)
    failed = {row["tag"] for row in results.prepared if row["wrong"]}
    return [pair for each, pair in wanted.items() if each.tag not in failed]


def _under(
    cell: Cell | None,
    wanted: Sequence[Wanted],
    asked: Comparison,
    place: Place,
    rows: list[Row],
    results: Results,
    notify: Notify,
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
            at_a_time=asked.at_a_time,
            done=done,
        )
    finally:
        with suppress(RestError):  # it stays unknown if the cluster has stopped
            allocated = allocations_of(before, allocations(rest.scheduler()))
            rows[begun:] = [row | {"allocated": allocated} for row in rows[begun:]]
        results.save()


def _settings(each: Wanted, asked: Comparison) -> RunSettings:
    data = f"{each.workload.name.replace('.', '-')}-{each.framework}"
    return RunSettings(
        asked.folder / each.tag, each.tag, asked.scale, asked.queue, more=asked.more, data=data
    )


def _name(cell: Cell | None) -> str:
    return "" if cell is None else cell.policy


def _wanted(pair: tuple[Workload, Framework], step: Step, policy: str = "") -> Wanted:
    each, on = pair
    under = "prepare" if step == "prepare" else Path(policy).stem
    words = ["loomcard", *([under] if under else []), each.name, on]
    return Wanted(each, on, re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()), step)
