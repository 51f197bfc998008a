"""The holds of a test's cluster, in its own books, against which plans are checked."""

from __future__ import annotations

from collections.abc import Callable
from operator import sub
from typing import TYPE_CHECKING

from loomcard.model.resource import fits
from loomcard.wire import messages as r

if TYPE_CHECKING:
    from loomcard.testing.cluster import Cluster, Granted, Key


class HeldRoom:
    """What is held for which ask. ``may_differ``: the policy's mirror may have other holds."""

    def __init__(self, broken: Callable[[str, str], Exception]) -> None:
        """``broken``: what is raised, made of the contract's word and a message."""
        self._broken = broken
        self.rows: dict[tuple[Key, int], tuple[int | None, int, int]] = {}  # by ask and node
        self.may_differ = False
        self._sizes: dict[Key, tuple[int, ...]] = {}

    def decide(self, decision: r.Keep | r.Release, cluster: Cluster) -> None:
        """Carry a decision out, which may break no rule of holds."""
        self.may_differ = True
        key = (decision.attempt, decision.priority, decision.allocation_request_id)
        mine = {node: row for (ask, node), row in self.rows.items() if ask == key}
        if isinstance(decision, r.Release):
            if not mine:
                raise self._broken("ask", f"{decision} gives up what nobody holds")
            for node in mine:
                del self.rows[key, node]
            return
        if key not in cluster.asks:
            raise self._broken("ask", f"{decision} is for what nobody asks for")
        if any(ask[0] == key[0] and ask != key for ask, _ in self.rows):
            raise self._broken(
                "over-allocates", f"{decision} is for a second ask of its application"
            )
        if any(node == decision.node and ask != key for ask, node in self.rows):
            raise self._broken("over-allocates", f"{decision} is a second hold on its node")
        if decision.node not in mine and len(mine) >= _most(cluster, key[0]):
            first = min(mine, key=lambda node: (mine[node][2], node))
            del self.rows[key, first]
        self._sizes[key] = cluster.asks[key].record.size
        if not fits(self._sizes[key], cluster.nodes[decision.node]):
            raise self._broken("over-allocates", f"{decision} is for more than the node has")
        since_ms = next((since_ms for _, since_ms, _ in mine.values()), cluster.now)
        self.rows[key, decision.node] = (decision.until_ms, since_ms, cluster.now)

    def refused(self, decision: r.Decision) -> None:
        """The mirror took the decision for carried out."""
        self.may_differ |= bool(self.rows) or isinstance(decision, r.Keep)

    def granted(self, granted: Granted, cluster: Cluster) -> None:
        """A container was placed, which may not be in room held for another. A hold ends with the
        last container of its ask, wherever that one was placed.
        """
        for key, node in list(self.rows):
            used_up = granted.ask not in cluster.asks
            if key == granted.ask and (used_up or node == granted.node):
                del self.rows[key, node]
                self.may_differ = True
        for key, node in self.rows:
            if node != granted.node:
                continue
            on_node = [g.size for g in cluster.containers.values() if g.node == node]
            used = tuple(map(sum, zip(*on_node, strict=True)))
            left = map(sub, cluster.nodes[node], used)
            before = zip(left, granted.size, self._sizes[key], strict=True)
            if any(size and free < min(held, free + size) for free, size, held in before):
                raise self._broken("over-allocates", f"{granted} is in room held for {key}")

    def records(self, cluster: Cluster) -> list[r.AnyRecord]:
        """The list of holds for the next batch, where the mirror may have another."""
        for (key, node), row in list(self.rows.items()):
            if self._is_over(key, node, row[0], cluster):
                del self.rows[key, node]
                self.may_differ = True
        if not self.may_differ:
            return []
        self.may_differ = False
        rows = [(*key, node, *row) for (key, node), row in self.rows.items()]
        return [r.Holds(cluster.now, sorted(rows, key=lambda row: (row[:3], row[-1], row[3])))]

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


def _most(cluster: Cluster, attempt: int) -> int:
    """On how many nodes room may be held for an application."""
    return cluster.session.mirror.ledger.attempts[attempt].application.queue.hold_nodes
