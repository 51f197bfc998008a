"""Who used how much of a cluster, from Loomcard's journals.

A container counts as in YARN's own figures: from its allocation to its end, with the size that it
has at each moment. One that is still there after a restart, of the ResourceManager or of the policy
process, was there all the time; one that is not is counted until it was last known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from loomcard.player.container_ids import ContainerKey
from loomcard.wire import messages as r
from loomcard.wire.decisions import allocated, read_decisions
from loomcard.wire.journal import JournalError, Round, Segment, read_segment, reading, segments

Period = Callable[[int], tuple[str, int]]
"""Of a moment in ms since 1970: the name of the period that it is in, and where that ends."""
Plan = tuple[int, int, Callable[[], Sequence[r.Decision]]]
"""Of a round: its number, its time in ms since 1970, and what was decided in it."""


@dataclass(eq=False)
class Used:
    """What one user used in one queue in one period."""

    applications: set[str] = field(default_factory=set)
    """Those that had a container then, by id."""
    containers: int = 0
    container_ms: int = 0
    amount_ms: dict[str, int] = field(default_factory=dict)
    """By resource type: amounts times milliseconds."""


@dataclass
class Usage:
    """The use of a cluster. Times are in ms since 1970."""

    rows: dict[tuple[str, str, str], Used] = field(default_factory=dict)
    """By period, queue and user."""
    begins_ms: int | None = None
    """When the journals begin; None if they hold no round."""
    ends_ms: int = 0
    """When they end. What runs then is counted until then."""
    running: int = 0
    """How many containers run at their end."""
    restarts: list[tuple[int, int]] = field(default_factory=list)
    """Between which moments a ResourceManager or policy process was replaced, or rounds are
    missing. What both began and ended in between is not counted."""
    lost: int = 0
    """How many containers ended in such a time: they are counted until its beginning."""


def usage(
    journals: Sequence[Path], since_ms: int | None, until_ms: int | None, period: Period
) -> Usage:
    """Return what was used between two moments (None: from the beginning, to the end). Several
    journals are those of a cluster's ResourceManagers, or parts of one. Raises JournalError.
    """
    reader = _Reader(since_ms, until_ms, period)
    for path in _in_order(journals):
        reader.segment(read_segment(path))
    return reader.done()


def _in_order(journals: Sequence[Path]) -> Iterator[Path]:
    """Yield all segments, oldest first. A segment's name begins with its epoch, the start of a
    ResourceManager; of a pair, the one that started first may be the one that took over.
    """
    found: dict[str, Path] = {}
    for journal in journals:
        for path in [journal] if journal.is_file() else segments(journal):
            name = path.name.removesuffix(".xz")
            if name in found:
                raise JournalError(
                    f"{path}: the same segment as {found[name]}, and would count twice; name one"
                )
            found[name] = path
    epochs: dict[str, list[Path]] = {}
    for name in sorted(found):
        epochs.setdefault(name.partition("-")[0], []).append(found[name])
    for paths in sorted(epochs.values(), key=lambda paths: _begins_ms(paths[0])):
        yield from paths


def _begins_ms(path: Path) -> int:
    segment = read_segment(path)
    if not segment.header:
        return 0
    return segment.hello.epoch + sum(each.batch.now_ms for each in islice(segment, 1))


@dataclass
class _Application:
    id: str
    user: str
    queue: str


@dataclass(eq=False)
class _Container:
    key: ContainerKey
    application: _Application
    size: dict[str, int]
    since_ms: int
    """Until then it is counted."""
    rows: list[Used] = field(default_factory=list)
    """Where it is counted."""


def _decisions(one: Round) -> Sequence[r.Decision]:
    return one.plan.decisions


class _Reader:
    """Follows applications and containers through the segments. Numbers belong to an epoch."""

    def __init__(self, since_ms: int | None, until_ms: int | None, period: Period) -> None:
        self._since_ms, self._until_ms, self._period = since_ms, until_ms, period
        self._usage = Usage()
        self._gone: dict[ContainerKey, _Container] = {}
        """Those that ran when what was known ended."""
        self._epoch: int | None = None
        self._types: list[str] = []
        self._now_ms = 0
        self._sequence = -1
        self._queues: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self._applications: dict[int, _Application] = {}
        self._attempts: dict[int, tuple[_Application, int]] = {}
        self._asks: dict[int, dict[tuple[int, int], dict[str, int]]] = {}
        """Sizes by attempt and key."""
        self._containers: dict[int, _Container] = {}
        self._plan: Plan = 0, 0, tuple

    def segment(self, segment: Segment) -> None:
        """Add the next segment."""
        if not segment.header:
            return
        hello, state = segment.hello, segment.header.get("mirror")
        if self._epoch != hello.epoch:
            self._lose()
            self._epoch, self._types, self._sequence = hello.epoch, hello.resource_types, -1
        if state is not None:
            with reading(segment.place, "the segment's state cannot be used"):
                self._resume(state, hello.epoch)
        for index, each in enumerate(segment):
            with reading(each.batch_place, "the batch does not fit what came before"):
                self._batch(each.batch, hello.epoch, first=state is None and index == 0)
            at_ms = hello.epoch + each.batch.now_ms
            self._plan = each.batch.round, at_ms, partial(_decisions, each)

    def done(self) -> Usage:
        """Return what was used."""
        for each in self._containers.values():
            self._count(each, self._now_ms)
        self._usage.ends_ms, self._usage.running = self._now_ms, len(self._containers)
        self._usage.lost = len(self._gone)
        return self._usage

    def _resume(self, state: Mapping[str, Any], epoch_ms: int) -> None:
        """Take over the state before a segment, unless it is known from the segment before."""
        if state["sequence"] == self._sequence:
            return
        self._lose()
        self._reached(epoch_ms + state["now_ms"], after_a_gap=True)
        self._hear(r.ConfigRecord(0, state["version"], state["config"]), epoch_ms)
        for record in msgspec.convert(state["records"], list[r.AnyRecord]):
            self._hear(record, epoch_ms)
        decisions = [decision for decision, _ in read_decisions(state["plan"])]
        self._plan = state["plan_round"], epoch_ms + state["now_ms"], lambda: decisions
        self._sequence = state["sequence"]

    def _batch(self, batch: r.Batch, epoch_ms: int, *, first: bool) -> None:
        """Add a round; ``first``: of a process."""
        if batch.records and isinstance(batch.records[0], r.SnapshotRecord):
            self._lose()
        self._reached(epoch_ms + batch.now_ms, after_a_gap=first)
        for record in batch.records:
            self._hear(record, epoch_ms)
        self._sequence = batch.first_seq - 1 + len(batch.records)

    def _reached(self, now_ms: int, *, after_a_gap: bool) -> None:
        if self._usage.begins_ms is None:
            self._usage.begins_ms = now_ms
        elif after_a_gap and now_ms > self._now_ms:
            self._usage.restarts.append((self._now_ms, now_ms))
        self._now_ms = max(self._now_ms, now_ms)

    def _lose(self) -> None:
        """Count what runs until the last moment that is known; nothing is known from there on."""
        for each in self._containers.values():
            self._count(each, self._now_ms)
            self._gone[each.key] = each
        self._forget()

    def _hear(self, record: r.AnyRecord, epoch_ms: int) -> None:
        match record:
            case r.OutcomesRecord():
                self._outcomes(record)
            case r.ContainerAddedRecord():
                began_ms = record.at_ms if record.allocated_ms is None else record.allocated_ms
                attempt, size = self._attempts[record.attempt], self._amounts(record.size)
                self._add(record.container, attempt, record.number, size, epoch_ms + began_ms)
            case r.ContainerResizedRecord():
                container = self._containers[record.container]
                self._count(container, epoch_ms + record.at_ms)
                container.size = self._amounts(record.size)
            case r.ContainerCompletedRecord():
                self._count(self._containers.pop(record.container), epoch_ms + record.at_ms)
            case r.AskChangedRecord():
                key = record.priority, record.allocation_request_id
                self._asks.setdefault(record.attempt, {})[key] = self._amounts(record.size)
            case r.ConfigRecord():
                self._queues = [queue["path"] for queue in record.config["queues"]]
            case r.ApplicationAddedRecord():
                queue = self._queues[record.queue]
                self._applications[record.application] = _Application(record.id, record.user, queue)
            case r.ApplicationChangedRecord():
                self._move(record, epoch_ms)
            case r.AttemptAddedRecord():
                application = self._applications[record.application]
                self._attempts[record.attempt] = application, record.number
            case r.AttemptRemovedRecord():
                self._asks.pop(record.attempt, None)
            case _:
                pass

    def _amounts(self, size: Sequence[int]) -> dict[str, int]:
        return dict(zip(self._types, size, strict=True))

    def _outcomes(self, outcomes: r.OutcomesRecord) -> None:
        """Add what a plan allocated: as of its round, since outcomes wait for the next one."""
        number, at_ms, decisions = self._plan
        if not outcomes.numbers or outcomes.round != number:
            return  # a snapshot follows a plan that was not written
        for decision, container, yarn_number in allocated(decisions(), outcomes):
            size = self._asks[decision.attempt][decision.priority, decision.allocation_request_id]
            attempt = self._attempts[decision.attempt]
            self._add(container, attempt, yarn_number, size, at_ms)

    def _add(
        self, number: int, attempt: tuple[_Application, int], yarn_number: int,
        size: dict[str, int], began_ms: int,
    ) -> None:  # fmt: skip
        application, ordinal = attempt
        key = application.id, ordinal, yarn_number
        container = self._gone.pop(key, None) or _Container(key, application, size, began_ms)
        container.application, container.size = application, size
        self._containers[number] = container

    def _move(self, record: r.ApplicationChangedRecord, epoch_ms: int) -> None:
        application = self._applications[record.application]
        queue = self._queues[record.queue]
        if queue != application.queue:
            for each in self._containers.values():
                if each.application is application:
                    self._count(each, epoch_ms + record.at_ms)
            application.queue = queue

    def _count(self, container: _Container, until_ms: int) -> None:
        """Count a container up to a moment, in its queue and with its size of now."""
        at_ms, container.since_ms = container.since_ms, max(container.since_ms, until_ms)
        at_ms = at_ms if self._since_ms is None else max(at_ms, self._since_ms)
        until_ms = until_ms if self._until_ms is None else min(until_ms, self._until_ms)
        application = container.application
        while at_ms < until_ms:
            name, end_ms = self._period(at_ms)
            ms = min(end_ms, until_ms) - at_ms
            row = self._usage.rows.setdefault((name, application.queue, application.user), Used())
            if row not in container.rows:
                container.rows.append(row)
                row.containers += 1
                row.applications.add(application.id)
            row.container_ms += ms
            for kind, amount in container.size.items():
                row.amount_ms[kind] = row.amount_ms.get(kind, 0) + amount * ms
            at_ms += ms
