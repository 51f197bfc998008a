"""The round's part in reservations: of the asks that want one (``api.reserve``), the ask that has
waited longest gets it; this module chooses the node.
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
"""How many ms tasks are assumed to run while none has completed."""
OVERDUE = 4
"""A container that ran longer than the mean is expected to run for mean / OVERDUE more."""
SERVICE = 3
"""A container that ran for this many times the mean is taken for a service."""
NEVER = 1 << 40
"""In how many ms an AM is expected to end, as long as no AM has ended."""


def place_reservation(pending: PendingPlan) -> None:
    """Of the asks that want a reservation, reserve room for the one that has waited longest, on as
    many nodes as it may have, or choose the node of its oldest reservation again. If no node is
    suitable, try the next ask. Serve one ask per round, since the choice looks at every node.
    """
    state = pending.state
    pending.reasons_reported = False  # report again: other asks may have reservations now
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
    """Move a reservation to the node that is likely to have room soonest. Leave it on its node if
    that is likely to have room hardly later; give it up if no node is suitable.
    """
    state = pending.state
    here_ms = NEVER
    if why_never(ask, reservation.node) is None:
        here_ms = room_in_ms(state, reservation.node, ask.size, pending.now_ms)
    # Only a node that has room in less than half the time is worth a move.
    most_ms = NEVER - 1 if here_ms >= NEVER else (here_ms - 1) // 2
    found = soonest(state, ask, pending.now_ms, most_ms)
    if found is None and here_ms >= NEVER:
        pending.unreserve(ask, pending.wants[ask])
        return
    node = reservation.node  # a move would give up what is free there already
    if found is not None:
        makes_way = len(ask.reservations) >= ask.application.queue.reservation_nodes
        if not makes_way and len(ask.reservations) == 1:  # reservation_share forbids another one
            pending.unreserve(ask, pending.wants[ask])
            makes_way = True
        node = found[1] if makes_way else node
    _reserve(pending, ask, node)


def _reserve(pending: PendingPlan, ask: Ask, node: Node) -> None:
    pending.reserve(ask, node, None, pending.wants[ask])
    pending.state.touched(ask.application)  # its policy gives it up if a rule forbids the ask now
    pending.wait(ask, where_reserved(ask))


def soonest(
    state: ClusterState, ask: Ask, now_ms: int, most_ms: int = NEVER - 1
) -> tuple[int, Node] | None:
    """In how many ms a node without a reservation is likely to have room for ``ask``, and that
    node: the soonest one, ties by number. None if it could run on no node, if AMs block it, or if
    all take longer than ``most_ms``.
    """
    best: tuple[int, int] | None = None
    for node in state.nodes.values():
        if node.reservation is None and why_never(ask, node) is None:
            row = room_in_ms(state, node, ask.size, now_ms, most_ms), node.number
            if row[0] <= most_ms and (best is None or row < best):
                best, most_ms = row, row[0]
    return None if best is None else (best[0], state.nodes[best[1]])


def room_in_ms(
    state: ClusterState, node: Node, size: Resource, now_ms: int, most_ms: int = NEVER
) -> int:
    """In how many ms a node is likely to have ``size`` free, if nothing else is started on it;
    NEVER if later than in ``most_ms``.
    """
    lacking = list(map(sub, size, node.free))
    if max(lacking) <= 0:
        return 0
    ends = []
    for container in node.containers:
        in_ms = left_ms(state, container, now_ms)
        if in_ms <= most_ms:
            ends.append((in_ms, container.number, container.size))
    for in_ms, _, freed in sorted(ends):
        subtract_all([lacking], freed)
        if max(lacking) <= 0:
            return in_ms
    return NEVER


def left_ms(state: ClusterState, container: Container, now_ms: int) -> int:
    """How many ms a container is likely to run from now. It is expected to run for the mean time of
    its application's containers, or of all if none of these has ended. After the mean it is
    expected to run for mean / ``OVERDUE`` more. One that has run for ``SERVICE`` times the mean is
    expected to run as long again, so that services come last.
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
