"""A paper's figures beside ours: what an experiment's ``expect`` states, compared with its runs.

Each pair of runs (of the policy and of what it is compared with, on the same workload, parameters
and seed) gives one value. The value of a seed is the mean of its pairs; ours is the mean
over seeds, or their median where the experiment says so, with its 95 % bootstrap interval. Its sign
is ``equal`` where it is within the entry's tolerance of what equal means: the paper's number (``as:
value``), 1 (``ratio``) or 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from loomcard.report.expectation import UNITS, Figure, Floats, Measured, measured, speedup
from loomcard.report.figures import interval
from loomcard.report.runs import Run, Study

Pair = tuple[int, float, float | None]
"""A seed, and the values of policy and against (None: nothing to compare with)."""
Changed = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
Verdict = Literal["yes", "no", "not run", "not judged"]
_TIE: Final = 0.001
_PERCENT: Final = ("change_percent", "improvement")
_WORDS: Final = {
    "difference": "difference",
    "ratio": "ratio",
    "change_percent": "change in %",
    "improvement": "improvement in %",
}


@dataclass(frozen=True)
class PaperComparison:
    """One figure of a paper and ours. ``raw``: ours of policy and against, before they were
    compared (None: as it is, or not run). ``low``, ``high``: None for one seed.
    """

    experiment: str
    figure: str
    what: str
    unit: str
    paper: str
    ours: float | None
    low: float | None
    high: float | None
    policy: float | None
    against: float | None
    seeds: int
    sign_paper: str
    sign_ours: str
    agrees: Verdict
    because: str


def paper_comparisons(
    study: Study, changed: Changed = lambda entry, _: entry
) -> list[PaperComparison]:  # fmt: skip
    """Return every entry of every experiment of the study, in their order; ``changed``: what is
    measured in place of an entry of an experiment with this name.
    """
    found = []
    for folder, made in study.manifests.items():
        experiment = made.get("experiment", {})
        name = str(experiment.get("name", ""))
        entries = [changed(entry, name) for entry in experiment.get("expect", ())]
        runs = [run for run in study.runs if str(run.folder) == folder]
        values: list[dict[int, Figure | None]] = [{} for _ in entries]  # by a run's place
        for index, run in enumerate(runs):
            of = Measured(run)
            for entry, known in zip(entries, values, strict=True):
                if any(_meant(run, entry, who) for who in ("policy", "against")):
                    known[index] = measured(of, entry)
        for entry, known in zip(entries, values, strict=True):
            pairs = list(_pairs(entry, experiment, runs, known)) if "measure" in entry else []
            found.append(_compare(entry, name, pairs, experiment.get("over_seeds", "mean")))
    return found


def paper_frame(rows: Sequence[PaperComparison]) -> pl.DataFrame:
    """Return them as a table, for other programs."""
    kinds = {"float | None": pl.Float64, "int": pl.Int64}
    schema = {each.name: kinds.get(str(each.type), pl.String) for each in fields(PaperComparison)}
    return pl.DataFrame([vars(row) for row in rows], schema=schema, orient="row")


def _compare(
    entry: Mapping[str, Any], name: str, pairs: Sequence[Pair], over: str
) -> PaperComparison:
    figure, paper, stated = str(entry["figure"]), entry["paper"], entry.get("sign") or ""
    because = str(entry.get("because", ""))
    if "measure" not in entry:
        return PaperComparison(
            name, figure, "", "", str(paper), None, None, None, None, None, 0, stated, "",
            "not judged", because,
        )  # fmt: skip
    how, said = entry.get("as", "change_percent"), _description(entry)
    said += ", median over seeds" if over == "median" else ""
    over_seeds = np.median if over == "median" else np.mean
    values = _by_seed("value" if entry["measure"] == "speedup" else how, pairs)
    ours = float(over_seeds(values)) if len(values) else None
    low, high = interval(values, over_seeds, f"{figure}/{said}")
    mine, other = (_over(over_seeds, [pair[place] for pair in pairs]) for place in (1, 2))
    neutral, within = _equal(entry, other)
    wanted = stated or ("equal" if how == "value" else _sign(float(paper), neutral, within))
    sign = "" if ours is None else _sign(ours, neutral, within)
    verdict: Verdict = "not run" if ours is None else "yes" if sign == wanted else "no"
    raw: tuple[float | None, float | None] = (None, None) if other is None else (mine, other)
    return PaperComparison(
        name, figure, said, _unit(entry, how), str(paper), ours, low, high, *raw, len(values),
        wanted, sign, verdict, because,
    )  # fmt: skip


def _unit(entry: Mapping[str, Any], how: str) -> str:
    """Return the unit of our value, if the entry is compared by ``how``."""
    if how in _PERCENT or _part(entry):
        return "%"
    return "" if how == "ratio" else UNITS[entry["measure"]]


def _by_seed(how: str, pairs: Sequence[Pair]) -> Floats:
    """Return the mean of each seed's values, by seed."""
    found: dict[int, list[float]] = {}
    for seed, mine, other in pairs:
        value = _compared(how, mine, other)
        if value is not None:
            found.setdefault(seed, []).append(value)
    return np.array([np.mean(found[seed]) for seed in sorted(found)])


def _pairs(
    entry: Mapping[str, Any],
    experiment: Mapping[str, Any],
    runs: Sequence[Run],
    known: Mapping[int, Figure | None],
) -> Iterator[Pair]:
    """Return each pair of runs that both have the figure; ``known``: the values of each run."""
    others = [index for index in known if _meant(runs[index], entry, "against")]
    for index, mine in known.items():
        if mine is None or not _meant(runs[index], entry, "policy"):
            continue
        if entry.get("as") == "value" and not isinstance(mine, dict):
            yield runs[index].seed, mine, None
            continue
        alike = [each for each in others if _alike(runs[index], runs[each], experiment)]
        theirs = known[alike[0]] if alike else None
        if isinstance(mine, dict) and isinstance(theirs, dict):
            found = speedup(mine, theirs, entry)
            if found is not None:
                yield runs[index].seed, found, None
        elif isinstance(mine, float) and isinstance(theirs, float):
            yield runs[index].seed, mine, theirs


def _meant(run: Run, entry: Mapping[str, Any], who: str) -> bool:
    parameters = run.facts.get("parameters", {})
    return (
        "measure" in entry
        and run.facts["policy"] == entry.get(who)
        and entry.get("workload", "") in ("", run.facts.get("workload"))
        and all(
            parameters.get(key, value) == value for key, value in entry.get("where", {}).items()
        )
    )


def _alike(run: Run, other: Run, experiment: Mapping[str, Any]) -> bool:
    """Return whether both have the same workload, engine, seed and values of everything that is
    varied for both.
    """
    mine, theirs = run.facts.get("parameters", {}), other.facts.get("parameters", {})
    both = [key for key in experiment.get("vary", {}) if key in mine and key in theirs]
    return (
        all(run.facts.get(key) == other.facts.get(key) for key in ("workload", "engine", "seed"))
        and all(mine[key] == theirs[key] for key in both)
    )  # fmt: skip


def _compared(how: str, mine: float, other: float | None) -> float | None:
    """Return our value in the entry's form; None if it has none, for example a ratio to nothing."""
    if how == "value":
        return mine
    assert other is not None
    if how == "difference":
        return mine - other
    if other == 0 or (how == "improvement" and mine == 0):
        return None
    if how == "ratio":
        return mine / other
    if how == "change_percent":
        return 100 * (mine / other - 1)
    better = other / mine - 1
    return 100 * (better if better >= 0 else -(mine / other - 1))


def _equal(entry: Mapping[str, Any], other: float | None) -> tuple[float, float]:
    """Return the value that means equal, and the tolerance."""
    how = entry.get("as", "change_percent")
    if how == "value":
        neutral = float(entry["paper"])
        usual = _TIE * abs(neutral)
    elif how == "difference":
        neutral, usual = 0.0, _TIE * abs(other or 0.0)
    else:
        neutral = 1.0 if how == "ratio" else 0.0
        usual = _TIE * (1 if how == "ratio" else 100)
    return neutral, float(entry.get("within", usual))


def _sign(value: float, neutral: float, within: float) -> str:
    if abs(value - neutral) <= within * (1 + 1e-9):  # 0.3 - 0.1 is within 0.2
        return "equal"
    return "less" if value < neutral else "more"


def _over(statistic: Callable[..., Any], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(statistic(known)) if known else None


def _description(entry: Mapping[str, Any]) -> str:
    """Return what is measured, in words."""
    measure = entry["measure"]
    usual = {"running": "median", "share": "median", "makespan": "", "completed": ""}
    statistic = entry.get("statistic") or usual.get(measure, "mean")
    if resource := entry.get("resource"):
        measure = f"{measure} of {resource}"
    said = " ".join(word for word in (statistic, measure) if word)
    said = f"applications with a {measure} {_part(entry)}" if _part(entry) else said
    said += f" of {entry['of']}" if entry.get("of") else ""
    if entry.get("from_s") is not None or entry.get("to_s") is not None:
        said += f" from {entry.get('from_s') or 0:g} s to {_end(entry.get('to_s'))}"
    said += f": {entry['policy']}"
    if measure == "speedup":
        said += f" against {entry['against']}"
    elif entry.get("as") != "value":
        said += f" against {entry['against']}, {_WORDS[entry.get('as', 'change_percent')]}"
    held = [f"{key.partition('.')[2]}={value}" for key, value in entry.get("where", {}).items()]
    places = [entry["workload"]] if entry.get("workload") else []
    return said + (f" ({', '.join([*places, *held])})" if places or held else "")


def _part(entry: Mapping[str, Any]) -> str:
    """Return the bound for a percentage of applications; empty if there is none."""
    named = ((key, entry.get(key)) for key in ("above", "below"))
    return " ".join(f"{key} {bound:g}" for key, bound in named if bound is not None)


def _end(to_s: float | None) -> str:
    return "the end" if to_s is None else f"{to_s:g} s"
