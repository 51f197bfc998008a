"""``loomcard replay``: the recorded policy, or another one, on what a cluster saw.

What replays is imported when it is called: help needs none of it.
"""

from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import Json

DIFFERS = 1


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal's folder, or a capsule.")],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            help="A YAML file, or a policy's name. Default: what was recorded, run again.",
        ),
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--to-the-end/--rounds-only", help="Simulate what ran to its end, too.")
    ] = True,
    expect_same: Annotated[
        bool, typer.Option("--expect-same", help="Exit with 1 if any round is decided otherwise.")
    ] = False,
    renamed: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OLD=NEW",
            help="A leaf queue of --policy that stands for one of the journal's; repeatable.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the simulated nodes' heartbeats.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the simulated runs' results.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what another policy would have decided, round by round and to the end."""
    from loomcard.cli.runs.replayed import Wanted, replayed

    wanted = Wanted(journal, policy, renamed or [], seed if simulated else None, out)
    same = replayed(wanted, as_json)
    if expect_same and not same:
        raise typer.Exit(DIFFERS)
