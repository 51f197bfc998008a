"""``loomcard policy check --journal``: whether a configuration decides again what was recorded.

What replays is imported when it is called: help needs none of it.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from loomcard.cli.output import printable, waiting

SHOWN = 10
"""At most so many journals that differ are printed; all are counted."""


def replayed(file: str, policy_path: list[Path] | None, journal: Path) -> dict[str, Any]:
    """Replay the journals at ``journal`` under a configuration without errors. Return how many
    ``files`` and ``rounds`` were replayed, and in ``differ`` the first difference of each file that
    has one. Raises JournalError and InputError.
    """
    from loomcard.config import compile_config
    from loomcard.config.source import resolve
    from loomcard.experiments.replay_check import compare

    source = resolve(file)
    config = compile_config(
        source.text, source.name, policy_path=policy_path, beside=source.folder, isolated=True
    )
    with waiting("the journal again"):
        found = compare(journal, config)
    return {
        "files": found.files,
        "rounds": found.rounds,
        "differ": [asdict(each) | {"journal": str(each.journal)} for each in found.differ],
    }


def show_replayed(file: str, found: dict[str, Any]) -> None:
    """Print what was found."""
    replays, differ = f"{found['rounds']} rounds of {found['files']} segments", found["differ"]
    if not differ:
        typer.echo(f"{file}: {replays} decided identically")
        return
    typer.echo(f"{file}: {replays} replayed, {len(differ)} segments differ")
    for each in differ[:SHOWN]:
        place = f"{each['journal']}, round {each['round']}, {each['at_ms'] / 1000:.3f} s"
        typer.echo(printable(f"{place}: {each['what']} differs"))
        typer.echo(printable(f"  recorded: {each['recorded']}"))
        typer.echo(printable(f"  now:      {each['now']}"))
    if len(differ) > SHOWN:
        typer.echo(f"and {len(differ) - SHOWN} more segments")
