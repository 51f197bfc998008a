"""Whether AMs leave room for tasks."""

from __future__ import annotations

from collections.abc import Iterable

from loomcard import Ask, Node, fits, subtract_all, why_never


def fits_beside_ams(ask: Ask, nodes: Iterable[Node]) -> bool:
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
