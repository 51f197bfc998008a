"""The run folders of a report as one study: settings, policies, seeds, and every application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from loomcard.results.run_folder import (
    ResultError,
    Results,
    read_containers,
    read_run,
    read_states,
)
from loomcard.results.tables import application_frame

_OPTION = "policy."


@dataclass(frozen=True)
class Run:
    """One run: ``setting`` is workload, engine and parameters of the workload in words, ``policy``
    its policy with the options that were varied; ``facts`` is its object of results.json.
    """

    setting: str
    policy: str
    seed: int
    facts: dict[str, Any]
    folder: Path

    def containers(self) -> pl.DataFrame:
        """Its containers; empty if they were not stored."""
        return read_containers(self._folder, self._who)

    def states(self) -> pl.DataFrame:
        """What its policies reported over time; empty if they reported nothing."""
        return read_states(self._folder, self._who)

    @property
    def _folder(self) -> Path:
        return self.folder / str(self.facts.get("folder", ""))

    @property
    def _who(self) -> dict[str, Any]:
        who = {name: self.facts[name] for name in ("policy", "workload", "seed", "engine")}
        return who | dict(self.facts.get("parameters", {}))


_NAMED = 10
"""The most stopped runs that are named; the others are counted."""


@dataclass(frozen=True)
class Study:
    """The content of a report. ``applications``: one row per application of a run that ended:
    setting, policy, seed, class (its first tag, or "all" without one), id, queue, ended,
    waiting_ms, completion_ms, slowdown (None if there is none). ``stopped``: runs that did not end,
    which are left out.
    """

    runs: list[Run]
    stopped: list[Run]
    applications: pl.DataFrame
    baseline: str
    ideal: str
    manifests: dict[str, dict[str, Any]]

    @property
    def settings(self) -> list[str]:
        """In the order of the folders."""
        return list(dict.fromkeys(run.setting for run in self.runs))

    @property
    def left_out(self) -> str:
        """A sentence about the runs that did not end; "" if all did."""
        if not self.stopped:
            return ""
        named = [f"{run.policy} on {run.setting}, seed {run.seed}" for run in self.stopped]
        more = len(named) - _NAMED
        said = "; ".join(named[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
        one = "1 run was stopped before its end and is left out"
        several = f"{len(named)} runs were stopped before their end and are left out"
        return f"{one if len(named) == 1 else several}: {said}."

    def policies(self, setting: str | None = None) -> list[str]:
        """Return the policies of a setting (None: of all), the baseline first."""
        found = dict.fromkeys(
            run.policy for run in self.runs if setting is None or run.setting == setting
        )
        return sorted(found, key=lambda policy: policy != self.baseline)

    def seeds(self, setting: str) -> list[int]:
        """The seeds of a setting, ascending."""
        return sorted({run.seed for run in self.runs if run.setting == setting})

    def first(self, setting: str) -> list[Run]:
        """Return one run per policy, all with the same seed: the first that all of them have, if
        any.
        """
        here = [run for run in self.runs if run.setting == setting]
        policies = self.policies(setting)
        for seed in self.seeds(setting):
            chosen = {run.policy: run for run in here if run.seed == seed}
            if len(chosen) == len(policies):
                return [chosen[policy] for policy in policies]
        return [next(run for run in here if run.policy == policy) for policy in policies]


def time_unit(runs: Sequence[Run]) -> tuple[str, float]:
    """Return a unit of time that keeps the numbers of these runs small, and how many ms it has."""
    longest = max(run.facts["makespan_ms"] or 0 for run in runs)
    if longest > 3 * 3.6e6:
        return "hours", 3.6e6
    return ("minutes", 6e4) if longest > 6e5 else ("seconds", 1e3)


def read_study(folders: Sequence[Path], baseline: str | None = None) -> Study:
    """Return the study in these run folders, as ``study_of``. Raises ResultError, also if a folder
    has no results.
    """
    return study_of([read_run(folder) for folder in dict.fromkeys(folders)], baseline)


def study_of(results: Sequence[Results], baseline: str | None = None) -> Study:
    """Return the study of these results; of equal runs the last one counts. ``baseline``: a
    policy's name; default: the experiment's, if it named one. Raises ResultError if no run has
    ended, or if there is no such baseline.
    """
    several = len({run.get("engine") for each in results for run in each.runs}) > 1
    found = [_run(facts, each.folder, several) for each in results for facts in each.runs]
    runs = list({(run.setting, run.policy, run.seed): run for run in found}.values())
    ended = [run for run in runs if run.facts.get("finished", True)]
    if not ended:
        named = ", ".join(str(each.folder) for each in results)
        raise ResultError(f"{named}: no run in there has ended (run it again; it goes on)")
    frame, ideal = _applications(ended)
    chosen = _baseline(results, ended, baseline)
    manifests = {str(each.folder): each.manifest for each in results}
    stopped = [run for run in runs if not run.facts.get("finished", True)]
    return Study(ended, stopped, frame, chosen, ideal, manifests)


def _run(facts: dict[str, Any], folder: Path, several: bool) -> Run:
    parameters = facts.get("parameters", {})
    options = {k.removeprefix(_OPTION): v for k, v in parameters.items() if k.startswith(_OPTION)}
    rest = {k.rpartition(".")[2]: v for k, v in parameters.items() if not k.startswith(_OPTION)}
    engine = [str(facts.get("engine"))] if several else []
    setting = ", ".join([str(facts.get("workload", "")), *_said(rest), *engine])
    policy = " ".join([facts["policy"], *_said(options)])
    return Run(setting, policy, facts["seed"], facts, folder)


def _said(values: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _applications(runs: Sequence[Run]) -> tuple[pl.DataFrame, str]:
    """Return the applications' figures, and what their slowdown is measured against."""
    facts = [run.facts for run in runs]
    frame = application_frame(facts)
    ideals = [each.get("ideal_ms") for run in facts for each in run["applications"]]
    who = pl.DataFrame(
        {
            "run": pl.Series(range(len(runs)), dtype=pl.Int64),
            "setting": [run.setting for run in runs],
            "label": [run.policy for run in runs],
        }
    )
    ended = pl.col("state") == "SUCCEEDED"
    known = bool(ideals) and all(ideal is not None for ideal in ideals)
    alone = (
        pl.col("ideal_ms") if known else pl.col("completion_ms").min().over("setting", "seed", "id")
    )
    frame = (
        frame.with_columns(pl.Series("ideal_ms", ideals, dtype=pl.Int64))
        .join(who, on="run", how="left", maintain_order="left")
        .with_columns(
            ended.alias("ended"),
            pl.col("tags").list.first().fill_null("all").alias("class"),
            pl.when(ended).then("waiting_ms").alias("waiting_ms"),
            pl.when(ended).then("completion_ms").alias("completion_ms"),
        )
        .with_columns((pl.col("completion_ms") / pl.max_horizontal(alone, 1)).alias("slowdown"))
    )
    kept = ["setting", "label", "seed", "class", "id", "queue", "ended"]
    figures = ["waiting_ms", "completion_ms", "slowdown"]
    ideal = (
        "its lower bound with the whole cluster to itself: the larger of its critical path and its"
        " work over the cluster's capacity"
        if known
        else "the shortest that any policy here gave it with the same seed"
    )
    return frame.select(*kept, *figures).rename({"label": "policy"}), ideal


def _baseline(results: Sequence[Results], runs: Sequence[Run], named: str | None) -> str:
    """Return the label of the policy to compare with; "" if none was named."""
    labels = list(dict.fromkeys(run.policy for run in runs))
    stated = [each.manifest.get("experiment", {}).get("baseline", "") for each in results]
    wanted = named or next((name for name in stated if name), "")
    for label in labels:
        if wanted and (label == wanted or label.partition(" ")[0] == wanted):
            return label
    stem = wanted.rpartition("/")[2].partition(".y")[0]
    if stem != wanted and stem in labels:
        return stem
    if named:
        known = ", ".join(labels)
        raise ResultError(f"there is no policy {named!r} in the results (known are {known})")
    return ""
