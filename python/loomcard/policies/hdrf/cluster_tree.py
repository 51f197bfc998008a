"""The trees of shares, one per partition, kept up to date with the applications of the view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import sub
from typing import Any

from loomcard import (
    Application,
    Ask,
    ClusterView,
    Container,
    Member,
    Node,
    Queue,
    Resource,
    Shape,
    add_all,
    fits,
)
from loomcard.advanced import applications_below, room_for
from loomcard.policies.hdrf import paper
from loomcard.policies.hdrf.fit import LeafLimits, Servers
from loomcard.policies.hdrf.share_tree import Shares, ShareTree


class Partition:
    """The tree of one partition and what is wanted in it; shares are parts of its capacity."""

    def __init__(self, label: str, capacity: Resource, tree: ShareTree, servers: Servers) -> None:
        self.label = label
        self.tree = tree
        self._servers = servers
        self.types = [r for r, amount in enumerate(capacity) if amount > 0]
        self.capacity = [capacity[r] for r in self.types]
        self.branches: dict[Queue, paper.Node] = {}
        self.leaves: dict[Member, paper.Node] = {}
        self.wanted: list[Any] = []  # shapes
        self._version = -1
        self._spots: dict[Shape, Node] = {}  # a server on which each shape fits
        self._fitting: frozenset[Shape] = frozenset()

    def look(self, used: Node | None = None) -> frozenset[Shape]:
        """Return the wanted shapes for which a server has room now; the others are blocked.
        ``used``: the only change since the last look is one more container on this server.
        """
        first = self._servers.first
        if self._version != self.tree.version:
            self._version = self.tree.version
            self.wanted = list(self.tree.wanted)
            self._servers.want(self.label, [size for size, _ in self.wanted])
            self.tree.put_back()  # with less headroom, more fits
            used = None
        if used is None:
            self._spots = {s: node for s in self.wanted if (node := first(*s)) is not None}
            self._fitting = frozenset(self._spots)
            return self._fitting
        for shape in [shape for shape, spot in self._spots.items() if spot is used]:
            if self._servers.headroom or not fits(shape[0], used.room):
                spot = first(*shape)
                if spot is None:
                    del self._spots[shape]
                else:
                    self._spots[shape] = spot
        if len(self._spots) < len(self._fitting):
            self._fitting = frozenset(self._spots)
        return self._fitting

    def shares(self, fitting: frozenset[Shape]) -> Shares:
        """Return the shares of Algorithms 2 and 3 while these shapes fit."""
        return self.tree.at(fitting, self._unsaturated)

    def leaf_of(self, member: Member) -> paper.Node | None:
        """Return the leaf of a queue or application; None if it has none."""
        return self.leaves.get(member)

    def charged(self) -> Shares:
        """Return the shares by which victims are chosen: those while everything fits."""
        return self.shares(frozenset(self.tree.wanted))

    def _unsaturated(self) -> list[bool]:
        y = self._servers.unsaturated(self.label)
        return [y[r] for r in self.types]

    def guarantees(
        self, whole: Resource, held: Callable[[paper.Node], float],
        children: Callable[[paper.Node], Iterable[paper.Node]] = lambda n: n.children,
    ) -> dict[paper.Node, float]:  # fmt: skip
        """Return what each node is guaranteed now. A node that wants no more is guaranteed at most
        what it uses (``held``). A queue is promised its ``guaranteed``, as its largest part of a
        resource of the ``whole`` cluster.
        """

        def promised(child: paper.Node) -> float:
            if not isinstance(child.member, Queue):
                return 0.0
            pairs = zip(child.member.guaranteed, whole, strict=True)
            return max((amount / all_ for amount, all_ in pairs if all_), default=0.0)

        def demanding(child: paper.Node) -> bool:
            return bool(child.wanted) and not child.closed

        return paper.guarantees(self.tree.root, demanding, held, promised, children)

    def fractions(self, amounts: Sequence[int]) -> tuple[float, ...]:
        """Return amounts as parts of the partition's capacity, for the resources that it has."""
        return tuple([amounts[r] / c for r, c in zip(self.types, self.capacity, strict=True)])

    def share(self, amounts: Sequence[int]) -> float:
        """Return the largest of these parts."""
        return max(self.fractions(amounts), default=0.0)

    def child(self, queue: Queue) -> paper.Node | None:
        """Return the node of a queue, or None if the tree has none."""
        return self.branches.get(queue) or self.leaves.get(queue)


class Held:
    """What an application uses by node label, and what was known of it when that was counted: how
    many containers it has, the last of them, and all that it uses.
    """

    def __init__(self) -> None:
        self.by_label: dict[str, list[int]] = {}
        self.known: tuple[Any, ...] = ()


def _last_but_one(containers: dict[Container, None]) -> Container | None:
    latest = reversed(containers)
    next(latest)
    return next(latest, None)


class PartitionTrees:
    """All partitions of a scope, brought up to date with what changed in the view.

    ``by_queue``: leaf queues are the leaves, not their applications.
    """

    def __init__(
        self, view: ClusterView, make: Callable[[paper.Node, int], ShareTree], headroom: bool,
        by_queue: bool,
    ) -> None:  # fmt: skip
        self.view = view
        self.servers = Servers(view, headroom)
        self.partitions: dict[str, Partition] = {}
        self.promising: dict[Queue, list[Queue]] = {}  # queues with children that are guaranteed
        self.changed: dict[Member, None] = {}
        self.withheld: dict[str, list[int]] = {}  # by path of a queue that withholds its asks
        self.unreported: dict[Application, None] = {}  # changed, and no reason given yet
        self._make = make
        self._scope = view.queue
        self._version = -1
        self._owner: dict[Queue, Queue | None] = {}  # of a leaf queue: the queue that is the leaf
        self._inside: dict[Queue, dict[Application, dict[Shape, None]]] = {}  # of a queue as a leaf
        self._leaf_with: dict[Application, Queue] = {}  # in which of them an application is
        self._leaf_limits: dict[Queue, LeafLimits] = {}
        self._governed: list[Queue] = []
        self.queues: list[Queue] = []  # those that are nodes of the trees
        self._moved: dict[Queue, None] = {}  # with a maximum, and something in them changed
        self._left: dict[Queue, None] = {}  # an application ended in them, or moved away
        self._held: dict[Application, Held] = {}  # what each uses by label, if there are several
        self._read(view.queue, by_queue)

    def _read(self, queue: Queue, by_queue: bool) -> None:
        """Find which queues are branches and which are leaves; watch what changes below."""
        self._governed.append(queue)
        self.queues.append(queue)
        if queue.leaf:
            self._watch(queue, queue if by_queue else None)
        for child in queue.children:
            if child.policy is None and not (child.leaf and by_queue):
                self._read(child, by_queue)
            else:
                self.queues.append(child)
                self._watch(child, child)

    def _watch(self, queue: Queue, owner: Queue | None) -> None:
        if owner is not None:
            self._inside[owner] = self._inside.get(owner, {})
        if queue.leaf:
            self._owner[queue] = owner
            self.view.watch(queue, self.changed)
            limited = queue.user_limit is not None or queue.am_limit is not None
            if limited or queue.running_limited:
                self._leaf_limits[queue] = LeafLimits(queue)
        for child in queue.children:
            self._watch(child, owner)

    def used(self, member: Member, label: str) -> Sequence[int]:
        """Return what a member uses on the nodes of one partition."""
        if len(self.partitions) == 1:
            return member.used
        total = [0] * len(member.used)
        for app in applications_below(member):
            if (held := self._held_by(app).get(label)) is not None:
                add_all([total], held)
        return total

    def _held_by(self, app: Application) -> dict[str, list[int]]:
        """Return what an application uses, by label. One more container is added to what is known;
        after any other change all are counted again.
        """
        found, containers = self._held.get(app), app.containers
        last = next(reversed(containers), None)
        known = None if found is None else found.known
        if found is not None and known == (len(containers), last, *app.used):
            return found.by_label
        grew = False
        if found is not None and last is not None:
            before = len(containers) - 1, _last_but_one(containers)
            grew = found.known == (*before, *map(sub, app.used, last.size))
        if found is None or not grew:
            found = self._held[app] = Held()
        for container in (last,) if grew and last is not None else containers:
            zero = [0] * len(app.used)
            add_all([found.by_label.setdefault(container.node.label, zero)], container.size)
        found.known = (len(containers), last, *app.used)
        return found.by_label

    def first(self, partition: Partition, shares: Shares, branch: paper.Node) -> paper.Node | None:
        """Return the child of a branch that goes first by these shares: of those below their
        guarantee, otherwise of all.
        """
        sooner = [
            child
            for queue in self.promising.get(branch.member, ())
            if queue.below_guaranteed and (child := partition.child(queue)) is not None
        ]
        return (shares.first(branch, sooner) if sooner else None) or shares.first(branch)

    def needs(self, size: Resource, node: Node) -> Resource:
        """Return what must be free on a server for a task."""
        return self.servers.needs(size, node)

    def forbids(self, ask: Ask, owed: Sequence[int]) -> None:
        """Forbid nothing."""

    def lent(self, container: Container) -> bool:  # noqa: ARG002 - lent room counts as use
        """Return False: what is lent counts as use of the partition."""
        return False

    def may_take_master(self, master: Container) -> bool:  # noqa: ARG002 - last of all
        """Return True: when no other container makes room, any AM may be preempted."""
        return True

    def taken(self, container: Container) -> None:
        """Note nothing: ``rank`` does not depend on what is preempted."""

    def rank(self, container: Container) -> tuple[int, int]:
        """Return the sort key of a leaf's containers: the latest is preempted first."""
        return -container.allocated_ms, -container.number

    def governs(self, queue: Queue) -> bool:
        """Return whether this policy serves the applications of a leaf queue."""
        owner = self._owner.get(queue, queue)
        return queue in self._owner and (owner is None or not self.decides_itself(owner))

    def decides_itself(self, queue: Queue) -> bool:
        """Return whether a queue has its own policy."""
        return queue.policy is not None and queue is not self._scope

    def wanting(self) -> Iterator[Queue]:
        """Yield the queues that are leaves, have their own policy, and want something."""
        for queue in self._inside:
            if self.decides_itself(queue) and self.wanted_by(queue):
                yield queue

    def wanted_by(self, queue: Queue) -> list[tuple[Partition, paper.Node]]:
        """Return where a queue that is a leaf wants something: partitions and its leaves there."""
        leaves = ((each, each.leaves.get(queue)) for each in self.partitions.values())
        return [(each, leaf) for each, leaf in leaves if leaf is not None and leaf.wanted]

    def resized(self, app: Application) -> None:
        """Count what an application uses by label again: containers may have been resized."""
        self._held.pop(app, None)

    def changed_inside(self) -> Iterator[Queue]:
        """Yield the queues that are leaves in which something changed since the last update."""
        for member in self.changed:
            owner = None if isinstance(member, Queue) else self._owner.get(member.queue)
            if owner is not None:
                yield owner

    def update(self) -> None:
        """Take in what changed since the last call."""
        self.servers.update()
        if self._version != self.view.capacity_version:
            self._version = self.view.capacity_version
            self._plant()
            changed: list[Member] = [a for q in self._owner for a in q.applications.values()]
            changed += self._inside
        else:
            changed = list(self.changed)
        self.changed.clear()
        again: dict[Queue, None] = {}  # queues as leaves
        gated: dict[Queue, None] = {}
        only = next(iter(self.partitions.values())) if len(self.partitions) == 1 else None
        for member in changed:
            if isinstance(member, Queue):
                again[member] = None
            elif only is None or not self._only_use_changed(only, member):
                gated[member.queue] = None
                self._application(member, again)
        gated |= self._left
        self._left.clear()
        for limits in [self._leaf_limits[q] for q in gated if q in self._leaf_limits]:
            for app in limits.moved():
                self._application(app, again)
        for queue in again:
            self._queue(queue)
        if self._moved:
            inner_first = sorted(self._moved, key=lambda q: -q.path.count("."))
            for queue in inner_first:
                self._close(queue)
            self._moved.clear()

    def _plant(self) -> None:
        """Rebuild the trees, because a change of capacity changes every share and guarantee."""
        self.partitions.clear()
        self._held.clear()
        promised = {q: [c for c in q.children if any(c.guaranteed)] for q in self._governed}
        self.promising = {queue: children for queue, children in promised.items() if children}
        for label, nodes in sorted(self.view.partitions.items()):
            capacity = nodes.capacity
            branches: dict[Queue, paper.Node] = {}
            for queue in self._governed:
                above = branches.get(queue.parent) if queue.parent is not None else None
                branch = paper.Node(queue, queue.weight, (), order=(queue.number,))
                branches[queue] = branch
                if above is not None:
                    above.add(branch)
            width = sum(1 for amount in capacity if amount > 0)
            tree = self._make(branches[self._scope], width)
            partition = self.partitions[label] = Partition(label, capacity, tree, self.servers)
            partition.branches = branches
        self._moved.update((q, None) for q in self._governed if q.maximum is not None)
        for inside in self._inside.values():
            inside.clear()
        for limits in self._leaf_limits.values():
            limits.verdicts.clear()

    def _only_use_changed(self, partition: Partition, app: Application) -> bool:
        """Update only what an application uses, if nothing else about it changed and its queue has
        no limits; most changes are of this kind. Return whether this was so.
        """
        leaf, asks, queue = partition.leaves.get(app), app.asks, app.queue
        if leaf is None or len(asks) != 1 or len(leaf.wanted) != 1 or not asks[0].count:
            return False
        ask, (size, label) = asks[0], leaf.wanted[0]
        wanted: Sequence[int] = size  # mypyc compares two of type Resource by identity
        if ask.size != wanted or ask.label != label or leaf.path()[1].member is not queue:
            return False
        if queue in self._leaf_limits or queue.capped or app.number not in queue.applications:
            return False
        if ask.reported_reason is None:
            self.unreported[app] = None
        partition.tree.use(leaf, partition.fractions(app.used))
        return True

    def _application(self, app: Application, again: dict[Queue, None]) -> None:
        queue = app.queue
        owner = self._owner.get(queue)
        here = app.number in queue.applications
        for partition in self.partitions.values():
            leaf = partition.leaves.get(app)
            if leaf is None:
                continue
            branch, above = partition.branches.get(queue), leaf.path()[1]
            if not here or owner is not None or above is not branch:
                partition.tree.remove(partition.leaves.pop(app))
                self._left[above.member] = None
                self._moved.update(dict.fromkeys(above.member.capped))
        old = self._leaf_with.get(app)
        if old is not None and (old is not owner or not here):
            del self._leaf_with[app]
            self._inside[old].pop(app, None)
            again[old] = None
            self._left.update((q, None) for q, above in self._owner.items() if above is old)
        if not here or queue not in self._owner:
            self._held.pop(app, None)
            return
        limits = self._leaf_limits.get(queue)
        asks = [ask for ask in app.asks if ask.count > 0]
        may = asks if limits is None else [a for a in asks if limits.allows(a)]
        if owner is None or not self.decides_itself(owner) or len(may) < len(asks):
            self.unreported[app] = None  # otherwise its own policy reports
        shapes: dict[Shape, None] = {(ask.size, ask.label): None for ask in may}
        if owner is None:
            self._leaf(app, queue, shapes)
            return
        self._leaf_with[app] = owner
        self._inside[owner][app] = shapes
        again[owner] = None

    def _queue(self, queue: Queue) -> None:
        """Update a queue that is a leaf: it wants what any of its applications asks for, up to its
        maximum.
        """
        shapes: dict[Shape, None] = {}
        if queue.path not in self.withheld:
            for wanted in self._inside[queue].values():
                shapes.update(wanted)
        if queue.maximum is not None:
            used, most = queue.used, queue.maximum
            shapes = {shape: None for shape in shapes if room_for(shape[0], used, most)}
        above = queue.parent
        parent = queue if queue is self._scope or above is None else above
        self._leaf(queue, parent, shapes)

    def _leaf(self, member: Member, parent: Queue, shapes: dict[Shape, None]) -> None:
        if parent.capped:
            self._moved.update(dict.fromkeys(parent.capped))
        for label, partition in self.partitions.items():
            mine, tree = self.used(member, label), partition.tree
            here = [shape for shape in shapes if shape[1] == label]
            able = self.servers.can_ever
            wants = tuple(sorted([s for s in here if s in tree.tasks or able(s)]))
            leaf = partition.leaves.get(member)
            if not wants and not any(mine):
                if leaf is not None:
                    tree.remove(partition.leaves.pop(member))
                continue
            if leaf is None:
                number = member.number
                app = isinstance(member, Application)
                order = (member.submitted_ms, number) if app else (number,)
                branch = partition.branches[parent]
                leaf = partition.leaves[member] = paper.Node(member, member.weight, order=order)
                branch.add(leaf)
            for shape in wants:
                if shape not in tree.tasks:
                    tree.tasks[shape] = partition.fractions(shape[0])
            tree.put(leaf, partition.fractions(mine), wants)

    def _close(self, queue: Queue) -> None:
        """Close a queue at its maximum: it then wants nothing, whatever its applications ask for
        (docs/papers/hdrf.md 6g).
        """
        assert queue.maximum is not None
        used, most = queue.used, queue.maximum
        for partition in self.partitions.values():
            branch = partition.branches.get(queue)
            if branch is not None:
                inside = any(room_for(shape[0], used, most) for shape in branch.wanted)
                partition.tree.close(branch, bool(branch.wanted) and not inside)
