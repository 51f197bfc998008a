"""A tiny engine for tests: it speaks the wire to a Session as the shim does, with books of its own
to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.model import records as r
from loomcard.policies.session import Session

TYPES = ["memory_mb", "vcores"]
PPM = 1_000_000


def queue(path: str, policy: str | None, **keys: Any) -> dict[str, Any]:
    """One queue of a compiled set-up, with every default; percentages as plain ppm."""
    spec: dict[str, Any] = {
        "administer": ["*"], "am_share_ppm": PPM, "guaranteed": {"ppm": 0}, "leaf": True,
        "maximum": {"ppm": PPM}, "options": {}, "parent": None, "path": path, "policy": policy,
        "policy_named": True, "submit": ["*"], "user_limit_ppm": PPM, "walked": False,
        "weight": 1.0,
    }  # fmt: skip
    return spec | keys


def setup(*queues: dict[str, Any]) -> dict[str, Any]:
    """A compiled set-up of these queues, parents first; parent and leaf follow from the paths."""
    paths = [q["path"] for q in queues]
    for q in queues:
        parent = q["path"].rpartition(".")[0]
        q["parent"] = paths.index(parent) if parent else None
        q["leaf"] = not any(p.startswith(q["path"] + ".") for p in paths)
        if not parent:
            q["guaranteed"] = {"ppm": PPM}
    return {"hash": "h", "needs": [], "queues": list(queues), "schema": 1, "source": "test"}


def flat(policy: str = "fifo", **options: Any) -> dict[str, Any]:
    """One leaf queue, root.default, under a policy."""
    return setup(queue("root", "fifo"), queue("root.default", policy, options=options))


@dataclass
class Granted:
    """A container as the engine's books know it."""

    number: int
    attempt: int
    node: int
    size: tuple[int, ...]
    ask: tuple[int, int, int]
    instance: int


@dataclass
class Engine:
    """Drives a Session round by round. ``refuse(decision)`` may name a reason code."""

    compiled: dict[str, Any]
    journal: Path | None = None
    segment_rounds: int = 1000
    round_containers: int | None = None
    refuse: Callable[[r.Decision], str | None] = lambda _: None
    asks: dict[tuple[int, int, int], list[Any]] = field(default_factory=dict)
    containers: dict[int, Granted] = field(default_factory=dict)
    nodes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    applications: set[int] = field(default_factory=set)
    history: list[tuple[str, str]] = field(default_factory=list)
    saved: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings: dict[str, Any] = {
            "journal_segment_rounds": self.segment_rounds,
            "saved_every_ms": 1000,
        }
        if self.round_containers is not None:
            settings["round_containers"] = self.round_containers
        hello = r.Hello(1, 1700000000000, "test", "3.4.2", TYPES, [], settings)
        self.session = Session(hello, self.journal)
        self.now, self.seq, self.round_number, self.next_container = 0, 1, 1, 1
        self.outcomes: r.Outcomes | None = None
        self.waiting: list[r.AnyRecord] = [
            r.Snapshot(0, "start"),
            r.Setup(0, 1, self.compiled),
            r.SavedState(0, self.saved),
        ]

    def add_node(
        self, number: int, memory_mb: int, vcores: int, rack: str = "/r", label: str = ""
    ) -> None:
        """A node n<number> joins."""
        self.nodes[number] = (memory_mb, vcores)
        self.tell(r.NodeAdded(self.now, number, f"n{number}:1", rack, (memory_mb, vcores), label))

    def add_app(
        self, number: int, leaf: int = 1, user: str = "u", priority: int = 0,
        hints: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Application <number>, with attempt <number>, in the queue of that number."""
        self.applications.add(number)
        name = f"application_1700000000000_{number:04d}"
        self.tell(
            r.ApplicationAdded(
                self.now,
                number,
                name,
                leaf,
                user,
                f"app{number}",
                "T",
                [],
                priority,
                self.now,
                hints or {},
            )
        )
        self.tell(r.AttemptAdded(self.now, number, number, 1, True))
        self.tell(r.AttemptRegistered(self.now, number))

    def ask(
        self,
        app: int,
        count: int,
        size: tuple[int, int] = (1024, 1),
        priority: int = 20,
        **keys: Any,
    ) -> None:
        """An absolute ask; keys: hosts, racks, relax, label, is_am."""
        key = (app, priority, 0)
        self.asks[key] = [count, size]
        if count == 0:
            del self.asks[key]
        self.tell(
            r.AskChanged(
                self.now, *key, keys.get("is_am", False), size, count, keys.get("hosts", {}),
                keys.get("racks", {}), keys.get("relax", True), keys.get("label", ""),
            )
        )  # fmt: skip

    def complete(self, container: int, kind: str = "completed") -> None:
        """A container ends."""
        del self.containers[container]
        self.tell(r.ContainerCompleted(self.now, container, kind, 0))

    def tell(self, record: r.AnyRecord) -> None:
        """A record for the next batch."""
        self.waiting.append(record)

    def round(self, advance_ms: int = 10, late: bool = False) -> list[Granted]:
        """One batch, one plan, carried out; what was granted, in order."""
        plan = self.exchange(advance_ms)
        assert plan.resync is None, plan.resync
        return self.commit(plan, late)

    def exchange(self, advance_ms: int = 10) -> r.PlanReply:
        """Send what waits, outcomes first, and read the plan."""
        self.now += advance_ms
        leading = [self.outcomes] if self.outcomes is not None else []
        records = [*leading, *self.waiting]
        self.waiting, self.outcomes = [], None
        pending = sum(count for count, _ in self.asks.values())
        check = r.Check(len(self.nodes), len(self.applications), len(self.containers), pending)
        text = r.write(r.Batch(self.round_number, self.seq, self.now, check, records))
        self.seq += len(records)
        reply_text = self.session.decide(text)
        self.history.append((text, reply_text))
        plan = r.read_reply(reply_text)
        assert isinstance(plan, r.PlanReply)
        self.saved.update(plan.saved)
        return plan

    def commit(self, plan: r.PlanReply, late: bool = False) -> list[Granted]:
        """Carry a plan out under the engine's own checks; the outcomes lead the next batch."""
        granted: list[Granted] = []
        refusals: list[tuple[int, int, str]] = []
        first = self.next_container
        for index, decision in enumerate(plan.decisions):
            reason = "LATE" if late else self.refuse(decision)
            count = decision.count if isinstance(decision, r.Allocate) else 1
            if reason is not None:
                refusals.append((index, count, reason))
            elif isinstance(decision, r.Allocate):
                granted += [self._grant(decision) for _ in range(count)]
        numbers = [g.number for g in granted]
        self.outcomes = r.Outcomes(self.now, plan.round, first, numbers, refusals)
        self.round_number += 1
        return granted

    def _grant(self, decision: r.Allocate) -> Granted:
        key = (decision.attempt, decision.priority, decision.allocation_request_id)
        ask = self.asks[key]
        assert ask[0] > 0, f"{decision} grants what nobody asks for"
        ask[0] -= 1
        if not ask[0]:
            del self.asks[key]
        granted = Granted(
            self.next_container,
            decision.attempt,
            decision.node,
            tuple(ask[1]),
            key,
            decision.instance,
        )
        self.next_container += 1
        self.containers[granted.number] = granted
        self.assert_fits(decision.node)
        return granted

    def assert_fits(self, node: int) -> None:
        """No node holds more than it has."""
        held = [g.size for g in self.containers.values() if g.node == node]
        for i, whole in enumerate(self.nodes[node]):
            assert sum(size[i] for size in held) <= whole, f"node {node} holds too much"
