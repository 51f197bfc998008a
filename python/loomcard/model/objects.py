"""The parts of a cluster: nodes, applications, attempts, asks, containers.

Only the mirror changes these objects; for a policy they are read-only. Lists of integers (``free``,
``used``) are resource vectors that change in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from loomcard.model.queue import Queue
from loomcard.model.renamed import warn_renamed
from loomcard.model.resource import Resource


class AskKey(NamedTuple):
    """Identifies one ask: what YARN calls a scheduler key, with its attempt."""

    attempt: int
    priority: int
    allocation_request_id: int


class Node:
    """A machine running a NodeManager."""

    __slots__ = (
        "capacity", "containers", "free", "host", "id", "label", "number", "rack", "reservation",
        "room", "shared",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        id: str,  # noqa: A002
        rack: str,
        capacity: Resource,
        label: str,
        name: str = "",
        shared: bool = False,
    ) -> None:
        self.number = number
        """Its number on the wire; lower ones are tried first."""
        self.id = id
        """YARN's node id, host:port."""
        self.host = name or id.rpartition(":")[0] or id
        """Its name in asks and blacklists."""
        self.rack = rack
        """Its rack, such as /default-rack."""
        self.label = label
        """Its node label; "" if it has no label."""
        self.shared = shared
        """Whether its partition lends idle room to asks without a label."""
        self.capacity = capacity
        """The amounts that the NodeManager offers."""
        self.free = list(capacity)
        """The amounts that no container uses; negative if the node became smaller than they are."""
        self.room = self.free
        """The amounts that any ask may use: less than ``free`` if room is reserved."""
        self.reservation: Reservation | None = None
        """The reservation on it; a node has at most one."""
        self.containers: dict[Container, None] = {}
        """The containers on it, as an ordered set."""

    def withhold(self) -> None:
        """Compute ``room`` again, after what is free or reserved has changed."""
        self.room = self.free
        if self.reservation is not None:
            kept = zip(self.free, self.reservation.ask.size, strict=True)
            self.room = [max(min(free, 0), free - size) for free, size in kept]

    @property
    def available(self) -> Resource:
        """Free amounts; negative if the node became smaller than its containers."""
        return Resource(self.free)

    @property
    def used(self) -> Resource:
        """The amounts that containers use."""
        return self.capacity.minus(self.free)

    def takes(self, label: str, lent: bool = True) -> bool:
        """Whether asks with ``label`` may use it; ``lent``: asks without a label may use it too if
        it is shared.
        """
        return self.label == label or (lent and self.shared and not label)

    def __repr__(self) -> str:
        return f"Node({self.id}, free={self.free})"

    @property
    def hold(self) -> Reservation | None:
        """Deprecated since 0.1: ``reservation``."""
        warn_renamed("node.hold", "node.reservation")
        return self.reservation


class Partition:
    """The nodes of one label ("" is the default one), by number."""

    __slots__ = ("nodes",)

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        """By number."""

    @property
    def capacity(self) -> Resource:
        """Sum of the nodes' capacities."""
        return Resource(map(sum, zip(*(n.capacity for n in self.nodes.values()), strict=True)))

    @property
    def free(self) -> Resource:
        """Sum of the nodes' free amounts."""
        return Resource(map(sum, zip(*(n.free for n in self.nodes.values()), strict=True)))


class Application:
    """One submission to YARN."""

    __slots__ = (
        "attempts", "containers", "hints", "id", "name", "number", "past_attempts", "pending_count",
        "priority", "queue", "ran", "submitted_ms", "sums", "tags", "type", "used", "user",
        "weight",
    )  # fmt: skip

    def __init__(self, number: int, id: str, queue: Queue, user: str) -> None:  # noqa: A002
        self.number = number
        """Its number on the wire."""
        self.id = id
        """YARN's application id."""
        self.queue = queue
        """Its leaf queue."""
        self.user = user
        """The user that submitted it."""
        self.name = ""
        """Its name, as submitted."""
        self.type = ""
        """Its type, such as MAPREDUCE or SPARK."""
        self.tags: list[str] = []
        """YARN's application tags."""
        self.hints: dict[str, str] = {}
        """``LOOMCARD_DAG`` and scheduling properties under ``loomcard.``, as unchecked text."""
        self.priority = 0
        """YARN's application priority; higher is more urgent."""
        self.submitted_ms = 0
        """When it was submitted, in ms."""
        self.weight = 1.0
        """Its weight among its siblings; 1."""
        self.attempts: dict[int, Attempt] = {}
        """Its live attempts, by their number on the wire."""
        self.past_attempts: dict[int, Attempt] = {}
        """Its ended attempts; their containers may still be live."""
        self.containers: dict[Container, None] = {}
        """Its containers, as an ordered set."""
        self.used = [0] * len(queue.used)
        """The amounts that its containers use."""
        self.sums = [self.used]  # its containers are charged to these; ClusterState adds the queues
        self.pending_count = 0
        """The count of containers that it asks for."""
        self.ran = [0, 0]
        """Count of its tasks that completed, and the total ms that they ran."""

    below_guaranteed = False
    """Only queues have guarantees; it is here so that all members have the attribute."""

    @property
    def asks(self) -> list[Ask]:
        """Its asks, in the order in which to serve them: AM first, then by priority (lower is more
        urgent).
        """
        if len(self.attempts) == 1:
            for attempt in self.attempts.values():
                return attempt.ordered
        return [ask for attempt in self.attempts.values() for ask in attempt.ordered]

    def __repr__(self) -> str:
        return f"Application({self.id}, used={self.used}, pending={self.pending_count})"


Member = Queue | Application
"""What a policy divides its scope's capacity among."""


class Attempt:
    """One try of an application's master; asks and containers belong to it."""

    __slots__ = (
        "_ordered", "application", "asks", "blacklist", "number", "ordinal", "registered",
        "unmanaged",
    )  # fmt: skip

    def __init__(
        self, number: int, application: Application, ordinal: int, unmanaged: bool
    ) -> None:
        self.number = number
        """Its number on the wire."""
        self.application = application
        """Its application."""
        self.ordinal = ordinal
        """1 for the first attempt of its application."""
        self.unmanaged = unmanaged
        """Whether its AM runs outside the cluster."""
        self.registered = False
        """Whether its AM has registered."""
        self.asks: dict[AskKey, Ask] = {}
        """Its asks, by key."""
        self.blacklist: frozenset[str] = frozenset()
        """Hosts and racks on which its containers must not run."""
        self._ordered: list[Ask] | None = None  # None: to be sorted when it is read

    @property
    def ordered(self) -> list[Ask]:
        """Its asks: the AM's first, then by priority, then by allocation request id."""
        if self._ordered is None:
            self._ordered = sorted(self.asks.values(), key=_rank)
        return self._ordered

    def reorder(self) -> None:
        """Note that an ask came, ended or changed its rank: sort again at the next read."""
        self._ordered = None

    def __repr__(self) -> str:
        return f"Attempt({self.application.id} #{self.ordinal})"


class ShapeWait:
    """The wait of one shape: when one of its asks last got a container, or the first one came."""

    __slots__ = ("served_ms",)

    def __init__(self, now_ms: int) -> None:
        self.served_ms = now_ms


_NO_WAIT = ShapeWait(0)


class Ask:
    """Outstanding demand of one attempt: ``count`` containers of one size, and their places."""

    __slots__ = (
        "attempt", "count", "hosts", "is_am", "key", "label", "racks", "relax_locality",
        "reported_ms", "reported_reason", "reservations", "shape_wait", "since_ms", "size",
        "strict_racks",
    )  # fmt: skip

    def __init__(self, attempt: Attempt, key: AskKey, size: Resource) -> None:
        self.attempt = attempt
        """The attempt to which it belongs."""
        self.key = key
        """Attempt, priority and allocation request id."""
        self.size = size
        """The amounts of each container."""
        self.is_am = False
        """Whether it is for the application's AM."""
        self.count = 0
        """How many containers are still wanted."""
        self.hosts: dict[str, int] = {}
        """The count of containers wanted on each host."""
        self.racks: dict[str, int] = {}
        """The count of containers wanted in each rack."""
        self.relax_locality = True
        """Whether any node is allowed if no named one has room."""
        self.strict_racks: list[str] = []
        """Racks in which only the named hosts are allowed."""
        self.label = ""
        """The node label that it needs; "" if it needs no label."""
        self.reported_reason: str | None = None
        """The reason for its wait that was last reported."""
        self.reported_ms = 0
        """When that reason was first reported, in ms; 0 if that is not known."""
        self.reservations: tuple[Reservation, ...] = ()
        """Room that is reserved for it; the reservation placed first comes first."""
        self.shape_wait = _NO_WAIT
        self.since_ms = 0
        """When it last got a container, or came, in ms."""

    @property
    def application(self) -> Application:
        """The application of its attempt."""
        return self.attempt.application

    @property
    def reservation(self) -> Reservation | None:
        """Its reservation; if there are several, the one placed first."""
        return self.reservations[0] if self.reservations else None

    @property
    def holds(self) -> tuple[Reservation, ...]:
        """Deprecated since 0.1: ``reservations``."""
        warn_renamed("ask.holds", "ask.reservations")
        return self.reservations

    @property
    def hold(self) -> Reservation | None:
        """Deprecated since 0.1: ``reservation``."""
        warn_renamed("ask.hold", "ask.reservation")
        return self.reservation

    @property
    def priority(self) -> int:
        """YARN's priority; lower is more urgent."""
        return self.key.priority

    @property
    def suits_all(self) -> bool:
        """Whether every node of its partition is allowed, except those that its attempt has
        blacklisted.
        """
        return self.relax_locality and not self.strict_racks

    def reach(self, node: Node) -> int | None:
        """How near ``node`` is: 0 a named host, 1 a named rack, 2 anywhere; None if the ask does
        not allow it. As in YARN, a host counts only with its rack.
        """
        if self.racks.get(node.rack):
            if self.hosts.get(node.host):
                return 0
            return None if node.rack in self.strict_racks else 1
        return 2 if self.relax_locality else None

    def __repr__(self) -> str:
        return f"Ask({tuple(self.key)}, {self.count} x {tuple(self.size)})"


class Reservation:
    """Room reserved on a node for one container of an ask, until ``until_ms`` at the latest."""

    __slots__ = ("ask", "node", "placed_ms", "since_ms", "until_ms")

    def __init__(
        self, ask: Ask, node: Node, until_ms: int | None, since_ms: int, placed_ms: int
    ) -> None:
        self.ask = ask
        """The ask for which room is reserved."""
        self.node = node
        """The node on which it is reserved."""
        self.until_ms = until_ms
        """When it ends at the latest, in ms; None: when its ask ends."""
        self.since_ms = since_ms
        """When room was first reserved for the ask."""
        self.placed_ms = placed_ms
        """When this node was last chosen for it."""

    def __repr__(self) -> str:
        return f"Reservation({self.ask!r} on {self.node.id})"


def _rank(ask: Ask) -> tuple[bool, AskKey]:
    return not ask.is_am, ask.key


class Container:
    """An allocated unit on a node. ``number`` is 0 until the engine has confirmed it."""

    __slots__ = (
        "allocated_ms", "ask_key", "attempt", "host_row", "instance", "is_am", "label", "node",
        "number", "origin", "preempting_since", "rack_row", "size", "started_ms", "tag",
        "yarn_number",
    )  # fmt: skip

    def __init__(self, attempt: Attempt, node: Node, size: Resource, ask_key: AskKey) -> None:
        self.attempt = attempt
        """The attempt to which it belongs."""
        self.node = node
        """The node on which it runs."""
        self.size = size
        """The amounts that it uses."""
        self.ask_key = ask_key
        """The key of the ask that it was allocated for."""
        self.number = 0
        """Its number on the wire; 0 until the engine has confirmed it."""
        self.yarn_number = 0
        """Its number in YARN, within the attempt."""
        self.is_am = False
        """Whether it is its application's AM."""
        self.label = ""
        """The node label that its ask named; "" if it named none."""
        self.allocated_ms = 0
        """When it was allocated."""
        self.started_ms: int | None = None
        """When its node reported it as running; None before that."""
        self.preempting_since: int | None = None
        """Since when it is being preempted; None: it is not being preempted."""
        self.origin = "policy"
        """``policy``, or what else placed it: recovered, or allocated by the fallback."""
        self.instance = 0
        """The number of the queue whose policy placed it."""
        self.tag: Any = None
        """The tag that the policy passed to ``plan.allocate``."""
        self.host_row = False  # its ask counted one less for the host, the rack
        self.rack_row = False

    @property
    def application(self) -> Application:
        """The application of its attempt."""
        return self.attempt.application

    @property
    def lent(self) -> bool:
        """Whether it uses idle room that its node's label lends: its ask named no label."""
        return not self.label and self.node.label != ""

    @property
    def id(self) -> str:
        """Its id in YARN, as the ResourceManager and the NodeManagers print it."""
        cluster, app = self.application.id.removeprefix("application_").split("_")
        epoch, sequence = self.yarn_number >> 40, self.yarn_number & ((1 << 40) - 1)
        head = f"container_e{epoch:02d}_" if epoch else "container_"
        return f"{head}{cluster}_{app}_{self.attempt.ordinal:02d}_{sequence:06d}"

    def __repr__(self) -> str:
        return f"Container(#{self.number} of {self.application.id} on {self.node.id})"
