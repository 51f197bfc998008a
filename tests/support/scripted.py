"""Policies for tests, which do what their options say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from loomcard import ClusterView, Plan, Reason, Resource, fill, register, shown
from loomcard.model.events import NodeHeartbeat


@register("test-delay")
@dataclass(frozen=True)
class DelayScheduling:
    """Delay scheduling: an ask waits up to ``wait_ms`` for a local node, then takes any node."""

    wait_ms: int = 5_000

    def initial(self, _view: ClusterView, saved: Any) -> dict[Any, int]:
        return dict(saved or {})

    def decide(self, view: ClusterView, memory: dict[Any, int]) -> tuple[Plan, dict[Any, int]]:
        plan, waiting = Plan(view), {}
        for ask in plan.pending():
            since = memory.get(ask.key, view.now_ms)
            nodes = list(plan.nodes_fitting(ask))
            local = [n for n in nodes if n.host in ask.hosts]
            patient = bool(ask.hosts) and view.now_ms - since < self.wait_ms
            if local or (nodes and not patient):
                plan.allocate(ask, (local or nodes)[0])
            elif nodes:
                waiting[ask.key] = since
                plan.wake_at(since + self.wait_ms)
                plan.wait(ask, Reason.LOCALITY)
        return plan, waiting


@register("test-broken")
@dataclass(frozen=True)
class Broken:
    """Allocates what it can. It then raises if an application named ``when`` exists."""

    when: str = "app2"

    def decide(self, view: ClusterView) -> Plan:
        plan = fill(Plan(view), order=lambda app: app.number)
        if any(app.name == self.when for app in view.applications):
            raise RuntimeError("broken on purpose")
        return plan


class UnprintableError(Exception):
    """An error whose message cannot be read."""

    def __str__(self) -> str:
        raise RecursionError


class PlainBaseException(BaseException):
    """An exception that is neither an Exception nor a SystemExit."""


RAISES: dict[str, BaseException] = {
    "cancelled": asyncio.CancelledError("on purpose"),
    "generator": GeneratorExit("on purpose"),
    "base-exception": PlainBaseException("on purpose"),
    "unprintable": UnprintableError(),
    "long": ValueError("x" * 3_000_000),
    "surrogate": ValueError("cannot read \udcff.csv"),
}


@register("test-raises")
@dataclass(frozen=True)
class Raises:
    """Raises one of RAISES: in ``decide``, in ``save``, or in its constructor. The constructor
    raises only while ``cannot_build`` names the exception.
    """

    what: str = "base-exception"
    where: str = "decide"

    cannot_build: ClassVar[set[str]] = set()

    def __post_init__(self) -> None:
        if self.where == "build" and self.what in self.cannot_build:
            raise RAISES[self.what]

    def initial(self, view: ClusterView, saved: object) -> int:  # noqa: ARG002
        return 0

    def save(self, memory: int) -> int:
        if self.where == "save":
            raise RAISES[self.what]
        return memory

    def decide(self, view: ClusterView, memory: int) -> tuple[Plan, int]:
        if self.where == "decide":
            raise RAISES[self.what]
        return fill(Plan(view), order=lambda app: app.number), memory + 1


@register("test-counter")
@dataclass(frozen=True)
class Counter:
    """Counts its calls and remembers every change that it has seen; saves the count."""

    def initial(self, _view: ClusterView, saved: Any) -> dict[str, Any]:
        return {"calls": saved or 0, "seen": []}

    def decide(self, view: ClusterView, memory: dict[str, Any]) -> tuple[Plan, dict[str, Any]]:
        memory["calls"] += 1
        memory["seen"] += [type(c).__name__ for c in view.changes]
        plan = fill(Plan(view), order=lambda app: app.number)
        plan.report(view.queue, {"calls": memory["calls"]})
        return plan, memory

    def save(self, memory: dict[str, Any]) -> int:
        return memory["calls"]


@register("test-later-turns")
@dataclass(frozen=True)
class ServesLaterTurns:
    """Counts its calls. With ``goes_on`` the later turns of a round do not call it again; with
    ``broken`` those turns raise.
    """

    goes_on: bool = True
    broken: bool = False

    def initial(self, _view: ClusterView, _saved: Any) -> dict[str, int]:
        return {"calls": 0}

    def decide(self, view: ClusterView, memory: dict[str, int]) -> tuple[Plan, dict[str, int]]:
        memory["calls"] += 1
        plan = fill(Plan(view), order=lambda app: app.number, goes_on=self.goes_on)
        if self.broken:
            plan.go_on = partial(self._raise, plan)
        return plan, memory

    @staticmethod
    def _raise(plan: Plan) -> None:
        raise RuntimeError(f"broken on purpose in {plan.view.queue.path}")


@register("test-greedy")
@dataclass(frozen=True)
class Greedy:
    """Allocates the first ask on the first node, even if that is forbidden."""

    count: int = 100

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in view.asks[:1]:
            plan.allocate(ask, view.nodes[0], self.count)
        return plan


@register("test-turns")
@dataclass(frozen=True)
class Turns:
    """Gives each child one turn and reports how it stopped."""

    count: int = 1
    memory_mb: int | None = None

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        limit = None if self.memory_mb is None else Resource((self.memory_mb, 1000))
        for child in view.queue.children:
            taken = plan.turn(child, self.count, limit)
            plan.report(child, {"count": taken.count, "stopped": taken.stopped})
        return plan


@register("test-waits-for-others")
@dataclass(frozen=True)
class WaitsForOthers:
    """Allocates nothing, and asks to be called when other queues change."""

    asks_again = True

    def decide(self, view: ClusterView) -> Plan:
        return Plan(view)


@register("test-serves-late")
@dataclass(frozen=True)
class ServesLate:
    """Allocates nothing before ``at_ms``, though its timer is a minute away; it asks again."""

    at_ms: int = 1000

    asks_again = True

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        if view.now_ms >= self.at_ms:
            return fill(plan, order=lambda app: app.submitted_ms)
        plan.wake_at(view.now_ms + 60_000)
        return plan


@dataclass(frozen=True, slots=True)
class Held:
    """A member of a queue, in a report."""

    id: str = shown("application")
    containers: int = shown("holds", unit="containers")


@dataclass(frozen=True, slots=True)
class ReportedState:
    """The state that ``test-reporter`` reports."""

    used: float = shown("used", unit="share", panel="use")
    waiting: int = shown("waiting", unit="containers", panel="waiting")
    mood: str | None = shown("mood")
    members: tuple[Held, ...] = shown("members")


@register("test-reporter")
@dataclass(frozen=True)
class ReportsState:
    """Serves first in, first out, and reports its state when a report is due. ``mood`` may be
    something that is not a text.
    """

    mood: Any = None

    def decide(self, view: ClusterView) -> Plan:
        plan = fill(Plan(view), order=lambda app: app.number)
        if plan.report_due:
            plan.report(
                view.queue,
                ReportedState(
                    used=view.queue.used[0] / view.cluster_capacity[0],
                    waiting=sum(ask.count for ask in view.asks),
                    mood=self.mood,
                    members=tuple(Held(a.name, len(a.containers)) for a in view.applications),
                ),
            )
        return plan


@register("test-unsaved")
@dataclass(frozen=True)
class Unsaved:
    """Decides well, but returns from ``save`` what cannot be saved."""

    def initial(self, _view: ClusterView, _saved: Any) -> int:
        return 0

    def decide(self, view: ClusterView, memory: int) -> tuple[Plan, int]:
        return fill(Plan(view), order=lambda app: app.number), memory

    def save(self, _memory: int) -> object:
        return object()


@register("test-heartbeats")
@dataclass(frozen=True)
class OnHeartbeats:
    """Allocates one container at each heartbeat, on the node that sent it."""

    needs = frozenset({"heartbeats"})

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for beat in view.changes_of(NodeHeartbeat):
            for ask in plan.pending()[:1]:
                if plan.why_not(ask, beat.node) is None:
                    plan.allocate(ask, beat.node)
        return plan
