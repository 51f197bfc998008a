"""``loomcard simulate``: a workload under one or more policies, on a cluster of events.

What simulates is imported when it is called: help needs none of it.
"""

from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import Json


def simulate(
    workload: Annotated[str, typer.Argument(help="A workload's file, or a shipped one's name.")],
    policy: Annotated[
        list[str],
        typer.Option("--policy", help="A policy's name, or a YAML file; repeatable."),
    ],
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of every random value of the workload.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A folder for results, containers, journals and manifest."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="At a time. Default: one a core.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a workload under policies on a simulated cluster; Ctrl-C keeps what there is."""
    from loomcard.cli.runs.simulation import run_simulation

    run_simulation(workload, policy, seed, out, processes, as_json)
