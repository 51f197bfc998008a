"""What a policy sees: a read-only face on the live mirror, valid during one call.

It is live: what the plan allocates shows in it at once (``node.available``, ``application.used``,
``ask.count``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Any, TypeVar

from loomcard.api.cache import Cache
from loomcard.api.pending_plan import PendingPlan
from loomcard.model.events import Change, Event
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
"""A policy may ask so often from one look at the clock to the next, unless it asks seldom."""
SELDOM_S = 0.002
"""After so long without a question it asks seldom."""

Kind = TypeVar("Kind", bound=Event)
T = TypeVar("T")


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


class TurnOver(BaseException):
    """A policy went on long after the time of its turn was over; what it has decided counts."""


class RoundTime:
    """When the time of a round's turns is over, so that a slow one ends with what it has.

    A clock outside says so, when a policy asks whether it may go on or where something fits; what
    is noted is how often they had asked by then. A replay has no clock: its turns end at the same
    questions (``cuts``).
    """

    __slots__ = ("_clock", "_due", "_last_s", "_round_s", "_step", "asked", "cuts", "look_at")

    def __init__(
        self, clock: Callable[[], float] | None, round_s: float = 0, cuts: Sequence[int] = ()
    ) -> None:
        """``clock``: seconds since any zero; None: turns end at the questions ``cuts``."""
        self.asked = 0
        self.cuts: list[int] = []
        """After so many questions the turn under way was over, or stopped when it was over."""
        self._clock, self._round_s, self._due = clock, round_s, list(cuts)
        self._last_s, self._step = 0.0, 1
        self.look_at = self._due[0] if self._due else NEVER if clock is None else 1

    def begin(self, turn: Allowance) -> None:
        """A turn begins: it has half of what is left to the one above it."""
        if self._clock is not None:
            self._last_s = now = self._clock()
            own_s = self._round_s if turn.above is None else (turn.above.end_s - now) / 2
            turn.end_s, turn.stop_s = now + own_s, now + 1.5 * own_s

    def look(self, turn: Allowance) -> None:
        """A policy has asked for the ``look_at``-th time: see whether its turn is over."""
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
    """How much a turn may still take: containers, and amounts (None: no bound); every turn above it
    pays too, so that ``count`` never exceeds what is left above. ``over``: its time is;
    ``stopped``: so it was long ago.
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
        """Whether the turn may go on with one more container of ``size``."""
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
        """No further container is allowed, whatever its size."""
        return self.over or self.count < 1

    def take(self, size: Resource) -> None:
        """One container of ``size`` was allocated under this turn."""
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

    def __init__(self, state: ClusterState, queue: Queue, pending: PendingPlan) -> None:
        self._state = state
        self._pending = pending
        self._unread: list[list[Change]] = []
        self._allowance: Allowance | None = None
        self._was_cut = False  # when its policy was last called, its time ran out
        self._report_due_ms = 0
        self._turn: Callable[[Queue, int, Resource | None], TurnResult] | None = None
        self._entitlement: Callable[[Queue], Resource] | None = None
        self._cache = Cache()
        self.queue = queue
        """The queue that the policy governs: its scope."""
        self.now_ms = pending.now_ms
        """The time, in ms since the engine\'s zero; a policy has no other clock."""
        self.version = 0
        """The sequence number of the last record that the view shows."""

    @property
    def resource_types(self) -> Sequence[str]:
        """Names of the resource types, in the order of every resource vector."""
        return self._state.types

    @property
    def nodes(self) -> Sequence[Node]:
        """Live nodes, by number."""
        return list(self._state.nodes.values())

    @property
    def node_count(self) -> int:
        """Count of live nodes."""
        return len(self._state.nodes)

    def node(self, number: int) -> Node | None:
        """The live node of a number; None if there is none any more."""
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
        """Changes whenever shares of the whole do: with nodes, their capacities and labels, and
        with the configuration. What was computed from capacities is to be computed again.
        """
        return self._state.capacity_version

    @property
    def zero(self) -> Resource:
        """No amount of any resource type."""
        return self._state.zero

    @property
    def capacity(self) -> Resource:
        """What the scope is entitled to now, by water-filling of use and demand down the tree; at
        root the cluster.
        """
        if self._entitlement is None:
            return self._state.capacity
        return self._entitlement(self.queue)

    @property
    def root(self) -> Queue:
        """The root of the whole queue tree, which is more than the scope."""
        return self._state.queues[0]

    def find_queue(self, path: str) -> Queue | None:
        """The queue of a full path, wherever it is in the tree."""
        return self._state.by_path.get(path)

    def find_application(self, number: int) -> Application | None:
        """The application of a number, wherever it is in the tree; None if it has ended."""
        return self._state.applications.get(number)

    @property
    def members(self) -> Sequence[Member]:
        """What the scope's capacity is shared among: its applications, or its child queues."""
        return members_of(self.queue)

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
        return self._state.free

    @property
    def reservations(self) -> Sequence[Reservation]:
        """All reservations of the cluster; ``ask.reservations`` and ``node.reservation`` are those
        of one.
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
        """What outstanding asks of the whole cluster are for: (size, node label), each once."""
        return self._state.shapes

    @property
    def exhausted(self) -> set[Shape]:
        """The shapes that policies found to fit nowhere any more in this round; see
        ``ExhaustedShapes``.
        """
        return self._pending.exhausted

    def passed_over(self, after_ms: int) -> Collection[Shape]:
        """The shapes of which no container was allocated for ``after_ms``, while containers of
        others were; with ``AT_ONCE_MS`` whether others were or not.
        """
        return self._pending.passed_over(after_ms)

    def first_fit(self, size: Resource, label: str) -> Node | None:
        """The node of the lowest number on which such a container fits now; None where it fits
        nowhere. Found in an index of the shape, without a walk over the nodes.
        """
        return self._state.fit_indexes.first(size, label)

    def offers(self, node: Node, label: str) -> bool:
        """Whether asks with that node label may be placed on the node in this stage of the round
        (``lending``).
        """
        return self._state.fit_indexes.offers(node, label)

    @property
    def lending(self) -> bool:
        """The last stage of a round: what is left of shared partitions goes to asks without a
        label, and to them alone.
        """
        return bool(self._state.fit_indexes.shared)

    def limited(self, ask: Ask) -> Reason | None:
        """Which limit of the queue tree forbids one more container of ``ask`` anywhere; None if
        none does.
        """
        return self._state.limited(ask)

    def timer_of(self, queue: Queue) -> int | None:
        """When the policy of a queue wants to be called again, of those called in this round."""
        return self._pending.wakes.get(queue.number)

    # What is kept between calls

    def cache(self, key: Any, make: Callable[[], T]) -> T:
        """What is kept under ``key`` for this policy at this queue; ``make`` makes it at first.

        It is kept from round to round. It is dropped after a snapshot, a restart, another
        configuration, and when the policy has raised: keep only what follows from the view.
        """
        values = self._cache.values
        if key not in values:
            values[key] = make()
        kept: T = values[key]
        return kept

    def watch(self, queue: Queue, changed: dict[Member, None] | None = None) -> dict[Member, None]:
        """A set, as a dict without values, to which every change below ``queue`` adds the member
        of it that changed: one of its applications, or a child queue. At first all are in it. The
        policy clears it.

        ``changed``: the set to use; by default a new one. It lives as long as what is cached.
        """
        changed = {} if changed is None else changed
        changed.update(dict.fromkeys(members_of(queue)))
        self._cache.watch(queue.watchers, changed)
        return changed

    def watch_nodes(self) -> dict[Node, None]:
        """As ``watch``, of nodes that joined or left, or whose room, capacity or label changed."""
        changed = dict.fromkeys(self._state.nodes.values())
        self._cache.watch(self._state.node_watchers, changed)
        return changed

    def unwatch(self, changed: dict[Any, None]) -> None:
        """Add nothing more to a set of ``watch`` or ``watch_nodes``."""
        self._cache.unwatch(changed)

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


def members_of(queue: Queue) -> list[Member]:
    """A queue's applications by number, or its child queues."""
    if queue.leaf:
        return sorted(queue.applications.values(), key=lambda app: app.number)
    return list(queue.children)


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
