"""Who is served before an ask, by trial on a copy of the policy process.

What binds is relaxed by exactly the amounts found, and the policies decide. So the order is right
whatever the policies' rules are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomcard.api.pending_plan import PendingAllocation
from loomcard.api.view import RoundTime
from loomcard.engine import binding
from loomcard.engine.binding import Constraint
from loomcard.engine.explain import Explainer
from loomcard.engine.round import PolicyTree
from loomcard.model.events import Changes
from loomcard.model.objects import Application, Ask
from loomcard.model.queue import Queue, queues_above
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED, Resource, add_all

TRIED = 2_000
"""How many containers a trial allocates at most, to find who is served before the application."""
TRIAL_S = 2.0
"""How many seconds one round of a trial may take."""


def order(
    explainer: Explainer, ask: Ask, clock: Callable[[], float] | None = None
) -> dict[str, Any]:
    """Who is served before an ask once nothing binds it, by trial. It changes the state: call it
    only on a copy of the process that is thrown away.

    First what binds is relaxed by exactly the amounts found. If the ask then gets a container,
    nobody is ahead. Else those who got the room are, and a second trial, without limits and with
    room for all, counts how many come first. ``clock``: seconds, to end a trial in time.
    """
    mirror, tree = explainer.mirror, explainer.tree
    assert tree is not None
    found = explainer.find(ask)
    used = {queue: Resource(queue.used) for queue in explainer.state.queues}
    mirror.changes, mirror.timers_due = Changes(), {}
    for each in found.constraints:
        _relax(explainer, ask, each)
    ask.reported_reason = None
    explainer.state.touched(ask.application)
    served = _served(tree, clock)
    if ask in served:
        return _order([], "Nobody is ahead of it", verified=True)
    reason = ask.reported_reason
    if not served and found.constraints:
        _open(explainer, ask, found.constraints)
        more = _served(tree, clock)
        if ask not in more:
            text = f"After that, {explainer.ruled(ask, reason)}"
            return _order([], text, verified=False, then=reason)
        served = more
    elif served:
        first = served
        _open(explainer, ask, found.constraints)
        served = [*first, *_served(tree, clock)]
    return _ahead(explainer, ask, served, used)


def _ahead(
    explainer: Explainer, ask: Ask, served: list[Ask], used: dict[Queue, Resource]
) -> dict[str, Any]:
    before = served[: served.index(ask)] if ask in served else served
    apps = dict.fromkeys(each.application for each in before)
    own = ask.application
    apps.pop(own, None)
    if not apps:
        if before:
            return _order([], "Other asks of its own come first", verified=True)
        then = ask.reported_reason
        return _order([], f"Now {explainer.ruled(ask, then)}", verified=False, then=then)
    first = next(iter(apps))
    more = "" if ask in served else " or more"
    one = "application" if len(apps) == 1 else "applications"
    text = (
        f"Ahead of it: {len(apps)}{more} {one}, the next is {first.id} in {first.queue.path};"
        f" {explainer.rule_between(own, first, used)}"
    )
    found = _order(list(apps), text, verified=True)
    found["containers"] = sum(each.application is not own for each in before)
    found["complete"] = ask in served
    return found


def _order(
    apps: list[Application], text: str, *, verified: bool, then: str | None = None
) -> dict[str, Any]:
    return {
        "applications": len(apps),
        "containers": 0,
        "next": apps[0].id if apps else None,
        "complete": True,
        "verified": verified,
        "then": then,
        "text": text,
    }


def _served(tree: PolicyTree, clock: Callable[[], float] | None) -> list[Ask]:
    time = None if clock is None else RoundTime(clock, TRIAL_S)
    pending = tree.run(TRIED, time)
    steps = (step for step in pending.steps if isinstance(step, PendingAllocation))
    return [step.ask for step in steps for _ in step.containers]


def _relax(explainer: Explainer, ask: Ask, found: Constraint) -> None:
    """Relax one constraint by exactly what it lacks."""
    state, queue, node = explainer.state, found.queue, found.node
    if found.code == Reason.RUNNING_LIMIT:
        _run_more(found, found.to)
    elif queue is not None and found.short is not None:
        for name in ("maximum", "user_limit", "am_limit"):
            limit = getattr(queue, name)
            if limit == found.limit and limit is not None:
                setattr(queue, name, limit.plus(found.short))
        if found.key == "label_maximum":
            state.label_limits.relax(queue, ask.label, found.short)
    elif found.key == "labels" and queue is not None:
        state.label_limits.allow(queue, ask.label)
    elif node is not None:
        if found.code == Reason.BLACKLISTED:
            ask.attempt.blacklist = frozenset()
        if found.code == Reason.LOCALITY and found.short is None:
            ask.relax_locality, ask.strict_racks = True, []
        if node.reservation is not None and found.code == Reason.NODE_RESERVED:
            state.reservations.end(node.reservation)
        elif found.code == binding.TOO_LARGE and found.short is not None:
            state.resize_node(node, node.capacity.plus(found.short))
        elif found.short is not None:
            add_all([node.free], found.short)
        node.withhold()
        state.room_changed(node)


def _run_more(found: Constraint, to: Any) -> None:
    """Set the limit of running applications that was found to bind; None: lift it."""
    assert found.queue is not None
    assert found.queue.running is not None
    if found.key == "maximum_running_applications":
        found.queue.running.most = to
    else:
        found.queue.running.most_of = to or {}


def _open(explainer: Explainer, ask: Ask, found: list[Constraint]) -> None:
    """Give every node room for all that is asked, and lift the maxima above the ask, and the limits
    that bind it: those who come first use up some of them.
    """
    state = explainer.state
    plenty = Resource([UNLIMITED >> 20] * len(state.zero))
    for queue in queues_above(ask.application.queue):
        if queue.maximum is not None:
            queue.maximum = plenty
    for each in found:
        if each.queue is not None and each.code == Reason.USER_LIMIT:
            each.queue.user_limit = None
        if each.queue is not None and each.code == Reason.AM_LIMIT:
            each.queue.am_limit = None
        if each.code == Reason.RUNNING_LIMIT:
            _run_more(each, None)
    for node in state.nodes.values():
        add_all([node.free], plenty)
        node.withhold()
        state.room_changed(node)
    for app in state.applications.values():
        state.touched(app)
