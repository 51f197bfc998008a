"""Why a decision was refused or an ask waits: the same codes in Java, simulator and explain
(docs/reference/wire.md).
"""

from enum import StrEnum


class Reason(StrEnum):
    """A stable reason code."""

    NODE_GONE = "NODE_GONE"
    """The node has left."""
    NODE_FULL = "NODE_FULL"
    """No node has room, or this one has no room."""
    ASK_GONE = "ASK_GONE"
    """The ask has all its containers, or was taken back."""
    ATTEMPT_GONE = "ATTEMPT_GONE"
    """The attempt has ended."""
    QUEUE_MAX = "QUEUE_MAX"
    """A queue of the path uses its maximum."""
    USER_LIMIT = "USER_LIMIT"
    """The user uses as much as one user may in this queue."""
    AM_LIMIT = "AM_LIMIT"
    """AMs use as much of the queue as they may."""
    ACL = "ACL"
    """The user may not submit to the queue."""
    BLACKLISTED = "BLACKLISTED"
    """The attempt has blacklisted the node or its rack."""
    NODE_RESERVED = "NODE_RESERVED"
    """The node's room is reserved for another ask."""
    RESERVATION_LIMIT = "RESERVATION_LIMIT"
    """No more room may be reserved: for the application, on the node or in the queue."""
    LOCALITY = "LOCALITY"
    """The ask names hosts or racks, and must not go to other nodes."""
    LABEL = "LABEL"
    """The node has another node label, or the queue may not use the label."""
    LABEL_GUARANTEE = "LABEL_GUARANTEE"
    """What is left on the label's nodes is guaranteed to other queues."""
    STALE = "STALE"
    """What the decision is about has changed since."""
    LATE = "LATE"
    """The plan came after its deadline."""
    INVALID = "INVALID"
    """The decision cannot be read."""
