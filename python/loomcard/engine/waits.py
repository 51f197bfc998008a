"""The root's timer covers the times at which waiting asks are looked at again."""

from __future__ import annotations

from loomcard.api.pending_plan import PendingPlan
from loomcard.engine.mirror import Mirror
from loomcard.model.objects import AskKey


def end_rule_waits(mirror: Mirror) -> None:
    """Have what a rule kept waiting until now looked at again, as if it had changed."""
    state = mirror.state
    for key in state.rule_waits.take_over(mirror.now_ms):
        if key[0] < 0:
            state.asks_again(state.queues[key[1]])
        elif (attempt := state.attempts.get(key[0])) is not None:
            ask = attempt.asks.get(AskKey(*key))
            if ask is not None:
                ask.reported_reason = None
                state.touched(attempt.application)


def wake_for_waits(pending: PendingPlan, *, given_back: bool) -> None:
    """Set the root's timer for the next round that is needed: because room was given back in this
    round, or when the time of a reservation or of a wait by a rule ends. The root is called in
    every round.
    """
    state = pending.state
    wanted = [
        reservation.until_ms
        for reservation in state.reservations
        if reservation.until_ms is not None
    ]
    wanted += [pending.now_ms + 1] if given_back else []
    rule_ms = state.rule_waits.next_ms()
    wanted += [] if rule_ms is None else [rule_ms]
    if wanted:
        pending.wake_root(min(wanted) - pending.now_ms)
