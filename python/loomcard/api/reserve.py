"""Reservations for asks that are passed over: if the first in line fits nowhere, room is reserved.

An ask is passed over while containers of other shapes are allocated and none of its own shape is,
if these take all that it lacks on some node. After a while the first in line of its queue wants a
reservation. Of all asks that want one, the round gives it to the one that has waited longest, on
the node that is likely to have enough soonest.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any

from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, AskKey
from loomcard.model.queue import Queue, queues_above
from loomcard.model.reasons import Reason
from loomcard.model.reservations import why_never
from loomcard.model.resource import fits
from loomcard.model.state import ClusterState

if TYPE_CHECKING:
    from loomcard.api.member_index import MemberIndex
    from loomcard.api.serve import Chooser

RESERVE_AFTER_MS = 1_000
"""How many ms an ask is passed over before room is reserved for it, unless a policy's option says
otherwise. 0: no room is reserved. 1: at once, as soon as it fits nowhere, whether other asks get
containers or not.
"""

RESERVATION = "RESERVATION"
"""The first word of the reason of an ask that waits for the room that is reserved for it; the ids
of the nodes follow.
"""

LAST_TURNS = 16
"""How many child queues may ask for a reservation in a round in which nothing more fits."""

REVIEW_MS = 10_000
"""After how many ms the node of a reservation is chosen again."""


def serve_reservations(plan: Plan, rules: Chooser) -> bool:
    """Allocate asks that fit into the room reserved for them, before any other ask is served.
    Return whether there was one. A reservation is given up if a limit, or a rule of the policy, now
    forbids its ask.
    """
    view, state = plan.view, plan.view._state
    allocated = False
    for reservation in sorted(state.reservations, key=lambda reservation: age_of(reservation.ask)):
        ask, app = reservation.ask, reservation.ask.application
        if plan.spent or not rules.governs(app.queue):
            continue
        if reservation.node.reservation is not reservation:
            continue  # ended when its ask was served on another node
        limit = plan.limited(ask)
        reason = limit or rules.forbids(ask)
        if reason is not None:
            plan.unreserve(ask)
            plan.wait(ask, reason, None if limit else view.now_ms + RULE_MS)
            continue
        if not plan.allows(ask):
            continue
        node = reservation.node
        fits_there = plan.why_not(ask, node) is None
        if fits_there and rules.takes(node):
            plan.allocate_checked(ask, node, rules.tag(ask))
            rules.filled(ask)
            allocated = True
        else:
            plan.wait(ask, where_reserved(ask), view.now_ms + RULE_MS if fits_there else None)
            old = view.now_ms - reservation.placed_ms >= REVIEW_MS
            if (rules.reviews and old) or len(ask.reservations) < app.queue.reservation_nodes:
                view._pending.wants[ask] = plan._instance
    return allocated


def want_room(plan: Plan, index: MemberIndex, after_ms: int, rules: Chooser) -> None:
    """Say that the first in line of a leaf queue wants a reservation, if it has been passed over
    for ``after_ms`` (0: never). An application is not first in line if it has a reservation, may
    have nothing, or asks for more than any node has.
    """
    view = plan.view
    passed = view._pending.passed_over(after_ms) if after_ms else ()
    if not passed:
        return
    left: list[tuple[Shape | None, Any]] = []
    while (app := index.top()) is not None:
        assert isinstance(app, Application)
        if view._state.reservations.of(app) is None:
            able, ask = _first(plan, app, passed, rules)
            if ask is not None:
                view._pending.wants[ask] = plan._instance
            if able:
                break
        if not index.close(report=False):
            left += index.take_top()
    index.restore(left)
    index.reopen()


def last_turns(view: ClusterView, children: Iterable[Queue]) -> list[Queue]:
    """Of the child queues with a policy of their own, return those that get a turn although nothing
    more fits: all for which room is reserved and, while a shape is passed over for
    ``RESERVE_AFTER_MS``, ``LAST_TURNS`` of the others, in rotation by round.
    """
    rest = iter(children)
    child = next(rest, None)
    if child is None:
        return []
    state, passed = view._state, view._pending.passed_over(RESERVE_AFTER_MS)
    if not passed and not state.reservations:
        return []  # as in most rounds: the others are not looked at
    children = [child, *rest]
    above: dict[Queue | None, None] = {}
    for reservation in state.reservations:
        above.update(dict.fromkeys(queues_above(reservation.ask.application.queue)))
    found = [child for child in children if child in above]
    if passed:
        others = [child for child in children if child not in above]
        first = view.version * LAST_TURNS % max(1, len(others))
        found += [*others[first:], *others[:first]][:LAST_TURNS]
    return found


def age_of(ask: Ask) -> tuple[int, int, AskKey]:
    """Return a sort key: the ask that has waited longest comes first, whatever the numbers are;
    ties by submission.
    """
    return ask.since_ms, ask.application.submitted_ms, ask.key


class ByShape:
    """Asks by their shape, for ``want_first``; they are read at the first call of ``of``."""

    def __init__(self, asks: Callable[[], Iterable[Ask]]) -> None:
        self._asks = asks
        self._found: dict[Shape, list[Ask]] | None = None

    def of(self, shape: Shape) -> Iterable[Ask]:
        """The asks of a shape."""
        if self._found is None:
            self._found = {}
            for ask in self._asks():
                self._found.setdefault((ask.size, ask.label), []).append(ask)
        return self._found.get(shape, ())


def want_first(
    plan: Plan, asks_of: Callable[[Shape], Iterable[Ask]], after_ms: int
) -> None:  # fmt: skip
    """As ``want_room``, for a policy without a line: the ask that waited longest comes first."""
    view, state = plan.view, plan.view._state
    passed = view._pending.passed_over(after_ms) if after_ms else ()
    for ask in sorted((ask for shape in passed for ask in asks_of(shape)), key=age_of):
        app = ask.application
        if state.reservations.of(app) is not None or plan.limited(ask) or not plan.allows(ask):
            continue
        if plan.place(ask) is None and _possible(state, ask):
            view._pending.wants[ask] = plan._instance
            return


def _first(
    plan: Plan, app: Application, passed: Container[Shape], rules: Chooser
) -> tuple[bool, Ask | None]:
    """Whether any ask of the application may get a container if there is room; and, among those
    with the priority of the first such ask, the first that was passed over and fits nowhere. An
    application may ask for small and large containers: then its own small ones pass over its large
    ones.
    """
    first: Ask | None = None
    for ask in app.asks:
        if first is not None and ask.key.priority != first.key.priority:
            break
        if ask.count <= 0 or plan.limited(ask) is not None or not plan.allows(ask):
            continue
        if rules.forbids(ask) is not None:
            continue
        nowhere = rules.place(plan, ask) is None
        if nowhere and not _possible(plan.view._state, ask):
            continue
        if nowhere and (ask.size, ask.label) in passed:
            return True, ask
        first = first or ask
    return first is not None, None


def _possible(state: ClusterState, ask: Ask) -> bool:
    """Whether some node could run ``ask`` if it were empty."""
    largest = state.partitions.largest(ask.label, state.capacity_version)
    fit = any(fits(ask.size, capacity) for capacity in largest)
    anywhere = not ask.racks and ask.relax_locality and not ask.attempt.blacklist
    if anywhere or not fit:
        return fit
    return any(why_never(ask, node) is None for node in state.nodes.values())


def where_reserved(ask: Ask) -> str:
    """The reason of an ask that waits for the room that is reserved for it."""
    return " ".join([RESERVATION, *(reservation.node.id for reservation in ask.reservations)])


def no_room(view: ClusterView, ask: Ask) -> str:
    """Why an ask that fits nowhere waits: the room that it needs is reserved for it, or for others,
    or there is no such room.
    """
    state = view._state
    if not state.reservations:
        return Reason.NODE_FULL
    if ask.reservations:
        return where_reserved(ask)
    reserved = (h.node for h in state.reservations if fits(ask.size, h.node.free))
    taken = any(why_never(ask, n) is None for n in reserved)
    return Reason.NODE_RESERVED if taken else Reason.NODE_FULL
