"""What each AM is told that it may still obtain: no more than its category's quota leaves."""

from __future__ import annotations

from math import floor

from loomcard.model.plan import Plan
from loomcard.model.resource import Resource
from loomcard.policies.dress.books import Books
from loomcard.policies.dress.classify import CATEGORIES


def tell_headroom(plan: Plan, books: Books) -> None:
    """Tell the AMs whose headroom is another than they were told last.

    It is the least of what is free, and of what quota, maxima and user limit leave. An AM that
    takes the other category's reserve for free room lets its reduces wait for maps that never come.
    """
    ledger, leaf = plan.view._ledger, plan.view.queue
    free = ledger.capacity.minus(ledger.queues[0].used)
    for queue in leaf.capped:
        assert queue.maximum is not None
        free = free.least(queue.maximum.minus(queue.used))
    rooms = {}
    for kind in CATEGORIES:
        left = books.left(kind)
        rooms[kind] = free if left is None else free.least([floor(amount) for amount in left])
    said: dict[tuple[str, str], Resource] = {}  # by category and user: applications are many
    for app in leaf.applications.values():
        job = books.jobs.get(app)
        who = job.kind, "" if leaf.user_limit is None else app.user
        amounts = said.get(who)
        if amounts is None:
            room = rooms[job.kind]
            if leaf.user_limit is not None:
                used = leaf.user_used.get(app.user, ledger.zero)
                room = room.least(leaf.user_limit.minus(used))
            amounts = said[who] = Resource(max(0, amount) for amount in room)
        if tuple(amounts) != job.told:
            job.told = tuple(amounts)
            plan.headroom(app, amounts)
