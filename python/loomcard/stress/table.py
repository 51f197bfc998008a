"""The table of policies and scenarios in Markdown: what holds, what does not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from loomcard.stress.design import reason_of
from loomcard.stress.run import SCENARIOS, Verdict

MARK = "<!-- From here on written by `loomcard stress --write`. -->\n"


class Violation(NamedTuple):
    """A predicate that does not hold; ``why``: the part of the policy's definition that causes it,
    None for a defect.
    """

    policy: str
    scenario: str
    predicate: str
    seen: str
    why: str | None


def violations(verdicts: Sequence[Verdict]) -> list[Violation]:
    """Every predicate that does not hold, by policy and scenario."""
    return [
        Violation(v.policy, v.scenario, predicate, seen, reason_of(v, predicate))
        for v in verdicts
        for predicate, seen in v.broken.items()
    ]


def notes(found: Sequence[Violation]) -> dict[Violation, int]:
    """Return a number for each red predicate: one for all with the same reason, one for each
    defect.
    """
    known: dict[tuple[str, ...], int] = {}
    return {
        violation: known.setdefault(
            (violation.why,) if violation.why else violation[:3], len(known) + 1
        )
        for violation in found
    }


def cell(verdict: Verdict, numbers: Mapping[Violation, int]) -> str:
    """Return ``ok``, or each predicate that does not hold with the number of its note."""
    mine = [r for r in numbers if (r.policy, r.scenario) == (verdict.policy, verdict.scenario)]
    said = [f"{'' if r.why else '**broken** '}{r.predicate} [{numbers[r]}]" for r in mine]
    return ", ".join(said) or "ok"


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Return the table, and a note for every cell that is not ``ok``."""
    policies = list(dict.fromkeys(v.policy for v in verdicts))
    found = violations(verdicts)
    numbers = notes(found)
    lines = [f"| scenario | {' | '.join(policies)} | what happens |"]
    lines += ["|---" * (len(policies) + 2) + "|"]
    by_cell = {(v.scenario, v.policy): cell(v, numbers) for v in verdicts}
    for name in dict.fromkeys(v.scenario for v in verdicts):
        cells = (by_cell.get((name, policy), "") for policy in policies)
        lines.append(f"| {name} | {' | '.join(cells)} | {SCENARIOS[name]().about} |")
    if found:
        lines += ["", "## Notes", ""]
        lines += [f"{n}. {why}" for n, why in dict.fromkeys(_note(r, numbers[r]) for r in found)]
    return "\n".join(lines) + "\n"


def _note(violation: Violation, number: int) -> tuple[int, str]:
    where = f"{violation.policy} in {violation.scenario}, {violation.predicate}"
    return number, violation.why or f"A defect: {where}: {violation.seen}."


def write(page: Path, verdicts: Sequence[Verdict]) -> None:
    """Write the tables below the page's mark, or to a new page. Raises OSError."""
    text = page.read_text("utf-8") if page.exists() else f"# Stress scenarios\n\n{MARK}"
    head = text.partition(MARK)[0]
    page.write_text(head + MARK + markdown(verdicts), "utf-8")
