"""What another configuration would have decided in each round that a journal holds.

The other policies see, round by round, the cluster as it was: what the recorded plans really did,
never what they themselves would have done the round before. Their answers are compared and taken
back. They keep their own memories and timers; after rounds that the journal lost (a full disk)
they start again with the segment that follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from loomcard.engine.carry_out import repeat
from loomcard.engine.mirror import Mirror, UntrustworthyError
from loomcard.engine.round import PolicyTree
from loomcard.engine.snapshot import load
from loomcard.model import events as ev
from loomcard.wire import messages as r
from loomcard.wire.journal import JournalError, Round, Segment, read_segments, reading

Allocations = Counter[tuple[str, str]]
"""How many containers of which application on which node."""


@dataclass(frozen=True, slots=True)
class ShadowRound:
    """One round: what the journal's plan allocated and preempted, and what the other configuration
    would have.
    """

    round: int
    at_ms: int
    recorded: Allocations
    other: Allocations
    recorded_preempted: int
    other_preempted: int

    @property
    def same(self) -> bool:
        """Whether both decided the same."""
        return (self.recorded, self.recorded_preempted) == (self.other, self.other_preempted)

    @property
    def same_but_for_nodes(self) -> bool:
        """Whether both served the same applications equally, perhaps on other nodes."""
        return _by_application(self.recorded) == _by_application(self.other)


def shadow(
    folder: Path, config: Mapping[str, Any], renamed: Mapping[str, str] | None = None
) -> Iterator[ShadowRound]:
    """Every round of a journal beside what ``config``, compiled, would have decided in it.

    ``renamed``: which leaf queue of the configuration stands for one of the journal's, by paths.
    Raises JournalError, with file and line, for a journal that cannot be read or that contradicts
    itself, or that has applications in queues that the configuration does not have.
    """
    for _, epoch in groupby(
        read_segments(folder), key=lambda segment: segment.path.name.partition("-")[0]
    ):
        other: _OtherConfiguration | None = None
        for segment in epoch:
            if not segment.rounds:
                continue
            if other is None or not other.follows(segment):
                other = _OtherConfiguration(segment, config, renamed or {})
            yield from other.rounds(segment)


def _by_application(allocations: Allocations) -> Counter[str]:
    found: Counter[str] = Counter()
    for (application, _), count in allocations.items():
        found[application] += count
    return found


class _OtherConfiguration:
    """A mirror that follows the journal, under another configuration's policies."""

    def __init__(
        self, segment: Segment, config: Mapping[str, Any], renamed: Mapping[str, str]
    ) -> None:
        where, hello = segment.place, segment.hello
        self._renamed = renamed
        self._config = dict(config)
        self._mirror = Mirror(hello.resource_types, hello.features)
        self._tree: PolicyTree | None = None
        self._numbers = {queue["path"]: i for i, queue in enumerate(config["queues"])}
        self._paths: list[str] = []  # queues of the recorded configuration
        self._most: int | None = hello.settings.get("round_containers")
        self._where = where
        if "mirror" in segment.header:
            with reading(where, "the segment's state cannot be used"):
                self._resume(segment.header["mirror"])

    def _resume(self, state: dict[str, Any]) -> None:
        """Begin in the middle: the recorded state, in the other configuration's queues."""
        self._learn(state["config"])
        records = msgspec.convert(state["records"], list[r.AnyRecord])
        moved = msgspec.to_builtins([self._moved(record) for record in records])
        load(self._mirror, state | {"config": self._config, "records": moved, "saved": {}})
        self._tree = PolicyTree(self._mirror, None)

    def follows(self, segment: Segment) -> bool:
        """Return whether the segment continues where this mirror is: no round between them was
        lost.
        """
        if "mirror" not in segment.header:
            return True
        with reading(segment.place, "the segment's state cannot be used"):
            return bool(segment.header["mirror"]["sequence"] == self._mirror.sequence)

    def rounds(self, segment: Segment) -> Iterator[ShadowRound]:
        """Yield the rounds of one segment."""
        for each in segment:
            self._where, batch, plan, mirror = each.batch_place, each.batch, each.plan, self._mirror
            try:
                with reading(self._where, "the batch does not fit what came before"):
                    records = [self._moved(record) for record in batch.records]
                    mirror.apply(msgspec.structs.replace(batch, records=records))
            except UntrustworthyError as error:
                if plan.resync is None:  # the journal's own mirror found no error
                    raise JournalError(
                        f"{self._where}: {error}; was the journal altered?"
                    ) from error
                mirror.config = None  # a snapshot follows
                continue
            if mirror.config is None:
                raise JournalError(
                    f"{self._where}: no configuration came before it (a first batch has one)"
                )
            yield self._decide(each)

    def _decide(self, each: Round) -> ShadowRound:
        batch, plan, mirror = each.batch, each.plan, self._mirror
        if mirror.config_reloaded or self._tree is None:
            self._tree = PolicyTree(mirror, None)
        if mirror.rebuilt:
            self._tree.forget()
        self._ring(self._tree)
        pending = self._tree.run(self._most)
        other, other_preempted = self._allocated(pending.decisions())
        pending.undo()
        with reading(each.plan_place, "the plan names what is not there"):
            recorded, recorded_preempted = self._allocated(plan.decisions)
            steps = repeat(mirror.state, plan.decisions, mirror.now_ms)
            mirror.carried_out(batch.round, steps)
        return ShadowRound(
            batch.round, batch.now_ms, recorded, other, recorded_preempted, other_preempted
        )

    def _ring(self, tree: PolicyTree) -> None:
        """Fire the other policies' own timers that are due; the recorded timers are not theirs."""
        mirror = self._mirror
        mirror.timers_due = dict.fromkeys(
            tree.timers.ring(mirror.now_ms),
            (ev.TimerFired, mirror.now_ms, mirror.sequence, None, ()),
        )

    def _allocated(self, decisions: list[r.Decision]) -> tuple[Allocations, int]:
        state, allocations = self._mirror.state, Allocations()
        for decision in decisions:
            if isinstance(decision, r.Allocate):
                application = state.attempts[decision.attempt].application
                node = state.nodes[decision.node]
                allocations[application.name or application.id, node.host] += decision.count
        return allocations, sum(isinstance(decision, r.Preempt) for decision in decisions)

    def _moved(self, record: r.AnyRecord) -> r.AnyRecord:
        """Return the record under the other configuration, whose queues have other numbers."""
        if isinstance(record, r.ConfigRecord):
            self._learn(record.config)
            return r.ConfigRecord(record.at_ms, record.version, self._config)
        if isinstance(record, r.SavedStateRecord):
            return r.SavedStateRecord(record.at_ms, {})
        if isinstance(record, r.ApplicationAddedRecord | r.ApplicationChangedRecord):
            return msgspec.structs.replace(record, queue=self._number(self._paths[record.queue]))
        return record

    def _learn(self, config: Mapping[str, Any]) -> None:
        self._paths = [queue["path"] for queue in config["queues"]]

    def _number(self, path: str) -> int:
        number = self._numbers.get(self._renamed.get(path, path))
        if number is None or not self._config["queues"][number]["leaf"]:
            leaves = ", ".join(q["path"] for q in self._config["queues"] if q["leaf"])
            raise JournalError(
                f"{self._where}: applications ran in {path}, no leaf queue of the configuration;"
                f" it has {leaves} (name the one to take: --map {path}=QUEUE)"
            )
        return number
