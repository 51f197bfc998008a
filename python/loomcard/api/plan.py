"""What a policy returns: decisions, timers, reasons, reports. A plan answers as if its decisions
had been carried out already.

A plan must never exceed a node, an ask, a limit of the queue tree or its turn: it raises PlanError
instead. So a broken policy fails at its own line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from loomcard.api.pending_plan import as_decision
from loomcard.api.plan_checks import PlanError, amounts, whole, word
from loomcard.api.report import FROM_ABOVE, ReportError, as_json
from loomcard.api.view import ClusterView, TurnOver, TurnResult, asks_below
from loomcard.model import placement
from loomcard.model.objects import Application, Ask, Container, Member, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.renamed import warn_renamed
from loomcard.model.resource import Resource, share
from loomcard.wire.messages import Decision


class Plan:
    """The decisions of one instance in one round. They come on top of all that was decided earlier
    in the round.
    """

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self._state = view._state
        self._pending = view._pending
        self._allowance = view._allowance
        self._instance = view.queue.number
        self._pending.wakes.setdefault(self._instance, None)
        self.go_on: Callable[[], Any] | None = None
        """What a later turn of the round runs instead of ``decide``, on this plan and without new
        events; None: ``decide`` is called again. It is for policies with short turns: they prepare
        once, not for each container.
        """

    # Decisions

    def allocate(self, ask: Ask, node: Node, count: int = 1, tag: Any = None) -> None:
        """Allocate ``count`` containers of ``ask`` on ``node``. ``tag`` (plain data) stays with
        each container, and with a refusal of it.

        Raises PlanError, with the reason, if the node, the ask, the queue tree or the turn forbids
        one of them; those allocated before it stay allocated.
        """
        if count < 1:
            raise PlanError(f"{ask!r} on {node.id}: a count of {count}")
        for _ in range(count):
            reason = self.why_not(ask, node)
            if reason is not None:
                raise PlanError(f"{ask!r} on {node.id}: {reason}")
            if self._allowance is not None and not self._allowance.has_room(ask.size):
                raise PlanError(f"{ask!r} on {node.id}: beyond what this turn may take")
            self.allocate_checked(ask, node, tag)

    def allocate_checked(self, ask: Ask, node: Node, tag: Any = None) -> None:
        """Allocate one container as ``allocate`` does, for a caller that has just called ``place``,
        ``limited`` and ``allows`` itself.
        """
        self._pending.allocate(ask, node, self._instance, tag)
        if self._allowance is not None:
            self._allowance.take(ask.size)

    def preempt(self, container: Container, grace_ms: int, reason: str) -> None:
        """Take a container back: its AM is notified, and the container is killed after
        ``grace_ms``. Raises PlanError if it is not running or is being preempted already.
        """
        if container.number == 0 or container.number not in self._state.containers:
            raise PlanError(f"{container!r}: only a confirmed, live container can be preempted")
        if container.preempting_since is not None:
            raise PlanError(f"{container!r}: is being preempted already")
        grace_ms = whole(grace_ms, "preempt, grace_ms")
        self._pending.preempt(container, grace_ms, word(reason, "preempt, reason"), self._instance)

    def reserve(self, ask: Ask, node: Node, until_ms: int | None = None) -> None:
        """Reserve room on ``node`` for one container of ``ask``. The reservation lasts until the
        container fits there and is allocated, until ``until_ms``, or until it is given up. An ask
        has reservations on at most ``reservation_nodes`` nodes (a key of its queue, 1 by default):
        when it has that many, the oldest is released.

        All other asks are kept from what is free there and what becomes free, up to the ask's size.
        Raises PlanError, with the reason, if ``why_no_reservation`` gives one, and if ``until_ms``
        is not in the future.
        """
        until_ms = None if until_ms is None else whole(until_ms, "reserve, until_ms")
        if until_ms is not None and until_ms <= self.view.now_ms:
            raise PlanError(f"reserve until {until_ms} at {self.view.now_ms}: not in the future")
        reason = self.why_no_reservation(ask, node)
        if reason is not None:
            raise PlanError(f"reserve for {ask!r} on {node.id}: {reason}")
        self._pending.reserve(ask, node, until_ms, self._instance)

    def unreserve(self, ask: Ask) -> None:
        """Give up the reservations of ``ask``. Raises PlanError if it has none."""
        if not ask.reservations:
            raise PlanError(f"{ask!r} has no reservation")
        self._pending.unreserve(ask, self._instance)

    def grant(self, ask: Ask, node: Node, tag: Any = None) -> None:
        """Deprecated since 0.1: ``allocate_checked``."""
        warn_renamed("plan.grant", "plan.allocate_checked")
        self.allocate_checked(ask, node, tag)

    def hold(self, ask: Ask, node: Node, until_ms: int | None = None) -> None:
        """Deprecated since 0.1: ``reserve``."""
        warn_renamed("plan.hold", "plan.reserve")
        self.reserve(ask, node, until_ms)

    def release_hold(self, ask: Ask) -> None:
        """Deprecated since 0.1: ``unreserve``."""
        warn_renamed("plan.release_hold", "plan.unreserve")
        self.unreserve(ask)

    def why_no_hold(self, ask: Ask, node: Node) -> Reason | None:
        """Deprecated since 0.1: ``why_no_reservation``."""
        warn_renamed("plan.why_no_hold", "plan.why_no_reservation")
        return self.why_no_reservation(ask, node)

    def turn(self, child: Queue, count: int = 1, limit: Resource | None = None) -> TurnResult:
        """Let a child scope's policy decide now, for at most ``count`` containers and ``limit``
        amounts. Raises PlanError if ``child`` is not a child scope.
        """
        if self.view._turn is None or not self._governs(child):
            raise PlanError(f"{child.path} is not a child scope of {self.view.queue.path}")
        return self.view._turn(child, count, limit)

    def _governs(self, child: Queue) -> bool:
        """Whether it is the next scope below: no other policy is between it and this one."""
        above = child.parent
        while above is not None and above is not self.view.queue and above.policy is None:
            above = above.parent
        return above is self.view.queue and child.policy is not None

    def wake_at(self, at_ms: int) -> None:
        """Call the policy again at ``at_ms`` at the latest; the earliest such time of a round
        counts. Raises PlanError if ``at_ms`` is not in the future.
        """
        at_ms = whole(at_ms, "wake_at")
        if at_ms <= self.view.now_ms:
            raise PlanError(f"wake_at({at_ms}) at {self.view.now_ms}: not in the future")
        known = self._pending.wakes.get(self._instance)
        self._pending.wakes[self._instance] = at_ms if known is None else min(known, at_ms)

    # What is reported

    def wait(
        self, waiting: Ask | Member, reason: Reason | str, until_ms: int | None = None
    ) -> None:
        """Say why an ask gets nothing now, or why every ask of an application or below a queue
        does. ``reason``: a reason code, or a policy's own word in capitals.

        ``until_ms``: a rule of the policy keeps the ask waiting until then at the latest, although
        it might fit. The policy is called again then, and may say so again. A queue needs
        ``until_ms``. Without it the policy has failed, for the engine, if an ask that could be
        served gets nothing for ``loomcard.progress.deadline-ms``; the engine then serves the ask's
        queue first in, first out.

        Raises PlanError if ``until_ms`` is not in the future.
        """
        reason = reason if type(reason) is Reason else word(reason, "wait")
        if until_ms is not None and whole(until_ms, "wait, until_ms") <= self.view.now_ms:
            raise PlanError(f"wait until {until_ms} at {self.view.now_ms}: not in the future")
        if isinstance(waiting, Ask):
            self._pending.wait(waiting, reason, until_ms)
        elif isinstance(waiting, Application):
            for ask in waiting.asks:
                if ask.count > 0:
                    self._pending.wait(ask, reason, until_ms)
        elif until_ms is None:
            raise PlanError(f"wait for {waiting.path}: a queue needs until_ms")
        else:
            self._pending.wait_below(waiting, reason, until_ms)

    def report(self, queue: Queue, state: object) -> None:
        """Show ``state`` for a queue on the pages, in ``loomcard status`` and in run folders. It is
        an object of a dataclass made with ``shown``, or a dict of plain data, one figure per key.

        It is shown until the next report for the queue. For a queue with a policy of its own, that
        policy's report and this one are both shown. Raises PlanError if it cannot be shown.
        """
        above = queue.policy is not None and queue.number != self._instance
        name = queue.path + (FROM_ABOVE if above else "")
        try:
            self._pending.report(name, as_json(state), self._instance)
        except ReportError as error:
            raise PlanError(f"report on {queue.path}: {error}") from error

    @property
    def report_due(self) -> bool:
        """Whether a second of ``view.now_ms`` has passed since this instance last reported, or ten
        while nobody reads reports. Read it before you make a costly report. If it is False, the
        policy is called again when it becomes True, so that the very last state is shown too.
        """
        due_ms = self.view._report_due_ms
        if due_ms <= self.view.now_ms:
            return True
        self.wake_at(due_ms)
        return False

    @property
    def reports_are_read(self) -> bool:
        """Whether somebody reads reports, or a journal keeps them. If not, a policy that reports
        more often than ``report_due`` can spare that.
        """
        return self.view._reports_are_read

    def headroom(self, application: Application, resource: Resource) -> None:
        """Inform the application's AM that it may still obtain ``resource``; this replaces the
        engine's own figure until the next call for the application. Call it only if the value
        changed, and keep what was sent in the policy's memory: a replay must send the same.
        """
        width = len(self._state.capacity)
        self._pending.headroom[application.number] = amounts(resource, width, "headroom")

    # What may be

    def why_not(self, ask: Ask, node: Node) -> Reason | None:
        """Why one container of ``ask`` may not go to ``node``; None if it may."""
        return self._state.why_not(ask, node)

    def why_no_reservation(self, ask: Ask, node: Node) -> Reason | None:
        """Why no room may be reserved on ``node`` for ``ask``; None if it may. An application has
        reservations for one ask, and a node has one reservation. A queue's reservations are at most
        a part of its maximum. There is none on a node that cannot run the ask, and none for an ask
        that a limit forbids.
        """
        return self._state.reservations.why_not(ask, node)

    def limited(self, ask: Ask) -> Reason | None:
        """The limit of the queue tree that forbids one more container of ``ask`` anywhere; None if
        no limit does.
        """
        return self._state.limited(ask)

    def allows(self, ask: Ask) -> bool:
        """Whether this turn may take one more container of the ask's size."""
        return self._allowance is None or self._allowance.allows(ask.size)

    @property
    def spent(self) -> bool:
        """Whether this turn may take nothing more: no further container, or its time has ended. On
        YARN the policies of a round have half of ``loomcard.round.deadline-ms``, and each turn has
        half of what is left when it begins. A turn that continues for half as long again is ended
        when it asks where something fits: its decisions count, its cached values are dropped.
        """
        allowance = self._allowance
        if allowance is None:
            return False
        time = allowance.time
        if time is not None:
            time.asked += 1
            if time.asked >= time.look_at:
                time.look(allowance)
        return allowance.over or allowance.count < 1

    def _go_on(self) -> None:
        """Raise TurnOver if the turn's time ended long ago."""
        allowance = self._allowance
        if allowance is not None and (time := allowance.time) is not None:
            time.asked += 1
            if time.asked >= time.look_at:
                time.look(allowance)
            if allowance.stopped:
                raise TurnOver

    def place(self, ask: Ask) -> Node | None:
        """The node for the ask's next container: node-local first, then rack, then any, ties by
        number; None if it fits nowhere.
        """
        self._go_on()
        return placement.place(self._state, ask)

    def nodes_fitting(self, ask: Ask) -> Iterator[Node]:
        """Every node that may take one container of ``ask`` now, best first; no node if a limit or
        the turn forbids it.
        """
        self._go_on()
        has_room = self._allowance is None or self._allowance.has_room(ask.size)
        if has_room and ask.count > 0 and self.limited(ask) is None:
            yield from placement.nodes_fitting(self._state, ask)

    def pending(
        self, order: Callable[[Ask], Any] | None = None, *, of: Member | None = None
    ) -> list[Ask]:
        """The outstanding asks of the scope, or ``of`` one member, that limits and turn allow.

        They are in the order of ``order``, ties by submission and number; without it, by
        application. If the time of the policy's last turn ran out, asks that fit nowhere are left
        out of this one, so that it continues with the others.
        """
        self._go_on()
        found = self.view.asks if of is None else asks_below(of)
        asks = [a for a in found if self.limited(a) is None and self.allows(a)]
        if self.view._was_cut:
            first = self._state.fit_indexes.first
            asks = [a for a in asks if a.reservations or first(a.size, a.label) is not None]
        if order is None:
            return asks
        return sorted(asks, key=lambda a: (order(a), a.application.submitted_ms, a.key))

    def members(self, order: Callable[[Member], Any] | None = None) -> Sequence[Member]:
        """The members of the scope that demand something, in the order of ``order``, ties by
        submission and number.
        """
        found = [m for m in self.view.members if self._may_get(m)]
        if order is None:
            return found
        return sorted(found, key=lambda m: (order(m), m.submitted_ms, m.number))

    def _may_get(self, member: Member) -> bool:
        if isinstance(member, Queue) and member.policy is not None:
            return member.pending_count > 0  # its own policy knows its asks
        return any(self.limited(ask) is None for ask in asks_below(member))

    def dominant_share(self, member: Member) -> float:
        """Largest used/capacity over the cluster's resource types, divided by the weight."""
        return share(member.used, self._state.capacity) / member.weight

    @property
    def decisions(self) -> list[Decision]:
        """This instance's decisions so far, as they cross the wire."""
        steps = self._pending.steps
        return [as_decision(step) for step in steps if step.instance == self._instance]
