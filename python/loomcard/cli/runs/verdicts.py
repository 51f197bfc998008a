"""What ``loomcard stress`` runs and prints: a verdict for each policy in each scenario."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import typer
from rich.table import Table

from loomcard.api.registry import found_beside
from loomcard.cli.output import console, print_json, waiting
from loomcard.experiments.inputs import Choice, InputError, choices, refuse_stock
from loomcard.simulator.processes import run_in_processes
from loomcard.stress import table
from loomcard.stress.design import OPTIONS, POLICIES
from loomcard.stress.run import SCENARIOS, Verdict, judge
from loomcard.stress.scenario import Candidate
from loomcard.validation.reading import read

FAILED: Final = 1
Item = tuple[str, str, Candidate]


def judge_all(
    policies: Sequence[str] | None,
    scenarios: Sequence[str] | None,
    processes: int | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Judge and print; write the tables to ``page``. Raises typer.Exit with FAILED if something is
    broken that no definition of a policy explains.
    """
    names = _scenarios(scenarios)
    candidates = _candidates(policies or list(POLICIES))
    items: list[Item] = [(s, name, one) for name, one in candidates.items() for s in names]
    found: dict[int, Verdict] = {}
    with waiting("scenarios", len(items)) as progress:

        def note(position: int, verdict: Verdict) -> None:
            found[position] = verdict
            progress.advance(progress.task_ids[0])

        run_in_processes(_judge, items, processes or os.cpu_count() or 1, note)
    verdicts = [found[position] for position in sorted(found)]
    if page is not None:
        table.write(page, verdicts)
    violations = table.violations(verdicts)
    if as_json:
        print_json(_document(verdicts, violations))
    else:
        _print(verdicts, violations)
    if any(violation.why is None for violation in violations):
        raise typer.Exit(FAILED)


def _judge(item: Item, _progress: Any) -> Verdict:
    scenario, name, candidate = item
    return judge(SCENARIOS[scenario](), candidate, name)


def _scenarios(wanted: Sequence[str] | None) -> list[str]:
    unknown = [name for name in wanted or () if name not in SCENARIOS]
    if unknown:
        known = ", ".join(SCENARIOS)
        said = (f"--scenario {name!r}: no such scenario (known are {known})" for name in unknown)
        raise InputError(list(said))
    return list(dict.fromkeys(wanted)) if wanted else list(SCENARIOS)


def _candidates(sources: Sequence[str]) -> dict[str, Candidate]:
    """By the names that the table gives them."""
    chosen = choices(sources, Path())
    refuse_stock(chosen)
    return {choice.name: _candidate(choice) for choice in chosen}


def _candidate(choice: Choice) -> Candidate:
    choice.compiled({})  # what is wrong with it is listed with its lines
    data = read(choice.text or "").data
    options = data.get("options") or OPTIONS.get(choice.source, {})
    return Candidate(found_beside(data["policy"], choice.folder), options)


def _document(
    verdicts: Sequence[Verdict], violations: Sequence[table.Violation]
) -> list[dict[str, Any]]:
    return [
        {
            "policy": verdict.policy,
            "scenario": verdict.scenario,
            "broken": [
                {
                    "predicate": violation.predicate,
                    "seen": violation.seen,
                    "by_design": violation.why,
                }
                for violation in violations
                if (violation.policy, violation.scenario) == (verdict.policy, verdict.scenario)
            ],
        }
        for verdict in verdicts
    ]


def _print(verdicts: Sequence[Verdict], violations: Sequence[table.Violation]) -> None:
    numbers = table.notes(violations)
    policies = list(dict.fromkeys(verdict.policy for verdict in verdicts))
    shown = Table("scenario", *policies)
    for name in dict.fromkeys(verdict.scenario for verdict in verdicts):
        row = [v for v in verdicts if v.scenario == name]
        shown.add_row(name, *(_shown(verdict, numbers) for verdict in row))
    screen = console(markup=False)
    screen.print(shown)
    for number in sorted(set(numbers.values())):
        first = next(violation for violation in violations if numbers[violation] == number)
        screen.print(f"[{number}] {first.why or 'broken'}")
        for each in (each for each in violations if numbers[each] == number):
            screen.print(f"    {each.policy}, {each.scenario}: {each.predicate}: {each.seen}")


def _shown(verdict: Verdict, numbers: dict[table.Violation, int]) -> str:
    """``ok``, or the numbers of notes, marked where they tell of a defect."""
    mine = [r for r in numbers if (r.policy, r.scenario) == (verdict.policy, verdict.scenario)]
    return (
        " ".join(
            f"{'' if violation.why else 'BROKEN '}[{numbers[violation]}]" for violation in mine
        )
        or "ok"
    )
