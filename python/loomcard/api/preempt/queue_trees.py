"""Trees of shares for policies that keep none: made anew when preemption looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loomcard.api.plan import Plan
from loomcard.api.preempt.owed import OwedTasks
from loomcard.api.preempt.rules import Preemption, PreemptionRules
from loomcard.api.preempt.search import Search, take_back
from loomcard.api.view import ClusterView, applications_below, asks_below
from loomcard.model.objects import Application, Ask, Container, Member, Node
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource, add_all, share


class QueueNode:
    """A queue or application; it wants what it asks for on the nodes of one label."""

    __slots__ = ("_label", "_wanted", "children", "member", "order", "parent", "weight")

    def __init__(self, member: Member, parent: QueueNode | None, label: str) -> None:
        self.member = member
        self.parent = parent
        self.children: list[QueueNode] = []
        self.weight: float = member.weight
        app = isinstance(member, Application)
        self.order = (member.submitted_ms, member.number) if app else (member.number,)
        self._label = label
        self._wanted: tuple[Any, ...] | None = None
        if parent is not None:
            parent.children.append(self)

    @property
    def wanted(self) -> tuple[Any, ...]:
        """The shapes that it asks for."""
        if self._wanted is None:
            asks = asks_below(self.member) if self.member.pending_count else ()
            shapes = {(a.size, a.label) for a in asks if a.count > 0 and a.label == self._label}
            self._wanted = tuple(sorted(shapes))
        return self._wanted

    @property
    def demanding(self) -> bool:
        """Whether it wants something."""
        return bool(self.wanted)

    def path(self) -> Iterator[QueueNode]:
        """Yield the node and those above it, up to the root."""
        node: QueueNode | None = self
        while node is not None:
            yield node
            node = node.parent


class QueuePartition:
    """The tree of one node label."""

    def __init__(self, trees: QueueTrees, label: str, capacity: Resource) -> None:
        self.label = label
        self.capacity = capacity
        self.leaves: dict[Member, QueueNode] = {}
        self._trees = trees
        self._held: Callable[[Any], float] = lambda _: 0.0
        self.root = self._grow(trees.view.queue, None)

    def _grow(self, queue: Queue, parent: QueueNode | None) -> QueueNode:
        node = QueueNode(queue, parent, self.label)
        if queue.policy is not None and parent is not None:
            self.leaves[queue] = node
        elif queue.leaf and self._trees.by_application(queue):
            for app in queue.applications.values():
                if app.pending_count or app.containers:
                    self.leaves[app] = QueueNode(app, node, self.label)
        elif queue.leaf:
            self.leaves[queue] = node
        else:
            for child in queue.children:
                self._grow(child, node)
        return node

    def guarantees(self, _whole: Resource, held: Callable[[Any], float]) -> Mapping[Any, float]:
        """Return what each node is guaranteed, as its policy says."""
        self._held = held
        return self._trees.due(self, held)

    def leaf_of(self, member: Member) -> QueueNode | None:
        """Return the leaf of a queue or application; of an application whose queue is the leaf, a
        node of its own: room may have been taken for it inside its queue.
        """
        found = self.leaves.get(member)
        if found is None and isinstance(member, Application) and member.queue in self.leaves:
            return QueueNode(member, None, self.label)
        return found

    def charged(self) -> QueuePartition:
        """Return itself: a node is charged with what it uses."""
        return self

    def share(self, of: Any) -> float:
        """Return amounts as a part of the partition; of a node, what it uses."""
        if isinstance(of, QueueNode):
            return self._held(of)
        return self._trees.part(of, self.capacity)


class QueueTrees:
    """What preemption must know of a policy whose leaves are leaf queues, or their applications.

    A policy defines ``due``; the other methods have a default. What a partition lends counts as use
    of no queue, and is taken back first.
    """

    withheld: Mapping[str, Any] = {}

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self._partitions: dict[str, QueuePartition] | None = None
        self._spared: dict[Application, int] = {}

    @property
    def partitions(self) -> Mapping[str, QueuePartition]:
        """The trees, by node label."""
        if self._partitions is None:
            labels = sorted(self.view.partitions.items())
            self._partitions = {
                label: QueuePartition(self, label, nodes.capacity) for label, nodes in labels
            }
        return self._partitions

    def renew(self) -> None:
        """Forget the trees, since something was allocated."""
        self._partitions = None
        self._spared.clear()

    def due(self, partition: QueuePartition, held: Callable[[Any], float]) -> Mapping[Any, float]:
        """Return the share that each node of a tree is guaranteed now; ``held``: what it uses."""
        raise NotImplementedError

    def part(self, amounts: Sequence[int], whole: Resource) -> float:
        """Return amounts as a part of the whole: the largest of a resource."""
        return share(amounts, whole)

    def by_application(self, queue: Queue) -> bool:  # noqa: ARG002 - a policy may
        """Return whether the applications of a leaf queue are the leaves, not the queue."""
        return False

    def forbids(self, ask: Ask, owed: Sequence[int]) -> object:  # noqa: ARG002 - as above
        """Return why the policy itself gives the ask nothing, if its queue got what it is ``owed``;
        None if it may have a container.
        """
        return None

    def may_take_master(self, master: Container) -> bool:
        """Return whether nothing else of its application runs: an AM ends all of it."""
        others = master.application.containers
        return all(c is master or c.preempting_since is not None for c in others)

    def rank(self, container: Container) -> Any:
        """Return the sort key of a leaf's containers: lent room, then the application of the lowest
        priority that came last, then the newest container.
        """
        app = container.application
        return (
            not container.lent, app.priority, -app.submitted_ms, -app.number,
            -container.allocated_ms, -container.number,
        )  # fmt: skip

    def most_first(self, container: Container) -> Any:
        """Return the same with the application first that uses most memory."""
        app = container.application
        if app not in self._spared:
            kept = (c.size[0] for c in app.containers if c.preempting_since is None)
            self._spared[app] = sum(kept)
        return (
            not container.lent, -self._spared[app], -app.number, -container.allocated_ms,
            -container.number,
        )  # fmt: skip

    def taken(self, container: Container) -> None:
        """Note that a container is preempted."""
        self._spared.pop(container.application, None)

    def promised(self, queue: Queue, label: str, otherwise: Sequence[int]) -> float:
        """Return the part of a label's nodes that a queue is promised. If no queue is promised a
        part of them, it is the part that ``otherwise`` is of the cluster.
        """
        state = self.view._state
        limits = state.label_limits
        if not limits.may_use(queue, label):
            return 0.0
        if label and limits.promises(label):
            amounts = limits.guaranteed(state, queue, label)
            capacity = self.view.partitions[label].capacity
            return 1.0 if queue.parent is None else self.part(amounts, capacity)
        return self.part(otherwise, self.view.cluster_capacity)

    def governs(self, queue: Queue) -> bool:
        """Whether the policy serves the applications of a leaf queue."""
        scope = self.view.queue
        above: Queue | None = queue
        while above is not None and above is not scope and above.policy is None:
            above = above.parent
        return above is scope

    def decides_itself(self, queue: Queue) -> bool:
        """Whether a queue has its own policy."""
        return queue.policy is not None and queue is not self.view.queue

    def needs(self, size: Resource, node: Node) -> Resource:  # noqa: ARG002 - no headroom
        """Return the size: no more must be free."""
        return size

    def lent(self, container: Container) -> bool:
        """Return whether a container uses lent room, which counts towards no guarantee."""
        return container.lent

    def used(self, member: Member, label: str) -> Sequence[int]:
        """Return what a member uses on the nodes of one label, without what is lent to it."""
        if len(self.view.partitions) == 1:
            return member.used
        total = [0] * len(member.used)
        for app in applications_below(member):
            for container in app.containers:
                if container.node.label == label and not container.lent:
                    add_all([total], container.size)
        return total


def fill_and_take_back(
    plan: Plan, memory: Preemption, rules: PreemptionRules, trees: QueueTrees,
    fill: Callable[[], Plan],
    inside: Callable[[Plan, OwedTasks, Mapping[str, int]], Iterable[Search]] | None = None,
) -> Plan:  # fmt: skip
    """Serve with ``fill``; before it, tasks for which containers were preempted. Afterwards take
    room back for what still waits within its guarantee. ``inside``: further searches, inside
    queues; it gets the starved leaves by their words.
    """
    if plan.view.lending:
        return fill()
    owed = OwedTasks(plan, trees, memory.owed)
    for task in owed.serve():
        memory.pauses.pop(task.leaf, None)
    fill()
    if not plan.spent:
        trees.renew()
        more = None if inside is None else lambda starved: inside(plan, owed, starved)
        take_back(plan, trees, rules, memory, owed, more)
        if plan.view.queue.pending_count and memory.look_ms > plan.view.now_ms:
            plan.wake_at(memory.look_ms)  # what came since the last search
    return plan
