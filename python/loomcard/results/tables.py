"""The tables of a run folder: applications, cells, containers and what policies reported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from loomcard.results.containers import container_frame
from loomcard.results.policy_series import state_frame
from loomcard.results.record import RunRecord


def application_frame(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return a row for each application of each run.

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


def cell_table(runs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return a row for each application of each run, with the run's policy, workload, seed, engine,
    parameters and figures as columns, then the application's own.
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


def container_table(record: RunRecord) -> pl.DataFrame:
    """Return the containers of a run, with its policy, workload, seed and parameters as columns."""
    return _with_run(record, container_frame(record))


def state_table(record: RunRecord) -> pl.DataFrame:
    """Return what policies reported during a run, with the same columns."""
    return _with_run(record, state_frame(record.states))


def _with_run(record: RunRecord, frame: pl.DataFrame) -> pl.DataFrame:
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
    return pl.DataFrame(columns).hstack(frame)
