"""A cluster in a few lines, for tests of policies: rounds by hand, an engine that may refuse, books
of its own.

It speaks the wire to a Session as the ResourceManager does, so that a policy is called exactly as
in production; and it keeps its own simple books beside the mirror's, against which every plan is
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from loomcard.api.report import values_of
from loomcard.engine.session import Session
from loomcard.engine.timers import Timers
from loomcard.model.resource import fits
from loomcard.testing.holding import HeldRoom
from loomcard.testing.policy_setups import compiled
from loomcard.wire import messages as r

TYPES = ("memory_mb", "vcores")
EPOCH = 1_700_000_000_000

Key = tuple[int, int, int]
"""An ask's: application, priority, request id."""


class BrokenPlanError(AssertionError):
    """A plan does what no plan may; ``clause`` is the contract's word for it."""

    def __init__(self, clause: str, message: str) -> None:
        super().__init__(message)
        self.clause = clause


class PolicyRaisedError(AssertionError):
    """A policy raised in its ``decide``; the message is its traceback, ``fault`` the last line."""

    def __init__(self, fault: str, trace: str) -> None:
        super().__init__(trace.rstrip())
        self.fault = fault


@dataclass
class Granted:
    """A container as the cluster's own books know it."""

    number: int
    attempt: int
    node: int
    size: tuple[int, ...]
    ask: Key
    instance: int
    is_am: bool = False

    @property
    def app(self) -> int:
        """Its application; a test's applications have one attempt, of the same number."""
        return self.attempt


@dataclass
class Demand:
    """What is still asked for under one key."""

    count: int
    record: r.AskChanged

    def reach(self, host: str, rack: str) -> int | None:
        """0 for a named host, 1 for a named rack, 2 for any node, None where it may not go."""
        if self.record.racks.get(rack):
            if self.record.hosts.get(host):
                return 0
            return None if rack in self.record.strict_racks else 1
        return 2 if self.record.relax_locality else None

    def take(self, host: str, rack: str) -> None:
        """One container was granted there; its rows count one less, as YARN counts them."""
        self.count -= 1
        hosts, racks = self.record.hosts, self.record.racks
        served = [(racks, rack)] if self.reach(host, rack) in (0, 1) else []
        if self.reach(host, rack) == 0:
            served.append((hosts, host))
        for rows, name in served:
            if rows.get(name, 0) > 1:
                rows[name] -= 1
            else:
                rows.pop(name, None)


class Cluster:
    """Drives a policy round by round.

    ``policy``, ``queues``: as for ``setups.compiled``. ``nodes``: capacities, numbered from 1.
    ``refuse(decision)`` may name a reason for which the engine refuses it. ``tolerant``: a policy
    that raises only loses its round, as in production; else ``round`` raises.
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
        facts = ("test", "3.4.2", list(resource_types), ["holds"], settings)
        self.hello = r.Hello(r.SCHEMA, EPOCH, *facts)
        self.session = Session(self.hello, journal)
        self.now, self.seq, self.round_number, self.next_container = 0, 1, 1, 1
        self.asks: dict[Key, Demand] = {}
        self.containers: dict[int, Granted] = {}
        self.nodes: dict[int, tuple[int, ...]] = {}
        self.applications: set[int] = set()
        self.saved: dict[str, Any] = {} if saved is None else saved
        self.reasons: dict[Key, str] = {}  # why an ask waits, as last told
        self.reports: dict[str, dict[str, Any]] = {}  # by queue, what policies last told of it
        self.timers = Timers()  # by instance, when it wants to be called
        self.held = HeldRoom(BrokenPlanError)
        self.history: list[tuple[str, str]] = []  # batches and plans, as text
        self.outcomes: r.Outcomes | None = None
        self.in_round = False  # a plan is not carried out yet, or never was: a check failed
        self.waiting: list[r.AnyRecord] = self._opening("start")
        self._known: dict[tuple[str, int], r.AnyRecord] = {}  # what a snapshot repeats
        self._taken_at: dict[int, int] = {}  # by container, when its grace ends
        for number, amounts in enumerate(nodes, 1):
            self.add_node(number, *amounts)

    def _opening(self, reason: str) -> list[r.AnyRecord]:
        setup = r.Setup(self.now, 1, self.compiled)
        return [r.Snapshot(self.now, reason), setup, r.SavedState(self.now, dict(self.saved))]

    # What happens to it

    def add_node(
        self, number: int, *amounts: int, rack: str = "/r", label: str = "", host: str = "",
        shared: bool = False,
    ) -> None:  # fmt: skip
        """A node joins: n<number>, unless ``host`` names it, with these amounts of each type.
        ``shared``: the partition of its label lends idle room.
        """
        self.nodes[number] = amounts
        name = host or f"n{number}"
        added = r.NodeAdded(self.now, number, f"{name}:1", rack, amounts, label, name, shared)
        self._note("node", number, added)

    def relabel_node(self, number: int, label: str, shared: bool = False) -> None:
        """A node comes to another partition; what runs on it stays."""
        known: Any = self._known["node", number]
        self._known["node", number] = msgspec.structs.replace(known, label=label, shared=shared)
        self.tell(r.NodeRelabelled(self.now, number, label, shared))

    def lose_node(self, number: int) -> None:
        """A node is lost with its containers."""
        for granted in [g for g in self.containers.values() if g.node == number]:
            self.complete(granted.number, "lost")
        del self.nodes[number], self._known["node", number]
        self.tell(r.NodeRemoved(self.now, number, "lost"))

    def add_app(
        self, number: int, queue: int | str = 1, user: str = "u", priority: int = 0, **facts: Any
    ) -> None:
        """Application <number>, with attempt <number>, comes to a leaf queue, named by its path or
        number. ``facts``: ``id``, ``name``, ``submitted_ms`` (default: now), ``tags``, ``hints``.
        """
        if isinstance(queue, str):
            queue = [spec["path"] for spec in self.compiled["queues"]].index(queue)
        self.applications.add(number)
        id_ = facts.get("id", f"application_{EPOCH}_{number:04d}")
        added = r.ApplicationAdded(
            self.now, number, id_, queue, user, facts.get("name", f"app{number}"), "T",
            facts.get("tags", []), priority, facts.get("submitted_ms", self.now),
            facts.get("hints", {}),
        )  # fmt: skip
        self._note("application", number, added)
        self.tell(r.AttemptAdded(self.now, number, number, 1, True))
        self.tell(r.AttemptRegistered(self.now, number))

    def end_app(self, number: int) -> None:
        """An application ends, and with it all it has and asks for."""
        for granted in [g for g in self.containers.values() if g.attempt == number]:
            self.complete(granted.number, "killed")
        for key in [key for key in self.asks if key[0] == number]:
            del self.asks[key]
        self.applications.discard(number)
        del self._known["application", number]
        self._known.pop(("blacklist", number), None)
        self.tell(r.AttemptRemoved(self.now, number, "FINISHED"))
        self.tell(r.ApplicationRemoved(self.now, number, "FINISHED"))

    def ask(
        self, app: int, count: int, size: tuple[int, ...] = (1024, 1), priority: int = 20,
        **keys: Any,
    ) -> None:  # fmt: skip
        """From now on the application asks for ``count`` containers of ``size`` under a priority.

        ``keys``: ``request_id``, ``hosts`` and ``racks`` (name: count), ``relax`` (False: only
        there), ``strict_racks`` (only the hosts of these), ``label``, ``is_am``.
        """
        key = (app, priority, keys.get("request_id", 0))
        record = r.AskChanged(
            self.now, *key, keys.get("is_am", False), size, count, dict(keys.get("hosts", {})),
            dict(keys.get("racks", {})), keys.get("relax", True), keys.get("label", ""),
            list(keys.get("strict_racks", ())),
        )  # fmt: skip
        rows = {"hosts": dict(record.hosts), "racks": dict(record.racks)}
        self.asks[key] = Demand(count, msgspec.structs.replace(record, **rows))
        if count == 0:
            del self.asks[key]
        self.tell(record)

    def blacklist(self, app: int, *names: str) -> None:
        """The application will have none of these hosts and racks."""
        self._note("blacklist", app, r.Blacklist(self.now, app, sorted(names)))

    def complete(self, container: int, kind: str = "completed") -> None:
        """A container ends."""
        del self.containers[container]
        self._taken_at.pop(container, None)
        self.tell(r.ContainerCompleted(self.now, container, kind, 0))

    def heartbeat(self) -> None:
        """Every node sends its heartbeat, if a policy of the set-up needs them."""
        if "heartbeats" in self.compiled["needs"]:
            for number in self.nodes:
                self.tell(r.NodeHeartbeat(self.now, number))

    def snapshot(self, reason: str = "test") -> None:
        """The engine sends its whole state afresh: the mirror and every memory are rebuilt."""
        self.outcomes, self.timers = None, Timers()
        self.held.may_differ = bool(self.held.rows)
        self.waiting = self._opening(reason)
        self.waiting += [fact for (kind, _), fact in self._known.items() if kind == "node"]
        for number in sorted(self.applications):
            self.tell(self._known["application", number])
            self.tell(r.AttemptAdded(self.now, number, number, 1, True))
            self.tell(r.AttemptRegistered(self.now, number))
            if ("blacklist", number) in self._known:
                self.tell(self._known["blacklist", number])
        for demand in self.asks.values():
            self.tell(msgspec.structs.replace(demand.record, count=demand.count))
        for g in self.containers.values():
            facts = (g.number, g.attempt, g.number, g.node, g.size, *g.ask[1:])
            self.tell(r.ContainerAdded(self.now, *facts, g.is_am, "running", "policy"))

    def place(self, node: int) -> tuple[str, str, str]:
        """Host, rack and label of a node."""
        added: Any = self._known["node", node]
        return added.name, added.rack, added.label

    def tell(self, record: r.AnyRecord) -> None:
        """A record for the next batch."""
        self.waiting.append(record)

    def _note(self, kind: str, number: int, record: r.AnyRecord) -> None:
        self._known[kind, number] = record
        self.tell(record)

    # Rounds

    def round(self, advance_ms: int = 10, late: bool = False) -> list[Granted]:
        """One batch, one plan, carried out; what was granted, in order.

        ``late``: the plan comes too late and is refused whole. Raises BrokenPlanError, and
        PolicyRaisedError unless the cluster is ``tolerant``.
        """
        plan = self.exchange(advance_ms)
        assert plan.resync is None, plan.resync
        if plan.faults and not self.tolerant:
            _, fault, trace = plan.faults[0]
            raise PolicyRaisedError(fault, trace)
        return self.commit(plan, late)

    def exchange(self, advance_ms: int = 10) -> r.PlanReply:
        """Send what waits, outcomes first, and read the plan."""
        self.now, self.in_round = self.now + advance_ms, True
        self._what_is_due()
        records = [*self.waiting, *self.held.records(self)]
        records[:0] = [] if self.outcomes is None else [self.outcomes]
        self.waiting, self.outcomes = [], None
        pending = sum(demand.count for demand in self.asks.values())
        check = r.Check(
            len(self.nodes), len(self.applications), len(self.containers), pending, self._free()
        )
        text = r.write(r.Batch(self.round_number, self.seq, self.now, check, records))
        self.seq += len(records)
        reply_text = self.session.decide(text)
        self.history.append((text, reply_text))
        plan = r.read_reply(reply_text)
        assert isinstance(plan, r.PlanReply)
        self.saved.update(plan.saved)
        self.reports.update({path: values_of(report) for path, report in plan.reports.items()})
        self.reasons |= {(*key,): reason for *key, reason in plan.waits}  # type: ignore[misc]
        self.reasons = {key: why for key, why in self.reasons.items() if key in self.asks}
        return plan

    def _free(self) -> tuple[int, ...]:
        held = [g.size for g in self.containers.values()]
        sums = [tuple(map(sum, zip(*rows, strict=True))) for rows in (self.nodes.values(), held)]
        width = len(self.session.mirror.types)
        has, used = (row or (0,) * width for row in sums)
        return tuple(h - u for h, u in zip(has, used, strict=True))

    def _what_is_due(self) -> None:
        for instance in self.timers.ring(self.now):
            self.tell(r.TimerFired(self.now, instance))
        for number, at_ms in list(self._taken_at.items()):
            if at_ms <= self.now:
                self.complete(number, "preempted")

    def commit(self, plan: r.PlanReply, late: bool = False) -> list[Granted]:
        """Carry a plan out under the cluster's own checks; the outcomes lead the next batch."""
        granted: list[Granted] = []
        refusals: list[tuple[int, int, str]] = []
        first = self.next_container
        for index, decision in enumerate(plan.decisions):
            reason = "LATE" if late else self.refuse(decision)
            count = decision.count if isinstance(decision, r.Allocate) else 1
            if reason is not None:
                refusals.append((index, count, reason))
                self.held.refused(decision)
            elif isinstance(decision, r.Allocate):
                granted += [self._grant(decision) for _ in range(count)]
            elif isinstance(decision, r.Keep | r.Release):
                self.held.decide(decision, self)
            else:
                self._taken_at[decision.container] = self.now + decision.grace_ms
        self._check_limits(granted)
        for instance, at_ms in plan.timers:
            self.timers.put(instance, at_ms)
        numbers = [g.number for g in granted]
        self.outcomes = r.Outcomes(self.now, plan.round, first, numbers, refusals)
        self.round_number, self.in_round = self.round_number + 1, False
        return granted

    def _grant(self, decision: r.Allocate) -> Granted:
        key = (decision.attempt, decision.priority, decision.allocation_request_id)
        demand = self.asks.get(key)
        if demand is None:
            raise BrokenPlanError("ask", f"{decision} grants what nobody asks for")
        host, rack, _ = self.place(decision.node)
        if not self.session.mirror.ledger.nodes[decision.node].takes(demand.record.label):
            raise BrokenPlanError("label", f"{decision} is of another label than n{decision.node}")
        demand.take(host, rack)
        if demand.count == 0:
            del self.asks[key]
        granted = Granted(
            self.next_container, decision.attempt, decision.node, demand.record.size, key,
            decision.instance, demand.record.is_am,
        )  # fmt: skip
        self.next_container += 1
        self.containers[granted.number] = granted
        self.assert_fits(decision.node)
        self.held.granted(granted, self)
        return granted

    def assert_fits(self, node: int) -> None:
        """Raise BrokenPlanError if a node holds more than it has."""
        held = [g.size for g in self.containers.values() if g.node == node]
        used = tuple(map(sum, zip(*held, strict=True)))
        if used and not fits(used, self.nodes[node]):
            raise BrokenPlanError("over-allocates", f"n{node} holds {used} of {self.nodes[node]}")

    def _check_limits(self, granted: list[Granted]) -> None:
        """No queue in which something was granted is above its maximum, no user above the limit."""
        ledger = self.session.mirror.ledger
        for g in granted:
            app = ledger.applications[g.attempt]
            bounds = [(f"queue {q.path}", q.used, q.maximum) for q in app.queue.capped]
            user = f"user {app.user} of queue {app.queue.path}"
            bounds.append((user, app.queue.user_used.get(app.user, []), app.queue.user_limit))
            for who, used, most in bounds:
                if most is not None and any(
                    wanted and u > m for wanted, u, m in zip(g.size, used, most, strict=True)
                ):
                    raise BrokenPlanError("over-allocates", f"{who} holds {used} of {list(most)}")

    def memory(self, path: str = "root.default") -> Any:
        """What the policy at a queue keeps from call to call."""
        assert self.session.tree is not None, "no round yet"
        instances = self.session.tree.instances.values()
        return next(i.memory for i in instances if i.queue.path == path)
