"""Room kept on one server for one task: for the first in line whose task is larger than what comes
free, and for a leaf for which containers were taken.

Nobody else is placed in what is held, so the room grows until the task fits. One server idles in
part meanwhile, where headroom on all servers would idle a part of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loomcard.model.cluster import Ask, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Shape
from loomcard.policies.hdrf.cluster_tree import Forest, Partition
from loomcard.policies.hdrf.fit import Hold
from loomcard.policies.hdrf.serve import Server, asks_of
from loomcard.policies.hdrf.share_tree import Leaf

EVERY_MS = 1000
"""How often it is looked at who is first in line, at most."""
NO_END = 1 << 62
NEVER = {Reason.NODE_GONE, Reason.LABEL, Reason.BLACKLISTED, Reason.LOCALITY}
"""Why a task may not go to a server, whatever is free there."""


@dataclass
class Line:
    """What one call leaves for the next."""

    holds: list[Hold] = field(default_factory=list)
    waiting: dict[str, list[Any]] = field(default_factory=dict)
    """By partition: the word of the leaf that is first in line and waits for room on one server,
    and since when, in ms.
    """
    look_ms: int = 0
    """It is looked at again."""


class Holds:
    """The holds of one call: every change of them is known to the servers."""

    def __init__(self, plan: Plan, forest: Forest, line: Line) -> None:
        self._plan = plan
        self._forest = forest
        self.line = line
        self.unused: list[str] = []  # words of leaves that did not use room that was taken for them
        self.prune()

    def prune(self) -> bool:
        """End those whose ask or server is gone, or whose time is over; whether there were any."""
        before = len(self.line.holds)
        self.line.holds[:] = [hold for hold in self.line.holds if self._stands(hold)]
        self._forest.servers.hold(self.line.holds)
        return len(self.line.holds) < before

    def _stands(self, hold: Hold) -> bool:
        leaf, node = leaf_of(self._forest, hold), self._forest.ledger.nodes.get(hold.node)
        over = hold.until_ms <= self._plan.view.now_ms
        wanted = leaf is not None and _shape(hold) in leaf.wants
        if hold.taken and (over or (not wanted and hold.leaf in self._forest.withheld)):
            self.unused.append(hold.leaf)
        return wanted and not over and node is not None and node.label == hold.label

    def of(self, leaf: Leaf) -> Iterator[Hold]:
        """Those of a leaf."""
        word = word_of(leaf)
        return (hold for hold in self.line.holds if hold.leaf == word)

    def add(self, hold: Hold) -> None:
        """Room is held from now on."""
        self.line.holds.append(hold)
        self._forest.servers.hold(self.line.holds)

    def drop(self, hold: Hold) -> None:
        """It is held no more."""
        self.line.holds.remove(hold)
        self._forest.servers.hold(self.line.holds)

    def serve(self, server: Server) -> Iterator[Hold]:
        """Each whose room is there goes to its leaf, before all others; those that were used."""
        for hold in list(self.line.holds):
            node = self._forest.ledger.nodes[hold.node]
            leaf = leaf_of(self._forest, hold)
            room = fits(hold.size, self._forest.servers.left(node, hold.size))
            if leaf is None or not room or server.plan.spent:
                continue
            self.drop(hold)
            if server.serve_on(leaf, _shape(hold), node):
                yield hold
            elif hold.taken:  # a limit is in the way, or it holds back: it may still come
                self.add(hold)

    def look(self, after_ms: int) -> None:
        """In each partition, hold room for the first in line, if it has been first, and has waited
        for a task larger than others', for ``after_ms``.
        """
        now, line = self._plan.view.now_ms, self.line
        if now >= line.look_ms:
            line.look_ms = now + EVERY_MS
            found: dict[str, list[Any]] = {}
            self._move()
            for label, partition in self._forest.partitions.items():
                first = None if self._holds_one(label) else self._first(partition)
                if first is not None:
                    word = word_of(first[0])
                    known = line.waiting.get(label)
                    found[label] = known if known and known[0] == word else [word, now]
                    if now - found[label][1] >= after_ms and self._held(*first):
                        del found[label]
            line.waiting = found
        if line.waiting:
            self._plan.wake_at(line.look_ms)

    def _move(self) -> None:
        """To a server that has more of the room by now."""
        for hold in [each for each in self.line.holds if not each.taken]:
            leaf, node = leaf_of(self._forest, hold), self._forest.ledger.nodes[hold.node]
            ask = None if leaf is None else next(asks_of(leaf, _shape(hold)), None)
            best = None if leaf is None or ask is None else self._best_server(leaf, ask)
            had = covered(self._forest.servers.left(node, hold.size), hold.size)
            if best is not None and covered(self._forest.servers.left(best), hold.size) > had:
                self.drop(hold)
                self.add(replace(hold, node=best.number))

    def _holds_one(self, label: str) -> bool:
        return any(hold.label == label and not hold.taken for hold in self.line.holds)

    def _first(self, partition: Partition) -> tuple[Leaf, Ask] | None:
        """The leaf that goes first of those that want a large task or compete with one, and its
        ask, if it waits for a large one.
        """
        servers = self._forest.servers
        fitting = partition.fitting(servers)
        large = {w for w in partition.wanted if w not in fitting and rivals(partition.wanted, w)}
        if not large:
            return None
        racing = large | {rival for w in large for rival in rivals(partition.wanted, w)}
        shares = partition.shares(servers, frozenset(racing))
        leaf = shares.descend(partition.tree.root, lambda _: None)
        if leaf is None or any(w in fitting for w in leaf.wants):
            return None
        for want in leaf.wants:
            for ask in asks_of(leaf, want) if want in large else ():
                if self._plan.limited(ask) is None:
                    return leaf, ask
        return None

    def _held(self, leaf: Leaf, ask: Ask) -> bool:
        """Room is held for an ask; False: no server is there for it."""
        best = self._best_server(leaf, ask)
        if best is not None:
            word = word_of(leaf)
            self.add(Hold(word, best.number, list(ask.size), ask.label, NO_END, taken=False))
        return best is not None

    def _best_server(self, leaf: Leaf, ask: Ask) -> Node | None:
        """The one that has most of the room, of equals where the leaf itself has least: what its
        own tasks leave comes back to it anyway.
        """
        best: tuple[float, int, int, Node] | None = None
        for number, node in self._forest.ledger.partitions[ask.label].nodes.items():
            if fits(ask.size, node.capacity) and self._plan.why_not(ask, node) not in NEVER:
                left = self._forest.servers.left(node)
                apps = (container.application for container in node.containers)
                own = sum(1 for app in apps if leaf.member in (app, app.queue))
                rank = covered(left, ask.size), -own, -number, node
                best = rank if best is None or rank[:3] > best[:3] else best
        return None if best is None else best[3]


def covered(free: Sequence[int], size: Sequence[int]) -> float:
    """The part of a task for which there is room."""
    return min(f / s for f, s in zip(free, size, strict=True) if s)


def rivals(wanted: Sequence[Shape], large: Shape) -> list[Shape]:
    """The shapes that take of what a large one needs, and fit where it does not."""
    size = large[0]
    return [
        (other, label)
        for other, label in wanted
        if any(a and b for a, b in zip(other, size, strict=True))
        and any(a < b for a, b in zip(other, size, strict=True))
    ]


def word_of(leaf: Leaf) -> str:
    """A leaf as plain text, for a memory."""
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"application {member.number}"


def leaf_of(forest: Forest, hold: Hold) -> Leaf | None:
    """The leaf of a hold, if it is there."""
    partition, ledger = forest.partitions.get(hold.label), forest.ledger
    path, _, number = hold.leaf.partition("application ")
    member: Any = ledger.applications.get(int(number)) if number else ledger.by_path.get(path)
    return None if partition is None or member is None else partition.leaves.get(member)


def _shape(hold: Hold) -> Shape:
    return Resource(hold.size), hold.label
