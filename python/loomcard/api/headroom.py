"""What the queue tree leaves to an application, for policies that report headroom to AMs."""

from __future__ import annotations

from loomcard.model.queue import Queue
from loomcard.model.resource import Resource

Amounts = tuple[int, ...]
"""Amounts as plain data, which a memory may contain."""

EVERYBODY = ""
"""The key of what applies to all users if there is no user limit."""


def headroom_by_user(leaf: Queue, free: Resource) -> dict[str, Amounts]:
    """By user, the least of ``free`` and of what the maxima along the path and the user limit
    leave, never below 0. Without a user limit, ``EVERYBODY`` is the only key.
    """
    for queue in leaf.capped:
        assert queue.maximum is not None
        free = free.least(queue.maximum.minus(queue.used))
    found, limit = {EVERYBODY: free}, leaf.user_limit
    if limit is not None:
        found = {user: free.least(limit.minus(used)) for user, used in leaf.user_used.items()}
    return {user: tuple(max(0, amount) for amount in room) for user, room in found.items()}
