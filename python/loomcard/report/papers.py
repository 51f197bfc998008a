"""Every figure that the papers report: by the letter of the paper, and by the default of its
policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomcard.report.paper_tables import PaperComparison, paper_comparisons
from loomcard.report.runs import Study
from loomcard.report.terminal import ours_text

LETTER: Final = "paper"
"""The name of the configuration that follows a paper to the letter: ``paper.yml``."""
HEADINGS: Final = (
    "experiment", "figure", "paper", "letter", "default or named", "real YARN", "sign", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class PaperFigure:
    """One figure: as the paper reports it, ours by its letter and by default (None: not measured),
    what the experiment states of a real ResourceManager, how the policy should stand to what it is
    compared with, and why ours does not.
    """

    experiment: str
    figure: str
    paper: str
    letter: PaperComparison | None
    default: PaperComparison | None
    yarn: str
    sign: str
    reason: str

    def cells(self) -> list[str]:
        """Return the row as text, by ``HEADINGS``."""
        both = [_ours(one) for one in (self.letter, self.default)]
        named = [self.experiment, self.figure, self.paper]
        return [*named, *both, self.yarn or "-", self.sign, self.reason]


def paper_figures(studies: Sequence[Study]) -> list[PaperFigure]:
    """Return every figure of the studies, each once. What is stated of one of the two readings is
    measured of the other too, if that ran.
    """
    found = []
    for study in studies:
        stated = paper_comparisons(study)
        other = paper_comparisons(study, _swapped)
        for row, swapped, entry in zip(stated, other, _entries(study), strict=True):
            about = {entry.get("policy"), entry.get("against")}
            literal, default = LETTER in about, _paper_of(row.experiment) in about
            one_reading = literal != default  # otherwise both are compared, or neither is
            second = swapped if one_reading and swapped.ours is not None else None
            letter, usual = (row, second) if literal and one_reading else (second, row)
            wrong = any(one is not None and one.agrees == "no" for one in (letter, usual))
            found.append(
                PaperFigure(
                    row.experiment, row.figure, row.paper, letter, usual,
                    str(entry.get("yarn", "")), row.sign_paper, row.because if wrong else "",
                )
            )  # fmt: skip
    return found


def _entries(study: Study) -> list[Mapping[str, Any]]:
    return [
        entry
        for made in study.manifests.values()
        for entry in made.get("experiment", {}).get("expect", ())
    ]


def _swapped(entry: Mapping[str, Any], experiment: str) -> Mapping[str, Any]:
    """Return the entry about the other of the two readings."""
    names = {_paper_of(experiment): LETTER, LETTER: _paper_of(experiment)}
    changed = {who: names.get(entry.get(who, ""), entry.get(who)) for who in ("policy", "against")}
    return {**entry, **{who: name for who, name in changed.items() if name is not None}}


def _paper_of(experiment: str) -> str:
    return experiment.partition("-")[0]


def _ours(one: PaperComparison | None) -> str:
    if one is None or one.ours is None:
        return "-"
    return ours_text(one) + (" (other sign)" if one.agrees == "no" else "")


def as_markdown(rows: Sequence[PaperFigure], seconds: Mapping[str, float]) -> str:
    """Return the table, and how long the experiments' runs took."""
    lines = [HEADINGS, ["--"] * len(HEADINGS), *(row.cells() for row in rows)]
    table = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]
    took = ", ".join(f"{name} {whole:.0f} s" for name, whole in seconds.items())
    total = sum(seconds.values())
    return "\n".join([*table, "", f"Runs took {total:.0f} s of one core: {took}.", ""])
