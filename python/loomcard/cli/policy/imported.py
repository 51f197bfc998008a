"""``loomcard policy import``: a stock scheduler's file as a policy configuration."""

from __future__ import annotations

from collections.abc import Mapping
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from loomcard.cli.output import Json, console, fail, print_json

if TYPE_CHECKING:
    from loomcard.install.convert import Conversion

BAD_INPUT = 2
FAILED = 1


def import_(
    file: Annotated[
        Path,
        typer.Argument(help="capacity-scheduler.xml, or FairScheduler's allocation file."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the configuration there, not to the screen."),
    ] = None,
    rm: Annotated[
        str | None,
        typer.Option(
            "--rm",
            help="Take the cluster's size and yarn-site.xml's properties from the ResourceManager"
            " there, not from the files beside FILE.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what became of every property.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Convert the queues of a CapacityScheduler or FairScheduler.

    Every property is converted, or named with the reason why it is not and what to do. Exit 2 for a
    file that is not one of the two.
    """
    from loomcard.cluster.rm_client import RestError
    from loomcard.install.convert import convert, written
    from loomcard.install.site_file import SiteFileError

    if out is not None and out.exists():
        fail(f"{out}: it exists already", "name another file, or remove it", BAD_INPUT)
    try:
        whole, running = _running(rm) if rm is not None else ({}, None)
        made = convert(file, whole, running)
    except SiteFileError as error:
        fail(str(error), error.hint, BAD_INPUT)
    except RestError as error:
        fail(str(error), error.hint, FAILED)
    text = written(made)
    if out is not None:
        try:
            out.write_text(text, "utf-8")
        except OSError as error:
            fail(
                f"{out}: {error.strerror or error}",
                "name a file in a folder that exists",
                BAD_INPUT,
            )
    if as_json:
        print_json(
            {"scheduler": made.scheduler, "properties": [vars(each) for each in made.outcomes]}
            | ({"configuration": text} if out is None else {})
        )
        return
    if explain:
        console().print(_table(made))
    elif out is None:
        typer.echo(text, nl=False)
    lost = made.count("lost")
    typer.echo(
        f"{file}: {made.count('converted')} properties converted, {made.count('no effect')} without"
        f" effect, {lost} lost" + ("" if explain or not lost else "; --explain shows them"),
        err=True,
    )
    if out is not None:
        typer.echo(f"{out}: check it with `loomcard policy check {out}`", err=True)


def _running(rm: str) -> tuple[Mapping[str, int], Mapping[str, str]]:
    """Return the capacity and the properties of a running ResourceManager."""
    from loomcard.cli.policy.facts import of_resource_manager
    from loomcard.cluster.rm_client import ResourceManagerClient

    client = ResourceManagerClient(rm, getuser())
    return of_resource_manager(client).capacity, client.configuration()


def _table(made: Conversion) -> Table:
    """Return both sides: a property with its value, and what it is now or why it is not."""
    table = Table(title=made.place)
    for title in ("property", "value", "became", "here"):
        table.add_column(title, overflow="fold")  # a name is never cut: it is to be copied
    for each in made.outcomes:
        said = [each.key, each.why, each.remedy]
        table.add_row(each.name, each.value, each.became, "; ".join(filter(None, said)))
    return table
