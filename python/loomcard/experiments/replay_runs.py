"""What another policy would have done on what a cluster saw: round by round, and to the end.

Round by round the cluster stays as it was (``shadow``). To the end, what ran is a workload: each
container a task with its measured run time, simulated under the other policy and under the one that
ran, so that the simulator's own error can be distinguished from the policy's effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from loomcard.api.registry import PolicyNotFoundError, find
from loomcard.engine.session import replay
from loomcard.experiments.inputs import InputError
from loomcard.experiments.replay_rounds import Allocations, ShadowRound, shadow
from loomcard.results.record import RunRecord
from loomcard.simulator import MismatchError, simulate
from loomcard.validation.findings import FindingsError, nearest
from loomcard.wire import messages as r
from loomcard.wire.journal import JournalError, read_segment, read_segments, reading, segments
from loomcard.workload.loading import build
from loomcard.workload.scenario import Scenario

SHOWN: Final = 10


@dataclass(slots=True)
class Rounds:
    """All rounds of a journal beside another configuration's: counts of rounds and containers, and
    the first rounds that differ.
    """

    rounds: int = 0
    same: int = 0
    same_but_for_nodes: int = 0
    recorded: int = 0
    other: int = 0
    preempted: int = 0
    other_preempted: int = 0
    first: list[ShadowRound] = field(default_factory=list)

    def add(self, one: ShadowRound) -> None:
        """Count one round."""
        self.rounds += 1
        self.same += one.same
        self.same_but_for_nodes += one.same_but_for_nodes
        self.recorded += sum(one.recorded.values())
        self.other += sum(one.other.values())
        self.preempted += one.recorded_preempted
        self.other_preempted += one.other_preempted
        if not one.same and len(self.first) < SHOWN:
            self.first.append(one)


@dataclass(slots=True)
class ReplayedRun:
    """The recorded policies run again: how many rounds, and the place of each that differs."""

    rounds: int
    differ: list[str]


def replay_own(folder: Path) -> ReplayedRun:
    """The journal's own configuration on its own rounds, byte by byte. Raises JournalError, also
    where a recorded policy cannot be found.
    """
    rounds = sum(len(segment.rounds) for segment in read_segments(folder))
    differ = [f"{each.segment}, round {each.round}" for each in replay(folder)]
    return ReplayedRun(rounds, differ)


def compare_rounds(
    folder: Path, config: Mapping[str, Any], renamed: Mapping[str, str] | None = None
) -> Rounds:
    """Compare every round of the journal with what ``config`` would have decided, with applications
    in the queues that ``renamed`` names for theirs. Raises JournalError.
    """
    found = Rounds()
    for one in shadow(folder, config, renamed):
        found.add(one)
    return found


def renamings(pairs: Sequence[str], config: Mapping[str, Any]) -> dict[str, str]:
    """Read ``old=new`` of the command line, by full paths. Raises InputError with all errors."""
    leaves = [queue["path"] for queue in config["queues"] if queue["leaf"]]
    found: dict[str, str] = {}
    wrong = []
    for each in pairs:
        old, between, new = each.partition("=")
        if not old or not between or not new:
            wrong.append(f"--map {each}: expected OLD=NEW (such as root.a=root.default)")
            continue
        old, new = _full(old), _full(new)
        if new not in leaves:
            wrong.append(
                f"--map {each}: no leaf {new} in the policy configuration ({nearest(new, leaves)})"
            )
        if found.setdefault(old, new) != new:
            wrong.append(f"--map {each}: {old} is {found[old]} already (name each queue once)")
    if wrong:
        raise InputError(wrong)
    return found


def _full(path: str) -> str:
    return path if path.startswith("root.") else f"root.{path}"


def as_scenario(folder: Path, seed: int) -> Scenario:
    """Return what ran, as a workload. Run times are as the ResourceManager saw them, so its nodes
    report at once. Raises JournalError.
    """
    document = {
        "version": 1,
        "kind": "workload",
        "cluster": {"heartbeat_ms": 0},
        "trace": {"format": "journal", "file": str(folder.absolute())},
    }
    text = yaml.safe_dump(document)
    with reading(str(folder), "what ran makes no workload"):
        try:
            return build(text, folder.name, folder, seed=seed, file=str(folder))
        except FindingsError as error:
            raise JournalError(str(error.findings[0])) from error


def to_the_end(
    folder: Path, name: str, config: Mapping[str, Any], renamed: Mapping[str, str], seed: int
) -> tuple[list[RunRecord], str]:
    """Simulate what ran as it was recorded, then under ``config`` with the applications in the
    queues that ``renamed`` names for theirs. Raises JournalError.

    The first run has the configuration that was in force at the end. It is left out if its policies
    are elsewhere, or if it lacks queues that were there before; the text says why.
    """
    scenario, recorded = as_scenario(folder, seed), recorded_config(folder)
    runs, because = [], ""
    if missing := missing_policies(recorded):
        because = f"{', '.join(missing)} cannot be found from this folder"
    else:
        try:
            runs.append(simulate(scenario, recorded, policy="as recorded"))
        except MismatchError as error:
            because = f"{error} ({error.hint})"
    replace = msgspec.structs.replace
    applications = [
        replace(app, queue=renamed.get(app.queue, app.queue)) for app in scenario.applications
    ]
    runs.append(simulate(replace(scenario, applications=applications), config, policy=name))
    return runs, because


def recorded_config(folder: Path) -> dict[str, Any]:
    """Return the configuration in force when the journal ended. Raises JournalError if there is
    none.
    """
    for path in reversed(segments(folder)):
        segment = read_segment(path)
        for each in reversed(list(segment)):
            for record in reversed(each.batch.records):
                if isinstance(record, r.ConfigRecord):
                    return record.config
        with reading(segment.place, "the segment's state cannot be used"):
            state = segment.header.get("mirror")
            if state is not None and state.get("config") is not None:
                return dict(state["config"])
    raise JournalError(f"{folder}: no configuration in any segment; it holds no finished round")


def missing_policies(config: Mapping[str, Any]) -> list[str]:
    """Return the policies of a compiled configuration whose files cannot be found from here."""
    named = sorted({queue["policy"] for queue in config["queues"] if queue["policy"]})
    missing = []
    for name in named:
        try:
            find(name)
        except PolicyNotFoundError:
            missing.append(name)
    return missing


def allocations_text(allocations: Allocations) -> str:
    """Return allocations in words: ``2 x j1 on n3``."""
    return ", ".join(
        f"{count} x {app} on {node}" for (app, node), count in sorted(allocations.items())
    )


def as_document(rounds: Rounds) -> dict[str, Any]:
    """Return the counts and the first differences, ready for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(
        {name: getattr(rounds, name) for name in Rounds.__slots__ if name != "first"}
    )
    document["first"] = [
        {
            "round": one.round,
            "at_ms": one.at_ms,
            "recorded": allocations_text(one.recorded),
            "other": allocations_text(one.other),
        }
        for one in rounds.first
    ]
    return document
