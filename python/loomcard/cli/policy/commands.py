"""``loomcard policy``: list the policies, check a configuration, apply it.

What checks and compiles is imported when it is asked for: help needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from loomcard.cli.hadoop.commands import compile_
from loomcard.cli.output import (
    AskingUser,
    ClusterKind,
    Json,
    On,
    Rm,
    TokenFile,
    console,
    fail,
    if_interrupted,
    print_json,
    waiting,
)
from loomcard.cli.policy.asked import resource_manager
from loomcard.cli.policy.facts import of_resource_manager, of_workload
from loomcard.cli.policy.history import history, rollback
from loomcard.cli.policy.imported import import_
from loomcard.cli.policy.place import place
from loomcard.cli.policy.replayed import replayed, show_replayed
from loomcard.cluster.rm_client import AddressError, ResourceManagerClient, RestError, TokenError
from loomcard.config.rules import POLICY

if TYPE_CHECKING:
    from loomcard.config.catalog import Option
    from loomcard.config.fit import ClusterFacts
    from loomcard.validation.findings import Finding

BAD_INPUT = 2
FAILED = 1

policy = typer.Typer(
    name="policy", help="List, check and apply scheduling policies.", no_args_is_help=True
)
policy.command("compile")(compile_)
policy.command("import")(import_)
policy.command()(history)
policy.command()(rollback)
policy.command()(place)
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--policy-path",
        exists=True,
        file_okay=False,
        help="A folder that policy files may be loaded from; repeatable. Default: any path.",
    ),
]


ONLY_THERE = (
    "checked on this machine, nothing was sent; for a policy that only the ResourceManager has:"
    " --no-local-check"
)
MISFIT = (
    "it does not fit the running cluster, nothing was sent; to do so anyway: --no-cluster-check"
)


@policy.command("list")
def list_policies(as_json: Json = False) -> None:
    """List every policy that a configuration can name, with its options and their defaults."""
    from loomcard.config.catalog import catalog

    entries = catalog()
    if as_json:
        print_json(
            [
                {
                    "name": entry.name,
                    "origin": entry.origin,
                    "summary": entry.summary,
                    "governs": entry.governs,
                    "options": [vars(option) for option in entry.options],
                }
                for entry in entries
            ]
        )
        return
    table = Table(show_lines=True)
    for title in ("policy", "what it does", "options", "from"):
        table.add_column(title, overflow="fold")  # a name is never cut: it is to be copied
    for entry in entries:
        options = "\n".join(_option_text(option) for option in entry.options)
        ours = entry.origin.startswith("loomcard.policies.")
        table.add_row(entry.name, entry.summary, options, "" if ours else entry.origin)
    console().print(table)


@policy.command()
def check(
    files: Annotated[list[str], typer.Argument(help="What to check: files, or policies' names.")],
    policy_path: Folders = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Compare sizes with the cluster of this workload, too."),
    ] = None,
    rm: Annotated[
        str | None,
        typer.Option("--rm", help="Compare with the cluster that runs there, too."),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            "--journal",
            exists=True,
            help="Replay this journal, or all in a folder, under each; exit 1 if a plan differs.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check configurations and list every finding with its line; exit 2 if one is an error."""
    facts = None
    if cluster is not None and rm is not None:
        fail("--cluster and --rm", "give one of the two", BAD_INPUT)
    if cluster is not None:
        facts = of_workload(cluster)
    elif rm is not None:
        facts = of_resource_manager(ResourceManagerClient(rm, getuser()))
    results = [_check(file, policy_path, facts) for file in files]
    wrong = any(_errors(result["findings"]) for result in results)
    if journal is not None and not wrong:
        for file, result in zip(files, results, strict=True):
            result["journal"] = replayed(file, policy_path, journal)
    if as_json:
        print_json(results)
    for file, result in zip(files, results, strict=True):
        if as_json:
            continue
        if result["findings"]:
            _show_findings(file, result["findings"])
        if result["hash"] is not None:
            typer.echo(f"{file}: valid, {result['queues']} queues, hash {result['hash'][:12]}")
        if "journal" in result:
            show_replayed(file, result["journal"])
    if wrong:
        raise typer.Exit(BAD_INPUT)
    if any(result["journal"]["differ"] for result in results if "journal" in result):
        raise typer.Exit(FAILED)


@policy.command()
def apply(
    file: Annotated[str, typer.Argument(help="What to apply: a file, or a policy's name.")],
    on: On = ClusterKind.LOCAL,
    rm: Rm = None,
    user: AskingUser = None,
    token_file: TokenFile = None,
    local_check: Annotated[
        bool,
        typer.Option(
            help="Check the file here first; not where the policy is installed there only."
        ),
    ] = True,
    cluster_check: Annotated[
        bool,
        typer.Option(help="Compare sizes and queues with the cluster first; refuse on errors."),
    ] = True,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Let the cluster try the file and say what it found; nothing is changed.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Swap the policy of a running cluster; the old one stays if anything is wrong."""
    from loomcard.config.source import resolve

    client = _client(on, rm, user, token_file)
    found = _check(file, None)["findings"] if local_check else []
    unknown_here = any(map(_names_no_policy, _errors(found)))
    remark = ONLY_THERE if unknown_here else ""
    if cluster_check and local_check and not _errors(found):
        found = _check(file, None, of_resource_manager(client))["findings"]
        remark = MISFIT
    findings = _errors(found)
    applied: dict[str, Any] = {}
    if not findings:
        source = resolve(file, known=local_check)
        with if_interrupted(lambda: _left(dry_run)), waiting(_doing(source.name, dry_run)):
            send = client.try_policy if dry_run else client.apply_policy
            applied, findings = _sent(send, source.text, source.name)
    if findings:
        _refuse(file, findings, remark if _errors(found) else "", as_json)
    _show_applied(file, applied, found, dry_run, as_json)


def _doing(name: str, dry_run: bool) -> str:
    return f"{'trying' if dry_run else 'applying'} {name}"


def _left(dry_run: bool) -> str:
    """What Ctrl-C leaves of a policy that was sent."""
    return (
        "nothing was changed"
        if dry_run
        else "the ResourceManager may go on applying it, see `loomcard policy history`"
    )


def _show_applied(
    file: str,
    applied: dict[str, Any],
    found: list[dict[str, Any]],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Print what a file was applied as, or would be, with the warnings that were found."""
    if as_json:
        done = {"applied": None, "would_apply": applied} if dry_run else {"applied": applied}
        print_json(done | {"findings": found})
        return
    if found:
        _show_findings(file, found)
    version, digest = applied.get("version"), str(applied.get("hash", ""))[:12]
    if dry_run:
        said = f"would be applied as version {version}, hash {digest}; nothing was changed"
    else:
        said = f"applied as version {version}, hash {digest}"
    typer.echo(f"{file}: {said}")


def _refuse(file: str, findings: list[dict[str, Any]], remark: str, as_json: bool) -> NoReturn:
    """Shows what is wrong with a file that was not applied, and ends the command."""
    if as_json:
        print_json({"applied": None, "findings": findings})
    else:
        _show_findings(file, findings, err=True)
        if remark:
            typer.echo(remark, err=True)
    raise typer.Exit(BAD_INPUT)


def _names_no_policy(finding: dict[str, Any]) -> bool:
    """Whether what is wrong is that a policy is not on this machine."""
    return finding.get("rule") == POLICY and "there is no" in finding["message"]


def _sent(
    send: Callable[[str, str], dict[str, Any]], text: str, name: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer, or what the ResourceManager found; ends the command where it said no."""
    try:
        return send(text, name), []
    except RestError as error:
        findings: list[dict[str, Any]] = error.body.get("findings") or []
        if not findings:
            fail(str(error), error.hint, BAD_INPUT if isinstance(error, TokenError) else FAILED)
        return {}, findings


def _client(
    on: ClusterKind, rm: str | None, user: str | None, token_file: Path | None
) -> ResourceManagerClient:
    try:
        return resource_manager(on, rm, user, token_file)
    except AddressError as error:
        fail(str(error), error.hint, BAD_INPUT)


def _check(
    file: str, policy_path: list[Path] | None, facts: ClusterFacts | None = None
) -> dict[str, Any]:
    from loomcard.config import Finding, FindingsError, compile_config
    from loomcard.config.fit import misfits
    from loomcard.config.small_cluster import left_waiting
    from loomcard.config.source import SourceError, resolve

    found: Sequence[Finding] = ()
    warned: list[Finding] = []
    config: dict[str, Any] = {"hash": None, "queues": []}
    try:
        source = resolve(file)
        config = compile_config(
            source.text, source.name, policy_path=policy_path, beside=source.folder,
            isolated=True, warn=warned.append,
        )  # fmt: skip
        found = [*warned, *left_waiting(source.text, config, policy_path)]
        found += misfits(source.text, config, facts) if facts is not None else []
    except FindingsError as error:
        found = error.findings
    except SourceError as error:  # one file that is not there hides nothing of the others
        found = (Finding(1, 1, "", str(error), error.hint, rule=error.rule),)
    findings = [finding.as_dict() for finding in found]
    return {
        "file": file,
        "hash": None if _errors(findings) else config["hash"],
        "queues": len(config["queues"]),
        "findings": findings,
    }


def _errors(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in findings if each.get("severity", "error") == "error"]


def _show_findings(file: str, findings: list[dict[str, Any]], *, err: bool = False) -> None:
    """Print findings: a table for a person, a line each (file:line:column:) for a pipe."""
    screen = Console(stderr=err, markup=False, highlight=False)
    alone = _is_policy(file)
    if not screen.is_terminal:
        for one in findings:
            where = f"{one['path']}: " if one["path"] else ""
            hint = f" ({one['hint']})" if one["hint"] else ""
            place = file if alone else f"{file}:{one['line']}:{one['column']}"
            typer.echo(f"{place}: {_kind(one)}{where}{one['message']}{hint}", err=err)
        return
    title = f"{file}: {len(findings)} found"
    table = Table("place", "rule", "key", "what is wrong", "remedy", title=title)
    for one in findings:
        place = "" if alone else f"{one['line']}:{one['column']}"
        table.add_row(place, _kind(one).rstrip(": "), one["path"], one["message"], one["hint"])
    screen.print(table)


def _is_policy(given: str) -> bool:
    """Whether a policy was named and no file: then there is no text with lines."""
    from loomcard.config.source import SourceError, resolve

    try:
        return resolve(given, known=False).file is None
    except SourceError as error:
        return error.rule == POLICY


def _kind(finding: dict[str, Any]) -> str:
    """Severity and rule, as in ``error LC103: ``; nothing of a finding that has no rule."""
    rule = finding.get("rule")
    return f"{finding.get('severity', 'error')} {rule}: " if rule else ""


def _option_text(option: Option) -> str:
    return f"{option.name}: {option.type} = {option.default!r}"
