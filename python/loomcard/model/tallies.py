"""What ClusterState keeps count of along the queues above an application, and in an ask's rows."""

from __future__ import annotations

from loomcard.model.objects import Application, Ask, Container, Node
from loomcard.model.queue import Queue


def sums_of(leaf: Queue, user: str) -> list[list[int]]:
    """What a container of a user's application in a leaf queue is charged to, from the leaf up."""
    sums = []
    if leaf.user_limit is not None:
        sums.append(leaf.user_used.setdefault(user, [0] * len(leaf.used)))
    queue: Queue | None = leaf
    while queue is not None:
        sums.append(queue.used)
        queue = queue.parent
    return sums


def add_demand(queue: Queue | None, change: int) -> None:
    """So many more containers are outstanding in a queue and in all above it."""
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
    """Only a queue whose oldest this was has another age now."""
    queue: Queue | None = app.queue
    while queue is not None:
        if queue.oldest_ms == app.submitted_ms:
            queue.oldest_ms = None
        queue = queue.parent


def age_changed(queue: Queue | None) -> None:
    """Which of its applications is the oldest that waits may have changed."""
    while queue is not None:
        queue.oldest_ms = None
        queue = queue.parent


def note_labelled(labelled: dict[str, dict[Ask, None]], ask: Ask) -> None:
    """Keep the outstanding asks with a label, by label."""
    if ask.count > 0:
        labelled.setdefault(ask.label, {})[ask] = None
    else:
        labelled[ask.label].pop(ask, None)


def take_row(rows: dict[str, int], name: str) -> bool:
    """One container fewer is wanted in a row; whether any was."""
    left = rows.get(name, 0)
    if left > 1:
        rows[name] = left - 1
    elif left:
        del rows[name]
    return left > 0


def take_locality(ask: Ask, node: Node, container: Container) -> None:
    """As YARN counts: a node-local allocation also serves its rack's row, a rack-local one only the
    rack's.
    """
    if ask.racks:
        reach = ask.reach(node)
        container.host_row = reach == 0 and take_row(ask.hosts, node.host)
        container.rack_row = reach in (0, 1) and take_row(ask.racks, node.rack)
