"""The nodes of a cluster by their label, and which of them lend idle room."""

from __future__ import annotations

from enum import Enum, auto

from loomcard.model.objects import Node, Partition
from loomcard.model.resource import Resource, fits


class Stage(Enum):
    """What a round of the policies distributes now."""

    GUARANTEED = auto()
    """The nodes of each label, among the asks with that label; queues below their guarantee on a
    label come before their siblings.
    """
    OWN = auto()
    """The same without that order, if queues below their guarantee cannot use it."""
    LENT = auto()
    """What is left of shared partitions, among the asks without a label."""
    OVER = auto()
    """Nothing: no round is running. Then the engine decides what is allowed."""


class Partitions(dict[str, Partition]):
    """The nodes by label; "" is the default one. A label without nodes has no partition.

    ``shared``: the nodes whose partition is not exclusive, by number. ``lends``: whether asks
    without a label may use them now. ``lending``: the label whose nodes alone are
    lent now; "" if all are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[int, Node] = {}
        self.lends = True
        self.lending = ""
        self._largest: dict[tuple[str, bool], list[Resource]] = {}
        self._version = -1

    @property
    def lenders(self) -> list[str]:
        """The labels whose nodes lend."""
        return sorted({node.label for node in self.shared.values()})

    def join(self, node: Node) -> None:
        """Add a node that joined, or has another label."""
        if node.label not in self:
            self[node.label] = Partition()
        self[node.label].nodes[node.number] = node
        if node.shared:
            self.shared[node.number] = node

    def leave(self, node: Node) -> None:
        """Remove a node that leaves, or will get another label."""
        self.shared.pop(node.number, None)
        partition = self[node.label]
        del partition.nodes[node.number]
        if not partition.nodes:
            del self[node.label]

    def largest(self, label: str, version: int, lent: bool = False) -> list[Resource]:
        """The capacities of a label's nodes, without those that another one exceeds. A size that
        fits into none of them fits on no empty node. They are computed again for another
        ``version`` of the capacities. ``lent``: count shared nodes for asks without a label.
        """
        if version != self._version:
            self._version = version
            self._largest.clear()
        lent = lent and not label
        found = self._largest.get((label, lent))
        if found is None:
            found = self._largest[label, lent] = []
            nodes = list(self[label].nodes.values()) if label in self else []
            nodes += self.shared.values() if lent else ()
            for capacity in sorted({node.capacity for node in nodes}, reverse=True):
                if not any(fits(capacity, larger) for larger in found):
                    found.append(capacity)
        return found
