"""What each AM is told that it may still obtain: no more than its category's quota leaves."""

from __future__ import annotations

from math import floor

from loomcard.model.plan import Plan
from loomcard.model.resource import Resource
from loomcard.policies.dress.books import Books
from loomcard.policies.dress.classify import CATEGORIES
from loomcard.policies.headroom import EVERYBODY, Told, rooms


def tell_headroom(plan: Plan, books: Books) -> None:
    """Tell the AMs whose headroom is another than they were told last.

    It is the least of what is free, and of what quota, maxima and user limit leave. An AM that
    takes the other category's reserve for free room lets its reduces wait for maps that never come.
    """
    ledger, leaf = plan.view._ledger, plan.view.queue
    free = ledger.capacity.minus(ledger.queues[0].used)
    found: dict[str, dict[str, Told]] = {}
    for kind in CATEGORIES:
        left = books.left(kind)
        room = free if left is None else free.least([floor(amount) for amount in left])
        found[kind] = rooms(leaf, room)
    for app in leaf.applications.values():
        job = books.jobs.get(app)
        amounts = found[job.kind][EVERYBODY if leaf.user_limit is None else app.user]
        if amounts != job.told:
            job.told = amounts
            plan.headroom(app, Resource(amounts))
