"""A cluster in a few lines, for tests of policies: rounds by hand, and an engine that may refuse.

It is the far end of a session, as the simulator is, so that a policy is called exactly as in
production. It counts everything again after each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from loomcard.api.pending_plan import PendingPreemption
from loomcard.api.report import values_of
from loomcard.engine.far_end import EPOCH, FarEnd
from loomcard.model.objects import Ask, Container, Node
from loomcard.model.reasons import Reason
from loomcard.model.renamed import warn_renamed
from loomcard.simulator.invariants import InvariantError, check_state
from loomcard.testing.allocated import Allocated, Key
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r

TYPES = ("memory_mb", "vcores")


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


class Cluster(FarEnd):
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
        super().__init__("test", resource_types, self.compiled, settings, journal, saved)
        self.now = 0
        self._shrunk = False  # a node was lost or is smaller: queues may exceed their maxima
        self.reasons: dict[Key, str] = {}  # why an ask waits, as last reported
        self.reports: dict[str, dict[str, Any]] = {}  # by queue, the last report of its policies
        self.history: list[tuple[str, str]] = []  # batches and plans, as text
        self.in_round = False  # a plan is not carried out yet, or a check failed before that
        self.on_preempted = self._preempted
        self._preempted_at: dict[int, int] = {}  # by container, when its grace ends
        for number, amounts in enumerate(nodes, 1):
            self.add_node(number, *amounts)

    # Its contents

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
        """Send the whole state again: the mirror and every memory are rebuilt."""
        self.resync(reason, self.now)

    def send(self, record: r.AnyRecord) -> None:
        """Let a record happen to the cluster, and add it to the next batch."""
        self._shrunk |= isinstance(
            record, r.NodeRemovedRecord | r.NodeResizedRecord | r.NodeRelabelledRecord
        )
        super().send(record)

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
        self.ring(self.now)
        for number, at_ms in list(self._preempted_at.items()):
            if at_ms <= self.now:
                self.complete(number, "preempted")
        plan = self.next_plan(self.now)
        self.reports.update({path: values_of(report) for path, report in plan.reports.items()})
        self.reasons |= {(*key,): reason for *key, reason, _ in plan.waits}  # type: ignore[misc]
        self.reasons = {key: why for key, why in self.reasons.items() if key in self.asks}
        return plan

    def answer(self, batch: r.Batch) -> r.PlanReply:
        """Return the session's plan for a batch; both cross the wire as text."""
        text = r.write(batch)
        reply = self.session.decide(text)
        self.history.append((text, reply))
        plan = r.read_reply(reply)
        assert isinstance(plan, r.PlanReply)
        return plan

    def commit(self, plan: r.PlanReply, late: bool = False) -> list[Allocated]:
        """Carry out a plan on the engine's own state; the next batch begins with the outcomes.
        Raises BrokenPlanError for a decision that no plan may contain.
        """
        found: list[Container] = []
        self.on_allocated = found.append
        too_full = [node for node in self.state.nodes.values() if min(node.free, default=0) < 0]
        reasons = ["LATE" if late else self.refuse(decision) for decision in plan.decisions]
        refused = {index: reason for index, reason in enumerate(reasons) if reason is not None}
        refusals = self.carry_out(plan, refused)
        # After a decision that was refused on purpose, others may not be possible any more.
        if refusals and refusals[0][0] not in refused:
            raise _broken(plan.decisions[refusals[0][0]], refusals[0][2])
        self._recount(too_full)
        self.in_round = False
        return [Allocated.of(container) for container in found]

    def _preempted(self, step: PendingPreemption) -> None:
        self._preempted_at[step.container.number] = self.now + step.grace_ms

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


def _broken(decision: r.Decision, reason: str) -> BrokenPlanError:
    return BrokenPlanError(_CLAUSES.get(Reason(reason), "over-allocates"), f"{decision}: {reason}")
