"""The whole state of a mirror as data for the wire and back; a journal segment begins with it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from loomcard.api.pending_plan import PendingAllocation, PendingPreemption, Step, as_decision
from loomcard.engine.carry_out import repeat
from loomcard.engine.mirror import Mirror
from loomcard.model.events import Changes
from loomcard.model.objects import Application, Ask, AskKey, Attempt, Container
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.wire import messages as r
from loomcard.wire.decisions import read_decisions, write_decisions
from loomcard.wire.plain_data import decode, encode


def dump(mirror: Mirror) -> dict[str, Any]:
    """Return the state before the plan in flight, and that plan; the mirror does not change."""
    state, before = mirror.state, _Before(mirror.in_flight)
    records = [*_records(state, before), *map(_container, state.containers.values())]
    return {
        "sequence": mirror.sequence,
        "now_ms": mirror.now_ms,
        "version": mirror.version,
        "config": mirror.config,
        "saved": mirror.saved,
        "records": records,
        "containers": [
            [c.number, c.started_ms, before.preempting(c), c.instance, c.origin, encode(c.tag)]
            for c in state.containers.values()
        ],
        "reported": [
            [*ask.key, ask.reported_reason]
            for attempt in state.attempts.values()
            for ask in attempt.ordered
            if ask.reported_reason
        ],
        "rules": state.rule_waits.rows(),
        "since": [
            [*ask.key, ask.since_ms]
            for attempt in state.attempts.values()
            for ask in attempt.ordered
        ],
        "lines": [[*shape, wait.served_ms] for shape, wait in state.shape_waits.of.items()],
        "taken_ms": state.shape_waits.taken_ms,
        "ran": [[a.number, *a.ran] for a in state.applications.values()],
        "ran_all": [state.shape_waits.ran, state.shape_waits.masters_ran],
        "reservations": mirror.reserved,
        "plan": write_decisions(
            [(as_decision(step), getattr(step, "tag", None)) for step in mirror.in_flight]
        ),
        "plan_round": mirror.in_flight_round,
        # Left out where they are, as in journals, which are themselves read.
        **({} if mirror.reports_are_read else {"reports_are_read": False}),
    }


class _Before:
    """The asks and containers before the plan in flight."""

    def __init__(self, steps: list[Step]) -> None:
        self._allocated: dict[Ask, list[Container]] = {}
        self._taken: set[Container] = set()
        for step in steps:
            if isinstance(step, PendingAllocation):
                self._allocated.setdefault(step.ask, []).extend(step.containers)
            elif isinstance(step, PendingPreemption):
                self._taken.add(step.container)

    def preempting(self, container: Container) -> int | None:
        """Since when it was being preempted."""
        return None if container in self._taken else container.preempting_since

    def asked(self, ask: Ask) -> tuple[int, dict[str, int], dict[str, int]]:
        """Its count, and its rows of hosts and racks."""
        count, hosts, racks = ask.count, dict(ask.hosts), dict(ask.racks)
        for container in self._allocated.get(ask, ()):
            node = container.node
            count += 1
            if container.host_row:
                hosts[node.host] = hosts.get(node.host, 0) + 1
            if container.rack_row:
                racks[node.rack] = racks.get(node.rack, 0) + 1
        return count, hosts, racks


def load(mirror: Mirror, dumped: dict[str, Any]) -> None:
    """Bring a new mirror into a dumped state; it then behaves like the dumped one."""
    records: list[r.AnyRecord] = [r.ConfigRecord(0, dumped["version"], dumped["config"])]
    records += msgspec.convert(dumped["records"], list[r.AnyRecord])
    state = mirror.state
    state.shape_waits.now_ms = dumped["now_ms"]
    mirror.absorb(records)
    for number, *extra in dumped["containers"]:
        c = state.containers[number]
        c.started_ms, c.preempting_since, c.instance, c.origin = extra[:4]
        c.tag = decode(extra[4])
    for *key, reason in dumped["reported"]:
        state.attempts[key[0]].asks[AskKey(*key)].reported_reason = reason
    _waiting(mirror, dumped)
    mirror.saved = dumped["saved"]
    mirror.reports_are_read = dumped.get("reports_are_read", True)
    mirror.sequence, mirror.now_ms = dumped["sequence"], dumped["now_ms"]
    plan = read_decisions(dumped["plan"])
    decisions, tags = [decision for decision, _ in plan], [tag for _, tag in plan]
    steps = repeat(state, decisions, mirror.now_ms, tags)
    mirror.carried_out(dumped["plan_round"], steps)
    mirror.changes = Changes()


def _waiting(mirror: Mirror, dumped: dict[str, Any]) -> None:
    """Restore since when asks wait, how long tasks ran and what is reserved; older journals do not
    have this.
    """
    state, waits = mirror.state, mirror.state.shape_waits
    state.rule_waits.restore([tuple(row) for row in dumped.get("rules", ())])
    for *key, since_ms in dumped.get("since", ()):
        state.attempts[key[0]].asks[AskKey(*key)].since_ms = since_ms
    for size, label, served_ms in dumped.get("lines", ()):
        waits.of[Resource(size), label].served_ms = served_ms
    waits.taken_ms = dumped.get("taken_ms") or [dumped.get("served_ms", -1)] * len(state.types)
    for number, *ran in dumped.get("ran", ()):
        state.applications[number].ran = ran
    waits.ran, waits.masters_ran = map(list, dumped.get("ran_all", ([0, 0], [0, 0])))
    mirror.reserved = [tuple(row) for row in dumped.get("reservations", ())]
    state.reservations.restore(mirror.reserved)


def live_records(state: ClusterState, now_ms: int) -> list[r.AnyRecord]:
    """Return the records that build a state without a plan in flight, as of ``now_ms``; its
    containers run from then on.
    """
    records = _records(state, _Before([]))
    records += [replace(_container(c), state="running") for c in state.containers.values()]
    return [replace(record, at_ms=now_ms) for record in records]


def _records(state: ClusterState, before: _Before) -> list[r.AnyRecord]:
    records: list[r.AnyRecord] = [
        r.NodeAddedRecord(0, n.number, n.id, n.rack, tuple(n.capacity), n.label, n.host, n.shared)
        for n in state.nodes.values()
    ]
    for app in state.applications.values():
        records.append(_application(app))
        for attempt in app.past_attempts.values():
            records += [_attempt(attempt), r.AttemptRemovedRecord(0, attempt.number, "")]
        for attempt in app.attempts.values():
            records += _attempt_with_asks(attempt, before)
    return records


def _application(app: Application) -> r.ApplicationAddedRecord:
    return r.ApplicationAddedRecord(
        0, app.number, app.id, app.queue.number, app.user, app.name, app.type, app.tags,
        app.priority, app.submitted_ms, app.hints,
    )  # fmt: skip


def _attempt(attempt: Attempt) -> r.AttemptAddedRecord:
    app = attempt.application
    return r.AttemptAddedRecord(0, attempt.number, app.number, attempt.ordinal, attempt.unmanaged)


def _attempt_with_asks(attempt: Attempt, before: _Before) -> list[r.AnyRecord]:
    records: list[r.AnyRecord] = [_attempt(attempt)]
    if attempt.registered:
        records.append(r.AttemptRegisteredRecord(0, attempt.number))
    records += [_ask(ask, before) for ask in attempt.ordered]
    if attempt.blacklist:
        records.append(r.BlacklistRecord(0, attempt.number, sorted(attempt.blacklist)))
    return records


def _ask(ask: Ask, before: _Before) -> r.AskChangedRecord:
    count, hosts, racks = before.asked(ask)
    return r.AskChangedRecord(
        0, *ask.key, ask.is_am, tuple(ask.size), count, hosts, racks, ask.relax_locality, ask.label,
        ask.strict_racks,
    )  # fmt: skip


def _container(c: Container) -> r.ContainerAddedRecord:
    return r.ContainerAddedRecord(
        c.allocated_ms, c.number, c.attempt.number, c.yarn_number, c.node.number, tuple(c.size),
        c.ask_key.priority, c.ask_key.allocation_request_id, c.is_am, "allocated", c.origin,
        label=c.label,
    )  # fmt: skip
