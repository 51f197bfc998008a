"""What ``loomcard replay`` runs and prints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.table import Table

from loomcard.cli.output import command_line, console, moment, print_json, printable, waiting
from loomcard.cli.results import print_tables, shown
from loomcard.experiments.capsule import is_capsule, opened, show
from loomcard.experiments.gaps import Coverage, coverage
from loomcard.experiments.inputs import Choice, InputError, choices, refuse_stock
from loomcard.experiments.replay_runs import (
    Rounds,
    allocations_text,
    as_document,
    compare_rounds,
    renamings,
    replay_own,
    to_the_end,
)
from loomcard.results.manifest import manifest
from loomcard.results.metrics import facts
from loomcard.results.run_folder import Results, write_run
from loomcard.wire.journal import segments


@dataclass(frozen=True)
class Wanted:
    """What to replay. ``policy``: None for the recorded one; ``pairs``: queues of another policy
    that replace the journal's, as OLD=NEW; ``seed``: of its simulation to the end, None for no
    simulation; ``out``: the folder of the simulation's results.
    """

    journal: Path
    policy: str | None
    pairs: list[str]
    seed: int | None
    out: Path | None


def replayed(wanted: Wanted, as_json: bool) -> bool:
    """Replay and print; return whether every round was decided as recorded. Raises InputError."""
    if is_capsule(wanted.journal):
        return _capsule(wanted, as_json)
    if wanted.policy is None:
        if wanted.pairs or wanted.out is not None:
            raise InputError(["--map and --out need another policy (name one with --policy)"])
        covered = coverage(wanted.journal)
        same = _recorded(wanted.journal, covered, as_json)
    else:
        chosen = choices([wanted.policy], Path())
        refuse_stock(chosen)
        covered = coverage(wanted.journal)
        same = _other(wanted, chosen[0], covered, as_json)
    if covered.begins > 1 and not as_json:
        typer.echo(f"the journal begins with round {covered.begins}: what came before was deleted")
    covered.check(wanted.journal)  # last: what the rounds that are there say has been printed
    return same


def _capsule(wanted: Wanted, as_json: bool) -> bool:
    """Print the rounds of a capsule and its fault; return whether all were decided as recorded."""
    if wanted.policy is not None or wanted.pairs or wanted.out is not None:
        raise InputError(["a capsule is replayed as it is: leave out --policy, --map and --out"])
    with opened(wanted.journal) as capsule, waiting("the rounds of the capsule again"):
        shown = show(capsule)
    about = capsule.about
    if as_json:
        print_json({"capsule": about} | msgspec.to_builtins(shown))
        return not shown.differ
    hello = about.get("hello") or [None] * 5
    typer.echo(
        f"{about.get('kind')} at {moment(about['at_ms'])}: version {about.get('version')} of"
        f" {about.get('source')} under Loomcard {hello[3]} and Hadoop {hello[4]}"
    )
    typer.echo(printable(f"reason: {about.get('reason')}"))
    typer.echo(f"{shown.rounds} rounds run again: {len(shown.differ)} came out otherwise")
    for line in shown.fault or ["the fault cannot be seen in these rounds"]:
        typer.echo(printable(f"again: {line}"))
    if shown.traceback:
        typer.echo(shown.traceback, err=True)
    return not shown.differ


def _recorded(journal: Path, covered: Coverage, as_json: bool) -> bool:
    """Run the recorded policy on its own rounds; return whether all were decided as recorded."""
    with waiting("the recorded policy again"):
        rounds = replay_own(journal)
    if as_json:
        found = {"rounds": rounds.rounds, "differ": rounds.differ}
        print_json(found | {"journal": msgspec.to_builtins(covered)})
    else:
        typer.echo(f"{rounds.rounds} rounds run again: {len(rounds.differ)} came out otherwise")
        for each in rounds.differ[:10]:
            typer.echo(f"  {each}")
    return not rounds.differ


def _other(wanted: Wanted, chosen: Choice, covered: Coverage, as_json: bool) -> bool:
    """Print another policy's rounds, and its simulation; return whether all rounds are the same."""
    config = chosen.compiled({}) or {}
    renamed = renamings(wanted.pairs, config)
    with waiting("round by round"):
        rounds = compare_rounds(wanted.journal, config, renamed)
    runs = [] if wanted.seed is None else _simulated(wanted, chosen, config, renamed)
    if as_json:
        compared = {"rounds": as_document(rounds), "to_the_end": shown(runs)}
        print_json(compared | {"journal": msgspec.to_builtins(covered)})
    else:
        _print(rounds, chosen.name)
        if any(run["finished"] for run in runs):
            from loomcard.report.runs import study_of

            print_tables(study_of([Results(wanted.journal, runs, {})]), runs)
    return rounds.same == rounds.rounds


def _simulated(
    wanted: Wanted, chosen: Choice, config: dict[str, Any], renamed: dict[str, str]
) -> list[dict[str, Any]]:
    journal, seed, out = wanted.journal, wanted.seed, wanted.out
    assert seed is not None
    with waiting("to the end"):
        runs, because = to_the_end(journal, chosen.name, config, renamed, seed)
    if because:
        typer.echo(f"the recorded policy is not simulated: {because}", err=True)
    if out is None:
        return [facts(record) for record in runs]
    inputs = {chosen.source: (chosen.text or "").encode()}
    inputs |= {path.name: path.read_bytes() for path in segments(journal)}
    about = manifest(inputs, command=command_line(), seeds=[seed])
    return write_run(out, runs, about)


def _print(rounds: Rounds, name: str) -> None:
    out = console()
    out.print(
        f"{rounds.rounds} rounds: {name} would have decided {rounds.same} alike, and"
        f" {rounds.same_but_for_nodes} alike but for the nodes; {rounds.recorded} containers were"
        f" allocated, {rounds.other} it would have"
    )
    if rounds.preempted or rounds.other_preempted:
        out.print(f"preempted: {rounds.preempted}, it would have {rounds.other_preempted}")
    if rounds.first:
        table = Table("round", "at", "allocated", name, title="the first that differ")
        for one in rounds.first:
            at = f"{one.at_ms / 1000:.1f} s"
            table.add_row(
                str(one.round),
                at,
                _short(allocations_text(one.recorded)),
                _short(allocations_text(one.other)),
            )
        out.print(table)


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:87] + "..."
