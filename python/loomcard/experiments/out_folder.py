"""Whose a run folder is: a run goes on in its own, and writes to no other's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loomcard.experiments.cell import CELLS
from loomcard.experiments.inputs import InputError
from loomcard.experiments.table import TABLE
from loomcard.results.run_folder import CONTAINERS, MANIFEST, ResultError, read_json

_BEFORE_THE_MANIFEST = {CELLS, "cluster", f"{TABLE}.parquet", f"{TABLE}.csv", CONTAINERS}
"""What a run that was killed may have left."""
_REMEDY = "name another folder with --out, or remove this one"


def refuse_other_folder(out: Path, name: str) -> None:
    """Raises InputError where `out` is there and holds anything but runs of the experiment or the
    mix of this name, which this run goes on with.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError([f"{out}: no folder (name another with --out)"])
    there = sorted(each.name for each in out.iterdir() if not each.name.startswith("."))
    strange = [each for each in there if each not in _BEFORE_THE_MANIFEST]
    if not strange:
        return
    if MANIFEST not in strange:
        raise InputError([f"{out}: holds {strange[0]}, which no run has written ({_REMEDY})"])
    before = _name_in(out / MANIFEST)
    if before != name:
        of = "another run" if before is None else f"{before!r}, and this is {name!r}"
        raise InputError([f"{out}: holds the results of {of} ({_REMEDY})"])


def _name_in(file: Path) -> str | None:
    """The name of what was run; None where it has none, or the file is somebody else's."""
    try:
        manifest: Any = read_json(file)
    except ResultError:
        return None
    experiment = manifest.get("experiment") if isinstance(manifest, dict) else None
    name = experiment.get("name") if isinstance(experiment, dict) else None
    return name if isinstance(name, str) else None
