"""Which node an ask's next container goes to: node-local, then rack-local, then any; ties by node
number.
"""

from __future__ import annotations

from collections.abc import Iterator

from loomcard.model.objects import Ask, Node
from loomcard.model.reservations import fits_reserved
from loomcard.model.resource import fits
from loomcard.model.state import ClusterState


def place(state: ClusterState, ask: Ask) -> Node | None:
    """The best node for one container of ``ask`` now, without regard to queue limits; None if no
    node that it may use has room.
    """
    for reservation in ask.reservations:
        if _may(state, ask, reservation.node):
            return reservation.node
    if not ask.hosts and not ask.racks and ask.relax_locality and not ask.attempt.blacklist:
        return state.fit_indexes.first(ask.size, ask.label)
    if state.fit_indexes.first(ask.size, ask.label) is None:
        return None
    return next(nodes_fitting(state, ask), None)


def nodes_fitting(state: ClusterState, ask: Ask) -> Iterator[Node]:
    """Every node that may take one container of ``ask`` now, best first, each once."""
    seen: set[int] = set()
    for numbers in _tiers(state, ask):
        for number in numbers:
            node = state.nodes[number]
            if number not in seen and _may(state, ask, node):
                seen.add(number)
                yield node


def _tiers(state: ClusterState, ask: Ask) -> Iterator[list[int]]:
    for table, rows in ((state.hosts, ask.hosts), (state.racks, ask.racks)):
        # An ask may name more hosts than exist: the shorter of the two is walked.
        names = rows if len(rows) <= len(table) else table
        named = [name for name in names if rows.get(name)]
        yield sorted(number for name in named for number in table.get(name, ()))
    if ask.relax_locality:
        first = state.fit_indexes.first(ask.size, ask.label)
        if first is not None and _may(state, ask, first):
            yield [first.number]  # the lowest of all, without a walk over every node
        yield sorted(state.fit_indexes.shared or state.nodes)


def _may(state: ClusterState, ask: Ask, node: Node) -> bool:
    if not state.fit_indexes.offers(node, ask.label):
        return False
    if not fits(ask.size, node.room) and not fits_reserved(ask, node):
        return False
    if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
        return False
    blacklist = ask.attempt.blacklist
    return not blacklist or blacklist.isdisjoint((node.host, node.rack))
