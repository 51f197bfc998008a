"""The end of an experiment: its cells' results as one list and one tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from loomcard.experiments.cell import CELLS
from loomcard.experiments.grid import Cell
from loomcard.results.run_folder import (
    CONTAINERS,
    MANIFEST,
    RESULTS,
    application_frame,
    read_json,
    whole,
    write_json,
    write_parquet,
    write_results,
)

TABLE = "cells"
ROWS_AT_ONCE = 5_000_000
"""More containers than these stay in their cells' folders: one table would fill the memory."""


def gather(out: Path, cells: Sequence[Cell], manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Writes results.json, cells.parquet, cells.csv, containers.parquet and manifest.json from the
    folders of those cells that have run, in the experiment's order; returns what stands in the
    first. The same bytes whatever the order in which they ran.
    """
    runs: list[dict[str, Any]] = []
    folders = [out / CELLS / cell.folder for cell in cells]
    for folder in folders:
        if (folder / RESULTS).exists():
            found: dict[str, Any] = read_json(folder / RESULTS)[0]
            runs.append(found | {"folder": f"{CELLS}/{folder.name}"})
    table = cell_table(runs)
    write_parquet(out / f"{TABLE}.parquet", table)
    with whole(out / f"{TABLE}.csv") as file:
        table.with_columns(pl.col("tags").list.join(";")).write_csv(file)
    _containers(out, runs)
    write_json(out / MANIFEST, manifest)
    write_results(out / RESULTS, runs)
    return runs


def cell_table(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """One row an application a cell: the cell's policy, workload, seed, engine and each parameter
    as a column, the run's figures, then the application's own.
    """
    figures = pl.DataFrame(
        [_figures(index, run) for index, run in enumerate(runs)], infer_schema_length=None
    )
    applications = application_frame(runs).drop("parameters")
    if not runs:
        return applications
    joined = applications.join(figures, on="run", how="left", maintain_order="left")
    who = ["run", "policy", "workload", "seed", "engine"]
    own = [name for name in applications.columns if name not in who]
    return joined.select([*who, *(c for c in joined.columns if c not in who + own), *own])


def _figures(index: int, run: dict[str, Any]) -> dict[str, Any]:
    return {
        "run": index,
        **run["parameters"],
        "finished": run["finished"],
        "makespan_ms": run["makespan_ms"],
        **{f"jain_{name}": value for name, value in run["jain"].items()},
        **{f"utilization_{name}": value for name, value in run["utilization"].items()},
    }


def _containers(out: Path, runs: Sequence[dict[str, Any]]) -> None:
    """All containers in one file, where they are few enough."""
    files = [out / run["folder"] / CONTAINERS for run in runs]
    frames = [pl.scan_parquet(file) for file in files]
    rows = sum(frame.select(pl.len()).collect().item() for frame in frames)
    if not frames or rows > ROWS_AT_ONCE:
        (out / CONTAINERS).unlink(missing_ok=True)
        return
    write_parquet(
        out / CONTAINERS, pl.concat([f.collect() for f in frames], how="diagonal_relaxed")
    )
