"""``loomcard replay``: the recorded policy, or another one, on what a cluster saw."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table

from loomcard.cli.output import Json, command_line, console, print_json, waiting
from loomcard.cli.runs.simulate import figures, only_ours
from loomcard.experiments.gaps import Coverage, coverage
from loomcard.experiments.inputs import Choice, InputError, choices
from loomcard.experiments.replay_runs import (
    Rounds,
    as_document,
    as_recorded,
    as_scenario,
    compare_rounds,
    grants_text,
    moved,
    recorded_setup,
    renamings,
    replay_own,
    to_the_end,
)
from loomcard.results.manifest import manifest
from loomcard.results.metrics import summary
from loomcard.results.run_folder import write_run
from loomcard.wire.journal import segments

DIFFERS = 1


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal's folder.")],
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
    if policy is None:
        if renamed or out is not None:
            raise InputError(["--map and --out need another policy (name one with --policy)"])
        covered = coverage(journal)
        same = _replay_own(journal, covered, as_json)
    else:
        chosen = choices([policy], Path())
        only_ours(chosen)
        covered = coverage(journal)
        simulation = seed if simulated else None
        same = _other(journal, chosen[0], renamed or [], simulation, out, as_json, covered)
    if covered.begins > 1 and not as_json:
        typer.echo(f"the journal begins with round {covered.begins}: what came before was deleted")
    covered.check(journal)  # last: what the rounds that are there say has been printed
    if expect_same and not same:
        raise typer.Exit(DIFFERS)


def _replay_own(journal: Path, covered: Coverage, as_json: bool) -> bool:
    """The recorded policy on its own rounds; whether all came out the same."""
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


def _other(
    journal: Path,
    chosen: Choice,
    pairs: list[str],
    seed: int | None,
    out: Path | None,
    as_json: bool,
    covered: Coverage,
) -> bool:
    """Another policy's rounds, and with a seed its simulation; whether all rounds are the same."""
    setup = chosen.compiled({}) or {}
    renamed = renamings(pairs, setup)
    with waiting("round by round"):
        rounds = compare_rounds(journal, setup, renamed)
    summaries = [] if seed is None else _simulated(journal, chosen, setup, renamed, seed, out)
    if as_json:
        compared = {"rounds": as_document(rounds), "to_the_end": summaries}
        print_json(compared | {"journal": msgspec.to_builtins(covered)})
    else:
        _print(rounds, chosen.name)
        if summaries:
            console().print(figures(summaries))
    return rounds.same == rounds.rounds


def _simulated(
    journal: Path,
    chosen: Choice,
    setup: dict[str, Any],
    renamed: dict[str, str],
    seed: int,
    out: Path | None,
) -> list[dict[str, Any]]:
    with waiting("to the end"):
        scenario = as_scenario(journal, seed)
        recorded = recorded_setup(journal)
        runs, because = as_recorded(scenario, recorded)
        runs |= to_the_end(moved(scenario, renamed), {chosen.name: setup})
    if because:
        typer.echo(f"the recorded policy is not simulated: {because}", err=True)
    if out is not None:
        inputs = {chosen.source: (chosen.text or "").encode()}
        inputs |= {path.name: path.read_bytes() for path in segments(journal)}
        about = manifest(inputs, command=command_line(), seeds=[seed])
        write_run(out, list(runs.values()), about)
    return [summary(record) for record in runs.values()]


def _print(rounds: Rounds, name: str) -> None:
    out = console()
    out.print(
        f"{rounds.rounds} rounds: {name} would have decided {rounds.same} alike, and"
        f" {rounds.same_but_for_nodes} alike but for the nodes; {rounds.recorded} containers were"
        f" granted, {rounds.other} it would have"
    )
    if rounds.preempted or rounds.other_preempted:
        out.print(f"preempted: {rounds.preempted}, it would have {rounds.other_preempted}")
    if rounds.first:
        table = Table("round", "at", "granted", name, title="the first that differ")
        for one in rounds.first:
            at = f"{one.at_ms / 1000:.1f} s"
            table.add_row(
                str(one.round),
                at,
                _short(grants_text(one.recorded)),
                _short(grants_text(one.other)),
            )
        out.print(table)


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:87] + "..."
