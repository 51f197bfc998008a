"""Checks of the folder that a run writes to: a run continues in its own, and writes to no other."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from loomcard.experiments.inputs import InputError
from loomcard.results.run_folder import CELLS, CONTAINERS, MANIFEST, ResultError, read_json

_BEFORE_THE_MANIFEST = {CELLS, "cluster", "cells.parquet", "cells.csv", CONTAINERS}
"""Files that a killed run may have left."""
_REMEDY = "name another folder with --out, or remove this one"


def refuse_other_folder(out: Path, name: str) -> None:
    """Raise InputError if `out` contains anything except runs of the experiment, workload or mix of
    this name, with which this run continues. Raises PermissionError if it cannot be written: a run
    may take an hour before it writes.
    """
    above = [out, *out.absolute().parents]
    place = next(each for each in above if each.exists())
    if not place.is_dir():
        raise InputError([f"{place}: no folder (name another with --out)"])
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    if place is not out:
        return
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
    """Return the name of what was run; None if it has none, or Loomcard did not write the file."""
    try:
        manifest: Any = read_json(file)
    except ResultError:
        return None
    experiment = manifest.get("experiment") if isinstance(manifest, dict) else None
    name = experiment.get("name") if isinstance(experiment, dict) else None
    return name if isinstance(name, str) else None
