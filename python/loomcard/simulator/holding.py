"""Decisions about holds, carried out on the ResourceManager's own books."""

from __future__ import annotations

from loomcard.model.objects import AskKey
from loomcard.model.reasons import Reason
from loomcard.model.state import ClusterState
from loomcard.wire.messages import Keep, Release


def hold_or_release(ledger: ClusterState, decision: Keep | Release, now_ms: int) -> Reason | None:
    """Carry a decision out; why it is refused, or None."""
    attempt = ledger.attempts.get(decision.attempt)
    if attempt is None:
        return Reason.ATTEMPT_GONE
    key = AskKey(decision.attempt, decision.priority, decision.allocation_request_id)
    ask = attempt.asks.get(key)
    if ask is None:
        return Reason.ASK_GONE
    if isinstance(decision, Release):
        if not ask.holds:
            return Reason.STALE
        ledger.holds.end_all(ask)
        return None
    node = ledger.nodes.get(decision.node)
    reason = Reason.NODE_GONE if node is None else ledger.holds.why_not(ask, node)
    if reason is None and node is not None:
        ledger.holds.put(ask, node, now_ms, decision.until_ms)
    return reason
