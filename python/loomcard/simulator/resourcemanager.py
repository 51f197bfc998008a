"""The ResourceManager of the simulated cluster: it has the same state and commit checks as the
shim, and uses the same policy session.

It sends the session what happened, in the records of the wire, and carries plans out on its own
state. The policies' mirror never touches this state: what a cluster would refuse is refused here,
with the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.headroom import EVERYBODY, headroom_by_user
from loomcard.api.pending_plan import PendingPreemption
from loomcard.api.report import figures_of
from loomcard.engine.carry_out import Commit
from loomcard.engine.session import Session
from loomcard.engine.timers import Timers
from loomcard.model import admission
from loomcard.model.objects import Application, AskKey, Attempt, Container, Node
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.results.policy_series import States
from loomcard.simulator.clock import Clock
from loomcard.wire import messages as r

EPOCH = 1_700_000_000_000
"""The cluster timestamp in the names of simulated applications and containers."""

Allocated = Callable[[Container], None]
Ended = Callable[[Container, str, int], None]


class PolicyFaultError(Exception):
    """A policy raised, or was refused for ever. The message ends with the last line of its
    traceback; ``hint`` contains the rest.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return PolicyFaultError, (str(self), self.hint)


class RejectedError(Exception):
    """A queue's limit forbids an application or its ask; the message is worded as YARN's."""


class ResourceManager:
    """The cluster's state, the batch that is being gathered, and the policies behind it.

    ``on_allocated(container)`` and ``on_ended(container, kind, exit_status)`` are called for every
    container that begins and ends in its state, ``on_headroom(application)`` for each change of
    headroom, ``on_config(configuration)`` for each configuration that is applied.
    """

    def __init__(
        self, types: list[str], config: Mapping[str, Any], clock: Clock, journal: Path | None
    ) -> None:
        settings = {"policy_path": None}
        hello = r.Hello(r.SCHEMA, EPOCH, "simulator", "", types, ["reservations"], settings)
        self.session = Session(hello, journal)
        self.state = ClusterState(types)
        self.state.configure(dict(config))
        self.clock = clock
        self.needs_round = False  # something happened on which a policy can act
        self.shrunk = False  # a node was lost at some time
        self.refusals: dict[str, int] = {}
        self.states = States()
        self.on_allocated: Allocated = lambda _: None
        self.on_ended: Ended = lambda *_: None
        self.on_headroom: Callable[[int], None] = lambda _: None
        self.on_config: Callable[[Mapping[str, Any]], None] = lambda _: None
        self._waiting: list[r.AnyRecord] = [
            r.SnapshotRecord(0, "start"),
            r.ConfigRecord(0, 1, dict(config)),
            r.SavedStateRecord(0, {}),
        ]
        self._outcomes: r.OutcomesRecord | None = None
        self._version = 1  # of the configuration
        self._reported_reservations = 0  # their version in the last report; -1: report again
        self.rounds = 0
        self._sequence = 1
        self._next = {"node": 1, "application": 1, "attempt": 1, "container": 1}
        self._timers = Timers()
        self._reported_headroom: dict[int, Resource] = {}
        self._yarn_numbers: dict[int, int] = {}  # by attempt
        self._launched: dict[int, int] = {}  # when containers' processes start

    # What happens to the cluster

    def add_node(
        self, name: str, rack: str, capacity: Resource, label: str = "", shared: bool = False
    ) -> Node:
        """Register a NodeManager; ``shared``: its label is not exclusive."""
        node = Node(self._number("node"), f"{name}:8041", rack, capacity, label, "", shared)
        self.state.add_node(node)
        facts = (node.number, node.id, rack, tuple(capacity), label, "", shared)
        self.send(r.NodeAddedRecord(self.clock.now, *facts))
        return node

    def remove_node(self, node: Node) -> None:
        """Remove a lost node and every container on it."""
        while node.containers:  # an AM's end ends its other containers too
            self.end(next(iter(node.containers)), "lost", -100)
        self.state.remove_node(node)
        self.shrunk = True
        self.send(r.NodeRemovedRecord(self.clock.now, node.number, "lost"))

    def relabel_node(self, node: Node, label: str) -> None:
        """Move a node to another partition; its containers stay."""
        self.state.relabel_node(node, label)
        self.send(r.NodeRelabelledRecord(self.clock.now, node.number, label))

    def apply(self, config: Mapping[str, Any]) -> None:
        """Apply another configuration; it must have every queue that contains applications."""
        self._version += 1
        self.state.configure(dict(config))
        self._timers.clear()
        self._reported_headroom.clear()
        self.send(r.ConfigRecord(self.clock.now, self._version, dict(config)))
        self.on_config(config)

    def heartbeat(self, node: Node) -> None:
        """Report one heartbeat of a node, for policies that count them."""
        self.send(r.NodeHeartbeatRecord(self.clock.now, node.number))

    def submit(
        self, name: str, path: str, user: str, kind: str, tags: list[str], hints: dict[str, str],
        am: Sequence[int] | None = None,
    ) -> Application:  # fmt: skip
        """Accept an application into a leaf queue; ``am``: its AM's container, or None. Raises
        RejectedError when the queue does not accept it.
        """
        now, number = self.clock.now, self._number("application")
        queue = self.state.by_path[path]
        app = Application(number, f"application_{EPOCH}_{number:04d}", queue, user)
        problem = admission.oversize(queue, self.state.types, am) if am is not None else None
        problem = problem or admission.refusal(queue, user, app.id)
        if problem is not None:
            raise RejectedError(problem)
        app.submitted_ms, app.name = now, name
        self.state.add_application(app)
        facts = (number, app.id, queue.number, user, name, kind.upper(), sorted(tags), 0, now)
        self.send(r.ApplicationAddedRecord(now, *facts, dict(sorted(hints.items()))))
        return app

    def add_attempt(self, app: Application, ordinal: int, unmanaged: bool) -> Attempt:
        """Add a new attempt of an application."""
        attempt = Attempt(self._number("attempt"), app, ordinal, unmanaged)
        app.attempts[attempt.number] = self.state.attempts[attempt.number] = attempt
        self.send(
            r.AttemptAddedRecord(self.clock.now, attempt.number, app.number, ordinal, unmanaged)
        )
        return attempt

    def register(self, attempt: Attempt) -> None:
        """Register the attempt's AM."""
        attempt.registered = True
        self.send(r.AttemptRegisteredRecord(self.clock.now, attempt.number))

    def ask(
        self,
        attempt: Attempt,
        key: tuple[int, int],
        size: Resource,
        change: int,
        rows: tuple[dict[str, int], dict[str, int]] = ({}, {}),
        is_am: bool = False,
        label: str = "",
    ) -> None:
        """Ask for ``change`` more containers under (priority, request id). ``rows``: the counts for
        hosts and for racks from now on. Without a ``label`` the queue's label is used. Raises
        RejectedError for a container larger than the queue allows.
        """
        full_key = AskKey(attempt.number, *key)
        known = attempt.asks.get(full_key)
        count = max(0, change + (known.count if known is not None else 0))
        hosts, racks = rows
        if known is None:
            if count == 0:
                return
            problem = admission.oversize(attempt.application.queue, self.state.types, size)
            if problem is not None:
                raise RejectedError(problem)
        elif change == 0 and (known.hosts, known.racks) == rows:
            return
        label = label or attempt.application.queue.spec.get("default_label", "")
        ask = self.state.set_ask(attempt, full_key, size, label, is_am)
        ask.hosts, ask.racks = dict(hosts), dict(racks)
        self.state.demand(ask, count)
        facts = (*full_key, is_am, tuple(size), count, dict(hosts), dict(racks), True, label)
        self.send(r.AskChangedRecord(self.clock.now, *facts))

    def started(self, container: Container) -> None:
        """Note that a node reports a container RUNNING; no policy acts on it, so no round."""
        container.started_ms = self.clock.now
        self._waiting.append(r.ContainerStartedRecord(self.clock.now, container.number))

    def launched(self, container: Container, at_ms: int) -> None:
        """Note when a container's process starts; the node's next heartbeat reports it."""
        self._launched[container.number] = at_ms

    def end(
        self, container: Container, kind: str, exit_status: int, ended_ms: int | None = None
    ) -> None:
        """End a container; ``ended_ms``: when its process ended, if that was earlier."""
        del self.state.containers[container.number]
        self.state.release(container)
        now, number = self.clock.now, container.number
        launched_ms = self._launched.pop(number, None)
        ran = (launched_ms, now if ended_ms is None else ended_ms)
        if launched_ms is not None and launched_ms > now:
            ran = (None, now)
        self.send(r.ContainerCompletedRecord(now, number, kind, exit_status, *ran))
        self.on_ended(container, kind, exit_status)

    def remove_attempt(self, attempt: Attempt, state: str) -> None:
        """Remove an ended attempt; its remaining containers are killed."""
        app = attempt.application
        for container in [c for c in app.containers if c.attempt is attempt]:
            self.end(container, "killed", -105)
        self.state.drop_asks(attempt)
        del self.state.attempts[attempt.number], app.attempts[attempt.number]
        self.send(r.AttemptRemovedRecord(self.clock.now, attempt.number, state))

    def remove_application(self, app: Application, state: str) -> None:
        """Remove an ended application; its attempts were removed before."""
        self.state.remove_application(app)
        self._reported_headroom.pop(app.number, None)
        self.send(r.ApplicationRemovedRecord(self.clock.now, app.number, state))

    def headroom(self, app: Application) -> Resource:
        """Return what the AM may still obtain: the policy's figure, or otherwise what cluster,
        queue and user limit leave.
        """
        reported = self._reported_headroom.get(app.number)
        if reported is not None:
            return reported
        left = headroom_by_user(app.queue, self.state.free)
        return Resource(left[EVERYBODY if app.queue.user_limit is None else app.user])

    def send(self, record: r.AnyRecord) -> None:
        """Add a record to the next batch; a policy may act on it, so a round is needed."""
        self._waiting.append(record)
        self.needs_round = True

    def _number(self, kind: str) -> int:
        number = self._next[kind]
        self._next[kind] = number + 1
        return number

    # A round

    def round(self) -> None:
        """Send one batch, and carry out its plan. Raises PolicyFaultError."""
        self.needs_round = False
        state, records = self.state, self._waiting
        if self._outcomes is not None:
            records.insert(0, self._outcomes)
        self._waiting = []
        state.reservations.expire(self.clock.now)
        if state.reservations.version != self._reported_reservations:
            self._reported_reservations = state.reservations.version
            records.append(r.ReservationsRecord(self.clock.now, state.reservations.rows()))
        self.rounds += 1
        check = r.Check(
            len(state.nodes),
            len(state.applications),
            len(state.containers),
            state.pending_total,
            tuple(state.free),
        )
        batch = r.Batch(self.rounds, self._sequence, self.clock.now, check, records)
        self._sequence += len(records)
        plan = self.session.answer(batch)
        if plan.resync is not None:
            raise PolicyFaultError(f"the mirror cannot be right: {plan.resync}")
        if plan.faults:
            _, message, trace = plan.faults[0]
            trace = trace.rstrip().rpartition("\n")[0]  # without the line on clusters
            raise PolicyFaultError(
                f"{message}, at {self.clock.now} ms, round {self.rounds}",
                f"{trace}\nThe run ends here; on a cluster the queue would be served first in,"
                " first out for a while",
            )
        self._carry_out(plan)

    def _carry_out(self, plan: r.PlanReply) -> None:
        first = self._next["container"]
        numbers: list[int] = []

        def allocated(container: Container) -> None:
            attempt = container.attempt.number
            yarn_number = self._yarn_numbers.get(attempt, 0) + 1
            self._yarn_numbers[attempt] = yarn_number
            self.state.confirm(container, self._number("container"), yarn_number)
            numbers.append(yarn_number)
            self.on_allocated(container)

        def preempted(step: PendingPreemption) -> None:
            self.clock.at(self.clock.now + step.grace_ms, self._kill, step.container)

        commit = Commit(self.state, self.clock.now, allocated, preempted)
        commit.run(plan.decisions)
        refusals = [(index, count, str(reason)) for index, count, reason in commit.refusals]
        for _, count, reason in refusals:
            self.refusals[reason] = self.refusals.get(reason, 0) + count
        self._outcomes = r.OutcomesRecord(self.clock.now, plan.round, first, numbers, refusals)
        if refusals:
            self.needs_round = True
            if self.state.reservations or any(type(d) is r.Reserve for d in plan.decisions):
                self._reported_reservations = -1
        for instance, at_ms in plan.timers:
            self._timers.put(instance, at_ms)
            if at_ms is not None:
                self.clock.at(max(at_ms, self.clock.now), self._fire, instance, at_ms)
        for path, report in plan.reports.items():
            self.states.add(self.clock.now, path, figures_of(report))
        for application, amounts in plan.headroom:
            self._reported_headroom[application] = Resource(amounts)
            self.on_headroom(application)

    def _kill(self, container: Container) -> None:
        if container.number in self.state.containers:
            self.end(container, "preempted", -102)

    def _fire(self, instance: int, at_ms: int) -> None:
        if self._timers.get(instance) == at_ms:
            self._timers.put(instance, None)
            self.send(r.TimerFiredRecord(self.clock.now, instance))
