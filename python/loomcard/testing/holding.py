"""The holds of a test's cluster, in its own books, against which plans are checked."""

from __future__ import annotations

from collections.abc import Callable
from operator import sub
from typing import TYPE_CHECKING

from loomcard.model import records as r
from loomcard.model.resource import fits

if TYPE_CHECKING:
    from loomcard.testing.cluster import Cluster, Granted, Key


class HeldRoom:
    """What is held for which ask. ``may_differ``: the policy's mirror may have other holds."""

    def __init__(self, broken: Callable[[str, str], Exception]) -> None:
        """``broken``: what is raised, made of the contract's word and a message."""
        self._broken = broken
        self.rows: dict[Key, tuple[int, int | None, int, int]] = {}
        self.may_differ = False
        self._sizes: dict[Key, tuple[int, ...]] = {}

    def decide(self, decision: r.Keep | r.Release, cluster: Cluster) -> None:
        """Carry a decision out, which may break no rule of holds."""
        self.may_differ = True
        key = (decision.attempt, decision.priority, decision.allocation_request_id)
        before = self.rows.pop(key, None)
        if isinstance(decision, r.Release):
            if before is None:
                raise self._broken("ask", f"{decision} gives up what nobody holds")
            return
        if key not in cluster.asks:
            raise self._broken("ask", f"{decision} is for what nobody asks for")
        if any(held[0] == key[0] for held in self.rows):
            raise self._broken("over-allocates", f"{decision} is a second hold of its application")
        if any(node == decision.node for node, *_ in self.rows.values()):
            raise self._broken("over-allocates", f"{decision} is a second hold on its node")
        self._sizes[key] = cluster.asks[key].record.size
        if not fits(self._sizes[key], cluster.nodes[decision.node]):
            raise self._broken("over-allocates", f"{decision} is for more than the node has")
        since_ms = cluster.now if before is None else before[2]
        self.rows[key] = (decision.node, decision.until_ms, since_ms, cluster.now)

    def refused(self, decision: r.Decision) -> None:
        """The mirror took the decision for carried out."""
        self.may_differ |= bool(self.rows) or isinstance(decision, r.Keep)

    def granted(self, granted: Granted, cluster: Cluster) -> None:
        """A container was placed, which may not be in room held for another. A hold ends with the
        last container of its ask, wherever that one was placed.
        """
        if granted.ask in self.rows and granted.ask not in cluster.asks:
            del self.rows[granted.ask]
            self.may_differ = True
        for key, (node, *_) in list(self.rows.items()):
            if node != granted.node:
                continue
            if key == granted.ask:
                del self.rows[key]
                self.may_differ = True
                continue
            on_node = [g.size for g in cluster.containers.values() if g.node == node]
            used = tuple(map(sum, zip(*on_node, strict=True)))
            left = map(sub, cluster.nodes[node], used)
            before = zip(left, granted.size, self._sizes[key], strict=True)
            if any(size and free < min(held, free + size) for free, size, held in before):
                raise self._broken("over-allocates", f"{granted} is in room held for {key}")

    def records(self, cluster: Cluster) -> list[r.AnyRecord]:
        """The list of holds for the next batch, where the mirror may have another."""
        for key, row in list(self.rows.items()):
            if self._is_over(key, *row[:2], cluster):
                del self.rows[key]
                self.may_differ = True
        if not self.may_differ:
            return []
        self.may_differ = False
        return [r.Holds(cluster.now, [(*key, *row) for key, row in sorted(self.rows.items())])]

    def _is_over(self, key: Key, node: int, until_ms: int | None, cluster: Cluster) -> bool:
        demand = cluster.asks.get(key)
        if demand is None or demand.record.size != self._sizes[key] or node not in cluster.nodes:
            return True
        host, rack, label = cluster.place(node)
        return (
            label != demand.record.label
            or not fits(self._sizes[key], cluster.nodes[node])
            or demand.reach(host, rack) is None
            or (until_ms is not None and until_ms <= cluster.now)
        )
