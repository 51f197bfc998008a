"""What nodes could hold: were they empty, or held AMs alone."""

from __future__ import annotations

from collections.abc import Iterable

from loomcard import Ask, ClusterView, Node, Resource, fits, subtract_all
from loomcard.advanced import why_never


def fits_with_ams(ask: Ask, nodes: Iterable[Node]) -> bool:
    """Whether some node could hold a container of ``ask`` if it held AMs alone."""
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
    """Which containers some node could hold if it were empty."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._capacities: dict[str, list[Resource]] = {}  # of nodes by the label of asks, each once

    def fits(self, size: Resource, label: str) -> bool:
        """Whether some node could hold one of this size, for an ask with this node label."""
        found = self._capacities.get(label)
        if found is None:
            every = (node.capacity for node in self._view.nodes if node.takes(label))
            found = self._capacities[label] = list(dict.fromkeys(every))
        return any(fits(size, capacity) for capacity in found)

    def forget(self) -> None:
        """The nodes are others now."""
        self._capacities.clear()
