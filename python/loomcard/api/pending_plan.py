"""The decisions of one round, from all instances, in the order of their calls. They take effect on
the state at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loomcard.model.fit_index import Shape
from loomcard.model.objects import Ask, Container, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import fits
from loomcard.model.state import ClusterState
from loomcard.wire.messages import (
    Allocate,
    Amounts,
    Decision,
    PlanReply,
    Preempt,
    Reserve,
    Unreserve,
)

AT_ONCE_MS = 1
"""A ``reserve_after_ms``: room is reserved for the first in line as soon as it fits nowhere."""


RULE_MS = 60_000
"""For how many ms at a time the shared loops and Loomcard's policies say that a rule of the policy
keeps an ask waiting.
"""


class PendingAllocation:
    """One Allocate in the making: containers of one ask on one node, for one instance."""

    __slots__ = ("ask", "containers", "instance", "node", "tag")

    def __init__(self, ask: Ask, node: Node, instance: int, tag: Any) -> None:
        self.ask = ask
        self.node = node
        self.instance = instance
        self.tag = tag
        self.containers: list[Container] = []


class PendingPreemption:
    """One Preempt in the making."""

    __slots__ = ("container", "grace_ms", "instance", "reason")

    def __init__(self, container: Container, grace_ms: int, reason: str, instance: int) -> None:
        self.container = container
        self.grace_ms = grace_ms
        self.reason = reason
        self.instance = instance


class PendingReservation:
    """One reservation in the making, or the end of one (``node`` None)."""

    __slots__ = ("ask", "instance", "node", "until_ms")

    def __init__(self, ask: Ask, node: Node | None, until_ms: int | None, instance: int) -> None:
        self.ask = ask
        self.node = node
        self.until_ms = until_ms
        self.instance = instance


Step = PendingAllocation | PendingPreemption | PendingReservation


class PendingPlan:
    """What the instances of a round have decided so far."""

    def __init__(self, state: ClusterState, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.steps: list[Step] = []
        self.wakes: dict[int, int | None] = {}
        self.waits: dict[Ask, str] = {}
        self.queue_waits: dict[Queue, str] = {}
        self.reports: dict[str, tuple[int, dict[str, Any]]] = {}  # by queue: instance, report
        self.reporters: set[int] = set()  # instances
        self.headroom: dict[int, Amounts] = {}
        self.faults: list[tuple[int, str, str]] = []
        self.exhausted: set[Shape] = set()  # what was found to fit nowhere any more
        self.cuts: list[int] = []  # after how many questions a turn's time had ended
        self.reasons_reported = False  # each ask that waits had its reason before this stage
        self.wants: dict[Ask, int] = {}  # asks that want a reservation, and for which instance
        self._reservations = state.reservations.rows()  # before the round
        self._passed: dict[int, set[Shape]] = {}

    def allocate(self, ask: Ask, node: Node, instance: int, tag: Any) -> None:
        """Allocate one container; a run of equal allocations becomes one decision."""
        container = self.state.allocate(ask, node, self.now_ms)
        container.instance = instance
        container.tag = tag
        if self.steps:
            last = self.steps[-1]
            if (
                type(last) is PendingAllocation
                and last.ask is ask
                and last.node is node
                and last.instance == instance
                and last.tag == tag
            ):
                last.containers.append(container)
                return
        step = PendingAllocation(ask, node, instance, tag)
        step.containers.append(container)
        self.steps.append(step)

    def preempt(self, container: Container, grace_ms: int, reason: str, instance: int) -> None:
        """Take a running container back."""
        container.preempting_since = self.now_ms
        self.steps.append(PendingPreemption(container, grace_ms, reason, instance))

    def reserve(self, ask: Ask, node: Node, until_ms: int | None, instance: int) -> None:
        """Reserve room on a node for an ask; the caller has checked that it is allowed."""
        self.state.reservations.put(ask, node, self.now_ms, until_ms)
        self.steps.append(PendingReservation(ask, node, until_ms, instance))

    def unreserve(self, ask: Ask, instance: int) -> None:
        """End the reservations of an ask, on all nodes."""
        self.state.reservations.end_all(ask)
        self.steps.append(PendingReservation(ask, None, None, instance))

    def passed_over(self, after_ms: int) -> set[Shape]:
        """The shapes that got no container for ``after_ms`` while other shapes got all that they
        lack on some node. With ``AT_ONCE_MS`` it does not matter what other shapes got.
        """
        found = self._passed.get(after_ms)
        if found is None:
            since_ms, others = self.now_ms - after_ms, after_ms > AT_ONCE_MS
            waiting = self.state.shape_waits.passed_over(since_ms, others=others)
            found = {
                shape for shape, untaken in waiting.items() if self._others_took(shape, untaken)
            }
            self._passed[after_ms] = found
        return found

    def _others_took(self, shape: Shape, untaken: Sequence[int]) -> bool:
        """Whether some node that could run the shape lacks nothing of the types that others did not
        take. If each lacks some (each GPU has its task, while others take memory), nobody passes
        the shape over. It is asked in each round, so what most nodes lack is looked at first.
        """
        if not untaken:
            return True
        (size, label), first = shape, untaken[0]
        for node in self.state.nodes.values():
            room = node.room
            if (
                room[first] >= size[first]
                and all(room[index] >= size[index] for index in untaken)
                and node.takes(label)
                and fits(size, node.capacity)
            ):
                return True
        return False

    def wait(self, ask: Ask, reason: Reason | str, until_ms: int | None = None) -> None:
        """Say why an ask gets nothing. It is reported only if the reason has changed, or if a rule
        keeps the ask waiting and that was not reported.
        """
        rules = self.state.rule_waits
        if ask.reported_reason == reason:
            if until_ms is None or rules.until_ms(ask) > self.now_ms:
                return
        elif self.reasons_reported and ask.reported_reason:
            return
        if ask.reported_reason != reason:
            ask.reported_ms = self.now_ms
        ask.reported_reason = self.waits[ask] = str(reason)
        if until_ms is None:
            rules.drop(ask)
        else:
            rules.put(ask, until_ms)

    def wait_below(self, queue: Queue, reason: Reason | str, until_ms: int) -> None:
        """Say, as ``wait`` does, that a rule keeps all asks below a queue waiting."""
        rules = self.state.rule_waits
        if rules.until_ms(queue) <= self.now_ms:
            rules.put(queue, until_ms)
            self.queue_waits[queue] = self.state.queue_reasons[queue.number] = str(reason)

    def wake_root(self, in_ms: int) -> None:
        """Call the root again in ``in_ms`` ms at the latest."""
        known, at_ms = self.wakes.get(0), self.now_ms + in_ms
        self.wakes[0] = at_ms if known is None else min(known, at_ms)

    def report(self, path: str, report: dict[str, Any], instance: int) -> None:
        """Show a report for a queue; the last one of a round counts."""
        self.reports[path] = instance, report
        self.reporters.add(instance)

    def drop(self, instance: int) -> None:
        """Take back everything that one instance decided in this round."""
        for step in self.steps:
            if step.instance == instance:
                _take_back(self.state, step)
        self.steps = [step for step in self.steps if step.instance != instance]
        self.wants = {ask: who for ask, who in self.wants.items() if who != instance}
        self._restore_reservations()
        self.reports = {
            path: report for path, report in self.reports.items() if report[0] != instance
        }
        self.reporters.discard(instance)
        self.exhausted.clear()
        self.wakes.pop(instance, None)

    def _restore_reservations(self) -> None:
        """Restore the reservations from before the round, and apply the remaining steps to them."""
        reservations = self.state.reservations
        reservations.restore(self._reservations)
        for step in self.steps:
            if isinstance(step, PendingPreemption):
                continue
            ask, node = step.ask, step.node
            if isinstance(step, PendingReservation) and node is not None:
                if reservations.why_not(ask, node) is None:
                    reservations.put(ask, node, self.now_ms, step.until_ms)
            elif node is None or ask.count == 0:
                reservations.end_all(ask)
            elif node.reservation is not None and node.reservation.ask is ask:
                reservations.end(node.reservation)

    def undo(self) -> None:
        """Take back every step, last first: this restores the state before the round."""
        for step in reversed(self.steps):
            _take_back(self.state, step)
        self.state.reservations.restore(self._reservations)

    def decisions(self) -> list[Decision]:
        """The steps as they cross the wire."""
        return [as_decision(step) for step in self.steps]

    def reply(self, round_number: int) -> PlanReply:
        """The plan of the round, without what instances saved."""
        until_ms = self.state.rule_waits.until_ms
        return PlanReply(
            round_number,
            self.decisions(),
            sorted(self.wakes.items()),
            sorted((*ask.key, reason, until_ms(ask) or None) for ask, reason in self.waits.items()),
            {path: report for path, (_, report) in self.reports.items()},
            {},
            self.faults,
            sorted(self.headroom.items()),
            sorted((q.number, reason, until_ms(q)) for q, reason in self.queue_waits.items()),
            cuts=self.cuts,
        )


def as_decision(step: Step) -> Decision:
    """A step as it crosses the wire."""
    if type(step) is PendingAllocation:
        attempt, priority, request_id = step.ask.key
        return Allocate(
            attempt, priority, request_id, step.node.number, len(step.containers), step.instance
        )
    if type(step) is PendingReservation:
        if step.node is None:
            return Unreserve(*step.ask.key, step.instance)
        return Reserve(*step.ask.key, step.node.number, step.until_ms, step.instance)
    assert type(step) is PendingPreemption
    return Preempt(step.container.number, step.grace_ms, step.reason, step.instance)


def _take_back(state: ClusterState, step: Step) -> None:
    if type(step) is PendingAllocation:
        for container in reversed(step.containers):
            state.undo(container)
    elif type(step) is PendingPreemption:
        step.container.preempting_since = None
