"""The loop that serves asks, for all policies. A policy says what is served next. The loop does the
rest: reserved room, limits, turns, nodes, reasons, and reservations for asks that are passed over
for too long.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.reserve import RESERVE_AFTER_MS, ByShape, no_room, serve_reservations, want_first
from loomcard.api.view import ClusterView
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Member, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason


class ExhaustedShapes:
    """The shapes that fit nowhere any more; nothing is freed during a round.

    ``shared``: use what earlier calls of the round found out, and add to it for later calls.
    """

    def __init__(self, view: ClusterView, *, shared: bool = True) -> None:
        self._state = view._state
        self._shapes: set[Shape] = view.exhausted if shared else set()

    def __contains__(self, shape: object) -> bool:
        return shape in self._shapes

    def everything(self) -> bool:
        """Whether no outstanding ask fits anywhere any more."""
        return self._state.wants_only(self._shapes)

    def add(self, shape: Shape) -> None:
        """Add a shape that was found to fit nowhere. At the first such shape, look at all shapes,
        so that not every member tries without success.
        """
        if not self._shapes:
            first = self._state.fit_indexes.first
            self._shapes.update(s for s in self._state.shapes if first(*s) is None)
        self._shapes.add(shape)


@mypyc_attr(allow_interpreted_subclasses=True)
class Chooser:
    """What ``serve`` asks a policy: what is served next, and by which rules.

    A policy must define ``next`` and ``passed``; the other methods have a default, which is YARN's
    rule. ``queue``: the policy's scope.
    """

    reviews: ClassVar[bool] = True
    """Whether the round chooses the node of an old reservation again; if not, the policy does."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    # The order

    def update(self) -> None:
        """Take in what changed since the last call, or by containers in reserved room."""

    def next(self, full: ExhaustedShapes) -> Any:
        """Return what is served next: an application (its first ask that may have a container gets
        one), one ask, or a queue with a policy of its own (it gets a turn). None: nothing is left
        to serve.

        A call of ``allocated`` or ``passed`` follows. ``full``: the shapes that fit nowhere any
        more.
        """
        raise NotImplementedError

    def allocated(self, chosen: Any, ask: Any) -> None:
        """Note that what ``next`` returned got a container of ``ask``; None: a queue took
        something.
        """

    def passed(self, chosen: Any, *, forbidden: bool) -> None:
        """Note that what ``next`` returned got nothing: it is not next again in this call.
        ``forbidden``: ``forbids`` was the cause, not lack of room, a limit or the end of the turn.
        """
        raise NotImplementedError

    def filled(self, ask: Ask) -> None:
        """Note that an ask got a container in the room reserved for it, before any other ask."""

    def end(self) -> None:
        """End the call: what was passed may be next in the next call."""

    # The rules

    def governs(self, queue: Queue) -> bool:
        """Whether the policy serves the applications of a leaf queue."""
        return queue is self.queue

    def forbids(self, ask: Ask) -> Any:  # noqa: ARG002 - a policy may
        """Why the policy itself gives the ask nothing now; None if it may have a container."""
        return None

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """The node for the ask's next container; None if it fits nowhere now."""
        return plan.place(ask)

    def takes(self, node: Node) -> bool:  # noqa: ARG002 - as above
        """Whether a node takes one more container, whatever its size."""
        return True

    def tag(self, ask: Ask) -> Any:  # noqa: ARG002 - as above
        """The tag that stays with the ask's next container (``plan.allocate``)."""
        return None

    def turn(self, plan: Plan, child: Queue) -> bool:
        """Let a child queue's policy decide. Return whether it took something."""
        return plan.turn(child).count > 0

    # What waits

    def nowhere(self, plan: Plan, ask: Ask, full: ExhaustedShapes) -> None:  # noqa: ARG002
        """Give a reason to an ask for which ``place`` found no node, although a node has room."""
        plan.wait(ask, Reason.BLACKLISTED if ask.relax_locality else Reason.LOCALITY)

    def report(self, plan: Plan) -> None:
        """Give a reason to the asks that were not looked at, because nothing more fits. By default
        it looks at all members; a policy that knows which changed may look at those only.
        """
        report_waiting(plan, dict.fromkeys(plan.view.members))

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Want a reservation for what has been passed over for ``after_ms`` (0: no reservation); by
        default for the ask that has waited longest.
        """
        want_first(plan, ByShape(lambda: plan.view.asks).of, after_ms)


def serve(
    plan: Plan, chooser: Chooser, reserve_after_ms: int = RESERVE_AFTER_MS, *, shared: bool = True
) -> Plan:
    """Allocate containers to what ``chooser`` names, one after the other, until it names nothing or
    the turn is used up. Before that, allocate those that fit into the room reserved for them.
    Afterwards, give asks that wait a reason, and want a reservation for what has been passed over
    for ``reserve_after_ms`` (0: never).

    ``shared``: as in ``ExhaustedShapes``; False if the policy adds rules about nodes.
    """
    chooser.update()
    if plan.spent:
        return plan
    view = plan.view
    if view._state.reservations and serve_reservations(plan, chooser):
        chooser.update()
    full = ExhaustedShapes(view, shared=shared)
    while not plan.spent:
        chosen = chooser.next(full)
        if chosen is None:
            break
        if isinstance(chosen, Queue):
            if chooser.turn(plan, chosen):
                chooser.allocated(chosen, None)
            else:
                chooser.passed(chosen, forbidden=False)
            continue
        got: Ask | None = None
        forbidden = False
        for ask in (chosen,) if isinstance(chosen, Ask) else chosen.asks:
            if ask.count > 0:
                reason = chooser.forbids(ask)
                if reason is not None:
                    forbidden = True
                    plan.wait(ask, reason, view.now_ms + RULE_MS)
                elif _serve_ask(plan, ask, full, chooser):
                    got = ask
                    break
        if got is None:
            chooser.passed(chosen, forbidden=forbidden)
        else:
            chooser.allocated(chosen, got)
    chooser.end()
    if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
        chooser.report(plan)
        chooser.reserve(plan, reserve_after_ms)
    return plan


def _serve_ask(plan: Plan, ask: Ask, full: ExhaustedShapes, rules: Chooser) -> bool:
    """Allocate one container of an ask that no rule of the policy forbids, if there is a node for
    it. Return whether it did.
    """
    shape = (ask.size, ask.label)
    if shape in full:
        if not ask.reservations:  # otherwise ``serve_reservations`` gave the reason
            plan.wait(ask, no_room(plan.view, ask))
        return False
    limit = plan.limited(ask)
    if limit is not None:
        plan.wait(ask, limit)
        return False
    if not plan.allows(ask):
        return False
    node = rules.place(plan, ask)
    if node is not None:
        plan.allocate_checked(ask, node, rules.tag(ask))
        return True
    if plan.view._state.fit_indexes.first(ask.size, ask.label) is None:
        full.add(shape)
        plan.wait(ask, no_room(plan.view, ask))
    else:
        rules.nowhere(plan, ask, full)
    return False


def report_limited(plan: Plan, limited: dict[Member, None]) -> None:
    """Give the limit as a reason to asks that were not looked at because a limit of their leaf now
    forbids them all, if they waited for room or by another limit of the leaf until now.
    """
    for member in limited:
        if isinstance(member, Application):
            for ask in member.asks:
                known = ask.reported_reason
                if ask.count > 0 and (known is None or known in _REPLACED):
                    limit = plan.limited(ask)
                    if limit is not None:
                        plan.wait(ask, limit)
    limited.clear()


_REPLACED = frozenset(
    str(reason)
    for reason in (
        Reason.NODE_FULL, Reason.NODE_RESERVED, Reason.QUEUE_MAX, Reason.AM_LIMIT,
        Reason.RUNNING_LIMIT,
    )
)  # fmt: skip


def report_waiting(plan: Plan, unreported: dict[Member, None]) -> None:
    """Give a reason to asks that came while the cluster was full: they were not looked at, and wait
    for room like the others.
    """
    for member in unreported:
        if isinstance(member, Application):
            for ask in member.asks:
                if ask.count > 0 and ask.reported_reason is None:
                    plan.wait(ask, plan.limited(ask) or no_room(plan.view, ask))
    unreported.clear()
