"""Open any file of demand, whatever its format, as a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from loomcard.validation.findings import Finding, FindingsError, nearest
from loomcard.workload.loading import build, find, load
from loomcard.workload.readers import OPTIONS
from loomcard.workload.scenario import Scenario

WORKLOAD: Final = "workload"
_ASSUMED: Final = "cluster: {nodes: [{count: 100, memory_mb: 65536, vcores: 32}]}\n"
_WITHOUT_NODES: Final = ("swim", "tpch")


def opened(file: Path, *, seed: int, format: str | None = None) -> tuple[str, Scenario]:  # noqa: A002
    """Return the format of a file or folder, guessed unless given, and its scenario. A trace
    without nodes is put on a hundred nodes of 64 GB and 32 vcores. Raises FindingsError.
    """
    if format is not None and format not in (WORKLOAD, *OPTIONS):
        hint = nearest(format, (WORKLOAD, *OPTIONS))
        raise FindingsError([Finding(1, 1, "", f"there is no format {format!r}", hint)])
    path = file if file.exists() else find(file)
    kind = format or guessed(path)
    if kind == WORKLOAD:
        return kind, load(path, seed=seed)
    cluster = _ASSUMED if kind in _WITHOUT_NODES else ""
    quoted = str(path.absolute()).replace("'", "''")
    text = f"version: 1\n{cluster}trace: {{format: {kind}, file: '{quoted}'}}\n"
    return kind, build(text, path.stem, Path(), seed=seed, file=str(path))


def guessed(path: Path) -> str:
    """Guess the format from the file's name and first characters. Raises FindingsError."""
    if path.is_dir():
        if (path / "queries.yaml").exists():
            return "tpch"
        if any(path.glob("*.jsonl")):
            return "journal"
    elif path.suffix == ".jsonl":
        return "journal"
    elif path.suffix in (".yml", ".yaml"):
        return WORKLOAD
    elif path.suffix in (".tsv", ".txt"):
        return "swim"
    else:
        with path.open("rb") as stream:
            start = stream.read(4000)
        for words, kind in (
            (b'"tpch_q', "tpch"),
            (b'"workloads"', "synth"),
            (b'"job.', "sls"),
            (b"\t", "swim"),
        ):
            if words in start:
                return kind
    message = "neither a workload nor a trace of a known format"
    hint = f"say what it is: --format {' | '.join(OPTIONS)}"
    raise FindingsError([Finding(1, 1, "", message, hint, str(path))])
