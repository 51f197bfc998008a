"""``loomcard policy history`` and ``rollback``: the versions that a cluster keeps."""

from getpass import getuser
from typing import Annotated, NoReturn

import typer
from rich.table import Table

from loomcard.cli.output import (
    AskingUser,
    ClusterKind,
    Json,
    On,
    Rm,
    TokenFile,
    console,
    moment,
    print_json,
    waiting,
)
from loomcard.cli.policy.asked import resource_manager
from loomcard.cluster import embedded
from loomcard.cluster.rm_client import AddressError, Document, RestError, TokenError

BAD_INPUT = 2
FAILED = 1
_NOT_POSSIBLE = (400, 404, 409)


def history(rm: Rm = None, user: AskingUser = None, as_json: Json = False) -> None:
    """List the last ten versions that were applied: when, by whom, and which one governs."""
    try:
        kept = embedded.resource_manager(rm, user or getuser()).policy_history()
    except RestError as error:
        _end(error)
    if as_json:
        print_json(kept)
        return
    table = Table("version", "applied", "by", "name", "hash", "")
    for each in kept:
        table.add_row(
            str(each["version"]),
            _time(each),
            each["user"] or "-",
            each["source"],
            str(each["hash"])[:12],
            "governs" if each["governs"] else "",
        )
    console().print(table)


def rollback(
    version: Annotated[
        int | None,
        typer.Argument(min=1, help="As `history` lists it. Default: the one before the present."),
    ] = None,
    on: On = ClusterKind.LOCAL,
    rm: Rm = None,
    user: AskingUser = None,
    token_file: TokenFile = None,
    as_json: Json = False,
) -> None:
    """Apply an earlier version again, as a new one; the present one stays if anything is wrong."""
    try:
        client = resource_manager(on, rm, user, token_file)
        with waiting("applying the earlier version"):
            applied = client.roll_back_policy(version)
    except RestError as error:
        _end(error, "the version before" if version is None else f"version {version}")
    if as_json:
        print_json({"applied": applied})
    else:
        digest = str(applied.get("hash", ""))[:12]
        typer.echo(f"{applied['source']}: applied as version {applied['version']}, hash {digest}")


def _time(each: Document) -> str:
    at_ms = each["applied_at_ms"]
    return "-" if at_ms is None else moment(at_ms)


def _end(error: RestError, what: str = "") -> NoReturn:
    """Says why; a finding's place is in the YAML text of the version that ``what`` names."""
    findings = "; ".join(
        f"{what}, {one['line']}:{one['column']}: {one['message']} ({one['hint'] or error.hint})"
        for one in error.body.get("findings", [])
    )
    typer.echo(f"error: {findings or f'{error} ({error.hint})'}", err=True)
    bad = isinstance(error, AddressError | TokenError) or error.status in _NOT_POSSIBLE
    raise typer.Exit(BAD_INPUT if bad else FAILED)
