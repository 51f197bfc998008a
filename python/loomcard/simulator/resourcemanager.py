"""The ResourceManager of the simulated cluster: it reports what happens there, and runs rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.headroom import EVERYBODY, headroom_by_user
from loomcard.api.pending_plan import PendingPreemption
from loomcard.api.report import figures_of
from loomcard.engine.far_end import EPOCH, FarEnd
from loomcard.masters.clock import Clock
from loomcard.model import admission
from loomcard.model.objects import Application, AskKey, Attempt, Container, Node
from loomcard.model.resource import Resource
from loomcard.results.policy_series import States
from loomcard.wire import messages as r

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


class ResourceManager(FarEnd):
    """The cluster, and what is measured of its policies.

    ``on_ended(container, kind, exit_status)`` is called for every container that ends,
    ``on_headroom(application)`` for each change of headroom, ``on_config(configuration)`` for each
    configuration that is applied.
    """

    def __init__(
        self, types: list[str], config: Mapping[str, Any], clock: Clock, journal: Path | None
    ) -> None:
        super().__init__("simulator", types, config, {"policy_path": None}, journal)
        self.clock = clock
        self.shrunk = False  # a node was lost at some time
        self.refusals: dict[str, int] = {}
        self.states = States()
        self.on_preempted = self._preempted
        self.on_ended: Ended = lambda *_: None
        self.on_headroom: Callable[[int], None] = lambda _: None
        self.on_config: Callable[[Mapping[str, Any]], None] = lambda _: None
        self._next = {"node": 1, "application": 1, "attempt": 1}
        self._reported_headroom: dict[int, Resource] = {}
        self._launched: dict[int, int] = {}  # when containers' processes start

    # What happens to the cluster

    def add_node(
        self, name: str, rack: str, capacity: Resource, label: str = "", shared: bool = False
    ) -> Node:
        """Register a NodeManager; ``shared``: its label is not exclusive."""
        number = self._number("node")
        facts = (number, f"{name}:8041", rack, tuple(capacity), label, "", shared)
        self.send(r.NodeAddedRecord(self.clock.now, *facts))
        return self.state.nodes[number]

    def remove_node(self, node: Node) -> None:
        """Remove a lost node and every container on it."""
        while node.containers:  # an AM's end ends its other containers too
            self.end(next(iter(node.containers)), "lost", -100)
        self.shrunk = True
        self.send(r.NodeRemovedRecord(self.clock.now, node.number, "lost"))

    def apply(self, config: Mapping[str, Any]) -> None:
        """Apply another configuration; it must have every queue that contains applications."""
        self._reported_headroom.clear()
        self.configure(config, self.clock.now)
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
        id_ = f"application_{EPOCH}_{number:04d}"
        problem = admission.oversize(queue, self.state.types, am) if am is not None else None
        problem = problem or admission.refusal(queue, user, id_)
        if problem is not None:
            raise RejectedError(problem)
        facts = (number, id_, queue.number, user, name, kind.upper(), sorted(tags), 0, now)
        self.send(r.ApplicationAddedRecord(now, *facts, dict(sorted(hints.items()))))
        return self.state.applications[number]

    def add_attempt(self, app: Application, ordinal: int, unmanaged: bool) -> Attempt:
        """Add a new attempt of an application."""
        number = self._number("attempt")
        self.send(r.AttemptAddedRecord(self.clock.now, number, app.number, ordinal, unmanaged))
        return self.state.attempts[number]

    def register(self, attempt: Attempt) -> None:
        """Register the attempt's AM."""
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
        facts = (*full_key, is_am, tuple(size), count, dict(hosts), dict(racks), True, label)
        self.send(r.AskChangedRecord(self.clock.now, *facts))

    def started(self, container: Container) -> None:
        """Note that a node reports a container RUNNING; no policy acts on it, so no round."""
        container.started_ms = self.clock.now  # here, since ``send`` wants a round
        self.waiting.append(r.ContainerStartedRecord(self.clock.now, container.number))

    def launched(self, container: Container, at_ms: int) -> None:
        """Note when a container's process starts; the node's next heartbeat reports it."""
        self._launched[container.number] = at_ms

    def end(
        self, container: Container, kind: str, exit_status: int, ended_ms: int | None = None
    ) -> None:
        """End a container; ``ended_ms``: when its process ended, if that was earlier."""
        now, number = self.clock.now, container.number
        launched_ms = self._launched.pop(number, None)
        ran = (launched_ms, now if ended_ms is None else ended_ms)
        if launched_ms is not None and launched_ms > now:
            ran = (None, now)
        self.send(r.ContainerCompletedRecord(now, number, kind, exit_status, *ran))
        self.on_ended(container, kind, exit_status)

    def remove_attempt(self, attempt: Attempt, state: str) -> None:
        """Remove an ended attempt; its remaining containers are killed."""
        for container in [c for c in attempt.application.containers if c.attempt is attempt]:
            self.end(container, "killed", -105)
        self.send(r.AttemptRemovedRecord(self.clock.now, attempt.number, state))

    def remove_application(self, app: Application, state: str) -> None:
        """Remove an ended application; its attempts were removed before."""
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

    def _number(self, kind: str) -> int:
        number = self._next[kind]
        self._next[kind] = number + 1
        return number

    # A round

    def round(self) -> None:
        """Send one batch, and carry out its plan. Raises PolicyFaultError."""
        plan = self.next_plan(self.clock.now)
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
        self._follow(plan)

    def _follow(self, plan: r.PlanReply) -> None:
        for _, count, reason in self.carry_out(plan):
            self.refusals[reason] = self.refusals.get(reason, 0) + count
        for instance, at_ms in plan.timers:
            if at_ms is not None:
                self.clock.at(max(at_ms, self.clock.now), self._fire, instance, at_ms)
        for path, report in plan.reports.items():
            self.states.add(self.clock.now, path, figures_of(report))
        for application, amounts in plan.headroom:
            self._reported_headroom[application] = Resource(amounts)
            self.on_headroom(application)

    def _preempted(self, step: PendingPreemption) -> None:
        self.clock.at(self.clock.now + step.grace_ms, self._kill, step.container)

    def _kill(self, container: Container) -> None:
        if container.number in self.state.containers:
            self.end(container, "preempted", -102)

    def _fire(self, instance: int, at_ms: int) -> None:
        if self.timers.get(instance) == at_ms:
            self.timers.put(instance, None)
            self.send(r.TimerFiredRecord(self.clock.now, instance))
