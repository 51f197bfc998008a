"""``loomcard replay``: another policy on what a cluster saw."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import Json, console, print_json, waiting
from loomcard.cli.simulate import figures, only_ours
from loomcard.experiments.inputs import choices
from loomcard.experiments.replay import (
    Rounds,
    as_document,
    as_scenario,
    compare_rounds,
    missing_policies,
    recorded_setup,
    said,
    to_the_end,
)
from loomcard.outcome.files import write_run
from loomcard.outcome.manifest import manifest
from loomcard.outcome.metrics import summary


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal's folder.")],
    policy: Annotated[str, typer.Option("--policy", help="A set-up's file, or a policy's name.")],
    simulated: Annotated[
        bool, typer.Option("--to-the-end/--rounds-only", help="Simulate what ran to its end, too.")
    ] = True,
    seed: Annotated[int, typer.Option("--seed", help="Of the simulated nodes' heartbeats.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the simulated runs' results.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what another policy would have decided, round by round and to the end."""
    chosen = choices([policy], Path())
    only_ours(chosen)
    setup = chosen[0].compiled({}) or {}
    with waiting("round by round"):
        rounds = compare_rounds(journal, setup)
    summaries = []
    if simulated:
        with waiting("to the end"):
            scenario = as_scenario(journal, seed)
            recorded = recorded_setup(journal)
            missing = missing_policies(recorded)
            both = {} if missing else {"as recorded": recorded}
            runs = to_the_end(scenario, both | {chosen[0].name: setup})
        if missing:
            typer.echo(
                f"the recorded policy is not simulated: {', '.join(missing)} cannot be found from"
                " this folder",
                err=True,
            )
        summaries = [summary(record) for record in runs.values()]
        if out is not None:
            inputs = {chosen[0].source: (chosen[0].text or "").encode()}
            about = manifest(inputs, command=["replay", str(journal)], seeds=[seed])
            write_run(out, list(runs.values()), about)
    if as_json:
        print_json({"rounds": as_document(rounds), "to_the_end": summaries})
        return
    _print(rounds, chosen[0].name)
    if summaries:
        console().print(figures(summaries))


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
            table.add_row(str(one.round), at, _short(said(one.recorded)), _short(said(one.other)))
        out.print(table)


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:87] + "..."
