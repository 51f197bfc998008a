"""The Python side's copy of the cluster: records come in, state and events go out. The engine,
Java or ``far_end``, has the true state.

A gap in the sequence, or counts that differ from the engine's, make the mirror untrustworthy. Then
``apply`` raises an error with the cause, and the engine's next batch begins with a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loomcard.api.pending_plan import PendingAllocation, PendingPreemption, PendingReservation, Step
from loomcard.model import events as ev
from loomcard.model.objects import Application, AskKey, Attempt, Container, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.reservations import ReservationRow
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.wire import messages as r
from loomcard.wire import older


class UntrustworthyError(Exception):
    """The mirror is wrong, or may be; the message says why."""


class Mirror:
    """The state, the last plan until its outcomes are known, and the changes since the last call of
    the policies.
    """

    def __init__(
        self, resource_types: Sequence[str], features: Sequence[str] = (), *, heard: bool = True,
        epoch_ms: int = 0,
    ) -> None:  # fmt: skip
        """``features``: the features that the engine states in its handshake. ``heard``: policies
        hear of the changes; otherwise these are not kept.
        """
        self._heard = heard
        self.epoch_ms = epoch_ms  # the engine's zero, in ms since 1970
        self.types = list(resource_types)
        self.state = ClusterState(self.types)
        self.state.reservations.allowed = self._can_reserve = "reservations" in features
        self.sequence = 0  # of the last record applied
        self.now_ms = 0
        self.version = 0  # of the configuration
        self.config: dict[str, Any] | None = None
        self.saved: dict[str, Any] = {}
        self.in_flight: list[Step] = []
        self.in_flight_round = 0
        self.refused: dict[AskKey, tuple[str, int]] = {}  # why and when an ask was refused last
        self.reserved: list[ReservationRow] = []  # the reservations before the plan in flight
        self.changes = ev.Changes()
        self.timers_due: dict[int, ev.Change] = {}  # by instance
        self.reports_are_read = True
        self.reader_came = False  # they are read from now on
        self.rebuilt = False  # a snapshot was read: every memory is stale
        self.config_reloaded = False  # a configuration record was read: the policy tree is
        self.stale_instances: set[int] = (
            set()
        )  # instances with a wholly refused plan: their memory is stale

    def apply(self, batch: r.Batch) -> None:
        """Apply the records of a batch. Raises UntrustworthyError; after that only a snapshot
        helps.
        """
        self.changes, self.timers_due, self.stale_instances = ev.Changes(), {}, set()
        self.rebuilt = self.config_reloaded = self.reader_came = False
        records = batch.records
        if not (records and type(records[0]) is r.SnapshotRecord):
            if self.config is None:
                raise UntrustworthyError("no snapshot yet")
            if batch.first_seq != self.sequence + 1:
                raise UntrustworthyError(
                    f"record {self.sequence + 1} expected, {batch.first_seq} came"
                )
        self.sequence = batch.first_seq - 1
        self.state.shape_waits.now_ms = batch.now_ms
        for record in records:
            self.sequence += 1
            try:
                _HANDLERS[type(record)](self, record)
            except (KeyError, IndexError) as error:
                raise UntrustworthyError(
                    f"record {self.sequence} {record!r} names unknown {error}"
                ) from error
        self.now_ms = batch.now_ms
        if self.in_flight:
            raise UntrustworthyError(f"no outcomes of plan {self.in_flight_round}")
        self._compare(batch.check)
        self.state.reservations.expire(batch.now_ms)
        self.reserved = self.state.reservations.rows()

    def absorb(self, records: Sequence[r.AnyRecord]) -> None:
        """Apply the records of a dumped state, without counting or comparing."""
        for record in records:
            _HANDLERS[type(record)](self, record)

    def carried_out(self, round_number: int, steps: list[Step]) -> None:
        """Note that a plan of these steps was sent; the next batch begins with its outcomes."""
        self.in_flight = steps
        self.in_flight_round = round_number

    def check(self, *, free: bool = True) -> r.Check:
        """Return the figures by which a mirror is compared with the engine's state."""
        state = self.state
        return r.Check(
            len(state.nodes),
            len(state.applications),
            len(state.containers),
            state.pending_total,
            tuple(state.free) if free else (),
        )

    def _compare(self, check: r.Check) -> None:
        mine = self.check(free=bool(check.free))
        if mine != check:
            raise UntrustworthyError(f"the engine counts {check}, the mirror {mine}")

    def _add_event(
        self, kind: type[ev.Event], record: r.Record, leaf: Queue | None, *facts: Any
    ) -> None:
        if self._heard:
            self.changes.add((kind, record.at_ms, self.sequence, leaf, facts))

    # Whole state

    def _snapshot(self, _: r.SnapshotRecord) -> None:
        now_ms, self.state = self.state.shape_waits.now_ms, ClusterState(self.types)
        self.state.shape_waits.now_ms, self.state.reservations.allowed = now_ms, self._can_reserve
        self.config = None
        self.in_flight = []
        self.changes = ev.Changes()
        self.refused.clear()
        self.reports_are_read = True
        self.rebuilt = True

    def _config(self, record: r.ConfigRecord) -> None:
        self.config = older.compiled(record.config)
        self.version = record.version
        self.state.configure(self.config)
        self.config_reloaded = True

    def _saved(self, record: r.SavedStateRecord) -> None:
        self.saved = dict(record.saved)

    def _reports_read(self, record: r.ReportsReadRecord) -> None:
        self.reader_came = record.read and not self.reports_are_read
        self.reports_are_read = record.read

    def _outcomes(self, record: r.OutcomesRecord) -> None:
        if record.round != self.in_flight_round or not (self.in_flight or self._nothing(record)):
            raise UntrustworthyError(
                f"outcomes of plan {record.round}, {self.in_flight_round} was sent"
            )
        refusals: dict[int, list[tuple[int, str]]] = {}
        for index, count, reason in record.refusals:
            refusals.setdefault(index, []).append((count, reason))
        for index, step in enumerate(self.in_flight):
            for count, reason in refusals.get(index, ()):
                self._refuse(record, step, count, reason)
        # Only now: an ask is removed with its last confirmed container, and could not be restored.
        number, names = record.first_container, iter(record.numbers)
        for step in self.in_flight:
            if type(step) is PendingAllocation:
                for container in step.containers:
                    yarn_number = next(names, None)
                    if yarn_number is None:
                        raise UntrustworthyError(f"plan {record.round}: an outcome is missing")
                    self.state.confirm(container, number, yarn_number)
                    number += 1
        if next(names, None) is not None:
            raise UntrustworthyError(f"plan {record.round}: more outcomes than decisions")
        self.in_flight = []

    @staticmethod
    def _nothing(record: r.OutcomesRecord) -> bool:
        return not record.numbers and not record.refusals

    def _refuse(self, record: r.OutcomesRecord, step: Step, count: int, reason: str) -> None:
        if reason == Reason.LATE:
            self.stale_instances.add(step.instance)
        if type(step) is PendingReservation:
            return  # the engine's list of reservations follows
        if type(step) is PendingPreemption:
            step.container.preempting_since = None
            c = step.container
            leaf = c.application.queue
            self._add_event(ev.Refused, record, leaf, c.tag, Reason(reason), None, c.node, c.size)
            return
        assert type(step) is PendingAllocation
        for _ in range(count):
            container = step.containers.pop()
            ask = self.state.undo(container)
            leaf = container.application.queue
            self.refused[container.ask_key] = reason, record.at_ms
            facts = (step.tag, Reason(reason), ask, step.node, container.size)
            self._add_event(ev.Refused, record, leaf, *facts)

    # Nodes

    def _node_added(self, record: r.NodeAddedRecord) -> None:
        node = Node(record.node, record.id, record.rack, Resource(record.capacity), record.label,
                    record.name, record.shared)  # fmt: skip
        self.state.add_node(node)
        self._add_event(ev.NodeAdded, record, None, node)

    def _node_removed(self, record: r.NodeRemovedRecord) -> None:
        node = self.state.nodes[record.node]
        self.state.remove_node(node)
        self._add_event(ev.NodeRemoved, record, None, node, record.reason)

    def _node_resized(self, record: r.NodeResizedRecord) -> None:
        node = self.state.nodes[record.node]
        old, new = node.capacity, Resource(record.capacity)
        self.state.resize_node(node, new)
        self._add_event(ev.NodeResized, record, None, node, old, new)

    def _node_relabelled(self, record: r.NodeRelabelledRecord) -> None:
        node = self.state.nodes[record.node]
        old = node.label
        self.state.relabel_node(node, record.label, record.shared)
        self._add_event(ev.NodeRelabelled, record, None, node, old, record.label)

    def _node_heartbeat(self, record: r.NodeHeartbeatRecord) -> None:
        self._add_event(ev.NodeHeartbeat, record, None, self.state.nodes[record.node])

    # Applications and attempts

    def _application_added(self, record: r.ApplicationAddedRecord) -> None:
        queue = self.state.queues[record.queue]
        app = Application(record.application, record.id, queue, record.user)
        app.name, app.type, app.tags, app.hints = (
            record.name,
            record.type,
            record.tags,
            record.hints,
        )
        app.priority, app.submitted_ms = record.priority, record.submitted_ms
        self.state.add_application(app)
        self._add_event(ev.ApplicationAdded, record, queue, app)

    def _application_changed(self, record: r.ApplicationChangedRecord) -> None:
        app = self.state.applications[record.application]
        app.priority = record.priority
        old, queue = app.queue, self.state.queues[record.queue]
        if queue is not old:
            self._add_event(ev.ApplicationRemoved, record, old, app, "MOVED")
            self._add_event(ev.ApplicationAdded, record, queue, app)
        self.state.move_application(app, queue)
        self.state.touched(app)  # its priority may decide its place

    def _application_removed(self, record: r.ApplicationRemovedRecord) -> None:
        app = self.state.applications[record.application]
        self.state.remove_application(app)
        self._add_event(ev.ApplicationRemoved, record, app.queue, app, record.state)

    def _attempt_added(self, record: r.AttemptAddedRecord) -> None:
        app = self.state.applications[record.application]
        attempt = Attempt(record.attempt, app, record.number, record.unmanaged)
        app.attempts[record.attempt] = self.state.attempts[record.attempt] = attempt
        self._add_event(ev.AttemptAdded, record, app.queue, attempt)

    def _attempt_registered(self, record: r.AttemptRegisteredRecord) -> None:
        attempt = self.state.attempts[record.attempt]
        attempt.registered = True
        self._add_event(ev.AttemptRegistered, record, attempt.application.queue, attempt)

    def _attempt_removed(self, record: r.AttemptRemovedRecord) -> None:
        attempt = self.state.attempts.pop(record.attempt)
        for key in [key for key in self.refused if key.attempt == record.attempt]:
            del self.refused[key]
        self.state.drop_asks(attempt)
        del attempt.application.attempts[record.attempt]
        attempt.application.past_attempts[record.attempt] = attempt
        self.state.ended_attempts[record.attempt] = attempt
        leaf = attempt.application.queue
        self._add_event(ev.AttemptRemoved, record, leaf, attempt, record.state)

    # Asks

    def _ask(self, record: r.AskChangedRecord) -> None:
        attempt = self.state.attempts[record.attempt]
        key = AskKey(record.attempt, record.priority, record.allocation_request_id)
        before = attempt.asks.get(key)
        new_size = Resource(record.size)
        old, old_size = (before.count, before.size) if before is not None else (0, new_size)
        ask = self.state.set_ask(attempt, key, new_size, record.label, record.is_am)
        ask.relax_locality, ask.strict_racks = record.relax_locality, record.strict_racks
        # Copies: the engine's state may follow the same record.
        ask.hosts, ask.racks = dict(record.hosts), dict(record.racks)
        if old == 0:
            ask.reported_reason = None
        self.state.demand(ask, record.count)
        counts = (old, record.count, old_size, new_size)
        self._add_event(ev.AskChanged, record, attempt.application.queue, ask, *counts)

    def _blacklist(self, record: r.BlacklistRecord) -> None:
        attempt = self.state.attempts[record.attempt]
        attempt.blacklist = frozenset(record.names)
        self.state.touched(attempt.application)

    def _reservations(self, record: r.ReservationsRecord) -> None:
        self.state.reservations.restore(record.reservations)

    # Containers

    def _container_added(self, record: r.ContainerAddedRecord) -> None:
        state = self.state
        attempt = state.attempts.get(record.attempt) or state.ended_attempts[record.attempt]
        key = AskKey(record.attempt, record.priority, record.allocation_request_id)
        container = Container(attempt, state.nodes[record.node], Resource(record.size), key)
        container.number, container.yarn_number = record.container, record.number
        container.is_am, container.origin = record.is_am, record.origin
        container.label = record.label
        allocated_ms = record.allocated_ms
        container.allocated_ms = record.at_ms if allocated_ms is None else allocated_ms
        container.started_ms, container.preempting_since = (
            record.started_ms,
            record.preempting_since,
        )
        if record.state == "running" and record.started_ms is None:
            container.started_ms = record.at_ms
        state.containers[container.number] = container
        state.charge(container)
        leaf = attempt.application.queue
        self._add_event(ev.ContainerAdded, record, leaf, container, record.origin)

    def _container_started(self, record: r.ContainerStartedRecord) -> None:
        container = self.state.containers[record.container]
        container.started_ms = record.at_ms
        self._add_event(ev.ContainerStarted, record, container.application.queue, container)

    def _container_resized(self, record: r.ContainerResizedRecord) -> None:
        container = self.state.containers[record.container]
        old, new = container.size, Resource(record.size)
        self.state.release(container)
        container.size = new
        self.state.charge(container)
        leaf = container.application.queue
        self._add_event(ev.ContainerResized, record, leaf, container, old, new)

    def _container_completed(self, record: r.ContainerCompletedRecord) -> None:
        container = self.state.containers.pop(record.container)
        self.state.release(container)
        if not self._heard:
            return
        self.state.shape_waits.ended(container, record.kind, record.at_ms)
        leaf = container.application.queue
        self._add_event(
            ev.ContainerCompleted, record, leaf, container, record.kind, record.exit_status
        )

    def _timer(self, record: r.TimerFiredRecord) -> None:
        due = (ev.TimerFired, record.at_ms, self.sequence, None, ())
        self.timers_due[record.instance] = due


_HANDLERS: dict[type, Callable[[Mirror, Any], None]] = {
    r.OutcomesRecord: Mirror._outcomes,
    r.SnapshotRecord: Mirror._snapshot,
    r.ConfigRecord: Mirror._config,
    r.SavedStateRecord: Mirror._saved,
    r.ReportsReadRecord: Mirror._reports_read,
    r.NodeAddedRecord: Mirror._node_added,
    r.NodeRemovedRecord: Mirror._node_removed,
    r.NodeResizedRecord: Mirror._node_resized,
    r.NodeRelabelledRecord: Mirror._node_relabelled,
    r.NodeHeartbeatRecord: Mirror._node_heartbeat,
    r.ApplicationAddedRecord: Mirror._application_added,
    r.ApplicationChangedRecord: Mirror._application_changed,
    r.ApplicationRemovedRecord: Mirror._application_removed,
    r.AttemptAddedRecord: Mirror._attempt_added,
    r.AttemptRegisteredRecord: Mirror._attempt_registered,
    r.AttemptRemovedRecord: Mirror._attempt_removed,
    r.AskChangedRecord: Mirror._ask,
    r.BlacklistRecord: Mirror._blacklist,
    r.ReservationsRecord: Mirror._reservations,
    r.ContainerAddedRecord: Mirror._container_added,
    r.ContainerStartedRecord: Mirror._container_started,
    r.ContainerResizedRecord: Mirror._container_resized,
    r.ContainerCompletedRecord: Mirror._container_completed,
    r.TimerFiredRecord: Mirror._timer,
}
