"""From the mirror to the trees of shares: leaves that follow applications, one tree a partition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from loomcard.model.cluster import Application, Ask, Member, Queue
from loomcard.model.ledger import Ledger
from loomcard.model.resource import Resource, add_all, fits
from loomcard.model.room import Shape
from loomcard.model.view import ClusterView
from loomcard.policies.hdrf.incremental import Shares, ShareTree
from loomcard.policies.hdrf.servers import Kind, Servers
from loomcard.policies.hdrf.sums import Branch, Leaf


class Partition:
    """The tree of one partition, of whose capacity its shares are, and what one call has found."""

    def __init__(self, label: str, capacity: Resource, tree: ShareTree) -> None:
        self.label = label
        self.tree = tree
        self.types = [r for r, amount in enumerate(capacity) if amount > 0]
        self.capacity = [capacity[r] for r in self.types]
        self.branches: dict[Queue, Branch] = {}
        self.leaves: dict[Member, Leaf] = {}
        self.full: set[Any] = set()  # shapes that fit nowhere any more
        self.aside: set[Any] = set()  # leaves that were tried in vain
        self.wanted: list[Any] = []  # shapes
        self._version = -1
        self._blocked: dict[tuple[int, ...], frozenset[Any]] = {}  # classes, by Y of each kind
        self._now: frozenset[Any] = frozenset()

    def look(self, servers: Servers) -> None:
        """See what is wanted: the headroom follows it."""
        if self._version != self.tree.version:
            self._version = self.tree.version
            self.wanted = list(self.tree.root.wants)
            servers.want(self.label, [size for size, _ in self.wanted])
            self._blocked.clear()
            self.begin_anew()  # where less headroom is left, more fits

    def shares(self, servers: Servers) -> Shares | None:
        """Algorithms 2 and 3 for the Y of now; None while all that is wanted is blocked."""
        self.look(servers)
        kinds = servers.kinds(self.label)
        each = tuple(self._bits(servers.unsaturated(kind)) for kind in kinds)
        if each not in self._blocked:
            self._blocked[each] = self._blocked_by(dict(zip(kinds, each, strict=True)))
        self._now = self._blocked[each]
        if all(self.saturated(shape) for shape in self.wanted):
            return None
        return self.tree.at(reduce(or_, each, 0), self._now)

    def _bits(self, unsaturated: int) -> int:
        return sum(1 << i for i, r in enumerate(self.types) if unsaturated >> r & 1)

    def _blocked_by(self, unsaturated: Mapping[Kind, int]) -> frozenset[Any]:
        """The classes of shapes for which each kind of server is short of something they need."""
        classes = self.tree.classes.values()
        return frozenset(
            (mask, kinds)
            for mask, kinds in classes
            if all(mask & ~unsaturated.get(kind, 0) for kind in kinds)
        )

    def saturated(self, shape: Shape) -> bool:
        """It needed what was saturated when shares were last asked for."""
        return self.tree.classes.get(shape) in self._now

    def begin_anew(self) -> None:
        """Whoever was tried in vain may try again."""
        self.full.clear()
        self.aside.clear()
        self.tree.put_back()

    def fractions(self, amounts: Sequence[int]) -> tuple[float, ...]:
        """Amounts as parts of what the partition has, of each resource that it has at all."""
        return tuple(amounts[r] / c for r, c in zip(self.types, self.capacity, strict=True))

    def child(self, queue: Queue) -> Branch | Leaf | None:
        """A queue in the tree, if it is there."""
        return self.branches.get(queue) or self.leaves.get(queue)


class Forest:
    """All partitions of a scope, brought up to date from the marks that the ledger leaves.

    ``by_queue``: leaf queues are the leaves, not their applications.
    """

    def __init__(
        self, view: ClusterView, make: Callable[[Branch, int], ShareTree], headroom: bool,
        by_queue: bool,
    ) -> None:  # fmt: skip
        self.ledger: Ledger = view._ledger
        self.servers = Servers(self.ledger, headroom)
        self.partitions: dict[str, Partition] = {}
        self.promising: dict[Queue, list[Queue]] = {}  # queues with children that are guaranteed
        self.changed: dict[Member, None] = {}
        self.withheld: Collection[str] = ()  # paths of queues that hold back
        self.unfit: Mapping[int, None] = {}  # numbers of applications that count as blocked
        self.untold: dict[Application, None] = {}  # changed, and not yet told why they wait
        self._make = make
        self._scope = view.queue
        self._version = -1
        self._owner: dict[Queue, Queue | None] = {}  # of a leaf queue: the queue that is the leaf
        self._inside: dict[Queue, dict[Application, dict[Shape, None]]] = {}  # of a queue as a leaf
        self._gates: dict[Queue, Gate] = {}
        self._governed: list[Queue] = []
        self._read(view.queue, by_queue)

    def _read(self, queue: Queue, by_queue: bool) -> None:
        """Which queues are branches, which are leaves; and hear of what happens below them."""
        self._governed.append(queue)
        promised = [child for child in queue.children if any(child.guaranteed)]
        if promised:
            self.promising[queue] = promised
        if queue.leaf:
            self._watch(queue, queue if by_queue else None)
        for child in queue.children:
            if child.policy is None and not (child.leaf and by_queue):
                self._read(child, by_queue)
            else:
                self._watch(child, child)

    def _watch(self, queue: Queue, owner: Queue | None) -> None:
        if owner is not None:
            self._inside[owner] = self._inside.get(owner, {})
        if queue.leaf:
            self._owner[queue] = owner
            queue.watchers.append(self.changed)
            if owner is None and (queue.user_limit is not None or queue.am_limit is not None):
                self._gates[queue] = Gate(self.ledger, queue)
        for child in queue.children:
            self._watch(child, owner)

    def used(self, member: Member, label: str) -> Sequence[int]:
        """What a member holds on the nodes of one partition."""
        if len(self.partitions) == 1:
            return member.used
        total = [0] * len(member.used)
        for app in applications_of(member):
            for container in app.containers:
                if container.node.label == label:
                    add_all([total], container.size)
        return total

    def update(self) -> None:
        """Follow what changed since the last call."""
        self.servers.update()
        if self._version != self.ledger.capacity_version:
            self._version = self.ledger.capacity_version
            self._plant()
            changed: list[Member] = [a for q in self._owner for a in q.applications.values()]
            changed += self._inside
        else:
            changed = list(self.changed)
        self.changed.clear()
        if not changed:
            return
        again: dict[Queue, None] = {}  # queues as leaves
        touched: dict[Queue, None] = {}
        for member in changed:
            if isinstance(member, Queue):
                again[member] = None
            else:
                touched[member.queue] = None
                self._application(member, again)
        for queue in touched:
            gate = self._gates.get(queue)
            if gate is not None and gate.moved():
                for app in queue.applications.values():
                    self._application(app, again)
        for queue in again:
            self._queue(queue)
        for queue in self._bounded:
            self._close(queue)

    def _plant(self) -> None:
        """The trees anew: another capacity makes every share another."""
        self.partitions.clear()
        for label, nodes in sorted(self.ledger.partitions.items()):
            capacity = nodes.capacity
            branches: dict[Queue, Branch] = {}
            for queue in self._governed:
                above = branches.get(queue.parent) if queue.parent is not None else None
                bounded = queue.maximum is not None
                branches[queue] = Branch(queue, above, (queue.number,), queue.weight, bounded)
            width = sum(1 for amount in capacity if amount > 0)
            tree = self._make(branches[self._scope], width)
            partition = self.partitions[label] = Partition(label, capacity, tree)
            partition.branches = branches
        self._bounded = [queue for queue in self._governed if queue.maximum is not None]
        for inside in self._inside.values():
            inside.clear()
        for gate in self._gates.values():
            gate.verdicts.clear()

    def _application(self, app: Application, again: dict[Queue, None]) -> None:
        owner = self._owner.get(app.queue)
        here = app.number in app.queue.applications
        for partition in self.partitions.values():
            leaf = partition.leaves.get(app)
            branch = None if owner is not None else partition.branches.get(app.queue)
            if leaf is not None and (not here or leaf.parent is not branch):
                partition.tree.remove(partition.leaves.pop(app))
        for old, inside in self._inside.items():
            if app in inside and (old is not owner or not here):
                del inside[app]
                again[old] = None
        if not here or app.queue not in self._owner:
            return
        if owner is None or owner.policy is None or owner is self._scope:
            self.untold[app] = None
        if owner is not None:
            self._inside[owner][app] = {(a.size, a.label): None for a in app.asks if a.count > 0}
            again[owner] = None
            return
        gate = self._gates.get(app.queue)
        asks = [a for a in app.asks if a.count > 0 and (gate is None or gate.allows(a))]
        self._leaf(app, app.queue, dict.fromkeys((a.size, a.label) for a in asks))

    def _queue(self, queue: Queue) -> None:
        """A queue as one leaf: it wants what any of its applications asks for, up to its
        maximum.
        """
        shapes: dict[Shape, None] = {}
        if queue.path not in self.withheld:
            for wanted in self._inside[queue].values():
                shapes.update(wanted)
        if queue.maximum is not None:
            left = [most - used for most, used in zip(queue.maximum, queue.used, strict=True)]
            shapes = {shape: None for shape in shapes if has_room(shape[0], left)}
        above = queue.parent
        parent = queue if queue is self._scope or above is None else above
        self._leaf(queue, parent, shapes)

    def _leaf(self, member: Member, parent: Queue, shapes: dict[Shape, None]) -> None:
        for label, partition in self.partitions.items():
            mine = self.used(member, label)
            wants = tuple(s for s in shapes if s[1] == label and self.servers.can_ever(s))
            wants = tuple(sorted(wants)) if len(wants) > 1 else wants
            leaf = partition.leaves.get(member)
            if not wants and not any(mine):
                if leaf is not None:
                    partition.tree.remove(partition.leaves.pop(member))
                continue
            if leaf is None:
                number = member.number
                app = isinstance(member, Application)
                order = (member.submitted_ms, number) if app else (number,)
                branch = partition.branches[parent]
                leaf = partition.leaves[member] = Leaf(member, branch, order, member.weight)
            for shape in wants:
                if shape not in partition.tree.tasks:
                    among = tuple(k for k in self.servers.kinds(label) if fits(shape[0], k[1]))
                    partition.tree.learn(shape, partition.fractions(shape[0]), among)
            leaf.unfit = isinstance(member, Application) and member.number in self.unfit
            partition.tree.put(leaf, partition.fractions(mine), wants)

    def _close(self, queue: Queue) -> None:
        """At its maximum a queue wants nothing, whatever is asked for in it (specification 6g)."""
        assert queue.maximum is not None
        left = [most - used for most, used in zip(queue.maximum, queue.used, strict=True)]
        for partition in self.partitions.values():
            branch = partition.branches[queue]
            inside = any(has_room(shape[0], left) for shape in branch.wanted)
            partition.tree.close(branch, bool(branch.wanted) and not inside)


class Gate:
    """A leaf queue's user limit and AM share: who may have nothing more does not demand."""

    def __init__(self, ledger: Ledger, queue: Queue) -> None:
        self._ledger = ledger
        self._queue = queue
        self.verdicts: dict[tuple[str, Resource, bool], bool] = {}

    def allows(self, ask: Ask) -> bool:
        """Neither limit forbids one more container of the ask."""
        key = ask.application.user, ask.size, ask.is_am
        if key not in self.verdicts:
            self.verdicts[key] = self._verdict(*key)
        return self.verdicts[key]

    def moved(self) -> bool:
        """Whether a verdict that was given is another now; forgets those that are."""
        old = [key for key, verdict in self.verdicts.items() if verdict != self._verdict(*key)]
        for key in old:
            del self.verdicts[key]
        return bool(old)

    def _verdict(self, user: str, size: Resource, is_am: bool) -> bool:
        queue = self._queue
        if queue.user_limit is not None:
            used = queue.user_used.get(user, self._ledger.zero)
            left = [most - held for most, held in zip(queue.user_limit, used, strict=True)]
            if not has_room(size, left):
                return False
        if not is_am or queue.am_limit is None or not any(queue.am_used):
            return True
        left = [most - held for most, held in zip(queue.am_limit, queue.am_used, strict=True)]
        return has_room(size, left)


def has_room(size: Sequence[int], left: Sequence[int]) -> bool:
    """Whether a container is within what a limit leaves, in what it needs at all."""
    return all(not s or s <= room for s, room in zip(size, left, strict=True))


def applications_of(member: Member) -> Iterator[Application]:
    """An application itself, or all of a queue and below it."""
    if isinstance(member, Application):
        yield member
    elif member.leaf:
        yield from member.applications.values()
    else:
        for child in member.children:
            yield from applications_of(child)
