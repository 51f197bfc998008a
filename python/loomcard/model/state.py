"""The cluster's state as both engines keep it: what is used, where, and what is asked for.

Every change goes through here. So free room, use per queue, user and application, and the counts
that are compared with the engine's always agree. It decides nothing and does not check what a
policy may do; ``why_not`` says what is forbidden.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any

from loomcard.model import tallies
from loomcard.model.fit_index import FitIndexes, Shape
from loomcard.model.label_limits import LabelLimits
from loomcard.model.limits import at_maximum, build_tree, own_limit, resolve
from loomcard.model.objects import Application, Ask, AskKey, Attempt, Container, Member, Node
from loomcard.model.partitions import Partitions, Stage
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.reservations import Reservations, fits_reserved
from loomcard.model.resource import Resource, add_all, fits, subtract_all
from loomcard.model.rule_waits import RuleWaits
from loomcard.model.shape_waits import ShapeWaits


class ClusterState:
    """Nodes, queues, applications, attempts, asks and containers of one cluster, by their numbers
    on the wire.
    """

    def __init__(self, resource_types: list[str]) -> None:
        self.types = resource_types
        self.zero = Resource([0] * len(resource_types))
        self.capacity = self.zero
        self.capacity_version = 0  # changes whenever shares of the cluster do
        self.nodes: dict[int, Node] = {}
        self.hosts: dict[str, list[int]] = {}
        self.racks: dict[str, list[int]] = {}
        self.queues: list[Queue] = []
        self.label_limits = LabelLimits([])
        self.by_path: dict[str, Queue] = {}
        self.applications: dict[int, Application] = {}
        self.attempts: dict[int, Attempt] = {}
        self.ended_attempts: dict[int, Attempt] = {}  # of live applications
        self.containers: dict[int, Container] = {}
        self.pending_total = 0
        self.shapes: dict[Shape, int] = {}  # how many outstanding asks have each
        self.labelled: dict[str, dict[Ask, None]] = {}  # outstanding ones, by label
        self.shape_waits = ShapeWaits(len(resource_types))
        self.rule_waits = RuleWaits()
        self.queue_reasons: dict[int, str] = {}  # why all below a queue wait, as last reported
        self.fit_indexes = FitIndexes(self.nodes)
        self.reservations = Reservations(self)
        self.partitions = Partitions()  # by node label
        self.node_watchers: list[dict[Node, None]] = []  # sets that get nodes that change

    # Nodes

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self.nodes[node.number] = node
        insort(self.hosts.setdefault(node.host, []), node.number)
        insort(self.racks.setdefault(node.rack, []), node.number)
        self.partitions.join(node)
        self._resize_cluster(self.capacity.plus(node.capacity))
        self.fit_indexes.touch(node)
        self._mark_node(node)

    def remove_node(self, node: Node) -> None:
        """Remove a node, whose containers have ended."""
        if node.reservation is not None:
            self.reservations.end(node.reservation)
        del self.nodes[node.number]
        for table, name in ((self.hosts, node.host), (self.racks, node.rack)):
            table[name].remove(node.number)
            if not table[name]:
                del table[name]
        self.partitions.leave(node)
        self._resize_cluster(self.capacity.minus(node.capacity))
        self._mark_node(node)

    def resize_node(self, node: Node, capacity: Resource) -> None:
        """Give a node another capacity; free room may become negative."""
        self._resize_cluster(self.capacity.minus(node.capacity).plus(capacity))
        add_all([node.free], capacity.minus(node.capacity))
        node.capacity = capacity
        node.withhold()
        self.reservations.node_changed(node)
        self.fit_indexes.touch(node)
        self._mark_node(node)

    def relabel_node(self, node: Node, label: str, shared: bool = False) -> None:
        """Move a node to another partition; its containers stay."""
        self.partitions.leave(node)
        node.label, node.shared = label, shared
        self.reservations.node_changed(node)
        self.partitions.join(node)
        self.capacity_version += 1
        self.fit_indexes.forget()
        self._mark_node(node)

    def room_changed(self, node: Node) -> None:
        """Note that asks may have more or less room on a node, though nothing on it changed."""
        self.fit_indexes.touch(node)
        self._mark_node(node)

    def _mark_node(self, node: Node) -> None:
        for watcher in self.node_watchers:
            watcher[node] = None

    @property
    def free(self) -> Resource:
        """The amounts that are free on all nodes together."""
        used = self.queues[0].used if self.queues else self.zero
        return self.capacity.minus(used)

    def _resize_cluster(self, capacity: Resource) -> None:
        self.capacity = capacity
        self.capacity_version += 1
        resolve(self.queues, capacity, self.types)

    # Queues and applications

    def configure(self, config: dict[str, Any]) -> None:
        """Put another queue tree in place; applications keep their queue by its path. Reservations
        and what policies watched end.
        """
        self.reservations.restore(())
        self.node_watchers.clear()
        self.queues = build_tree(config, len(self.types))
        self.rule_waits.drop_queues(beyond=len(self.queues))
        self.by_path = {queue.path: queue for queue in self.queues}
        self.label_limits = LabelLimits(self.queues)
        self.queue_reasons = {}
        self.capacity_version += 1
        resolve(self.queues, self.capacity, self.types)
        for app in self.applications.values():
            self._enter(app, self.by_path[app.queue.path])

    def add_application(self, app: Application) -> None:
        """Add an application to its queue."""
        self.applications[app.number] = app
        self._enter(app, app.queue)

    def move_application(self, app: Application, queue: Queue) -> None:
        """Move an application to another leaf queue, with all that it uses and asks for."""
        if queue is app.queue:
            return
        old = app.queue
        del old.applications[app.number]
        for container in app.containers:
            subtract_all(app.sums[1:], container.size)
            if container.is_am:
                subtract_all([old.am_used], container.size)
                self._count_master(old, app.user, -1)
        self.label_limits.forget()
        tallies.add_demand(old, -app.pending_count)
        tallies.age_changed(old)
        self._enter(app, queue)
        self._mark(app, old)

    def remove_application(self, app: Application) -> None:
        """Remove an application that ended."""
        del self.applications[app.number]
        for number in app.past_attempts:
            self.ended_attempts.pop(number, None)
        del app.queue.applications[app.number]
        tallies.age_changed(app.queue)
        self._mark(app, app.queue)

    def _enter(self, app: Application, queue: Queue) -> None:
        app.queue = queue
        queue.applications[app.number] = app
        app.sums = [app.used, *tallies.sums_of(queue, app.user)]
        for container in app.containers:
            add_all(app.sums[1:], container.size)
            if container.is_am:
                add_all([queue.am_used], container.size)
                self._count_master(queue, app.user, 1)
        tallies.add_demand(queue, app.pending_count)
        tallies.age_changed(queue)
        self._mark(app, queue)

    # Asks

    def set_ask(
        self, attempt: Attempt, key: AskKey, size: Resource, label: str, is_am: bool
    ) -> Ask:
        """Return the ask of a key, with this size and partition from now on; ``demand`` sets its
        count.
        """
        ask = attempt.asks.get(key)
        if ask is None:
            ask = attempt.asks[key] = Ask(attempt, key, size)
            attempt.reorder()
        else:
            before: Sequence[int] = ask.size  # mypyc compares two of type Resource by identity
            if before != size or ask.label != label:
                self._change_count(ask, -ask.count)
            if ask.is_am != is_am:
                attempt.reorder()
        ask.size, ask.label, ask.is_am = size, label, is_am
        return ask

    def demand(self, ask: Ask, count: int) -> None:
        """Set the count of outstanding containers; an ask with count 0 is removed."""
        self._change_count(ask, count - ask.count)
        if count == 0:
            self._forget(ask)
        self.touched(ask.attempt.application)

    def _forget(self, ask: Ask) -> None:
        if ask.attempt.asks.pop(ask.key, None) is not None:
            ask.attempt.reorder()

    def drop_asks(self, attempt: Attempt) -> None:
        """Remove all asks of an attempt that ended."""
        app = attempt.application
        for ask in attempt.asks.values():
            self._change_count(ask, -ask.count)
        attempt.asks = {}
        attempt.reorder()
        self._mark(app, app.queue)

    def _change_count(self, ask: Ask, change: int) -> None:
        if not change:
            return
        before = ask.count
        ask.count = after = before + change
        if not before or not after:
            shape = (ask.size, ask.label)
            known = self.shapes.get(shape, 0) + (1 if after else -1)
            if known:
                self.shapes[shape] = known
            else:
                del self.shapes[shape]
            if ask.label:
                tallies.note_labelled(self.labelled, ask)
            self.shape_waits.changed(ask, shape, known)
            if not after and ask.reservations:
                self.reservations.end_all(ask)
        app = ask.attempt.application
        pending = app.pending_count
        app.pending_count = pending + change
        if not pending:
            tallies.began_to_demand(app)
        elif pending == -change:
            tallies.stopped_to_demand(app)
        self.pending_total += change
        tallies.add_demand(app.queue, change)

    # Containers

    def allocate(self, ask: Ask, node: Node, now_ms: int) -> Container:
        """Place one container of an ask on a node, and reduce the ask's count by one. The caller
        has checked that this is allowed.
        """
        container = Container(ask.attempt, node, ask.size, ask.key)
        container.is_am = ask.is_am
        container.label = ask.label
        container.allocated_ms = now_ms
        self.shape_waits.served(ask, now_ms)
        if node.reservation is not None and node.reservation.ask is ask:
            self.reservations.end(node.reservation)
        tallies.take_locality(ask, node, container)
        self._change_count(ask, -1)
        self.charge(container)
        return container

    def undo(self, container: Container) -> Ask | None:
        """Take an unconfirmed allocation back. Its container is asked for again, unless the ask has
        ended.
        """
        self.release(container)
        ask = container.attempt.asks.get(container.ask_key)
        if ask is not None:
            node = container.node
            if container.host_row:
                ask.hosts[node.host] = ask.hosts.get(node.host, 0) + 1
            if container.rack_row:
                ask.racks[node.rack] = ask.racks.get(node.rack, 0) + 1
            self._change_count(ask, 1)
        return ask

    def confirm(self, container: Container, number: int, yarn_number: int) -> None:
        """Note that the engine carried an allocation out, and the container's numbers."""
        container.number = number
        container.yarn_number = yarn_number
        self.containers[number] = container
        ask = container.attempt.asks.get(container.ask_key)
        if ask is not None and ask.count == 0:
            self._forget(ask)

    def charge(self, container: Container) -> None:
        """Charge a container to its node, application, user and queues."""
        app = container.attempt.application
        node = container.node
        size = container.size
        subtract_all([node.free], size)
        if node.reservation is not None:
            node.withhold()
        add_all(app.sums, size)
        if container.is_am:
            add_all([app.queue.am_used], size)
            self._count_master(app.queue, app.user, 1)
        self.label_limits.charge(container)
        node.containers[container] = None
        app.containers[container] = None
        self._mark(app, app.queue)
        for watcher in self.node_watchers:
            watcher[node] = None

    def release(self, container: Container) -> None:
        """Remove a container; its node gains room."""
        app = container.attempt.application
        node = container.node
        size = container.size
        add_all([node.free], size)
        if node.reservation is not None:
            node.withhold()
        subtract_all(app.sums, size)
        if container.is_am:
            subtract_all([app.queue.am_used], size)
            self._count_master(app.queue, app.user, -1)
        self.label_limits.release(container)
        del node.containers[container]
        del app.containers[container]
        self._mark(app, app.queue)
        self.fit_indexes.touch(node)
        for watcher in self.node_watchers:
            watcher[node] = None

    def _count_master(self, leaf: Queue, user: str, change: int) -> None:
        """Count an AM that started or ended; where a limit of running applications is reached or
        left by it, mark an application of each leaf in which some wait for their AM.
        """
        for queue in leaf.running_limited:
            if queue.running is not None and queue.running.add(user, change):
                for app in tallies.waiting_for_master(queue):
                    self._mark(app, app.queue)

    def touched(self, app: Application) -> None:
        """Note that something changed which decides what the application may have."""
        self._mark(app, app.queue)

    def asks_again(self, queue: Queue) -> None:
        """Note that a queue which withheld its asks wants a turn, though nothing in it changed."""
        self._mark(queue, queue.parent)

    def _mark(self, member: Member, queue: Queue | None) -> None:
        while queue is not None:
            for watcher in queue.watchers:
                watcher[member] = None
            member, queue = queue, queue.parent

    # What is forbidden

    def enter(self, stage: Stage, lender: str = "") -> None:
        """Begin the next stage of a round, or end the round. ``lender``: the only label whose nodes
        are lent in this stage; "": all.
        """
        self.label_limits.guard(stage is Stage.GUARANTEED)
        self.partitions.lends = stage in (Stage.LENT, Stage.OVER)
        self.partitions.lending = lender
        self.fit_indexes.shared = self.partitions.shared if stage is Stage.LENT else {}
        self.fit_indexes.lender = lender

    def wants_only(self, shapes: set[Shape]) -> bool:
        """Whether every outstanding ask is of one of these shapes."""
        return len(shapes) >= len(self.shapes) and all(shape in shapes for shape in self.shapes)

    def why_not(self, ask: Ask, node: Node) -> Reason | None:
        """The first reason why one container of ``ask`` may not go to ``node`` now, or None."""
        if self.nodes.get(node.number) is not node:
            return Reason.NODE_GONE
        if ask.attempt.number not in self.attempts:
            return Reason.ATTEMPT_GONE
        if ask.count <= 0:
            return Reason.ASK_GONE
        if node.label != ask.label and not node.takes(ask.label, self.partitions.lends):
            return Reason.LABEL
        if ask.attempt.blacklist and not ask.attempt.blacklist.isdisjoint((node.host, node.rack)):
            return Reason.BLACKLISTED
        if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
            return Reason.LOCALITY
        if not fits(ask.size, node.room) and not fits_reserved(ask, node):
            return Reason.NODE_RESERVED if fits(ask.size, node.free) else Reason.NODE_FULL
        if node.label != ask.label and (lent := self.label_limits.forbids(self, ask, node.label)):
            return lent
        return self.limited(ask)

    def limited(self, ask: Ask) -> Reason | None:
        """The limit of the queue tree that forbids one more container of ``ask``, or None."""
        app = ask.attempt.application
        leaf, size = app.queue, ask.size
        labels = self.label_limits
        if labels.active and (reason := labels.forbids(self, ask, self.partitions.lending)):
            return reason
        if leaf.capped and at_maximum(leaf, size):
            return Reason.QUEUE_MAX
        if (leaf.user_limit is not None or ask.is_am) and (
            reason := self.limited_in(leaf, app.user, size, ask.is_am)
        ):
            return reason
        return labels.defers(self, ask) if labels.guards else None

    def limited_in(self, leaf: Queue, user: str, size: Resource, is_am: bool) -> Reason | None:
        """The limit, apart from the maxima, that forbids a user one more container of ``size``;
        None if none does (``own_limit``).
        """
        return own_limit(leaf, user, size, is_am)
