"""What ClusterState counts along the queues above an application, and in an ask's rows."""

from __future__ import annotations

from collections.abc import Iterator

from loomcard.model.objects import Application, Ask, Container, Node
from loomcard.model.queue import Queue


def sums_of(leaf: Queue, user: str) -> list[list[int]]:
    """The sums to which a container of a user in a leaf queue is charged, from the leaf up."""
    sums = []
    if leaf.user_limit is not None:
        sums.append(leaf.user_used.setdefault(user, [0] * len(leaf.used)))
    queue: Queue | None = leaf
    while queue is not None:
        sums.append(queue.used)
        queue = queue.parent
    return sums


def add_demand(queue: Queue | None, change: int) -> None:
    """Add ``change`` to the outstanding containers of a queue and of all queues above it."""
    while queue is not None:
        queue.pending_count += change
        queue = queue.parent


def began_to_demand(app: Application) -> None:
    """Keep the age of the queues above, whose own demand has not been counted yet: a walk over
    all their applications at each such change would cost more than the decision itself.
    """
    queue: Queue | None = app.queue
    while queue is not None:
        if queue.oldest_ms is not None:
            alone = queue.pending_count == 0
            queue.oldest_ms = app.submitted_ms if alone else min(queue.oldest_ms, app.submitted_ms)
        queue = queue.parent


def stopped_to_demand(app: Application) -> None:
    """Drop the age of the queues in which this application was the oldest."""
    queue: Queue | None = app.queue
    while queue is not None:
        if queue.oldest_ms == app.submitted_ms:
            queue.oldest_ms = None
        queue = queue.parent


def age_changed(queue: Queue | None) -> None:
    """Note that another of the queue's applications may be the oldest that waits."""
    while queue is not None:
        queue.oldest_ms = None
        queue = queue.parent


def waiting_for_master(queue: Queue) -> Iterator[Application]:
    """One application of each leaf in a queue and below it of which some ask for their AM."""
    for child in queue.children:
        yield from waiting_for_master(child)
    waiting = (app for app in queue.applications.values() if app.asks and app.asks[0].is_am)
    if (first := next(waiting, None)) is not None:
        yield first


def note_labelled(labelled: dict[str, dict[Ask, None]], ask: Ask) -> None:
    """Keep the outstanding asks with a label, by label."""
    if ask.count > 0:
        labelled.setdefault(ask.label, {})[ask] = None
    else:
        labelled[ask.label].pop(ask, None)


def take_row(rows: dict[str, int], name: str) -> bool:
    """Reduce a row by one container. Return whether any was wanted."""
    left = rows.get(name, 0)
    if left > 1:
        rows[name] = left - 1
    elif left:
        del rows[name]
    return left > 0


def take_locality(ask: Ask, node: Node, container: Container) -> None:
    """Reduce an ask's rows as YARN does: a node-local allocation also counts in its rack's row, a
    rack-local one only in the rack's row.
    """
    if ask.racks:
        reach = ask.reach(node)
        container.host_row = reach == 0 and take_row(ask.hosts, node.host)
        container.rack_row = reach in (0, 1) and take_row(ask.racks, node.rack)
