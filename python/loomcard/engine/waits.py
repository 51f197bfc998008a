"""The times at which what waits is looked at again, in the root's timer."""

from __future__ import annotations

from loomcard.api.pending_plan import PendingPlan
from loomcard.engine.mirror import Mirror
from loomcard.model.objects import AskKey


def end_rule_waits(mirror: Mirror) -> None:
    """What a rule kept waiting until now is looked at again, as if it had changed."""
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
    """Room that was given back during a round is for a next round, and so are that of a reservation
    and an ask that a rule keeps waiting, once their time is over: of the root, which is called in
    every one.
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
