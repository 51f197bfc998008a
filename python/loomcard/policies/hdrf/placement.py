"""How a leaf gets a container, or room reserved on one server. Room is reserved for the first in
line if its task is larger than what becomes free.

A reservation leaves a part of one server idle; headroom would leave a part of every server idle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

from loomcard import (
    RULE_MS,
    Application,
    Ask,
    Chooser,
    ExhaustedShapes,
    Node,
    Plan,
    Queue,
    Reason,
    Shape,
    asks_below,
    no_room,
)
from loomcard.advanced import (
    NO_FIT,
    NOTHING,
    RESERVATION,
    WITHHELD,
    MemberIndex,
    asks_of,
    by_submission,
    for_first,
    last_turns,
    room_for,
)
from loomcard.policies.hdrf import paper
from loomcard.policies.hdrf.cluster_tree import Partition, PartitionTrees
from loomcard.policies.hdrf.share_tree import alloc

HEADROOM = "HEADROOM"
"""The reason of an ask that would fit on a server, but for the headroom that is left there."""

NEVER = -1
"""No timer."""


class Descent(Protocol):
    """The parts of Algorithm 4 that differ by policy."""

    stop_at_blocked: bool
    """Whether no leaf is served after one that is first and cannot be served."""

    def next_leaf(
        self, trees: PartitionTrees, partition: Partition, fitting: frozenset[Shape]
    ) -> paper.Node | None:
        """Return the leaf that goes first, or None. Only the shapes in ``fitting`` have room."""


class Leaves(Chooser):
    """Serve the leaf that the descent finds, one partition after the other (Algorithm 4)."""

    reviews = False  # ``reserve_for_first`` does

    def __init__(self, plan: Plan, trees: PartitionTrees, policy: Descent) -> None:
        super().__init__(plan.view.queue)
        self.plan = plan
        self.trees = trees
        self._policy = policy
        self._offers: Iterator[Ask | Queue] = iter(())
        self._got = False  # whether the last offer was taken
        self._node: Node | None = None  # where its container went; None: another policy knows
        self._leaf: paper.Node | None = None  # that is next
        self._fitting: frozenset[Shape] | None = None  # the shapes with room beside the headroom
        self._line: MemberIndex | None = None  # of a leaf that is a queue

    def update(self) -> None:
        """Take in what changed, for example by containers in reserved room; begin the descent
        again.
        """
        self.trees.update()
        self._offers, self._fitting = self._offered(), None

    def governs(self, queue: Queue) -> bool:
        """Return whether this policy serves the applications of a leaf queue."""
        return self.trees.governs(queue)

    def next(self, full: ExhaustedShapes) -> Ask | Queue | None:  # noqa: ARG002 - ``look`` knows
        """Return the next ask of the current leaf, or its queue if that has its own policy."""
        return next(self._offers, None)

    def _offered(self) -> Iterator[Ask | Queue]:
        """Offer one task of the leaf that the descent finds; repeat until it finds no leaf."""
        for partition in self.trees.partitions.values():
            fitting = partition.look()
            while (leaf := self._policy.next_leaf(self.trees, partition, fitting)) is not None:
                self._begin(leaf, fitting)
                yield from self._consume(partition, leaf)
                if not self._got:
                    if self._policy.stop_at_blocked:
                        break
                    partition.tree.set_aside(leaf)
                self.trees.update()
                fitting = partition.look(self._node)
        yield from self._last()

    def _last(self) -> Iterator[Queue]:
        """Offer queues with their own policy of which nothing fits on any server, not even in its
        headroom: one may have reserved room, or want some.
        """
        view = self.plan.view
        for queue in last_turns(view, self.trees.wanting()):
            wanted = self.trees.wanted_by(queue)
            wants = [want for _, leaf in wanted for want in leaf.wanted]
            if all(view.first_fit(*want) is None for want in wants):
                partition, leaf = wanted[0]
                self._begin(leaf, partition.look())
                yield queue

    def _begin(self, leaf: paper.Node, fitting: frozenset[Shape]) -> None:
        """Begin the offers of one leaf: none was taken."""
        self._leaf, self._fitting = leaf, fitting
        self._got, self._node, self._line = False, None, None

    def _consume(self, partition: Partition, leaf: paper.Node) -> Iterator[Ask | Queue]:
        """Yield the asks of an application, or of a queue's applications in the order of
        submission; or the queue itself if it has its own policy.
        """
        member = leaf.member
        if isinstance(member, Application):
            yield from self._asks(partition, member)
        elif self.trees.decides_itself(member):
            yield member
        else:
            view, fitting = self.plan.view, self._fitting or ()
            line = self._line = view.cache(member, lambda: MemberIndex(member).attach(view))
            line.refresh(view.capacity_version, by_submission)
            full = {shape for shape in line.known_shapes if shape not in fitting}
            while not self._got and (app := line.top(full)) is not None:
                yield from self._asks(partition, app)  # type: ignore[arg-type]
                if not self._got and not line.close(report=False):
                    line.set_aside()
            line.put_back()

    def _asks(self, partition: Partition, app: Application) -> Iterator[Ask]:
        for ask in app.asks:
            if ask.count > 0 and ask.label == partition.label:
                yield ask
                if self._got:
                    return

    def allocated(self, chosen: Ask | Queue, ask: Any) -> None:  # noqa: ARG002
        """Note that one task of the leaf has started."""
        self._got = True
        if ask is not None:
            app = ask.application
            self._node = next(reversed(app.containers)).node
            if self._line is not None:
                self._line.served(by_submission, app)

    def passed(self, chosen: Ask | Queue, *, forbidden: bool) -> None:  # noqa: ARG002
        """Continue with the leaf's next ask, or with the next leaf."""
        self._got = False

    def end(self) -> None:
        """Let leaves that were set aside try again in the next call."""
        for partition in self.trees.partitions.values():
            partition.tree.put_back()
        if self._line is not None:
            self._line.put_back()

    def forbids(self, ask: Ask) -> str | None:
        """Return HEADROOM if a server has room, but not beside what must stay free; or None."""
        shape = (ask.size, ask.label)
        if self._fitting is None or shape in self._fitting:
            return None
        return None if self.plan.view.first_fit(*shape) is None else HEADROOM

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Return a server that has room beside the headroom."""
        return self.trees.servers.place(plan, ask)

    def report(self, plan: Plan) -> None:
        """Give a reason to asks that were not looked at."""
        for app in self.trees.unreported:
            for ask in app.asks:
                if ask.count > 0 and ask.reported_reason is None:
                    reason = plan.limited(ask) or self._why_full(ask)
                    rule = plan.view.now_ms + RULE_MS if reason == HEADROOM else None
                    plan.wait(ask, reason, rule)
        self.trees.unreported.clear()

    def _why_full(self, ask: Ask) -> Reason | str:
        """Return why no server has room, or none beside what must stay free."""
        if self.plan.view.first_fit(ask.size, ask.label) is None:
            return no_room(self.plan.view, ask)
        return HEADROOM

    def turn(self, plan: Plan, child: Queue) -> bool:
        """Let a queue with its own policy decide for one container."""
        taken = plan.turn(child)
        if taken.count:
            return True
        assert self._leaf is not None
        if taken.stopped != NOTHING and self._could_have_had(self._leaf, child):
            wake_ms = plan.view.timer_of(child)
            if taken.stopped == NO_FIT:  # its policy asks again in the next round
                wake_ms = 0
            elif wake_ms is None:  # call it again if it holds back for a cause outside itself
                forbidden = all(plan.limited(ask) for ask in asks_below(child))
                wake_ms = NEVER if taken.stopped == WITHHELD or forbidden else 0
            self.trees.withheld[child.path] = [wake_ms, *_stamp(self.trees, child)]
            self.trees.changed[child] = None
        return False

    def _could_have_had(self, leaf: paper.Node, queue: Queue) -> bool:
        """Return whether the queue could have taken a container and did not: none of its asks waits
        for room, for the end of this turn, or for a queue above.
        """
        room = self.trees.servers
        if all(room.first(*shape) is None for shape in leaf.wanted):
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


def _full_above(queue: Queue, ask: Ask) -> bool:
    """Return whether the maximum of a queue above ``queue`` forbids the ask."""
    return any(
        above.maximum is not None and not room_for(ask.size, above.used, above.maximum)
        for above in queue.capped
        if above is not queue
    )


def release(trees: PartitionTrees, now_ms: int) -> None:
    """Let a queue that held back be called again if something in it changed or its timer is due."""
    changed = set(trees.changed_inside()) if trees.withheld else ()
    for path, (wake_ms, *then) in list(trees.withheld.items()):
        queue = trees.view.find_queue(path)
        assert queue is not None
        if queue in changed or then != _stamp(trees, queue) or 0 <= wake_ms <= now_ms:
            del trees.withheld[path]
            trees.changed[queue] = None


def _stamp(trees: PartitionTrees, queue: Queue) -> list[int]:
    return [trees.view.capacity_version, queue.pending_count, *queue.used]


# Room that is reserved


def reserve_for_first(plan: Plan, trees: PartitionTrees, after_ms: int) -> None:
    """Reserve room for the first in line, in each partition without a reservation, if tasks of its
    shape have been passed over for ``after_ms``: others got containers and these did not. A
    reservation moves to a server that has more of the room by now.
    """
    reservations = plan.view.reservations
    for reserved, reservation in {
        reservation.ask: reservation for reservation in reservations
    }.items():
        if for_first(trees, reservation):
            best, here = best_server(plan, reserved), reservation.node
            # An AM may blacklist the server, or ask for others.
            never = plan.why_no_reservation(reserved, here) is not None
            if best is None and never:
                plan.unreserve(reserved)
            elif best is not None and (never or covered(best, reserved) > covered(here, reserved)):
                if reserved.application.queue.reservation_nodes > 1:
                    plan.unreserve(reserved)  # one server an ask, whatever the queue allows
                plan.reserve(reserved, best)
    taken = {reservation.node.label for reservation in reservations}
    passed = plan.view.passed_over(after_ms)
    for label, partition in trees.partitions.items():
        ask = None if label in taken or not passed else _first(plan, partition, passed)
        node = None if ask is None else best_server(plan, ask)
        if ask is not None and node is not None:
            plan.reserve(ask, node)
            plan.wait(ask, f"{RESERVATION} {node.id}")


def _first(plan: Plan, partition: Partition, passed: Collection[Shape]) -> Ask | None:
    """Return the ask for which room is to be reserved, or None: of the leaves that want a large
    shape (one that was passed over) or compete with one, the first gets it if it waits for a large
    one.
    """
    fitting = partition.look()
    large = {want for want in partition.wanted if want in passed and want not in fitting}
    racing = large | rivals(partition.wanted, large)
    shares = partition.shares(frozenset(racing))
    leaf = alloc(partition.tree.root, shares.first)
    if leaf is None or any(want in fitting for want in leaf.wanted):
        return None
    asks = (ask for want in leaf.wanted if want in large for ask in asks_of(leaf, [want]))
    return next((a for a in asks if plan.limited(a) is None and plan.allows(a)), None)


def best_server(plan: Plan, ask: Ask) -> Node | None:
    """Return the server on which room may be reserved for an ask and which has most of it free; of
    equals the one on which its application uses least, because what its own tasks free returns to
    it anyway.
    """
    best: tuple[float, int, int, Node] | None = None
    for node in plan.view.partitions[ask.label].nodes.values():
        part = covered(node, ask)
        if best is None or part >= best[0]:
            own = sum(1 for each in node.containers if each.application is ask.application)
            rank = part, -own, -node.number, node
            if (best is None or rank[:3] > best[:3]) and plan.why_no_reservation(ask, node) is None:
                best = rank
    return None if best is None else best[3]


def covered(node: Node, ask: Ask) -> float:
    """Return the part of a task for which a server has room."""
    return min(f / s for f, s in zip(node.free, ask.size, strict=True) if s)


def rivals(wanted: Collection[Shape], large: Collection[Shape]) -> set[Shape]:
    """Return the shapes that use a resource which some large shape needs, and that fit where it
    does not. Of large shapes that need the same types, the maximum of each type is enough to know.
    """
    most: dict[tuple[bool, ...], list[int]] = {}
    for size, _ in large:
        needs = tuple(amount > 0 for amount in size)
        most[needs] = list(map(max, size, most.get(needs, size)))
    return {
        (other, label)
        for other, label in wanted
        for needs, amounts in most.items()
        if any(a and need for a, need in zip(other, needs, strict=True))
        and any(a < b for a, b in zip(other, amounts, strict=True))
    }
