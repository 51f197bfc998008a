"""The loop that serves asks, once for all policies: a policy says who is next, the loop does the
rest: reserved room, limits, turns, nodes, reasons, and room for who is passed over for too long.
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
    """Which shapes fit nowhere any more; nothing is freed while a round lasts.

    ``shared``: with what earlier calls of the round found out already, and for the later ones.
    """

    def __init__(self, view: ClusterView, *, shared: bool = True) -> None:
        self._state = view._state
        self._shapes: set[Shape] = view.exhausted if shared else set()

    def __contains__(self, shape: object) -> bool:
        return shape in self._shapes

    def everything(self) -> bool:
        """Nothing that anybody asks for fits any more."""
        return len(self._shapes) >= len(self._state.shapes)

    def add(self, shape: Shape) -> None:
        """One shape was found to fit nowhere: look at all shapes now, so that not every member
        tries without success.
        """
        if not self._shapes:
            first = self._state.fit_indexes.first
            self._shapes.update(s for s in self._state.shapes if first(*s) is None)
        self._shapes.add(shape)


@mypyc_attr(allow_interpreted_subclasses=True)
class Chooser:
    """Who is served next, and by which rules of the policy: what ``serve`` asks.

    ``next`` and ``passed`` are the policy's; the others have a default, which is YARN's rule.
    ``queue``: the policy's scope.
    """

    reviews: ClassVar[bool] = True
    """Whether the round chooses the node of an old reservation again; else the policy does."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    # The order

    def update(self) -> None:
        """See what changed since the last call, or by containers for which room was reserved."""

    def next(self, full: ExhaustedShapes) -> Any:
        """Who is next: an application, of which the first ask that may have a container gets one;
        one ask; or a queue with a policy of its own, which gets a turn. None: nobody.

        ``allocated`` or ``passed`` follows. ``full``: the shapes that fit nowhere any more.
        """
        raise NotImplementedError

    def allocated(self, chosen: Any, ask: Any) -> None:
        """What ``next`` returned got a container, of ``ask``; a queue took something (None)."""

    def passed(self, chosen: Any, *, forbidden: bool) -> None:
        """What ``next`` returned got nothing: it is not next again in this call. ``forbidden``: by
        ``forbids``, and not for want of room, a limit or the end of the turn.
        """
        raise NotImplementedError

    def filled(self, ask: Ask) -> None:
        """An ask got a container in the room that was reserved for it, before anybody else."""

    def end(self) -> None:
        """The call is over: who was passed may be next in the next call."""

    # The rules

    def governs(self, queue: Queue) -> bool:
        """Whether the policy serves the applications of a leaf queue."""
        return queue is self.queue

    def forbids(self, ask: Ask) -> Any:  # noqa: ARG002 - a policy may
        """Why the policy itself gives the ask nothing now; None if it may have a container."""
        return None

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """The node for the ask's next container; None where it fits nowhere now."""
        return plan.place(ask)

    def takes(self, node: Node) -> bool:  # noqa: ARG002 - as above
        """Whether a node takes one more container, whatever its size."""
        return True

    def tag(self, ask: Ask) -> Any:  # noqa: ARG002 - as above
        """What stays with the ask's next container (``plan.allocate``)."""
        return None

    def turn(self, plan: Plan, child: Queue) -> bool:
        """Let a child queue's policy decide; whether it took something."""
        return plan.turn(child).count > 0

    # Who waits

    def nowhere(self, plan: Plan, ask: Ask, full: ExhaustedShapes) -> None:  # noqa: ARG002
        """Give an ask its reason for which ``place`` found no node, though one has room."""
        plan.wait(ask, Reason.BLACKLISTED if ask.relax_locality else Reason.LOCALITY)

    def report(self, plan: Plan) -> None:
        """Nothing more fits: give asks that were not looked at their reason. By default it looks
        at all members; who knows which have changed looks at these.
        """
        report_waiting(plan, dict.fromkeys(plan.view.members))

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Want room reserved for who has been passed over for ``after_ms`` (0: for nobody); by
        default for the ask that has waited longest.
        """
        want_first(plan, ByShape(lambda: plan.view.asks).of, after_ms)


def serve(
    plan: Plan, chooser: Chooser, reserve_after_ms: int = RESERVE_AFTER_MS, *, shared: bool = True
) -> Plan:
    """Allocate containers to whom ``chooser`` names, one after the other, until it names nobody or
    the turn is used up; before them to those for whom room is reserved and there by now. Then who
    waits has a reason, and who is passed over for ``reserve_after_ms`` (0: never) wants room
    reserved.

    ``shared``: as of ``ExhaustedShapes``; False where a policy adds rules about nodes.
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
    """One container for an ask that no rule of the policy forbids, if there is a node for it."""
    shape = (ask.size, ask.label)
    if shape in full:
        if not ask.reservations:  # else ``serve_reservations`` has said it
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


def report_waiting(plan: Plan, unreported: dict[Member, None]) -> None:
    """Asks that came while the cluster was full were not looked at; they wait for room alike."""
    for member in unreported:
        if isinstance(member, Application):
            for ask in member.asks:
                if ask.count > 0 and ask.reported_reason is None:
                    plan.wait(ask, plan.limited(ask) or no_room(plan.view, ask))
    unreported.clear()
