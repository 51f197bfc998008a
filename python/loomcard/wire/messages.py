"""Text to events and plans to text: the messages of docs/reference/wire.md, schema version 4, as
typed records.

Every message is a JSON array. A record is an array whose first element is its tag; msgspec decodes
it into the struct of that tag. This module knows only the text, nothing about clusters or sockets.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

SCHEMA = 4

Amounts = tuple[int, ...]
"""A resource vector on the wire: integers in the order of the handshake's ``resource_types``."""


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False, tag_field="record"):
    """What all records have: when it happened, in ms since the engine's zero."""

    at_ms: int


class OutcomesRecord(Record, frozen=True, tag="outcomes", gc=True):
    """The outcomes of the decisions of plan ``round``; the first record of the batch after it."""

    round: int
    first_container: int
    numbers: list[int]
    refusals: list[tuple[int, int, str]]


class SnapshotRecord(Record, frozen=True, tag="snapshot"):
    """Forget everything; the records that follow rebuild it."""

    reason: str


class ConfigRecord(Record, frozen=True, tag="config", gc=True):
    """This compiled configuration governs from here on."""

    version: int
    config: dict[str, Any]


class SavedStateRecord(Record, frozen=True, tag="saved", gc=True):
    """What instances saved before the snapshot, by ``path:policy``."""

    saved: dict[str, Any]


class ReportsReadRecord(Record, frozen=True, tag="reports_read"):
    """Whether somebody reads policies' reports from here on; until the first record, somebody
    does.
    """

    read: bool


class NodeAddedRecord(Record, frozen=True, tag="node_added"):
    """A NodeManager registered."""

    node: int
    id: str
    rack: str
    capacity: Amounts
    label: str = ""
    name: str = ""  # its name in asks and blacklists; "": the host of its id
    shared: bool = False  # its partition is not exclusive: it lends idle room


class NodeRemovedRecord(Record, frozen=True, tag="node_removed"):
    """A node is gone; its containers completed in records before this one."""

    node: int
    reason: str


class NodeResizedRecord(Record, frozen=True, tag="node_resized"):
    """A node has another capacity."""

    node: int
    capacity: Amounts


class NodeRelabelledRecord(Record, frozen=True, tag="node_relabelled"):
    """A node moved to another partition."""

    node: int
    label: str
    shared: bool = False  # as in ``NodeAddedRecord``


class NodeHeartbeatRecord(Record, frozen=True, tag="node_heartbeat"):
    """One heartbeat of a node; sent only to configurations that need heartbeats."""

    node: int


class ApplicationAddedRecord(Record, frozen=True, tag="application_added", gc=True):
    """An application was accepted into a leaf queue."""

    application: int
    id: str
    queue: int
    user: str
    name: str
    type: str
    tags: list[str]
    priority: int
    submitted_ms: int
    hints: dict[str, str]


class ApplicationChangedRecord(Record, frozen=True, tag="application_changed"):
    """An application moved to another queue, or has another priority."""

    application: int
    queue: int
    priority: int


class ApplicationRemovedRecord(Record, frozen=True, tag="application_removed"):
    """An application ended; its attempts were removed before."""

    application: int
    state: str


class AttemptAddedRecord(Record, frozen=True, tag="attempt_added"):
    """A new attempt of an application; it will ask for its AM container unless unmanaged."""

    attempt: int
    application: int
    number: int
    unmanaged: bool


class AttemptRegisteredRecord(Record, frozen=True, tag="attempt_registered"):
    """The attempt's AM has registered with the ResourceManager."""

    attempt: int


class AttemptRemovedRecord(Record, frozen=True, tag="attempt_removed"):
    """The attempt ended; its asks are gone."""

    attempt: int
    state: str


class AskChangedRecord(Record, frozen=True, tag="ask", gc=True):
    """The whole present state of one ask; count 0: gone."""

    attempt: int
    priority: int
    allocation_request_id: int
    is_am: bool
    size: Amounts
    count: int
    hosts: dict[str, int]
    racks: dict[str, int]
    relax_locality: bool
    label: str
    strict_racks: list[str] = []


class ReservationsRecord(Record, frozen=True, tag="reservations", gc=True):
    """The whole list of reservations, each (attempt, priority, allocation_request_id, node,
    until_ms, since_ms, placed_ms). It is sent if it changed, or if it may differ from what the last
    plan made of it.
    """

    reservations: list[tuple[int, int, int, int, int | None, int, int]]


class BlacklistRecord(Record, frozen=True, tag="blacklist", gc=True):
    """The whole list of hosts and racks that an attempt does not accept."""

    attempt: int
    names: list[str]


class ContainerAddedRecord(Record, frozen=True, tag="container_added"):
    """A container that no plan of this process placed."""

    container: int
    attempt: int
    number: int
    node: int
    size: Amounts
    priority: int
    allocation_request_id: int
    is_am: bool
    state: str
    origin: str
    allocated_ms: int | None = None
    started_ms: int | None = None
    preempting_since: int | None = None
    label: str = ""


class ContainerStartedRecord(Record, frozen=True, tag="container_started"):
    """A container is RUNNING on its node."""

    container: int


class ContainerResizedRecord(Record, frozen=True, tag="container_resized"):
    """The AM changed the size of a container."""

    container: int
    size: Amounts


class ContainerCompletedRecord(Record, frozen=True, tag="container_completed"):
    """A container ended; ``kind``: how (docs/reference/wire.md). Launch and end are estimates."""

    container: int
    kind: str
    exit_status: int
    launched_ms: int | None = None
    ended_ms: int | None = None


class TimerFiredRecord(Record, frozen=True, tag="timer"):
    """A wake-up that an instance asked for is due."""

    instance: int


AnyRecord = (
    OutcomesRecord
    | SnapshotRecord
    | ConfigRecord
    | SavedStateRecord
    | ReportsReadRecord
    | NodeAddedRecord
    | NodeRemovedRecord
    | NodeResizedRecord
    | NodeRelabelledRecord
    | NodeHeartbeatRecord
    | ApplicationAddedRecord
    | ApplicationChangedRecord
    | ApplicationRemovedRecord
    | AttemptAddedRecord
    | AttemptRegisteredRecord
    | AttemptRemovedRecord
    | AskChangedRecord
    | BlacklistRecord
    | ReservationsRecord
    | ContainerAddedRecord
    | ContainerStartedRecord
    | ContainerResizedRecord
    | ContainerCompletedRecord
    | TimerFiredRecord
)


class Check(msgspec.Struct, array_like=True, frozen=True):
    """Figures after all records of a batch, to compare the mirror with the engine; ``free`` is what
    is free on all nodes together, empty if it is not known.
    """

    nodes: int
    applications: int
    containers: int
    pending: int
    free: Amounts = ()


class Hello(msgspec.Struct, array_like=True, frozen=True, tag="hello"):
    """The ResourceManager's first message to a process."""

    schema: int
    epoch: int
    shim_version: str
    hadoop_version: str
    resource_types: list[str]
    features: list[str]
    settings: dict[str, Any]


class Compile(msgspec.Struct, array_like=True, frozen=True, tag="compile"):
    """YAML to be compiled into a configuration."""

    yaml_text: str
    name: str


class Batch(msgspec.Struct, array_like=True, frozen=True, tag="batch"):
    """What happened since the last round."""

    round: int
    first_seq: int
    now_ms: int
    check: Check
    records: list[AnyRecord]


class Header(msgspec.Struct, array_like=True, frozen=True, tag="header"):
    """A request for the state before the next batch, and afterwards, with the same ``mark``, for
    the answer. Another mark asks for another state.
    """

    mark: int


class Explain(msgspec.Struct, array_like=True, frozen=True, tag="explain"):
    """Ask why an application or a queue waits; ``kind`` is ``application`` or ``queue``, ``name``
    its id or path. ``kind`` ``asks`` wants the reasons of either's asks one by one.
    """

    kind: str
    name: str


class Sentences(msgspec.Struct, array_like=True, frozen=True, tag="sentences"):
    """Ask for at most ``most`` sentences that say why applications wait, and have changed."""

    most: int


class Allocate(msgspec.Struct, array_like=True, frozen=True, tag="allocate", gc=False):
    """Allocate ``count`` containers of one ask on one node, in the name of an instance."""

    attempt: int
    priority: int
    allocation_request_id: int
    node: int
    count: int
    instance: int


class Preempt(msgspec.Struct, array_like=True, frozen=True, tag="preempt", gc=False):
    """Take one container back: message the AM, kill after ``grace_ms``."""

    container: int
    grace_ms: int
    reason: str
    instance: int


class Reserve(msgspec.Struct, array_like=True, frozen=True, tag="reserve", gc=False):
    """Reserve room on a node for one container of an ask, until ``until_ms`` (None: until it is
    allocated or given up). If the ask has as many reservations as it may have, the one placed first
    ends.
    """

    attempt: int
    priority: int
    allocation_request_id: int
    node: int
    until_ms: int | None
    instance: int


class Unreserve(msgspec.Struct, array_like=True, frozen=True, tag="unreserve", gc=False):
    """Give up the reservations of an ask."""

    attempt: int
    priority: int
    allocation_request_id: int
    instance: int


Decision = Allocate | Preempt | Reserve | Unreserve


class PlanReply(msgspec.Struct, array_like=True, tag="plan", kw_only=False):
    """The answer to a batch; docs/reference/wire.md describes the fields."""

    round: int
    decisions: list[Decision] = []
    timers: list[tuple[int, int | None]] = []
    waits: list[tuple[int, int, int, str, int | None]] = []
    reports: dict[str, Any] = {}
    saved: dict[str, Any] = {}
    faults: list[tuple[int, str, str]] = []
    headroom: list[tuple[int, Amounts]] = []
    queue_waits: list[tuple[int, str, int]] = []
    resync: str | None = None
    cuts: list[int] = []


class HelloReply(msgspec.Struct, array_like=True, frozen=True, tag="hello"):
    """The process's answer to the handshake."""

    schema: int
    python_version: str
    loomcard_version: str
    features: list[str]


class Compiled(msgspec.Struct, array_like=True, frozen=True, tag="compiled"):
    """A configuration that compiled, in canonical form."""

    config: dict[str, Any]


class Findings(msgspec.Struct, array_like=True, frozen=True, tag="findings"):
    """Everything wrong with a YAML text: (line, column, path, message, hint)."""

    findings: list[tuple[int, int, str, str, str]]


class Failure(msgspec.Struct, array_like=True, frozen=True, tag="error"):
    """A request that could not be answered."""

    message: str


class Explained(msgspec.Struct, array_like=True, frozen=True, tag="explained"):
    """The explanation; None: there is no such application or queue."""

    document: dict[str, Any] | None


class Explaining(msgspec.Struct, array_like=True, frozen=True, tag="explaining"):
    """The answer is not complete yet: the same request is to be sent again."""


class HeaderReply(msgspec.Struct, array_like=True, frozen=True, tag="header"):
    """The first line of a journal's segment: the state before the batch that followed the first
    request with this mark. ``packed``: the line in UTF-8, compressed by zlib, in base64.
    """

    packed: str


class SentencesReply(msgspec.Struct, array_like=True, frozen=True, tag="sentences"):
    """Texts by the number of the application; None: it waits no longer."""

    texts: list[tuple[int, str | None]]


Request = Hello | Compile | Batch | Explain | Sentences | Header
Reply = (
    HelloReply
    | Compiled
    | Findings
    | PlanReply
    | Failure
    | Explained
    | Explaining
    | HeaderReply
    | SentencesReply
)

_requests = msgspec.json.Decoder(Request)
_replies = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder(order="sorted")


def read_request(text: str | bytes) -> Request:
    """The request in ``text``. Raises ``msgspec.MsgspecError``, which names the place that cannot
    be read.
    """
    return cast("Request", _requests.decode(text))


def read_reply(text: str | bytes) -> Reply:
    """The reply in ``text``. Raises ``msgspec.MsgspecError`` in the same way."""
    return cast("Reply", _replies.decode(text))


def write(message: Request | Reply | list[AnyRecord] | dict[str, Any]) -> str:
    """One line of JSON, keys sorted, no spaces: equal values give equal bytes."""
    return _encoder.encode(message).decode()
