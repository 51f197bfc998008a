"""Why a decision was refused or an ask waits: one vocabulary in Java, simulator and explain
(docs/wire.md).
"""

from enum import StrEnum


class Reason(StrEnum):
    """A stable reason code."""

    NODE_GONE = "NODE_GONE"
    NODE_FULL = "NODE_FULL"
    ASK_GONE = "ASK_GONE"
    ATTEMPT_GONE = "ATTEMPT_GONE"
    QUEUE_MAX = "QUEUE_MAX"
    USER_LIMIT = "USER_LIMIT"
    AM_LIMIT = "AM_LIMIT"
    ACL = "ACL"
    BLACKLISTED = "BLACKLISTED"
    HELD = "HELD"
    HOLD_LIMIT = "HOLD_LIMIT"
    LOCALITY = "LOCALITY"
    LABEL = "LABEL"
    LABEL_GUARANTEE = "LABEL_GUARANTEE"
    STALE = "STALE"
    LATE = "LATE"
    INVALID = "INVALID"
