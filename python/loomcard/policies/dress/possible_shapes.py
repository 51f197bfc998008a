"""Which containers would fit on nodes that are empty, or that run only AMs."""

from __future__ import annotations

from collections.abc import Iterable

from loomcard import Ask, ClusterView, Node, Resource, fits, subtract_all
from loomcard.advanced import why_never


def fits_with_ams(ask: Ask, nodes: Iterable[Node]) -> bool:
    """Return whether a container of ``ask`` would fit on some node that runs only its AMs."""
    for node in nodes if ask.count > 0 else ():
        if why_never(ask, node) is None:
            room = list(node.capacity)
            for container in node.containers:
                if container.is_am:
                    subtract_all([room], container.size)
            if fits(ask.size, room):
                return True
    return False


class PossibleShapes:
    """Which containers would fit on some node if it were empty."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._capacities: dict[str, list[Resource]] = {}  # of nodes, by ask label, each once

    def fits(self, size: Resource, label: str) -> bool:
        """Return whether ``size`` fits on some empty node that takes asks with this node label."""
        found = self._capacities.get(label)
        if found is None:
            every = (node.capacity for node in self._view.nodes if node.takes(label))
            found = self._capacities[label] = list(dict.fromkeys(every))
        return any(fits(size, capacity) for capacity in found)

    def forget(self) -> None:
        """Forget the capacities, because the nodes have changed."""
        self._capacities.clear()
