"""Policies for tests. Each of them breaks one clause of the contract and keeps the clauses that are
checked before it.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from loomcard import ClusterView, Plan, fill
from loomcard.model.events import AskChanged


@dataclass(frozen=True)
class Working:
    """Keeps the whole contract."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: member.submitted_ms)


@dataclass(frozen=True)
class NeverHolds:
    """Serves what fits, and never reserves room."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: member.submitted_ms, reserve_after_ms=0)


@dataclass(frozen=True)
class PacksOneNode:
    """Places every ask on the first node, without a check that it fits."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in view.asks if view.nodes else []:
            for _ in range(ask.count):
                plan.allocate_checked(ask, view.nodes[0])
        return plan


@dataclass(frozen=True)
class OverAllocates:
    """Places every ask on the first node through ``allocate``, which refuses what does not fit."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in view.asks if view.nodes else []:
            if ask.relax_locality and not ask.attempt.blacklist:
                plan.allocate(ask, view.nodes[0], ask.count)
        return plan


@dataclass(frozen=True)
class ChangesWhatItSees:
    """Empties a list that belongs to the engine."""

    def decide(self, view: ClusterView) -> Plan:
        plan = fill(Plan(view), order=lambda member: member.submitted_ms)
        for app in view.applications:
            app.containers.clear()
            app.attempts.clear()
        return plan


@dataclass(frozen=True)
class OverAllocations:
    """Allocates one container more than each ask asks for."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending():
            for node in list(plan.nodes_fitting(ask))[:1]:
                for _ in range(ask.count + 1):
                    plan.allocate_checked(ask, node)
        return plan


@dataclass(frozen=True)
class ExpectsOneAsk:
    """Assumes that an application has one attempt with one ask."""

    def decide(self, view: ClusterView) -> Plan:
        for app in view.applications:
            assert len(app.asks) < 2, "one ask, please"
        return fill(Plan(view), order=lambda member: member.submitted_ms)


@dataclass(frozen=True)
class DividesByCapacity:
    """Divides by the cluster's memory, which is 0 when there are no nodes."""

    def decide(self, view: ClusterView) -> Plan:
        used = sum(app.used[0] for app in view.applications)
        busy = used / view.cluster_capacity[0]
        return fill(Plan(view), order=lambda member: member.submitted_ms * (1 + busy))


@dataclass(frozen=True)
class UsesUnseededRandom:
    """Draws random values without a seed."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda _: random.random(), live=True)  # noqa: S311


@dataclass(frozen=True)
class IteratesASet:
    """Serves members in the iteration order of a set of their names."""

    def decide(self, view: ClusterView) -> Plan:
        names = list({repr(member.number) for member in view.members})
        return fill(Plan(view), order=lambda member: names.index(repr(member.number)), live=True)


@dataclass(frozen=True)
class CountsOutsideMemory:
    """Decides by a count that is not part of its memory, and so is not in the journal."""

    calls: Any = field(default_factory=lambda: itertools.count(), init=False, repr=False)

    def decide(self, view: ClusterView) -> Plan:
        sign = 1 if next(self.calls) % 3 else -1
        return fill(Plan(view), order=lambda member: sign * member.submitted_ms, live=True)


@dataclass(frozen=True)
class FirstIntroduced:
    """Orders by the number on the wire, which is the order in which members were introduced."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: member.number)


@dataclass(frozen=True)
class AsksOnce:
    """Assumes that the engine carried out everything that it allocated."""

    def initial(self, _view: ClusterView, _saved: Any) -> dict[Any, int]:
        return {}

    def decide(self, view: ClusterView, memory: dict[Any, int]) -> tuple[Plan, dict[Any, int]]:
        plan = Plan(view)
        for change in view.changes_of(AskChanged):
            memory[change.ask.key] = change.new_count
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while memory.get(ask.key, 0) and (node := plan.place(ask)) and not plan.limited(ask):
                plan.allocate_checked(ask, node)
                memory[ask.key] -= 1
        return plan, memory


@dataclass(frozen=True)
class TracksAskChanges:
    """Knows only the asks whose changes it has seen. After a late plan it forgets the earlier
    ones.
    """

    def initial(self, _view: ClusterView, _saved: Any) -> list[Any]:
        return []

    def decide(self, view: ClusterView, memory: list[Any]) -> tuple[Plan, list[Any]]:
        plan = Plan(view)
        memory += [change.ask.key for change in view.changes_of(AskChanged)]
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while ask.key in memory and (node := plan.place(ask)) and not plan.limited(ask):
                if not ask.count:
                    break
                plan.allocate_checked(ask, node)
        return plan, memory


@dataclass(frozen=True)
class KeepsObjects:
    """Keeps the application objects in its memory, instead of their numbers."""

    def initial(self, _view: ClusterView, _saved: Any) -> list[Any]:
        return []

    def decide(self, view: ClusterView, _memory: list[Any]) -> tuple[Plan, list[Any]]:
        plan = fill(Plan(view), order=lambda member: member.submitted_ms)
        return plan, list(view.applications)


@dataclass(frozen=True)
class LeavesRoomFree:
    """Allocates no container of 2 GB or more, and none to an application that has two."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while ask.count and len(ask.application.containers) < 2 and not plan.limited(ask):
                node = plan.place(ask)
                if node is None or ask.size.memory_mb >= 2048:
                    break
                plan.allocate_checked(ask, node)
        return plan


@dataclass(frozen=True)
class WakesForever:
    """Asks to be called again a second later as long as there are asks."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        if view.asks:
            plan.wake_at(view.now_ms + 1000)
        return plan


@dataclass(frozen=True)
class DividesByEachType:
    """Divides by the cluster's amount of each resource type, which is 0 for a type that no node
    has.
    """

    def decide(self, view: ClusterView) -> Plan:
        whole = view.cluster_capacity

        def order(member):
            if not any(whole):
                return 0.0
            return max(used / all_ for used, all_ in zip(member.used, whole, strict=True))

        return fill(Plan(view), order=order)


@dataclass(frozen=True)
class IgnoresLargeTasks:
    """Never serves a task of more than 4 GB."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while ask.count and ask.size.memory_mb <= 4096 and not plan.limited(ask):
                node = plan.place(ask)
                if node is None:
                    break
                plan.allocate_checked(ask, node)
        return plan


@dataclass(frozen=True)
class StopsAtHalf:
    """Leaves half of the cluster free for ever."""

    def decide(self, view: ClusterView) -> Plan:
        plan, half = Plan(view), view.cluster_capacity.memory_mb / 2
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while ask.count and view.queue.used[0] < half and not plan.limited(ask):
                node = plan.place(ask)
                if node is None:
                    break
                plan.allocate_checked(ask, node)
        return plan


@dataclass(frozen=True)
class LastComeFirst:
    """Serves the youngest application first."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: -member.submitted_ms)


@dataclass(frozen=True)
class ForgetsQueues:
    """Serves the oldest application of all queues first, and ignores what the queues are
    promised.
    """

    walks_tree = True

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending(order=lambda ask: ask.application.submitted_ms):
            while ask.count and not plan.limited(ask):
                node = plan.place(ask)
                if node is None:
                    break
                plan.allocate_checked(ask, node)
        return plan
