"""What a policy sees: a read-only face on the live mirror, valid during one call.

It is live: what the plan allocates shows in it at once (``node.available``, ``application.used``,
``ask.count``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Any, TypeVar

from loomcard.api.pending_plan import PendingPlan
from loomcard.model.events import Change, Event
from loomcard.model.objects import Application, Ask, Hold, Member, Node, Partition, Queue
from loomcard.model.resource import Resource, fits, subtract_all
from loomcard.model.state import ClusterState

Kind = TypeVar("Kind", bound=Event)


@dataclass(slots=True)
class TurnResult:
    """What a turn took: count of containers, why it stopped (None: it took all it was offered), and
    what the child used before and after.
    """

    count: int
    stopped: str | None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def resource(self) -> Resource:
        """The amounts that it took; all 0 where it took nothing."""
        return Resource(map(sub, self.after, self.before))


NOTHING = "NOTHING"
"""A turn ended because the child does not demand."""
NO_FIT = "NO_FIT"
"""A turn ended because what the child wants fits nowhere, or a limit forbids it."""
WITHHELD = "WITHHELD"
"""A turn ended because the child's policy holds back."""


class Allowance:
    """How much a turn may still take: containers, and amounts (None: no bound); every turn above it
    pays too, so that ``count`` never exceeds what is left above.
    """

    __slots__ = ("above", "bounded", "count", "limit")

    def __init__(self, count: int, limit: Resource | None, above: Allowance | None) -> None:
        self.count: int = count if above is None else min(count, above.count)
        self.bounded: bool = limit is not None or (above is not None and above.bounded)
        self.limit = list(limit) if limit is not None else None
        self.above = above

    def allows(self, size: Resource) -> bool:
        """Whether one more container of ``size`` is within this turn and all turns above it."""
        if self.count < 1:
            return False
        turn: Allowance | None = self
        while turn is not None and turn.bounded:
            if turn.limit is not None and not fits(size, turn.limit):
                return False
            turn = turn.above
        return True

    def spent(self) -> bool:
        """No further container is allowed, whatever its size."""
        return self.count < 1

    def take(self, size: Resource) -> None:
        """One container of ``size`` was granted under this turn."""
        turn: Allowance | None = self
        while turn is not None:
            turn.count -= 1
            if turn.limit is not None:
                subtract_all([turn.limit], size)
            turn = turn.above


class ClusterView:
    """The cluster as one policy instance may see it: the whole of its nodes, its own scope of
    applications and queues.
    """

    def __init__(self, ledger: ClusterState, queue: Queue, draft: PendingPlan) -> None:
        self._ledger = ledger
        self._draft = draft
        self._unread: list[list[Change]] = []
        self._allowance: Allowance | None = None
        self._report_due_ms = 0
        self._turn: Callable[[Queue, int, Resource | None], TurnResult] | None = None
        self._entitlement: Callable[[Queue], Resource] | None = None
        self._indexes: dict[Any, Any] = {}
        self.queue = queue
        self.now_ms = draft.now_ms
        self.version = 0

    @property
    def resource_types(self) -> Sequence[str]:
        """Names of the resource types, in the order of every resource vector."""
        return self._ledger.types

    @property
    def nodes(self) -> Sequence[Node]:
        """Live nodes, by number."""
        return list(self._ledger.nodes.values())

    @property
    def node_count(self) -> int:
        """Count of live nodes."""
        return len(self._ledger.nodes)

    @property
    def cluster_capacity(self) -> Resource:
        """Sum of the live nodes' capacities."""
        return self._ledger.capacity

    @property
    def capacity(self) -> Resource:
        """What the scope is entitled to now, by water-filling of use and demand down the tree; at
        root the cluster.
        """
        if self._entitlement is None:
            return self._ledger.capacity
        return self._entitlement(self.queue)

    @property
    def members(self) -> Sequence[Member]:
        """What the scope's capacity is shared among: its applications, or its child queues."""
        if self.queue.leaf:
            return sorted(self.queue.applications.values(), key=lambda app: app.number)
        return list(self.queue.children)

    @property
    def applications(self) -> Sequence[Application]:
        """Every application in the scope, those of queues below included, by number."""
        return sorted(applications_below(self.queue), key=lambda app: app.number)

    @property
    def asks(self) -> Sequence[Ask]:
        """Every outstanding ask in the scope, by application, each in its own order."""
        return asks_below(self.queue)

    @property
    def free(self) -> Resource:
        """What is free on all live nodes together."""
        columns = zip(*(p.free for p in self._ledger.partitions.values()), strict=True)
        return Resource(map(sum, columns)) if self._ledger.partitions else self._ledger.zero

    @property
    def holds(self) -> Sequence[Hold]:
        """All holds of the cluster; ``ask.holds`` and ``node.hold`` are those of one."""
        return list(self._ledger.holds)

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """Capacity and free amounts of each partition, by node label; "" is the default one."""
        return self._ledger.partitions

    @property
    def changes(self) -> Sequence[Event]:
        """What happened in the scope since the policy was last called; empty from the second call
        of a round on.
        """
        inside: dict[Queue, bool] = {}
        found = []
        for changes in self._unread:
            for kind, at_ms, sequence, leaf, facts in changes:
                if leaf is not None:
                    concerned = inside.get(leaf)
                    if concerned is None:
                        concerned = inside[leaf] = _within(leaf, self.queue)
                    if not concerned:
                        continue
                found.append(kind(at_ms, sequence, *facts))
        return found

    def changes_of(self, kind: type[Kind]) -> Sequence[Kind]:
        """The changes of one type."""
        return [change for change in self.changes if isinstance(change, kind)]


def asks_below(member: Member) -> list[Ask]:
    """Every outstanding ask of an application, or of all applications of a queue and below it."""
    apps = sorted(applications_below(member), key=lambda app: app.number)
    return [ask for app in apps for ask in app.asks if ask.count > 0]


def applications_below(member: Member) -> list[Application]:
    """An application itself, or all of a queue and below it."""
    if isinstance(member, Application):
        return [member]
    if member.leaf:
        return list(member.applications.values())
    return [app for child in member.children for app in applications_below(child)]


def _within(leaf: Queue, scope: Queue) -> bool:
    queue: Queue | None = leaf
    while queue is not None and queue.path != scope.path:
        queue = queue.parent
    return queue is not None
