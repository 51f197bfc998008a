"""``loomcard policy``: list the policies, check a set-up, print its schema, apply it."""

from getpass import getuser
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from loomcard.cli.history import history, rollback
from loomcard.cli.output import AskingUser, Json, Rm, print_json, waiting
from loomcard.cluster.local import default_url
from loomcard.cluster.rest import AddressError, ResourceManagerClient, RestError
from loomcard.config import Finding, FindingsError, compile_setup, schema
from loomcard.config.catalog import Option, catalog

BAD_INPUT = 2
FAILED = 1

policy = typer.Typer(
    name="policy", help="List, check and apply scheduling policies.", no_args_is_help=True
)
policy.command()(history)
policy.command()(rollback)
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--policy-path",
        help="A folder that policy files may be loaded from; repeatable. Default: any path.",
    ),
]


@policy.command("list")
def list_policies(as_json: Json = False) -> None:
    """List every policy that a set-up can name, with its options and their defaults."""
    entries = catalog()
    if as_json:
        print_json(
            [
                {
                    "name": entry.name,
                    "origin": entry.origin,
                    "summary": entry.summary,
                    "options": [vars(option) for option in entry.options],
                }
                for entry in entries
            ]
        )
        return
    table = Table("policy", "what it does", "options", "from", show_lines=True)
    for entry in entries:
        options = "\n".join(_option_text(option) for option in entry.options)
        ours = entry.origin.startswith("loomcard.policies.")
        table.add_row(entry.name, entry.summary, options, "" if ours else entry.origin)
    Console(markup=False).print(table)


@policy.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="The set-ups to check.")],
    policy_path: Folders = None,
    as_json: Json = False,
) -> None:
    """Check set-ups and list every finding with its line; exit 2 if there is one."""
    results = [_check(file, policy_path) for file in files]
    if as_json:
        print_json(results)
    for file, result in zip(files, results, strict=True):
        if as_json:
            continue
        if result["findings"]:
            _show_findings(file, result["findings"])
        else:
            typer.echo(f"{file}: right, {result['queues']} queues, hash {result['hash'][:12]}")
    if any(result["findings"] for result in results):
        raise typer.Exit(BAD_INPUT)


@policy.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of policy set-ups."""
    print_json(schema("policy"))


@policy.command()
def apply(
    file: Annotated[Path, typer.Argument(help="The set-up to apply.")],
    rm: Rm = None,
    user: AskingUser = None,
    local_check: Annotated[
        bool,
        typer.Option(
            help="Check the file here first; not where the policy is installed there only."
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Swap the policy of a running cluster; the old one stays if anything is wrong."""
    text = _read(file)
    findings = _check(file, None)["findings"] if local_check else []
    applied: dict[str, Any] = {}
    if not findings:
        try:
            client = ResourceManagerClient(rm or default_url(), user or getuser())
            with waiting(f"applying {file.name}"):
                applied = client.apply_policy(text, file.name)
        except RestError as error:
            findings = error.body.get("findings") or []
            if not findings:
                bad = isinstance(error, AddressError)
                _fail(str(error), error.hint, BAD_INPUT if bad else FAILED)
    if findings:
        if as_json:
            print_json({"applied": None, "findings": findings})
        else:
            _show_findings(file, findings, err=True)
        raise typer.Exit(BAD_INPUT)
    if as_json:
        print_json({"applied": applied, "findings": []})
    else:
        version, digest = applied.get("version"), str(applied.get("hash", ""))[:12]
        typer.echo(f"{file}: applied as version {version}, hash {digest}")


def _read(file: Path) -> str:
    """Return a file's text; ends the command if there is none."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        _fail(f"{file}: cannot be read: {error.strerror}", "check the path", BAD_INPUT)
    except UnicodeDecodeError as error:
        _fail(f"{file}: not UTF-8 at byte {error.start}", "save it as UTF-8", BAD_INPUT)


def _check(file: Path, policy_path: list[Path] | None) -> dict[str, Any]:
    found: tuple[Finding, ...] = ()
    setup: dict[str, Any] = {"hash": None, "queues": []}
    try:
        text = file.read_bytes().decode("utf-8-sig")
        setup = compile_setup(text, file.name, policy_path=policy_path, beside=file.parent)
    except FindingsError as error:
        found = error.findings
    except OSError as error:  # one file that is not there hides nothing of the others
        found = (Finding(1, 1, "", f"cannot be read: {error.strerror}", "check the path"),)
    except UnicodeDecodeError as error:
        found = (Finding(1, 1, "", f"not UTF-8 at byte {error.start}", "save it as UTF-8"),)
    return {
        "file": str(file),
        "hash": setup["hash"],
        "queues": len(setup["queues"]),
        "findings": [finding.as_dict() for finding in found],
    }


def _show_findings(file: Path, findings: list[dict[str, Any]], *, err: bool = False) -> None:
    """Print findings: a table for a person, a line each (file:line:column:) for a pipe."""
    console = Console(stderr=err, markup=False, highlight=False)
    if not console.is_terminal:
        for one in findings:
            where = f"{one['path']}: " if one["path"] else ""
            hint = f" ({one['hint']})" if one["hint"] else ""
            place = f"{file}:{one['line']}:{one['column']}"
            typer.echo(f"{place}: {where}{one['message']}{hint}", err=err)
        return
    table = Table("place", "key", "what is wrong", "remedy", title=f"{file}: {len(findings)} wrong")
    for one in findings:
        place = f"{one['line']}:{one['column']}"
        table.add_row(place, one["path"], one["message"], one["hint"])
    console.print(table)


def _option_text(option: Option) -> str:
    return f"{option.name}: {option.type} = {option.default!r}"


def _fail(message: str, hint: str, code: int) -> NoReturn:
    typer.echo(f"error: {message} ({hint})", err=True)
    raise typer.Exit(code)
