"""How the command prints: tables for people, one JSON document for programs, progress
separately.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class ClusterKind(StrEnum):
    """The kind of cluster."""

    LOCAL = "local"
    DOCKER = "docker"


On = Annotated[
    ClusterKind, typer.Option("--on", help="The embedded cluster (local) or the compose cluster.")
]

Rm = Annotated[
    str | None,
    typer.Option(
        "--rm",
        envvar="LOOMCARD_RM",
        help="The ResourceManager's web address, or several, with commas between them. Default:"
        " that of the cluster that `up` left running.",
    ),
]
OtherRm = Annotated[
    str | None,
    typer.Option(
        "--rm",
        envvar="LOOMCARD_RM",
        help="The ResourceManager's web address of a cluster that is neither. Default: see --on.",
    ),
]
AskingUser = Annotated[
    str | None,
    typer.Option(
        "--user",
        envvar="HADOOP_USER_NAME",
        help="Who asks, on a cluster without Kerberos. Default: you.",
    ),
]


TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        envvar="LOOMCARD_TOKEN_FILE",
        metavar="FILE",
        help="A copy of apply.token in the ResourceManager's loomcard.state.dir, which one without"
        " Kerberos wants with a change. Default: that of the cluster that `up` left running.",
    ),
]


def command_line() -> tuple[str, ...]:
    """Return the command line, as a manifest records it."""
    return ("loomcard", *sys.argv[1:])


def fail(message: str, hint: str, code: int) -> NoReturn:
    """End the command with this exit status, an error, and what to do about it."""
    typer.echo(f"error: {message} ({hint})", err=True)
    raise typer.Exit(code)


def print_json(document: Any) -> None:
    """Print a document to standard output."""
    typer.echo(json.dumps(document, indent=2))


def console(*, markup: bool = False) -> Console:
    """Return the console for tables; if it is no terminal, it prints plain text without wrapping.
    ``markup``: whether text in brackets is rich's; not for text from files or from users' jobs.
    """
    out = Console(highlight=False, markup=markup)
    return out if out.is_terminal else Console(highlight=False, markup=markup, width=140)


def printable(text: str) -> str:
    """Return foreign text with ? for each character on which a terminal would act."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def moment(at_ms: int) -> str:
    """Return milliseconds since 1970 as a date and time in this machine's time zone."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().isoformat(" ", "seconds")


@contextmanager
def if_interrupted(state: Callable[[], str]) -> Iterator[None]:
    """Notes what Ctrl-C leaves behind: ``state`` returns a line about it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(state())
        raise


@contextmanager
def waiting(what: str, total: int | None = None) -> Iterator[Progress]:
    """Show a progress bar on standard error, except in a pipe; remove it when done."""
    columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    if total is not None:
        columns.insert(2, MofNCompleteColumn())
    screen = Console(stderr=True)
    progress = Progress(*columns, console=screen, transient=True)
    progress.add_task(what, total=total)
    if not screen.is_terminal:  # up to rich 14.2 a disabled bar ends with an empty line
        yield progress
        return
    with progress:
        yield progress
