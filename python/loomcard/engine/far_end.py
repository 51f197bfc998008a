"""The far end of a session, if it is not a ResourceManager: the true state of a cluster, the
batches that report what happens to it, and the commit of the plans.

The simulator, the cluster for tests and the trial of a configuration use it, so that a policy is
called exactly as in production. The session's mirror never touches its state: what a cluster would
refuse is refused here, with the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mypy_extensions import mypyc_attr

from loomcard.api.pending_plan import PendingPreemption
from loomcard.engine.carry_out import Commit
from loomcard.engine.mirror import Mirror
from loomcard.engine.session import Session
from loomcard.engine.snapshot import live_records
from loomcard.engine.timers import Timers
from loomcard.model.objects import Container
from loomcard.wire import messages as r

EPOCH = 1_700_000_000_000
"""The cluster timestamp in the names of applications and containers."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FarEnd:
    """A session, and the cluster that it serves. All times are in ms since the far end's zero.

    ``state`` is the true one; it follows the records that are sent. ``on_allocated`` is called with
    each container that a plan allocates, before the next one is checked, ``on_preempted`` with each
    container that a plan takes back.
    """

    def __init__(
        self, name: str, types: Sequence[str], config: Mapping[str, Any],
        settings: Mapping[str, Any], journal: Path | None = None,
        saved: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """``name``: what the handshake calls this engine. ``settings``: those of the handshake.
        ``saved``: what instances saved before.
        """
        facts = (EPOCH, name, "", list(types), ["reservations"], dict(settings))
        hello = r.Hello(r.SCHEMA, *facts)
        self.session = Session(hello, journal)
        self.timers = Timers()
        self.rounds = 0
        self.needs_round = False  # something happened on which a policy can act
        self.saved = dict(saved or {})  # what instances saved last
        self.waiting: list[r.AnyRecord] = []  # the records of the next batch
        self.outcomes: r.OutcomesRecord | None = None  # of the last plan; they come before these
        self.on_allocated: Callable[[Container], None] = lambda _: None
        self.on_preempted: Callable[[PendingPreemption], None] = lambda _: None
        self._truth = Mirror(hello.resource_types, hello.features, heard=False)
        self.state = self._truth.state
        self._now_ms = 0  # of the last batch
        self._sequence = 1  # of the next record
        self._next_container = 1
        self._yarn_numbers: dict[int, int] = {}  # by attempt, the number of its last container
        self._truth.absorb([r.ConfigRecord(0, 1, dict(config))])
        self.resync("start", 0)
        self._sent_reservations = 0  # their version in the last list; -1: send the list again

    def send(self, record: r.AnyRecord) -> None:
        """Let a record happen to the cluster, and add it to the next batch."""
        self._truth.absorb((record,))
        self.waiting.append(record)
        self.needs_round = True

    def configure(self, config: Mapping[str, Any], now_ms: int) -> None:
        """Apply another configuration; it must have every queue that contains applications."""
        self.timers.clear()
        self.send(r.ConfigRecord(now_ms, self._truth.version + 1, dict(config)))

    def resync(self, reason: str, now_ms: int) -> None:
        """Send the whole state with the next batch: the mirror and every memory are rebuilt."""
        config = self._truth.config
        assert config is not None
        self.outcomes, self.timers, self._sent_reservations = None, Timers(), -1
        self.waiting = [
            r.SnapshotRecord(now_ms, reason),
            r.ConfigRecord(now_ms, self._truth.version, config),
            r.SavedStateRecord(now_ms, dict(self.saved)),
            *live_records(self.state, now_ms),
        ]

    def ring(self, now_ms: int) -> None:
        """Report the timers that are due."""
        for instance in self.timers.ring(now_ms):
            self.send(r.TimerFiredRecord(now_ms, instance))

    def batch(self, now_ms: int) -> r.Batch:
        """Return the next batch: the outcomes of the last plan, what happened since then, and the
        reservations if the mirror may have others.
        """
        records, reservations = self.waiting, self.state.reservations
        if self.outcomes is not None:
            records.insert(0, self.outcomes)
        self.waiting, self.outcomes = [], None
        reservations.expire(now_ms)
        if reservations.version != self._sent_reservations:
            self._sent_reservations = reservations.version
            records.append(r.ReservationsRecord(now_ms, reservations.rows()))
        self._now_ms, self.rounds, self.needs_round = now_ms, self.rounds + 1, False
        first, self._sequence = self._sequence, self._sequence + len(records)
        return r.Batch(self.rounds, first, now_ms, self._truth.check(), records)

    def next_plan(self, now_ms: int) -> r.PlanReply:
        """Send the next batch, and return its plan."""
        plan = self.answer(self.batch(now_ms))
        self.saved.update(plan.saved)
        return plan

    def answer(self, batch: r.Batch) -> r.PlanReply:
        """Return the session's plan for a batch."""
        return self.session.answer(batch)

    def carry_out(
        self, plan: r.PlanReply, refused: Mapping[int, str] | None = None
    ) -> list[tuple[int, int, str]]:
        """Carry a plan out; the next batch begins with its outcomes. ``refused``: reasons, by the
        index of the decision that is refused whatever the state. Return every refusal: index of the
        decision, how many of its containers, and why.
        """
        state, first, numbers = self.state, self._next_container, list[int]()

        def allocated(container: Container) -> None:
            attempt = container.attempt.number
            yarn_number = self._yarn_numbers.get(attempt, 0) + 1
            self._yarn_numbers[attempt] = yarn_number
            state.confirm(container, self._next_container, yarn_number)
            self._next_container += 1
            numbers.append(yarn_number)
            self.on_allocated(container)

        commit = Commit(state, self._now_ms, allocated, self.on_preempted)
        commit.run(plan.decisions, refused=refused)
        refusals = [(index, count, str(reason)) for index, count, reason in commit.refusals]
        self.outcomes = r.OutcomesRecord(self._now_ms, plan.round, first, numbers, refusals)
        if refusals:
            self.needs_round = True
            if state.reservations or any(type(d) is r.Reserve for d in plan.decisions):
                self._sent_reservations = -1
        for instance, at_ms in plan.timers:
            self.timers.put(instance, at_ms)
        return refusals
