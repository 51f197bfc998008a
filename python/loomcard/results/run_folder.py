"""The files of a run folder, the same from either engine, and equal bytes for equal runs.

``results.json``: a list, one object of ``metrics.facts`` a run. ``containers.parquet``: every
container of every run, with the run's policy, workload, seed, engine and parameters as columns.
``states.parquet``: likewise, what policies reported over time; absent where none did.
``manifest.json``: what was run, and how long it took (the wall clock stands nowhere else).
``journal/<policy>-<seed>/``: the engine's own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loomcard.results.containers import TYPES, container_frame
from loomcard.results.manifest import FORMAT
from loomcard.results.metrics import facts
from loomcard.results.policy_series import STATE_TYPES, state_frame
from loomcard.results.record import RunRecord
from loomcard.results.schema import check_manifest, check_runs

RESULTS, CONTAINERS, MANIFEST = "results.json", "containers.parquet", "manifest.json"
STATES = "states.parquet"
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")  # as polars ends its message
_ROW_GROUP = 1 << 18  # stated, or it would depend on the machine's cores


class ResultError(ValueError):
    """A folder that holds no results, or damaged ones; says which file and the remedy."""


@dataclass(frozen=True)
class Results:
    """What a run folder holds.

    ``runs``: the objects of results.json, in its order. ``applications``: a row an application a
    run (see ``application_frame``). ``containers``: read only when it is asked for.
    """

    folder: Path
    runs: list[dict[str, Any]]
    applications: pl.DataFrame
    manifest: dict[str, Any]

    def containers(self) -> pl.DataFrame:
        """Every container of every run; empty where the folder has no such file. Raises
        ResultError for a damaged one.
        """
        return read_containers(self.folder)


def write_run(folder: Path, records: Sequence[RunRecord], manifest: dict[str, Any]) -> None:
    """Writes the folder's files, ``results.json`` last: a folder that has it is whole.

    Each appears under its name when it is complete, so that no reader sees half of one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_parquet(folder / CONTAINERS, container_table(records))
    states = state_table(records)
    if states.height:
        write_parquet(folder / STATES, states)
    else:
        (folder / STATES).unlink(missing_ok=True)
    seconds = [
        {"policy": r.policy, "workload": r.workload, "seed": r.seed, "seconds": round(r.seconds, 3)}
        for r in records
    ]
    write_json(folder / MANIFEST, manifest | {"runs": seconds})
    write_results(folder / RESULTS, [facts(record) for record in records])


def read_run(folder: Path) -> Results:
    """Reads a run folder. Raises ResultError where it holds no results, or damaged ones."""
    file = folder / RESULTS
    if not file.exists():
        raise ResultError(
            f"{folder}: holds no {RESULTS} (name a folder that `loomcard simulate --out` or"
            " `loomcard run` has written)"
        )
    # The manifest first: where another version wrote the folder, its results need not fit either.
    made = _read_manifest(folder / MANIFEST)
    runs = read_json(file, check_runs)
    return Results(folder, runs, application_frame(runs), made)


def _read_manifest(file: Path) -> dict[str, Any]:
    made: dict[str, Any] = read_json(file, check_manifest) if file.exists() else {}
    found = made.get("format", FORMAT)
    if found != FORMAT:
        raise ResultError(
            f"{file}: expected format {FORMAT}, found {found!r}: another version of Loomcard wrote"
            " it (use that version, or run it again)"
        )
    return made


def application_frame(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """One row an application a run: who ran it, then the application's own facts.

    Columns: run (its index), policy, workload, seed, engine, parameters (JSON), then id, queue,
    tags (a list), state, and the times of ``metrics.summary``.
    """
    rows = [
        {
            "run": index,
            "policy": run["policy"],
            "workload": run.get("workload", ""),
            "seed": run["seed"],
            "engine": run.get("engine", ""),
            "parameters": json.dumps(run.get("parameters", {}), sort_keys=True),
            **{name: each.get(name) for name in _APPLICATION},
        }
        for index, run in enumerate(runs)
        for each in run["applications"]
    ]
    return pl.DataFrame(rows, schema=_RUN | _APPLICATION, orient="row")


_RUN: dict[str, Any] = {
    "run": pl.Int64,
    "policy": pl.String,
    "workload": pl.String,
    "seed": pl.Int64,
    "engine": pl.String,
    "parameters": pl.String,
}
_APPLICATION: dict[str, Any] = {
    "id": pl.String,
    "queue": pl.String,
    "tags": pl.List(pl.String),
    "state": pl.String,
    "submitted_ms": pl.Int64,
    "first_container_ms": pl.Int64,
    "finished_ms": pl.Int64,
    "waiting_ms": pl.Int64,
    "completion_ms": pl.Int64,
}


def read_containers(folder: Path, equal: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """The containers of a run folder whose columns have these values; empty where there is no such
    file. Raises ResultError for a damaged one.
    """
    return _read_rows(folder / CONTAINERS, "containers", TYPES, equal or {})


def read_states(folder: Path, equal: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """What policies reported in a run folder, as ``read_containers``."""
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


def container_table(records: Sequence[RunRecord]) -> pl.DataFrame:
    """The containers of all runs, run after run in the order given."""
    return _of_runs((record, container_frame(record)) for record in records)


def state_table(records: Sequence[RunRecord]) -> pl.DataFrame:
    """What policies reported during all runs, run after run in the order given."""
    return _of_runs((record, state_frame(record.states)) for record in records)


def _of_runs(found: Iterable[tuple[RunRecord, pl.DataFrame]]) -> pl.DataFrame:
    """The frames below each other, each row with whose run it is of."""
    frames = []
    for record, frame in found:
        who: dict[str, Any] = {
            "policy": record.policy,
            "workload": record.workload,
            "seed": record.seed,
            "engine": record.engine,
            **dict(sorted(record.parameters.items())),
        }
        columns = [
            pl.Series(name, [value]).new_from_index(0, frame.height) for name, value in who.items()
        ]
        frames.append(pl.DataFrame(columns).hstack(frame))
    return pl.concat(frames, how="diagonal_relaxed", rechunk=True) if frames else pl.DataFrame()


def write_parquet(file: Path, frame: pl.DataFrame) -> None:
    """Writes a table whole or not at all; equal tables give equal bytes."""
    with whole(file) as temporary:
        frame.rechunk().write_parquet(
            temporary, compression="zstd", compression_level=3, row_group_size=_ROW_GROUP
        )


def write_results(file: Path, runs: Sequence[dict[str, Any]]) -> None:
    """Writes a list of runs as JSON, a line each."""
    lines = [json.dumps(run, ensure_ascii=False, separators=(",", ":")) for run in runs]
    with whole(file) as temporary:
        temporary.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def write_json(file: Path, document: Any) -> None:
    """Writes a document whole or not at all: keys in the order they have."""
    with whole(file) as temporary:
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_json(file: Path, check: Callable[[Any], None] = lambda _: None) -> Any:
    """Reads a document. Raises ResultError where it is no JSON, with the line, or where ``check``
    raises ValueError.
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
    """A path to write to, which becomes ``file`` if all goes well and is removed if not. An OSError
    names ``file``; what polars says of the disk becomes one.
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
