"""Carry a plan out on a cluster's state, as PlanCommitter does in the ResourceManager.

The simulator carries plans out under its limits. Replay and the reader of segment headers repeat
plans; their decisions were checked when they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loomcard.api.pending_plan import PendingAllocation, PendingPreemption, PendingReservation, Step
from loomcard.model.objects import Ask, AskKey, Container
from loomcard.model.reasons import Reason
from loomcard.model.state import ClusterState
from loomcard.wire.messages import Allocate, Decision, Preempt, Reserve, Unreserve

Refusal = tuple[int, int, str]
"""Index of the decision, how many of its containers were refused, and why."""


class Commit:
    """Carries decisions out on ``state``, one after the other, at the time ``now_ms``.

    ``allocated`` is called with each container before the next one is checked, ``preempted`` with
    each that is to be taken back. ``checked``: check limits too; otherwise check only that what a
    decision names exists.
    """

    def __init__(
        self, state: ClusterState, now_ms: int,
        allocated: Callable[[Container], None] = lambda _: None,
        preempted: Callable[[PendingPreemption], None] = lambda _: None, *, checked: bool = True,
    ) -> None:  # fmt: skip
        self.steps: list[Step] = []  # one for each decision that was carried out, at least in part
        self.refusals: list[Refusal] = []
        self._state = state
        self._now_ms = now_ms
        self._allocated = allocated
        self._preempted = preempted
        self._checked = checked

    def run(
        self, decisions: Sequence[Decision], tags: Sequence[Any] = (),
        refused: Mapping[int, str] | None = None,
    ) -> None:  # fmt: skip
        """Carry out the decisions that are allowed. ``tags``: the tags of the decisions'
        containers, if any. ``refused``: reasons, by the index of a decision that is refused without
        a check. Raises ValueError for a count that the ask does not have, unless limits are
        checked.
        """
        for index, decision in enumerate(decisions):
            left = 1
            if refused and index in refused:
                reason: str | None = refused[index]
                left = decision.count if type(decision) is Allocate else 1
            elif type(decision) is Allocate:
                done, reason = self._allocate(decision, tags[index] if tags else None)
                left = decision.count - done
            elif type(decision) is Preempt:
                reason = self._preempt(decision)
            else:
                assert type(decision) is Reserve or type(decision) is Unreserve
                reason = self._reserve_or_unreserve(decision)
            if reason is not None:
                self.refusals.append((index, left, reason))

    def _allocate(self, decision: Allocate, tag: Any) -> tuple[int, Reason | None]:
        state, node = self._state, self._state.nodes.get(decision.node)
        if node is None:
            return 0, Reason.NODE_GONE
        ask = self._ask(decision)
        if isinstance(ask, Reason):
            return 0, ask
        if not self._checked and not 0 < decision.count <= ask.count:
            raise ValueError(f"{decision.count} containers of an ask of {ask.count}")
        step = PendingAllocation(ask, node, decision.instance, tag)
        self.steps.append(step)
        for done in range(decision.count):
            reason = state.why_not(ask, node) if self._checked else None
            if reason is not None:
                return done, reason
            container = state.allocate(ask, node, self._now_ms)
            container.instance, container.tag = decision.instance, tag
            step.containers.append(container)
            self._allocated(container)
        return decision.count, None

    def _ask(self, decision: Allocate | Reserve | Unreserve) -> Ask | Reason:
        attempt = self._state.attempts.get(decision.attempt)
        if attempt is None:
            return Reason.ATTEMPT_GONE
        key = AskKey(decision.attempt, decision.priority, decision.allocation_request_id)
        return attempt.asks.get(key, Reason.ASK_GONE)

    def _preempt(self, decision: Preempt) -> Reason | None:
        container = self._state.containers.get(decision.container)
        if container is None or container.preempting_since is not None:
            return Reason.STALE
        container.preempting_since = self._now_ms
        step = PendingPreemption(container, decision.grace_ms, decision.reason, decision.instance)
        self.steps.append(step)
        self._preempted(step)
        return None

    def _reserve_or_unreserve(self, decision: Reserve | Unreserve) -> Reason | None:
        reservations, ask = self._state.reservations, self._ask(decision)
        if isinstance(ask, Reason):
            return ask
        if isinstance(decision, Unreserve):
            if not ask.reservations and self._checked:
                return Reason.STALE
            reservations.end_all(ask)
            self.steps.append(PendingReservation(ask, None, None, decision.instance))
            return None
        node = self._state.nodes.get(decision.node)
        if node is None:
            return Reason.NODE_GONE
        reason = reservations.why_not(ask, node) if self._checked else None
        if reason is None:
            reservations.put(ask, node, self._now_ms, decision.until_ms)
            self.steps.append(PendingReservation(ask, node, decision.until_ms, decision.instance))
        return reason


def repeat(
    state: ClusterState, decisions: Sequence[Decision], now_ms: int, tags: Sequence[Any] = ()
) -> list[Step]:
    """Carry recorded decisions out again, on the state in which they were made. Return one step for
    each. Raises ValueError if a decision names something that does not exist.
    """
    commit = Commit(state, now_ms, checked=False)
    commit.run(decisions, tags)
    for index, _, reason in commit.refusals:
        raise ValueError(f"{decisions[index]}: {reason}")
    return commit.steps
