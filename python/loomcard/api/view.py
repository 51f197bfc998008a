"""What a policy sees: a read-only view of the live mirror, valid during one call.

It is live: it shows at once what the plan allocates (``node.available``, ``application.used``,
``ask.count``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Any, TypeVar

from loomcard.api.cache import Cache
from loomcard.api.pending_plan import PendingPlan
from loomcard.model.events import Changes, Event
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Member, Node, Partition, Reservation
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.renamed import warn_renamed
from loomcard.model.resource import Resource, fits, subtract_all
from loomcard.model.state import ClusterState

NEVER = 1 << 62
"""A count of questions that no round reaches."""
LOOK_EVERY = 32
"""The most questions of a policy between two looks at the clock, unless it asks seldom."""
SELDOM_S = 0.002
"""A policy asks seldom if more seconds than this pass between two looks at the clock."""

Kind = TypeVar("Kind", bound=Event)
T = TypeVar("T")


@dataclass(slots=True)
class TurnResult:
    """What a turn took: the count of containers, why it stopped (None: it took all that it was
    offered), and what the child used before and after.
    """

    count: int
    stopped: str | None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def resource(self) -> Resource:
        """The amounts that it took; all 0 if it took nothing."""
        return Resource(map(sub, self.after, self.before))


NOTHING = "NOTHING"
"""A turn ended because the child demands nothing."""
NO_FIT = "NO_FIT"
"""A turn ended because what the child wants fits nowhere, or a limit forbids it."""
WITHHELD = "WITHHELD"
"""A turn ended because the child's policy holds back."""


class TurnOver(BaseException):
    """A policy continued long after its turn's time had ended; what it has decided counts."""


class RoundTime:
    """When the time of each turn of a round ends, so that a slow turn ends with what it has.

    A question is a call in which a policy asks whether it may continue or where something fits.
    At questions, a clock outside the policy is read. The count of questions until then is noted. A
    replay has no clock: its turns end at the same questions (``cuts``).
    """

    __slots__ = ("_clock", "_due", "_last_s", "_round_s", "_step", "asked", "cuts", "look_at")

    def __init__(
        self, clock: Callable[[], float] | None, round_s: float = 0, cuts: Sequence[int] = ()
    ) -> None:
        """``clock``: seconds since any zero; None: turns end at the questions ``cuts``."""
        self.asked = 0
        self.cuts: list[int] = []
        """The counts of questions after which the current turn's time ended, or after which it was
        stopped because it continued.
        """
        self._clock, self._round_s, self._due = clock, round_s, list(cuts)
        self._last_s, self._step = 0.0, 1
        self.look_at = self._due[0] if self._due else NEVER if clock is None else 1

    def begin(self, turn: Allowance) -> None:
        """Begin a turn: it has half of the time that is left to the turn above it."""
        if self._clock is not None:
            self._last_s = now = self._clock()
            own_s = self._round_s if turn.above is None else (turn.above.end_s - now) / 2
            turn.end_s, turn.stop_s = now + own_s, now + 1.5 * own_s

    def look(self, turn: Allowance) -> None:
        """See whether the turn's time has ended: a policy has asked for the ``look_at``-th time."""
        if self._clock is None:
            del self._due[0]
            self.look_at = self._due[0] if self._due else NEVER
        else:
            now = self._clock()
            seldom = now - self._last_s > SELDOM_S
            self._step = 1 if seldom else min(2 * self._step, LOOK_EVERY)
            self._last_s, self.look_at = now, self.asked + self._step
            if turn.stopped or now < (turn.stop_s if turn.over else turn.end_s):
                return
        turn.stopped, turn.over = turn.over, True
        self.cuts.append(self.asked)


class Allowance:
    """How much a turn may still take: containers, and amounts (None: no bound). Every turn above it
    pays too, so that ``count`` never exceeds what is left above. ``over``: its time has ended;
    ``stopped``: its time ended long ago.
    """

    __slots__ = (
        "above", "bounded", "count", "end_s", "limit", "over", "stop_s", "stopped", "time",
    )  # fmt: skip

    def __init__(
        self, count: int, limit: Resource | None, above: Allowance | None,
        time: RoundTime | None = None,
    ) -> None:  # fmt: skip
        self.count: int = count if above is None else min(count, above.count)
        self.bounded: bool = limit is not None or (above is not None and above.bounded)
        self.limit = list(limit) if limit is not None else None
        self.above = above
        self.over = self.stopped = False
        self.end_s = self.stop_s = 0.0
        self.time: RoundTime | None = time if above is None else above.time
        if self.time is not None:
            self.time.begin(self)

    def allows(self, size: Resource) -> bool:
        """Whether the turn may continue with one more container of ``size``."""
        return not self.over and self.has_room(size)

    def has_room(self, size: Resource) -> bool:
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
        """Whether no further container is allowed, whatever its size."""
        return self.over or self.count < 1

    def take(self, size: Resource) -> None:
        """Subtract one container of ``size``, which was allocated in this turn."""
        turn: Allowance | None = self
        while turn is not None:
            turn.count -= 1
            if turn.limit is not None:
                subtract_all([turn.limit], size)
            turn = turn.above


class ClusterView:
    """The cluster as one policy instance may see it: all nodes, and the applications and queues of
    its own scope.
    """

    def __init__(self, state: ClusterState, queue: Queue, pending: PendingPlan) -> None:
        self._state = state
        self._pending = pending
        self._unread: list[Changes] = []
        self._allowance: Allowance | None = None
        self._was_cut = False  # when its policy was last called, its time ran out
        self._report_due_ms = 0
        self._reports_are_read = True
        self._turn: Callable[[Queue, int, Resource | None], TurnResult] | None = None
        self._entitlement: Callable[[Queue], Resource] | None = None
        self._cache = Cache()
        self.queue = queue
        """The queue that the policy governs: its scope."""
        self.now_ms = pending.now_ms
        """The time, in ms since the engine\'s zero; a policy has no other clock."""
        self.epoch_ms = 0
        """The engine\'s zero as a wall-clock time, in ms since 1970. Saved times need it: a
        restarted ResourceManager has another zero.
        """
        self.version = 0
        """The sequence number of the last record that the view shows."""

    @property
    def resource_types(self) -> Sequence[str]:
        """Names of the resource types, in the order of every resource vector."""
        return self._state.types

    @property
    def nodes(self) -> Sequence[Node]:
        """The live nodes, a list in the order of their numbers."""
        return list(self._state.nodes.values())

    @property
    def node_count(self) -> int:
        """Count of live nodes."""
        return len(self._state.nodes)

    def node(self, number: int) -> Node | None:
        """The live node with that number; None if there is no such node any more."""
        return self._state.nodes.get(number)

    @property
    def hosts(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the live nodes on each host, as ``ask.hosts`` names it."""
        return self._state.hosts

    @property
    def racks(self) -> Mapping[str, Sequence[int]]:
        """The numbers of the live nodes in each rack, as ``ask.racks`` names it."""
        return self._state.racks

    @property
    def cluster_capacity(self) -> Resource:
        """Sum of the live nodes' capacities."""
        return self._state.capacity

    @property
    def capacity_version(self) -> int:
        """A number that changes whenever shares of the cluster change: with nodes, their capacities
        and labels, and with the configuration. Then compute again what came from capacities.
        """
        return self._state.capacity_version

    @property
    def zero(self) -> Resource:
        """No amount of any resource type."""
        return self._state.zero

    @property
    def capacity(self) -> Resource:
        """What the scope is entitled to now, by water-filling of use and demand down the tree; at
        the root, the capacity of the cluster.
        """
        if self._entitlement is None:
            return self._state.capacity
        return self._entitlement(self.queue)

    @property
    def root(self) -> Queue:
        """The root of the whole queue tree; the tree may be larger than the scope."""
        return self._state.queues[0]

    def find_queue(self, path: str) -> Queue | None:
        """The queue with that full path, anywhere in the tree; None if there is no such queue."""
        return self._state.by_path.get(path)

    def find_application(self, number: int) -> Application | None:
        """The application with that number, anywhere in the tree; None if it has ended."""
        return self._state.applications.get(number)

    @property
    def members(self) -> Sequence[Member]:
        """The members that share the scope's capacity: its applications, or its child queues."""
        return members_of(self.queue)

    @property
    def applications(self) -> Sequence[Application]:
        """Every application in the scope and in the queues below it, a list in the order of their
        numbers.
        """
        return sorted(applications_below(self.queue), key=lambda app: app.number)

    @property
    def asks(self) -> Sequence[Ask]:
        """Every outstanding ask in the scope, by application, each in its own order."""
        return asks_below(self.queue)

    @property
    def free(self) -> Resource:
        """The amounts that are free on all live nodes together."""
        return self._state.free

    @property
    def reservations(self) -> Sequence[Reservation]:
        """All reservations of the cluster; ``ask.reservations`` has those of one ask and
        ``node.reservation`` that of one node.
        """
        return list(self._state.reservations)

    @property
    def holds(self) -> Sequence[Reservation]:
        """Deprecated since 0.1: ``reservations``."""
        warn_renamed("view.holds", "view.reservations")
        return self.reservations

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """Capacity and free amounts of each partition, by node label; "" is the default one."""
        return self._state.partitions

    @property
    def shapes(self) -> Collection[Shape]:
        """The shapes of all outstanding asks of the cluster: (size, node label), each once."""
        return self._state.shapes

    @property
    def exhausted(self) -> set[Shape]:
        """The shapes that fit nowhere any more in this round, as policies have found; see
        ``ExhaustedShapes``.
        """
        return self._pending.exhausted

    def passed_over(self, after_ms: int) -> Collection[Shape]:
        """The shapes that got no container for ``after_ms`` while other shapes got all that they
        lack on some node. With ``AT_ONCE_MS`` it does not matter what other shapes got.
        """
        return self._pending.passed_over(after_ms)

    def first_fit(self, size: Resource, label: str) -> Node | None:
        """The node with the lowest number on which such a container fits now; None if it fits
        nowhere. An index of the shape finds it, without a walk over the nodes.
        """
        return self._state.fit_indexes.first(size, label)

    def can_ever_fit(self, size: Resource, label: str) -> bool:
        """Whether such a container would fit on some node that takes asks with that label, if the
        node were empty.
        """
        state = self._state
        largest = state.partitions.largest(label, state.capacity_version, lent=True)
        return any(fits(size, capacity) for capacity in largest)

    def offers(self, node: Node, label: str) -> bool:
        """Whether asks with that node label may be placed on the node in this stage of the round
        (``lending``).
        """
        return self._state.fit_indexes.offers(node, label)

    @property
    def lending(self) -> bool:
        """Whether this is the last stage of a round: what is left of shared partitions goes only to
        asks without a label.
        """
        return bool(self._state.fit_indexes.shared)

    def limited(self, ask: Ask) -> Reason | None:
        """The limit of the queue tree that forbids one more container of ``ask`` anywhere; None if
        no limit does.
        """
        return self._state.limited(ask)

    def timer_of(self, queue: Queue) -> int | None:
        """When the policy of a queue wants to be called again, in ms; None if it was not called in
        this round or set no timer.
        """
        return self._pending.wakes.get(queue.number)

    # What is kept between calls

    def cached(self, key: Any) -> Any:
        """The value that ``cache`` keeps under ``key``; None: nothing is kept yet."""
        return self._cache.values.get(key)

    def cache(self, key: Any, make: Callable[[], T]) -> T:
        """The value kept under ``key`` for this policy at this queue; ``make`` makes it at first.

        It is kept from round to round. It is dropped after a snapshot, after a restart, with
        another configuration, and when the policy has raised an exception. So keep only what can be
        computed from the view again.
        """
        values = self._cache.values
        if key not in values:
            values[key] = make()
        kept: T = values[key]
        return kept

    def watch(self, queue: Queue, changed: dict[Member, None] | None = None) -> dict[Member, None]:
        """Return a set, as a dict without values. Every change below ``queue`` adds to it the
        member that changed: one of the queue's applications, or a child queue. At first all members
        are in it. The policy clears it.

        ``changed``: the set to use; by default a new one. It lives as long as cached values do.
        """
        changed = {} if changed is None else changed
        changed.update(dict.fromkeys(members_of(queue)))
        self._cache.watch(queue.watchers, changed)
        return changed

    def watch_nodes(self) -> dict[Node, None]:
        """As ``watch``, for nodes: those that joined, left, or changed room, capacity or label."""
        changed = dict.fromkeys(self._state.nodes.values())
        self._cache.watch(self._state.node_watchers, changed)
        return changed

    def unwatch(self, changed: dict[Any, None]) -> None:
        """Add nothing more to a set of ``watch`` or ``watch_nodes``."""
        self._cache.unwatch(changed)

    @property
    def changes(self) -> Sequence[Event]:
        """What happened in the scope since the last call of the policy; empty from the second call
        of a round on.
        """
        found = []
        for changes in self._unread:
            for kind, at_ms, sequence, _, facts in changes.of(self.queue):
                found.append(kind(at_ms, sequence, *facts))
        return found

    def changes_of(self, kind: type[Kind]) -> Sequence[Kind]:
        """The changes of one type."""
        return [change for change in self.changes if isinstance(change, kind)]


def members_of(queue: Queue) -> list[Member]:
    """A queue's applications by number, or its child queues."""
    if queue.leaf:
        return sorted(queue.applications.values(), key=lambda app: app.number)
    return list(queue.children)


def asks_below(member: Member) -> list[Ask]:
    """Every outstanding ask of an application, or of all applications in and below a queue."""
    waiting = [app for app in applications_below(member) if app.pending_count]
    waiting.sort(key=lambda app: app.number)
    return [ask for app in waiting for ask in app.asks if ask.count > 0]


def applications_below(member: Member) -> list[Application]:
    """An application itself, or all applications in and below a queue."""
    if isinstance(member, Application):
        return [member]
    if member.leaf:
        return list(member.applications.values())
    return [app for child in member.children for app in applications_below(child)]
