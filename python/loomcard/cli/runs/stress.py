"""``loomcard stress``: policies in scenarios that try to break them.

What runs them is imported when it is called: help needs none of it.
"""

from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import Json


def stress(
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of policies, path/to/file.py:Class, or YAML files, of which policy and"
            " options count. Default: Loomcard's own."
        ),
    ] = None,
    scenarios: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="Only this one; repeatable. Default: all."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="At a time. Default: one a core.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--write", help="A Markdown page for the tables.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Put policies through scenarios that try to break them; exit 1 where something is broken."""
    from loomcard.cli.runs.verdicts import judge_all

    judge_all(policies, scenarios, processes, page, as_json)
