"""Holds for asks that are passed over: who is first in line and fits nowhere gets room kept.

An ask is passed over while containers of other shapes are granted and none of its own. After a
while the first in line of its queue wants a hold; of all that want one, the round gives it to the
ask that has waited longest, on the node that is likely to have enough soonest.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any

from mypy_extensions import mypyc_attr

from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView
from loomcard.model.fit_index import Shape
from loomcard.model.holds import why_never
from loomcard.model.objects import Application, Ask, AskKey, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import fits
from loomcard.model.state import ClusterState

if TYPE_CHECKING:
    from loomcard.api.fill import MemberIndex

HOLD_AFTER_MS = 1_000
"""How long an ask is passed over before room is held for it, unless a policy's option says else. 0:
none is held. 1: at once, as soon as it fits nowhere, whether others are granted anything or not.
"""

HOLDS = "HOLDS"
"""Begins the reason of an ask that waits for the room that is held for it; nodes' ids follow."""

REVIEW_MS = 10_000
"""How often the node of a hold is chosen again."""


@mypyc_attr(allow_interpreted_subclasses=True)
class HoldRules:
    """What a policy adds to the limits of the queue tree when it holds room; a policy that adds
    something overrides it.
    """

    def forbids(self, ask: Ask) -> Any:  # noqa: ARG002 - a policy may
        """Why the policy gives the ask nothing now; None if it may have a container."""
        return None

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Where its next container would go; None where it fits nowhere now."""
        return plan.place(ask)

    def takes(self, node: Node) -> bool:  # noqa: ARG002 - as above
        """Whether a node takes one more container, whatever its size."""
        return True


NO_RULES = HoldRules()


def serve_holds(
    plan: Plan,
    governs: Callable[[Queue], bool],
    rules: HoldRules = NO_RULES,
    *,
    review: bool = True,
) -> bool:
    """Grant what fits into the room held for it, before anybody else is served; whether anything
    was. A hold whose ask a limit, or a rule of the policy's, now keeps from it is given up.
    ``review``: the round chooses the node of an old one again; else that is left to the policy.
    """
    view, state = plan.view, plan.view._state
    granted = False
    for hold in sorted(state.holds, key=lambda hold: age_of(hold.ask)):
        ask, app = hold.ask, hold.ask.application
        if plan.spent or not governs(app.queue):
            continue
        if hold.node.hold is not hold:
            continue  # ended when its ask was served on another node
        limit = plan.limited(ask)
        reason = limit or rules.forbids(ask)
        if reason is not None:
            plan.release_hold(ask)
            plan.wait(ask, reason, None if limit else view.now_ms + RULE_MS)
        elif not plan.allows(ask):
            continue
        elif plan.why_not(ask, hold.node) is None and rules.takes(hold.node):
            plan.grant(ask, hold.node)
            granted = True
        else:
            plan.wait(ask, where_held(ask))
            old = view.now_ms - hold.placed_ms >= REVIEW_MS
            if (review and old) or len(ask.holds) < app.queue.hold_nodes:
                view._pending.wants[ask] = plan._instance
    return granted


def want_room(plan: Plan, index: MemberIndex, after_ms: int, rules: HoldRules = NO_RULES) -> None:
    """Say that the first in line of a leaf queue wants a hold, if it has been passed over for
    ``after_ms`` (0: never). Who has a hold, may have nothing, or asks for what no node has is not
    first in line.
    """
    view = plan.view
    passed = view._pending.passed_over(after_ms) if after_ms else ()
    if not passed:
        return
    left: list[tuple[Shape | None, Any]] = []
    while (app := index.top()) is not None:
        assert isinstance(app, Application)
        if view._state.holds.of(app) is None:
            able, ask = _first(plan, app, passed, rules)
            if ask is not None:
                view._pending.wants[ask] = plan._instance
            if able:
                break
        left += index.take_top()
    index.restore(left)


def age_of(ask: Ask) -> tuple[int, int, AskKey]:
    """Who has waited longest comes first, whatever the numbers are; ties by submission."""
    return ask.since_ms, ask.application.submitted_ms, ask.key


class ByShape:
    """Asks by their shape, for ``want_first``; they are read when a shape is first asked for."""

    def __init__(self, asks: Callable[[], Iterable[Ask]]) -> None:
        self._asks = asks
        self._found: dict[Shape, list[Ask]] | None = None

    def of(self, shape: Shape) -> Iterable[Ask]:
        """Those of a shape."""
        if self._found is None:
            self._found = {}
            for ask in self._asks():
                self._found.setdefault((ask.size, ask.label), []).append(ask)
        return self._found.get(shape, ())


def want_first(
    plan: Plan, asks_of: Callable[[Shape], Iterable[Ask]], after_ms: int
) -> None:  # fmt: skip
    """As ``want_room``, for a policy without a line: who has waited longest comes first."""
    view, state = plan.view, plan.view._state
    passed = view._pending.passed_over(after_ms) if after_ms else ()
    for ask in sorted((ask for shape in passed for ask in asks_of(shape)), key=age_of):
        app = ask.application
        if state.holds.of(app) is not None or plan.limited(ask) or not plan.allows(ask):
            continue
        if plan.place(ask) is None and _possible(state, ask):
            view._pending.wants[ask] = plan._instance
            return


def _first(
    plan: Plan, app: Application, passed: Container[Shape], rules: HoldRules
) -> tuple[bool, Ask | None]:
    """Whether anything that the application asks for may be granted if there is room, and of what
    has the same priority as the first such ask, the first that was passed over and fits nowhere:
    who asks for small containers and large ones alike is passed over by itself.
    """
    first: Ask | None = None
    for ask in app.asks:
        if first is not None and ask.key.priority != first.key.priority:
            break
        if ask.count <= 0 or plan.limited(ask) is not None or not plan.allows(ask):
            continue
        if rules.forbids(ask) is not None:
            continue
        nowhere = rules.place(plan, ask) is None
        if nowhere and not _possible(plan.view._state, ask):
            continue
        if nowhere and (ask.size, ask.label) in passed:
            return True, ask
        first = first or ask
    return first is not None, None


def _possible(state: ClusterState, ask: Ask) -> bool:
    """Whether some node could run ``ask`` if it were empty."""
    largest = state.partitions.largest(ask.label, state.capacity_version)
    fit = any(fits(ask.size, capacity) for capacity in largest)
    anywhere = not ask.racks and ask.relax_locality and not ask.attempt.blacklist
    if anywhere or not fit:
        return fit
    return any(why_never(ask, node) is None for node in state.nodes.values())


def where_held(ask: Ask) -> str:
    """The reason of an ask that waits for the room that is held for it."""
    return " ".join([HOLDS, *(hold.node.id for hold in ask.holds)])


def no_room(view: ClusterView, ask: Ask) -> str:
    """Why an ask that fits nowhere waits: what it would fit into is held for it, or for others, or
    there is no room at all.
    """
    state = view._state
    if not state.holds:
        return Reason.NODE_FULL
    if ask.holds:
        return where_held(ask)
    held = (h.node for h in state.holds if fits(ask.size, h.node.free))
    return Reason.HELD if any(why_never(ask, n) is None for n in held) else Reason.NODE_FULL
