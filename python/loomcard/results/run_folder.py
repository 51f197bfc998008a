"""The files of a run folder, equal for both engines; equal runs give equal bytes.

``cells/NAME/``: a folder for each run, which ``write_cell`` writes: ``results.json`` (a list with
the object of ``metrics.facts``), ``containers.parquet`` (its containers), ``states.parquet`` (what
policies reported over time; absent if they reported nothing), ``manifest.json`` (what was run, and
how long it took: no other file contains the wall clock), and what the engine leaves, such as
``journal/``.

``gather`` writes the rest from the cells: ``results.json`` with all runs, ``cells.parquet`` and
``cells.csv`` (a row for each application), ``containers.parquet`` and ``manifest.json``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from loomcard.results.containers import TYPES
from loomcard.results.manifest import FORMAT
from loomcard.results.metrics import facts
from loomcard.results.policy_series import STATE_TYPES
from loomcard.results.record import SIMULATOR, RunRecord
from loomcard.results.schema import check_manifest, check_runs
from loomcard.results.tables import cell_table, container_table, state_table

RESULTS, CONTAINERS, MANIFEST = "results.json", "containers.parquet", "manifest.json"
STATES, CELLS = "states.parquet", "cells"
ROWS_AT_ONCE = 5_000_000
"""If there are more containers, they stay in their cells' folders: one table would not fit into
memory.
"""
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")  # as polars ends its message
_ROW_GROUP = 1 << 18  # stated, or it would depend on the machine's cores


class ResultError(ValueError):
    """A folder has no results, or damaged ones; the message names the file and the remedy."""


@dataclass(frozen=True)
class Results:
    """The content of a run folder. ``runs``: the objects of results.json, in its order."""

    folder: Path
    runs: list[dict[str, Any]]
    manifest: dict[str, Any]


def cell_name(
    policy: str, workload: str, seed: int, engine: str, parameters: Mapping[str, Any]
) -> str:
    """Return the name of a run's folder below ``cells``, which no other run has:
    POLICY_WORKLOAD_sSEED, and a hash if that does not say all.
    """
    short = [f"{name.rpartition('.')[2]}={value}" for name, value in parameters.items()]
    parts = [policy, workload, *short]
    plain = "_".join(re.sub(r"[^A-Za-z0-9=.-]+", "-", part) for part in parts)
    name = f"{plain[:120]}_s{seed}"
    if engine == SIMULATOR and not parameters and plain[:120] == f"{policy}_{workload}":
        return name
    run = [policy, workload, seed, engine, parameters]
    return f"{name}-{sha256(msgspec.json.encode(run, order='deterministic')).hexdigest()[:8]}"


def write_run(
    folder: Path, records: Sequence[RunRecord], manifest: dict[str, Any]
) -> list[dict[str, Any]]:
    """Write a run folder from records; return the objects of its results.json. Raises OSError."""
    names = [cell_name(r.policy, r.workload, r.seed, r.engine, r.parameters) for r in records]
    for name, record in zip(names, records, strict=True):
        write_cell(folder / CELLS / name, record, manifest)
    return gather(folder, names, manifest)


def write_cell(folder: Path, record: RunRecord, manifest: dict[str, Any]) -> None:
    """Write the folder of one run, ``results.json`` last: if it exists, the folder is complete.

    Each file appears under its name when it is complete, so that no reader sees half of one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_parquet(folder / CONTAINERS, container_table(record))
    states = state_table(record)
    if states.height:
        write_parquet(folder / STATES, states)
    else:
        (folder / STATES).unlink(missing_ok=True)
    write_json(folder / MANIFEST, manifest | {"seconds": round(record.seconds, 3)})
    _write_results(folder / RESULTS, [facts(record)])


def gather(out: Path, names: Sequence[str], manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Write the files of a run folder beside ``cells`` from those of the named cells that have run,
    in this order. The bytes do not depend on the order in which they ran. Return the objects of
    results.json.
    """
    runs: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for name in names:
        cell = out / CELLS / name
        if (cell / RESULTS).exists():
            runs.append(read_json(cell / RESULTS)[0] | {"folder": f"{CELLS}/{name}"})
            seconds[name] = read_json(cell / MANIFEST).get("seconds", 0.0)
    out.mkdir(parents=True, exist_ok=True)
    table = cell_table(runs)
    write_parquet(out / "cells.parquet", table)
    with whole(out / "cells.csv") as file:
        table.with_columns(pl.col("tags").list.join(";")).write_csv(file)
    _gather_containers(out, runs)
    write_json(out / MANIFEST, manifest | {"seconds": seconds})
    _write_results(out / RESULTS, runs)
    return runs


def _gather_containers(out: Path, runs: Sequence[dict[str, Any]]) -> None:
    frames = [pl.scan_parquet(out / run["folder"] / CONTAINERS) for run in runs]
    rows = sum(frame.select(pl.len()).collect().item() for frame in frames)
    if not frames or rows > ROWS_AT_ONCE:
        (out / CONTAINERS).unlink(missing_ok=True)
        return
    write_parquet(
        out / CONTAINERS, pl.concat([f.collect() for f in frames], how="diagonal_relaxed")
    )


def read_run(folder: Path) -> Results:
    """Read a run folder, or the folder of one cell. Raises ResultError if it has no results, or
    damaged ones.
    """
    file = folder / RESULTS
    if not file.exists():
        raise ResultError(
            f"{folder}: holds no {RESULTS} (name a folder that `loomcard run` has written)"
        )
    # The manifest first: if another version wrote the folder, its results need not fit either.
    made = _read_manifest(folder / MANIFEST)
    return Results(folder, read_json(file, check_runs), made)


def _read_manifest(file: Path) -> dict[str, Any]:
    made: dict[str, Any] = read_json(file, check_manifest) if file.exists() else {}
    found = made.get("format", FORMAT)
    if found != FORMAT:
        raise ResultError(
            f"{file}: expected format {FORMAT}, found {found!r}: another version of Loomcard wrote"
            " it (use that version, or run it again)"
        )
    return made


def read_containers(folder: Path, equal: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return the containers of a run folder whose columns have these values; empty if the folder
    has no such file. Raises ResultError for a damaged file.
    """
    return _read_rows(folder / CONTAINERS, "containers", TYPES, equal or {})


def read_states(folder: Path, equal: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Return what policies reported in a run folder, as ``read_containers`` does."""
    return _read_rows(folder / STATES, "states", STATE_TYPES, equal or {})


def _read_rows(
    file: Path, what: str, types: Mapping[str, Any], equal: Mapping[str, Any]
) -> pl.DataFrame:
    if not file.exists():
        return pl.DataFrame()
    try:
        rows = pl.scan_parquet(file)
        kinds = rows.collect_schema()
        for name, kind in types.items() if kinds else ():
            if kinds.get(name) != kind:
                raise ResultError(f"{file}: expected a column {name!r} of {kind} (run it again)")
        wanted = [pl.col(name) == value for name, value in equal.items()]
        return rows.filter(*wanted).collect()
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise ResultError(f"{file}: not a table of {what}: {said} (run it again)") from error


def write_parquet(file: Path, frame: pl.DataFrame) -> None:
    """Write a table, or nothing if it fails; equal tables give equal bytes."""
    with whole(file) as temporary:
        frame.rechunk().write_parquet(
            temporary, compression="zstd", compression_level=3, row_group_size=_ROW_GROUP
        )


def _write_results(file: Path, runs: Sequence[dict[str, Any]]) -> None:
    lines = [json.dumps(run, ensure_ascii=False, separators=(",", ":")) for run in runs]
    with whole(file) as temporary:
        temporary.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def write_json(file: Path, document: Any) -> None:
    """Write a document, or nothing if it fails; its keys keep their order."""
    with whole(file) as temporary:
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_json(file: Path, check: Callable[[Any], None] = lambda _: None) -> Any:
    """Read a document. Raises ResultError if it is not JSON, with the line, or if ``check`` raises
    ValueError.
    """
    try:
        document = json.loads(file.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise ResultError(f"{file}: not JSON: {error} (write the folder again)") from error
    try:
        check(document)
    except ValueError as error:
        said = f"{file}: not as Loomcard writes it: {error} (write the folder again)"
        raise ResultError(said) from error
    return document


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Yield a path to write to. It becomes ``file``, or is removed after an error. An OSError names
    ``file``; an error of polars about the disk becomes one.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(file)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary), temporary):
            raise
        raise OSError(error.errno, error.strerror, str(file)) from error
    except pl.exceptions.PolarsError as error:
        number = _SYSTEM_ERROR.search(str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(file)) from error
    finally:
        temporary.unlink(missing_ok=True)
