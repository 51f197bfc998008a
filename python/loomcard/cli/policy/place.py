"""``loomcard policy place``: which queue an application goes to, and by which rule."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from loomcard.cli.output import Json, console, print_json

REFUSED = 1


def place(
    file: Annotated[str, typer.Argument(help="The rules: a file, or an example's name.")],
    user: Annotated[str, typer.Option("--user", help="Who submits.")],
    group: Annotated[
        list[str] | None,
        typer.Option("--group", help="A group of the user, the primary first; repeatable."),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The application's name.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag of the application; repeatable.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", help="The queue that is named. Default: none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which queue an application goes to, and by which rule; exit 1 if it is refused."""
    from loomcard.config import compile_config
    from loomcard.config.place import Submission
    from loomcard.config.place import place as placed_by
    from loomcard.config.source import resolve

    source = resolve(file)
    config: dict[str, Any] = compile_config(source.text, source.name, beside=source.folder)
    found = placed_by(config, Submission(user, group or (), name, tag or (), queue))
    if as_json:
        print_json(
            {
                "queue": found.queue,
                "rule": found.rule,
                "created": found.created,
                "why": list(found.why),
            }
        )
    else:
        out = console()
        for reason in found.why if found.queue is not None else ():
            out.print(escape(reason), highlight=False)
        if found.queue is None:
            text = f"refused: {'; '.join(found.why)}"
        else:
            rules = "rule" if "placement" in config else "default rule"
            new = ", which is created" if found.created else ""
            text = f"{found.queue}{new} ({rules} {found.rule})"
        out.print(escape(text), highlight=False)
    if found.queue is None:
        raise typer.Exit(REFUSED)
