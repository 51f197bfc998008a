"""The round's part in reservations: on which node room is reserved for the ask that has waited
longest of those that want it (``api.reserve``).
"""

from __future__ import annotations

from operator import sub

from loomcard.api.pending_plan import PendingPlan
from loomcard.api.reserve import REVIEW_MS, age_of, where_reserved
from loomcard.model.objects import Ask, Container, Node, Reservation
from loomcard.model.reservations import why_never
from loomcard.model.resource import Resource, subtract_all
from loomcard.model.state import ClusterState

ASSUMED_MS = 60_000
"""How long tasks run while none has completed."""
OVERDUE = 4
"""The part of the mean, as its divisor, that a container is given beyond it."""
SERVICE = 3
"""How many times the mean a container has run that is taken for a service."""
NEVER = 1 << 40
"""When the room of an AM is free, as long as no AM has ended."""


def place_reservation(pending: PendingPlan) -> None:
    """Reserve room for the ask that has waited longest of those that want it, on as many nodes as
    it may have, or choose the node of its oldest reservation again; for the next one where no node
    will do. One ask a round: the choice looks at every node.
    """
    state = pending.state
    pending.reasons_reported = False  # report again: who got the reservation has changed
    for ask in sorted(pending.wants, key=age_of):
        if ask.count <= 0 or state.limited(ask) is not None:
            continue
        before = len(ask.reservations)
        while state.reservations.beyond(ask) is None:
            found = soonest(state, ask, pending.now_ms)
            if found is None:
                break
            _reserve(pending, ask, found[1])
        if len(ask.reservations) > before:
            return
        old = ask.reservation
        if old is None or pending.now_ms - old.placed_ms < REVIEW_MS:
            continue
        if state.reservations.beyond(ask, in_place_of=old) is None:
            _review(pending, ask, old)
            return


def _review(pending: PendingPlan, ask: Ask, reservation: Reservation) -> None:
    """Move a reservation to the node that is likely to have room soonest, or leave it where it is
    if that will have it hardly later; give it up where no node will do.
    """
    state = pending.state
    here_ms = room_in_ms(state, reservation.node, ask.size, pending.now_ms)
    found = soonest(state, ask, pending.now_ms)
    if why_never(ask, reservation.node) is not None:
        here_ms = NEVER
    if found is None and here_ms >= NEVER:
        pending.unreserve(ask, pending.wants[ask])
        return
    node = reservation.node  # to move would give up what is free there already
    if found is not None and here_ms > 2 * found[0]:
        makes_way = len(ask.reservations) >= ask.application.queue.reservation_nodes
        if (
            not makes_way and len(ask.reservations) == 1
        ):  # reservation_share is what forbids another
            pending.unreserve(ask, pending.wants[ask])
            makes_way = True
        node = found[1] if makes_way else node
    _reserve(pending, ask, node)


def _reserve(pending: PendingPlan, ask: Ask, node: Node) -> None:
    pending.reserve(ask, node, None, pending.wants[ask])
    pending.state.touched(ask.application)  # its policy gives it up if a rule forbids the ask now
    pending.wait(ask, where_reserved(ask))


def soonest(state: ClusterState, ask: Ask, now_ms: int) -> tuple[int, Node] | None:
    """The node without a reservation that is likely to have room for ``ask`` soonest, and in how
    many ms; ties by number. None where it could run on none, or AMs stand in the way.
    """
    found = [
        (in_ms, node.number)
        for node in state.nodes.values()
        if node.reservation is None
        and why_never(ask, node) is None
        and (in_ms := room_in_ms(state, node, ask.size, now_ms)) < NEVER
    ]
    if not found:
        return None
    in_ms, number = min(found)
    return in_ms, state.nodes[number]


def room_in_ms(state: ClusterState, node: Node, size: Resource, now_ms: int) -> int:
    """In how many ms a node is likely to have ``size`` free, if nothing else is started on it."""
    lacking = list(map(sub, size, node.free))
    if max(lacking) <= 0:
        return 0
    ends = [(left_ms(state, c, now_ms), c.number, c) for c in node.containers]
    for in_ms, _, container in sorted(ends, key=lambda end: end[:2]):
        subtract_all([lacking], container.size)
        if max(lacking) <= 0:
            return in_ms
    return NEVER


def left_ms(state: ClusterState, container: Container, now_ms: int) -> int:
    """How long a container is likely to run on, if it runs as long as those of its application have
    run in the mean, or any. Beyond the mean it is given a part of it, ``OVERDUE``; and one that
    has run ``SERVICE`` times as long, to run as long again, so that services come last.
    """
    if container.preempting_since is not None:
        return 0
    own, waits = container.application.ran, state.shape_waits
    count, ran_ms = waits.masters_ran if container.is_am else own if own[0] else waits.ran
    if not count:
        if container.is_am:
            return NEVER
        count, ran_ms = 1, ASSUMED_MS
    mean_ms = ran_ms // count
    age_ms = now_ms - (container.started_ms or container.allocated_ms)
    return max(mean_ms - age_ms, mean_ms // OVERDUE) if age_ms < SERVICE * mean_ms else age_ms
