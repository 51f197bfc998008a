"""A cluster in a few lines, for tests of policies: rounds by hand, and an engine that may refuse.

It sends a Session the messages that the ResourceManager sends, so that a policy is called exactly
as in production. Its own state of the cluster follows the records that it sends. It carries plans
out on that state as the simulator does, and counts everything again after each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.pending_plan import PendingPreemption
from loomcard.api.report import values_of
from loomcard.engine.carry_out import Commit
from loomcard.engine.mirror import Mirror
from loomcard.engine.session import Session
from loomcard.engine.timers import Timers
from loomcard.model.objects import Application, Ask, Container, Node
from loomcard.model.reasons import Reason
from loomcard.model.renamed import warn_renamed
from loomcard.model.state import ClusterState
from loomcard.simulator.invariants import InvariantError, check_state
from loomcard.testing.allocated import Allocated, Key
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r

TYPES = ("memory_mb", "vcores")
EPOCH = 1_700_000_000_000


class BrokenPlanError(AssertionError):
    """A plan does something forbidden; ``clause`` names the broken clause of the contract."""

    def __init__(self, clause: str, message: str) -> None:
        super().__init__(message)
        self.clause = clause


class PolicyRaisedError(AssertionError):
    """A policy raised in ``decide``; the message is the traceback, ``fault`` its last line."""

    def __init__(self, fault: str, trace: str) -> None:
        super().__init__(trace.rstrip())
        self.fault = fault


class Cluster:
    """Drives a policy round by round.

    ``policy``: an object, its class, the name of a registered policy or ``path/to/file.py:Class``,
    the YAML text of a configuration, or a compiled one. ``queues``: as the key of that name in a
    configuration; without it the only queue is ``root.default``. ``nodes``: capacities, numbered
    from 1. ``refuse(decision)`` may return a reason for which the engine refuses it. ``tolerant``:
    a policy that raises only loses its round, as in production; otherwise ``round`` raises.
    """

    def __init__(
        self,
        policy: Any,
        *,
        nodes: Iterable[Sequence[int]] = (),
        queues: dict[str, Any] | None = None,
        refuse: Callable[[r.Decision], str | None] = lambda _: None,
        journal: Path | None = None,
        segment_rounds: int = 1000,
        round_containers: int | None = None,
        saved: dict[str, Any] | None = None,
        resource_types: Sequence[str] = TYPES,
        tolerant: bool = False,
    ) -> None:
        self.compiled = compiled(policy, queues)
        self.refuse = refuse
        self.tolerant = tolerant
        settings = {"journal_segment_rounds": segment_rounds, "saved_every_ms": 1000}
        settings |= {} if round_containers is None else {"round_containers": round_containers}
        facts = ("test", "3.4.2", list(resource_types), ["reservations"], settings)
        self.hello = r.Hello(r.SCHEMA, EPOCH, *facts)
        self.session = Session(self.hello, journal)
        self.now, self.seq, self.round_number, self.next_container = 0, 1, 1, 1
        self._engine = Mirror(resource_types, self.hello.features)
        self._engine.absorb([r.ConfigRecord(0, 1, self.compiled)])
        self._shrunk = False  # a node was lost or is smaller: queues may exceed their maxima
        self.saved: dict[str, Any] = {} if saved is None else saved
        self.reasons: dict[Key, str] = {}  # why an ask waits, as last reported
        self.reports: dict[str, dict[str, Any]] = {}  # by queue, the last report of its policies
        self.timers = Timers()  # by instance, when it is to be called
        self._sent_reservations = 0  # the version that was last sent; -1: send again
        self.history: list[tuple[str, str]] = []  # batches and plans, as text
        self.outcomes: r.OutcomesRecord | None = None
        self.in_round = False  # a plan is not carried out yet, or a check failed before that
        self.waiting: list[r.AnyRecord] = self._opening("start")
        self._preempted_at: dict[int, int] = {}  # by container, when its grace ends
        for number, amounts in enumerate(nodes, 1):
            self.add_node(number, *amounts)

    def _opening(self, reason: str) -> list[r.AnyRecord]:
        config = r.ConfigRecord(self.now, 1, self.compiled)
        return [
            r.SnapshotRecord(self.now, reason),
            config,
            r.SavedStateRecord(self.now, dict(self.saved)),
        ]

    # Its contents

    @property
    def state(self) -> ClusterState:
        """The engine's own state of the cluster."""
        return self._engine.state

    @property
    def nodes(self) -> dict[int, tuple[int, ...]]:
        """Capacities, by number of the node."""
        return {number: tuple(node.capacity) for number, node in self.state.nodes.items()}

    @property
    def applications(self) -> set[int]:
        """Numbers of the applications that have not ended."""
        return set(self.state.applications)

    @property
    def asks(self) -> dict[Key, Ask]:
        """The asks that still wait for containers, by key."""
        found = (ask for attempt in self.state.attempts.values() for ask in attempt.asks.values())
        return {ask.key: ask for ask in found}

    @property
    def containers(self) -> dict[int, Allocated]:
        """Live containers, by number."""
        return {number: Allocated.of(c) for number, c in self.state.containers.items()}

    @property
    def holds(self) -> list[tuple[Key, int]]:
        """Deprecated since 0.1: ``reservations``."""
        warn_renamed("cluster.holds", "cluster.reservations")
        return self.reservations

    @property
    def reservations(self) -> list[tuple[Key, int]]:
        """The reservations: the key of the ask, and the number of the node."""
        return [(each.ask.key, each.node.number) for each in self.state.reservations]

    def place(self, node: int) -> tuple[str, str, str]:
        """Return host, rack and label of a node."""
        found = self.state.nodes[node]
        return found.host, found.rack, found.label

    # Events

    def add_node(
        self, number: int, *amounts: int, rack: str = "/r", label: str = "", host: str = "",
        shared: bool = False,
    ) -> None:  # fmt: skip
        """Add a node with these amounts of each type; its name is ``host``, or ``n{number}``.
        ``shared``: the partition of its label lends idle room.
        """
        name = host or f"n{number}"
        facts = (number, f"{name}:1", rack, tuple(amounts), label, name, shared)
        self.send(r.NodeAddedRecord(self.now, *facts))

    def relabel_node(self, number: int, label: str, shared: bool = False) -> None:
        """Move a node to another partition; its containers stay."""
        self.send(r.NodeRelabelledRecord(self.now, number, label, shared))

    def lose_node(self, number: int) -> None:
        """Remove a lost node with its containers."""
        for allocated in [g for g in self.containers.values() if g.node == number]:
            self.complete(allocated.number, "lost")
        self.send(r.NodeRemovedRecord(self.now, number, "lost"))

    def add_app(
        self, number: int, queue: int | str = 1, user: str = "u", priority: int = 0, **facts: Any
    ) -> None:
        """Add application ``number``, with an attempt of that number, to a leaf queue, given by its
        path or number. ``facts``: ``id``, ``name``, ``submitted_ms`` (default: now), ``tags``,
        ``hints``, ``type`` (default: T, which no policy knows).
        """
        if isinstance(queue, str):
            queue = [spec["path"] for spec in self.compiled["queues"]].index(queue)
        id_ = facts.get("id", f"application_{EPOCH}_{number:04d}")
        added = r.ApplicationAddedRecord(
            self.now, number, id_, queue, user, facts.get("name", f"app{number}"),
            facts.get("type", "T"), facts.get("tags", []), priority,
            facts.get("submitted_ms", self.now), facts.get("hints", {}),
        )  # fmt: skip
        self.send(added)
        self.send(r.AttemptAddedRecord(self.now, number, number, 1, True))
        self.send(r.AttemptRegisteredRecord(self.now, number))

    def end_app(self, number: int) -> None:
        """End an application, its containers and its asks."""
        for allocated in [g for g in self.containers.values() if g.attempt == number]:
            self.complete(allocated.number, "killed")
        self.send(r.AttemptRemovedRecord(self.now, number, "FINISHED"))
        self.send(r.ApplicationRemovedRecord(self.now, number, "FINISHED"))

    def ask(
        self, app: int, count: int, size: tuple[int, ...] = (1024, 1), priority: int = 20,
        **keys: Any,
    ) -> None:  # fmt: skip
        """Let the application ask for ``count`` containers of ``size`` under a priority, from now
        on.

        ``keys``: ``request_id``, ``hosts`` and ``racks`` (name: count), ``relax`` (False: only
        there), ``strict_racks`` (only the hosts of these), ``label``, ``is_am``.
        """
        key = (app, priority, keys.get("request_id", 0))
        record = r.AskChangedRecord(
            self.now, *key, keys.get("is_am", False), size, count, dict(keys.get("hosts", {})),
            dict(keys.get("racks", {})), keys.get("relax", True), keys.get("label", ""),
            list(keys.get("strict_racks", ())),
        )  # fmt: skip
        self.send(record)

    def blacklist(self, app: int, *names: str) -> None:
        """Let the application refuse all containers on these hosts and racks."""
        self.send(r.BlacklistRecord(self.now, app, sorted(names)))

    def complete(self, container: int, kind: str = "completed") -> None:
        """End a container."""
        self._preempted_at.pop(container, None)
        self.send(r.ContainerCompletedRecord(self.now, container, kind, 0))

    def heartbeat(self) -> None:
        """Send a heartbeat of every node, if a policy of the configuration needs them."""
        if "heartbeats" in self.compiled["needs"]:
            for number in self.nodes:
                self.send(r.NodeHeartbeatRecord(self.now, number))

    def snapshot(self, reason: str = "test") -> None:
        """Send the engine's whole state again: the mirror and every memory are rebuilt."""
        self.outcomes, self.timers = None, Timers()
        self._sent_reservations = -1
        self.waiting = self._opening(reason)
        self.waiting += [
            r.NodeAddedRecord(
                self.now, n.number, n.id, n.rack, tuple(n.capacity), n.label, n.host, n.shared
            )
            for n in self.state.nodes.values()
        ]  # fmt: skip
        for _, app in sorted(self.state.applications.items()):
            self.waiting += self._application(app)
        self.waiting += [
            r.AskChangedRecord(
                self.now, *ask.key, ask.is_am, tuple(ask.size), ask.count, dict(ask.hosts),
                dict(ask.racks), ask.relax_locality, ask.label, ask.strict_racks,
            )
            for ask in self.asks.values()
        ]  # fmt: skip
        for g in self.containers.values():
            facts = (g.number, g.attempt, g.number, g.node, g.size, *g.ask[1:])
            self.waiting.append(
                r.ContainerAddedRecord(self.now, *facts, g.is_am, "running", "policy")
            )

    def _application(self, app: Application) -> list[r.AnyRecord]:
        number = app.number
        records: list[r.AnyRecord] = [
            r.ApplicationAddedRecord(
                self.now, number, app.id, app.queue.number, app.user, app.name, app.type, app.tags,
                app.priority, app.submitted_ms, app.hints,
            ),
            r.AttemptAddedRecord(self.now, number, number, 1, True),
            r.AttemptRegisteredRecord(self.now, number),
        ]  # fmt: skip
        if number in app.attempts and app.attempts[number].blacklist:
            records.append(
                r.BlacklistRecord(self.now, number, sorted(app.attempts[number].blacklist))
            )
        return records

    def send(self, record: r.AnyRecord) -> None:
        """Add a record to the next batch, and apply it to the engine's own state."""
        self._shrunk |= isinstance(
            record, r.NodeRemovedRecord | r.NodeResizedRecord | r.NodeRelabelledRecord
        )
        self.waiting.append(record)
        self._engine.absorb([record])
        self._engine.changes = []  # they are not read here

    # Rounds

    def round(self, advance_ms: int = 10, late: bool = False) -> list[Allocated]:
        """Send one batch and carry out its plan; return the allocated containers, in order.

        ``late``: the plan comes too late, and all of it is refused. Raises BrokenPlanError, and
        PolicyRaisedError unless the cluster is ``tolerant``.
        """
        plan = self.exchange(advance_ms)
        if plan.resync is not None:
            raise BrokenPlanError(
                "read-only",
                "the policy changed what the view showed it, or an object of it that it kept:"
                f" {plan.resync}",
            )
        if plan.faults and not self.tolerant:
            _, fault, trace = plan.faults[0]
            raise PolicyRaisedError(fault, trace)
        return self.commit(plan, late)

    def exchange(self, advance_ms: int = 10) -> r.PlanReply:
        """Send the waiting records, outcomes first, and return the plan."""
        self.now, self.in_round = self.now + advance_ms, True
        self._what_is_due()
        records = [*self.waiting, *self._changed_reservations()]
        records[:0] = [] if self.outcomes is None else [self.outcomes]
        self.waiting, self.outcomes = [], None
        text = r.write(r.Batch(self.round_number, self.seq, self.now, self.check(), records))
        self.seq += len(records)
        reply_text = self.session.decide(text)
        self.history.append((text, reply_text))
        plan = r.read_reply(reply_text)
        assert isinstance(plan, r.PlanReply)
        self.saved.update(plan.saved)
        self.reports.update({path: values_of(report) for path, report in plan.reports.items()})
        self.reasons |= {(*key,): reason for *key, reason, _ in plan.waits}  # type: ignore[misc]
        self.reasons = {key: why for key, why in self.reasons.items() if key in self.asks}
        return plan

    def check(self) -> r.Check:
        """Return the figures by which the mirror is compared with the engine."""
        state = self.state
        counts = (len(state.nodes), len(state.applications), len(state.containers))
        return r.Check(*counts, state.pending_total, tuple(state.free))

    def _changed_reservations(self) -> list[r.AnyRecord]:
        """Return the list of reservations if the mirror may have another list."""
        reservations = self.state.reservations
        reservations.expire(self.now)
        if reservations.version == self._sent_reservations:
            return []
        self._sent_reservations = reservations.version
        return [r.ReservationsRecord(self.now, reservations.rows())]

    def _what_is_due(self) -> None:
        for instance in self.timers.ring(self.now):
            self.send(r.TimerFiredRecord(self.now, instance))
        for number, at_ms in list(self._preempted_at.items()):
            if at_ms <= self.now:
                self.complete(number, "preempted")

    def commit(self, plan: r.PlanReply, late: bool = False) -> list[Allocated]:
        """Carry out a plan on the engine's own state; the next batch begins with the outcomes.
        Raises BrokenPlanError for a decision that no plan may contain.
        """
        found: list[Container] = []
        first = self.next_container
        too_full = [node for node in self.state.nodes.values() if min(node.free, default=0) < 0]

        def allocated(container: Container) -> None:
            self.state.confirm(container, self.next_container, self.next_container)
            self.next_container += 1
            found.append(container)

        def preempted(step: PendingPreemption) -> None:
            self._preempted_at[step.container.number] = self.now + step.grace_ms

        commit = Commit(self.state, self.now, allocated, preempted)
        refused: list[tuple[int, int, str]] = []
        for index, decision in enumerate(plan.decisions):
            reason = "LATE" if late else self.refuse(decision)
            if reason is not None:
                count = decision.count if isinstance(decision, r.Allocate) else 1
                refused.append((index, count, reason))
                continue
            commit.run([decision])
            if commit.refusals and not refused:
                raise _broken(decision, commit.refusals[0][2])
            refused += [(index, count, str(why)) for _, count, why in commit.refusals]
            commit.refusals.clear()
        self._recount(too_full)
        if refused:
            self._sent_reservations = -1
        for instance, at_ms in plan.timers:
            self.timers.put(instance, at_ms)
        numbers = [container.number for container in found]
        self.outcomes = r.OutcomesRecord(self.now, plan.round, first, numbers, refused)
        self.round_number, self.in_round = self.round_number + 1, False
        return [Allocated.of(container) for container in found]

    def _recount(self, too_full: list[Node]) -> None:
        try:
            check_state(self.state, shrunk=self._shrunk, too_full=too_full)
        except InvariantError as error:
            raise BrokenPlanError("over-allocates", str(error)) from error

    def memory(self, path: str = "root.default") -> Any:
        """Return the memory that the policy at a queue keeps from call to call."""
        assert self.session.tree is not None, "no round yet"
        instances = self.session.tree.instances.values()
        return next(i.memory for i in instances if i.queue.path == path)


_CLAUSES = {Reason.LABEL: "label"} | dict.fromkeys(
    (
        Reason.NODE_GONE, Reason.ATTEMPT_GONE, Reason.ASK_GONE, Reason.STALE, Reason.LOCALITY,
        Reason.BLACKLISTED,
    ),
    "ask",
)  # fmt: skip


def _broken(decision: r.Decision, reason: Reason) -> BrokenPlanError:
    return BrokenPlanError(_CLAUSES.get(reason, "over-allocates"), f"{decision}: {reason}")
