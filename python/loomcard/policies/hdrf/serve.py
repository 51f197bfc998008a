"""What a leaf that was chosen gets: one container, or the reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loomcard.model.cluster import Application, Ask, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.resource import room_for
from loomcard.model.room import Shape
from loomcard.model.view import NOTHING, WITHHELD, asks_below
from loomcard.policies.fill import Index
from loomcard.policies.hdrf.cluster_tree import Forest, Partition, applications_of
from loomcard.policies.hdrf.share_tree import Leaf
from loomcard.policies.hold import no_room

HEADROOM = "HEADROOM"
"""The reason of an ask that would fit on a server, but for the headroom that is left there."""

NEVER = -1
"""No timer."""


class Server:
    """Serves the leaves of one call."""

    def __init__(self, plan: Plan, forest: Forest, withheld: dict[str, list[int]]) -> None:
        self.plan = plan
        self.forest = forest
        self.withheld = withheld
        self.node: Node | None = None  # where the last container went; None: its policy knows

    def serve(self, partition: Partition, leaf: Leaf, fitting: frozenset[Shape]) -> bool:
        """One container for a leaf (Algorithm 4's ``consume``); whether it got one. Of the shapes
        only those ``fitting`` have room on a server.
        """
        self.node = None
        member = leaf.member
        if isinstance(member, Application):
            return self._grant(partition, member, fitting)
        if self.forest.decides_itself(member):
            return self._turn(leaf, member)
        return self._first_in_first_out(partition, member, fitting)

    def serve_on(self, leaf: Leaf, shape: Shape, node: Node) -> bool:
        """One container of this shape on this server, if one of the leaf's asks may go there; a
        queue with a policy of its own decides itself, and where.
        """
        plan, member = self.plan, leaf.member
        if isinstance(member, Queue) and self.forest.decides_itself(member):
            return plan.turn(member).count > 0
        for ask in asks_of(leaf, shape):
            free = plan.limited(ask) is None and plan.allows(ask)
            if free and plan.why_not(ask, node) is None:
                plan.grant(ask, node)
                return True
        return False

    def _grant(self, partition: Partition, app: Application, fitting: frozenset[Shape]) -> bool:
        """The first of an application's asks that may have a container and fits."""
        for ask in app.asks:
            if ask.count <= 0 or ask.label != partition.label:
                continue
            reason = self._tried(ask, fitting)
            if reason is None:
                return True
            if reason:
                self.plan.wait(ask, reason)
        return False

    def _tried(self, ask: Ask, fitting: frozenset[Shape]) -> Reason | str | None:
        """Grant a container of ``ask``; else the reason why not ("": the turn is used up)."""
        plan = self.plan
        limit = plan.limited(ask)
        if limit is not None:
            return limit
        if not plan.allows(ask):
            return ""
        if (ask.size, ask.label) not in fitting:
            return self._why_full(ask)
        node = self.forest.servers.place(plan, ask)
        if node is not None:
            plan.grant(ask, node)
            self.node = node
            return None
        return Reason.LOCALITY if not ask.relax_locality else Reason.BLACKLISTED

    def _why_full(self, ask: Ask) -> Reason | str:
        """Why no server has room: none has, or none beside what must stay free."""
        ledger = self.forest.ledger
        if ledger.rooms.of(ask.size, ask.label).first() is None:
            return no_room(ledger, ask)
        return HEADROOM

    def _turn(self, leaf: Leaf, queue: Queue) -> bool:
        """A queue with a policy of its own decides for one container."""
        taken = self.plan.turn(queue)
        if taken.count:
            return True
        if taken.stopped != NOTHING and self._could_have_had(leaf, queue):
            wake_ms = self.plan._draft.wakes.get(queue.number)
            if wake_ms is None:  # one that holds back for a reason outside itself is asked again
                wake_ms = NEVER if taken.stopped == WITHHELD or self._at_limits(queue) else 0
            self.withheld[queue.path] = [wake_ms, *_stamp(self.forest, queue)]
            self.forest.changed[queue] = None
        return False

    def _could_have_had(self, leaf: Leaf, queue: Queue) -> bool:
        """None of its asks waits for room, for this turn's end, or for a queue above: what it did
        not take is not wanted, or forbidden in the queue itself.
        """
        room = self.forest.servers
        if all(room.first(*shape) is None for shape in leaf.wants):
            return False
        for ask in asks_below(queue):
            if not self.plan.allows(ask) or _full_above(queue, ask):
                return False
            limit = self.plan.limited(ask)
            if limit == Reason.LABEL_GUARANTEE:
                return False
            if limit is None and room.place(self.plan, ask) is None:
                return False
        return True

    def _at_limits(self, queue: Queue) -> bool:
        return all(self.plan.limited(ask) for ask in asks_below(queue))

    def _first_in_first_out(
        self, partition: Partition, queue: Queue, fitting: frozenset[Shape]
    ) -> bool:
        indexes = self.plan.view._indexes
        index = indexes.get(queue)
        if index is None:
            index = indexes[queue] = Index(queue)
        index.refresh(self.forest.ledger.capacity_version, by_submission)
        got, blocked = False, Blocked(fitting)
        while not got and (app := index.top(blocked)) is not None:
            got = self._grant(partition, app, fitting)  # type: ignore[arg-type]
            if got:
                index.served(by_submission, app)
            else:
                index.set_aside()
        index.put_back()
        return got

    def tell(self) -> None:
        """Asks that were not looked at wait for room."""
        for app in self.forest.untold:
            for ask in app.asks:
                if ask.count > 0 and ask.told is None:
                    self.plan.wait(ask, self.plan.limited(ask) or self._why(ask))
        self.forest.untold.clear()

    def _why(self, ask: Ask) -> Reason | str:
        ever = self.forest.servers.can_ever((ask.size, ask.label))
        return self._why_full(ask) if ever else Reason.NODE_FULL


class Blocked:
    """The shapes that fit nowhere: all but some."""

    def __init__(self, fitting: frozenset[Shape]) -> None:
        self._fitting = fitting

    def __contains__(self, shape: object) -> bool:
        return shape not in self._fitting


def by_submission(app: Any) -> tuple[int, int]:
    """FIFO inside a leaf queue: priority, then submission."""
    return -app.priority, app.submitted_ms


def asks_of(leaf: Leaf, shape: Shape) -> Iterator[Ask]:
    """The outstanding asks of a leaf for containers of one shape, in the order it is served."""
    apps = applications_of(leaf.member)
    for app in sorted(apps, key=lambda a: (*by_submission(a), a.number)):
        for ask in app.asks:
            if ask.count > 0 and (ask.size, ask.label) == shape:
                yield ask


def _full_above(queue: Queue, ask: Ask) -> bool:
    """A queue above ``queue`` has its maximum."""
    return any(
        above.maximum is not None and not room_for(ask.size, above.used, above.maximum)
        for above in queue.capped
        if above is not queue
    )


def released(withheld: Mapping[str, Sequence[int]], forest: Forest, now_ms: int) -> list[str]:
    """Which of the queues that held back are asked again: something in them changed, or their timer
    is due.
    """
    changed = {queue.path for queue in forest.changed_inside()} if withheld else ()
    queues = forest.ledger.by_path
    return [
        path
        for path, (wake_ms, *then) in withheld.items()
        if path in changed or then != _stamp(forest, queues[path]) or 0 <= wake_ms <= now_ms
    ]


def _stamp(forest: Forest, queue: Queue) -> list[int]:
    return [forest.ledger.capacity_version, queue.pending_count, *queue.used]
