"""Make the queue tree and each queue's limits from a compiled configuration and a capacity."""

from __future__ import annotations

from typing import Any

from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED, Resource, room_for

PPM = 1_000_000
RESERVATION_SHARE_PPM = 100_000
"""The part of a queue's maximum that may be reserved for its asks, unless it states another."""
MOST_RESERVATION_NODES = 1000
"""The largest allowed ``reservation_nodes``."""


def build_tree(config: dict[str, Any], width: int) -> list[Queue]:
    """The queues of a compiled configuration in its order, root first; ``width`` is the count of
    resource types.
    """
    queues: list[Queue] = []
    for number, spec in enumerate(config["queues"]):
        parent = None if spec["parent"] is None else queues[spec["parent"]]
        queue = Queue(number, spec, parent, width)
        queues.append(queue)
        if parent is not None:
            parent.children.append(queue)
    return queues


def resolve(queues: list[Queue], capacity: Resource, types: list[str]) -> None:
    """Set every queue's guaranteed and maximum capacity, user limit and AM limit for a cluster of
    ``capacity``.
    """
    ceilings: list[Resource] = []
    for queue in queues:  # parents come first
        spec = queue.spec
        above = capacity if queue.parent is None else ceilings[queue.parent.number]
        promised = capacity if queue.parent is None else queue.parent.guaranteed
        default = {"ppm": PPM if queue.parent is None else 0}
        queue.guaranteed = _amounts(spec.get("guaranteed") or default, promised, types, 0)
        bound = spec.get("maximum") or {"ppm": PPM}
        ceiling = _amounts(bound, above, types, UNLIMITED).least(above)
        ceilings.append(ceiling)
        queue.maximum = None if bound == {"ppm": PPM} else ceiling
        queue.user_limit = _part(spec["user_limit_ppm"], ceiling)
        queue.am_limit = _part(spec["am_share_ppm"], ceiling)
        queue.reservation_limit = Resource(
            amount * spec.get("reservation_share_ppm", RESERVATION_SHARE_PPM) // PPM
            for amount in ceiling
        )
        queue.capped = [] if queue.parent is None else list(queue.parent.capped)
        if queue.maximum is not None:
            queue.capped.append(queue)


def _amounts(bound: dict[str, Any], whole: Resource, types: list[str], absent: int) -> Resource:
    if "ppm" in bound:
        return Resource(amount * bound["ppm"] // PPM for amount in whole)
    return Resource(bound["amounts"].get(name, absent) for name in types)


def _part(ppm: int, ceiling: Resource) -> Resource | None:
    if ppm >= PPM:
        return None
    return Resource(amount * ppm // PPM for amount in ceiling)


def forbids_all(leaf: Queue, size: Resource, is_am: bool) -> bool:
    """Whether a limit forbids every application of a leaf queue one more container of ``size``,
    whoever its user is.
    """
    if at_maximum(leaf, size):
        return True
    if not is_am:
        return False
    full = any(q.running is not None and q.running.is_full for q in leaf.running_limited)
    return full or _at_am_limit(leaf, size)


def at_maximum(leaf: Queue, size: Resource) -> bool:
    """Whether the maximum of a leaf queue, or of one above it, forbids one more container."""
    for queue in leaf.capped:
        assert queue.maximum is not None
        if not room_for(size, queue.used, queue.maximum):
            return True
    return False


def _at_am_limit(leaf: Queue, size: Resource) -> bool:
    limit = leaf.am_limit if any(leaf.am_used) else None  # the first AM is always allowed
    return limit is not None and not room_for(size, leaf.am_used, limit)


def own_limit(leaf: Queue, user: str, size: Resource, is_am: bool) -> Reason | None:
    """The limit that forbids a user one more container of ``size``, whatever the maxima leave: the
    leaf queue's user limit, its AM share, or a limit of running applications along the path; None
    if none does.
    """
    if leaf.user_limit is not None:
        used = leaf.user_used.get(user)
        if not room_for(size, [0] * len(size) if used is None else used, leaf.user_limit):
            return Reason.USER_LIMIT
    if not is_am:
        return None
    if _at_am_limit(leaf, size):
        return Reason.AM_LIMIT
    full = any(q.running is not None and q.running.forbids(user) for q in leaf.running_limited)
    return Reason.RUNNING_LIMIT if full else None
