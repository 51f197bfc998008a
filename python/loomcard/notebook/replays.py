"""``loomcard.replay``: what a policy would have decided for a recorded cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.experiments.inputs import InputError
from loomcard.experiments.replay_runs import (
    Rounds,
    allocations_text,
    compare_rounds,
    renamings,
    replay_own,
    to_the_end,
)
from loomcard.notebook.frames import Library, Row, frame, html_table
from loomcard.notebook.policies import Policy, choice_of
from loomcard.notebook.results import SimulationResult
from loomcard.results.manifest import manifest
from loomcard.wire.journal import segments


@dataclass(frozen=True)
class Replayed:
    """A journal beside what a policy would have decided.

    ``policy``: its name, "" where the recorded policy ran again. ``rounds``: how many there are,
    ``same``: in how many of them it decided alike. ``recorded`` and ``other``: the containers that
    were allocated, and that it would have allocated (None where the recorded policy ran again).
    ``simulation``: what ran, simulated to its end, as recorded (where the recorded policies can be
    found) and under the policy; None where it was not asked for.
    """

    policy: str
    rounds: int
    same: int
    recorded: int | None = None
    other: int | None = None
    differ: list[Row] = field(default_factory=list, repr=False)
    simulation: SimulationResult | None = field(default=None, repr=False)

    def table(self, *, library: Library | None = None) -> Any:
        """The first rounds that differ, as a DataFrame: of another policy the round, its time in
        seconds and what was allocated in both; of the recorded one the place of the round. As
        ``SimulationResult.table`` otherwise.
        """
        return frame(self.differ, library)

    def _repr_html_(self) -> str:
        who = self.policy or "the recorded policy"
        said = f"{who} decided {self.same} of {self.rounds} rounds alike"
        if self.recorded is not None:
            said += f"; {self.recorded} containers were allocated, it would have {self.other}"
        simulated = "" if self.simulation is None else self.simulation._repr_html_()
        return html_table(self.differ, said) + simulated


def replay(
    journal: str | Path,
    policy: Policy | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
    to_end: bool = False,
    seed: int = 1,
) -> Replayed:
    """Put a policy on what a cluster saw, round by round, and with ``to_end`` simulate what ran.

    ``journal``: the folder that a ResourceManager or a simulation wrote. ``policy``: as for
    ``loomcard.simulate``; None: the recorded one, byte by byte. ``renamed``: leaf queues of the
    policy's configuration that stand for the journal's, by the journal's name. ``seed``: of the
    simulated nodes' heartbeats.

    Raises JournalError where the journal cannot be read, InputError or FindingsError for the
    policy, MismatchError where a queue of the journal is none of the policy's.
    """
    folder = Path(journal)
    if policy is None:
        if renamed or to_end:
            raise InputError(["renamed and to_end need another policy (name one)"])
        own = replay_own(folder)
        rows = [{"round": place} for place in own.differ]
        return Replayed("", own.rounds, own.rounds - len(own.differ), differ=rows)
    choice = choice_of(policy)
    config = choice.compiled({}) or {}
    queues = renamings([f"{old}={new}" for old, new in (renamed or {}).items()], config)
    rounds = compare_rounds(folder, config, queues)
    simulation = None
    if to_end:
        runs, _ = to_the_end(folder, choice.name, config, queues, seed)
        inputs = {path.name: path.read_bytes() for path in segments(folder)}
        inputs |= {f"policy {choice.name}": (choice.text or "").encode()}
        simulation = SimulationResult(runs, manifest(inputs, seeds=[seed]))
    return Replayed(
        choice.name, rounds.rounds, rounds.same, rounds.recorded, rounds.other,
        _rows(rounds, choice.name), simulation,
    )  # fmt: skip


def _rows(rounds: Rounds, name: str) -> list[Row]:
    return [
        {
            "round": one.round,
            "at_s": one.at_ms / 1000,
            "allocated": allocations_text(one.recorded),
            name: allocations_text(one.other),
        }
        for one in rounds.first
    ]
