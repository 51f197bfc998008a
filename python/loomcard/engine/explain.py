"""Why an application waits, or a queue is below its share, from the state of the policy process.

``Explainer`` reads the state between two rounds and changes nothing. ``order`` tries it: on a copy
of the process that is thrown away, it relaxes what binds by exactly the amounts found and lets the
policies decide, so that it says who is served first whatever the policies' rules are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from loomcard.api.entitlement import entitlements
from loomcard.api.pending_plan import PendingAllocation
from loomcard.api.view import RoundTime, asks_below
from loomcard.engine import binding
from loomcard.engine.binding import Constraint, amounts_text, named
from loomcard.engine.mirror import Mirror
from loomcard.engine.round import PolicyTree
from loomcard.model.objects import Application, Ask
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED, Resource, add_all, share

ORDER = "ORDER"
"""The next container is for others: the policy's order."""
NEXT = "NEXT_ROUND"
"""Nothing binds the ask: it was not looked at yet, or its last container is being allocated."""
NOTHING_ASKED = "NOTHING_ASKED"
"""The application, or the queue, asks for nothing."""
ASKS_SHOWN = 10
"""How many asks of an application are explained."""
SENTENCE = 500
"""The most characters of a sentence."""
QUEUE_ASKS = 1_000
"""How many asks of a queue are looked at."""
TRIED = 2_000
"""How many containers a trial allocates at most, to find who is served before the application."""

_STATED = {
    Reason.QUEUE_MAX, Reason.USER_LIMIT, Reason.AM_LIMIT, Reason.LABEL, Reason.NODE_FULL,
    Reason.NODE_RESERVED, Reason.BLACKLISTED, Reason.LOCALITY,
}  # fmt: skip
"""The reasons that the state itself shows; every other one is a rule of a policy."""


@dataclass(frozen=True)
class Found:
    """Why one ask waits: the code, and what binds it now."""

    ask: Ask
    code: str
    constraints: list[Constraint]
    rule: str | None
    until_ms: int | None
    queue: Queue | None = None


class Explainer:
    """Explains what a mirror shows between two rounds; it changes nothing."""

    def __init__(self, mirror: Mirror, tree: PolicyTree | None, epoch_ms: int) -> None:
        """``epoch_ms``: the engine's zero, in ms since 1970."""
        self.mirror = mirror
        self.tree = tree
        self.epoch_ms = epoch_ms
        self.state = mirror.state
        self._nodes: dict[Any, Constraint | None] = {}  # by shape, for asks without places

    # One ask

    def find(self, ask: Ask) -> Found:
        """What binds an ask: the limits, else the nodes, else a rule of a policy, else the order."""
        found = list(binding.limits(self.state, ask))
        room = self._room(ask)
        if room is not None:
            found.append(room)
        if found:
            return Found(ask, found[0].code, found, None, None)
        rule, until_ms, queue = self._rule(ask)
        if rule is not None:
            return Found(ask, rule.split()[0], [], rule, until_ms, queue)
        if ask.reported_reason is None:
            return Found(ask, NEXT, [], None, None)
        return Found(ask, ORDER, [], None, None)

    def _room(self, ask: Ask) -> Constraint | None:
        plain = ask.relax_locality and not (ask.racks or ask.attempt.blacklist or ask.reservations)
        if not plain:
            return binding.nodes(self.state, ask)
        shape = (ask.size, ask.label)
        if shape not in self._nodes:
            self._nodes[shape] = binding.nodes(self.state, ask)
        return self._nodes[shape]

    def _rule(self, ask: Ask) -> tuple[str | None, int | None, Queue | None]:
        """The rule of a policy that keeps the ask waiting, until when, and of which queue it was
        said; None, None: none does.
        """
        rules, now_ms = self.state.rule_waits, self.mirror.now_ms
        queue: Queue | None = ask.application.queue
        while queue is not None:
            until_ms = rules.until_ms(queue)
            if until_ms > now_ms:
                return self.state.queue_reasons.get(queue.number, "RULE"), until_ms, queue
            queue = queue.parent
        until_ms, reason = rules.until_ms(ask), ask.reported_reason
        if reason is not None and (until_ms > now_ms or reason.split()[0] not in _STATED):
            return reason, until_ms or None, None
        return None, None, None

    def governing(self, queue: Queue) -> Queue:
        """The queue whose policy decides what a queue gets for itself."""
        above: Queue = queue
        while above.policy is None and above.parent is not None:
            above = above.parent
        return above

    def policy_of(self, queue: Queue) -> str:
        """What governs a queue, as sentences name it; a policy that raised rests."""
        above = self.governing(queue)
        name = f"policy {above.policy} of {above.path}"
        instance = None if self.tree is None else self.tree.instances.get(above.number)
        if instance is not None and instance.fallback.is_serving(self.mirror.now_ms):
            name = f"the fallback FIFO of {above.path} ({above.policy} raised and rests)"
        return name

    def rule_between(self, own: Application, other: Application) -> str:
        """Which policy puts another application first, and on what figures."""
        if own.queue is other.queue:
            return f"the order of {self.policy_of(own.queue)}"
        top, mine, theirs = between(own.queue, other.queue)
        state = self.state
        figures = " and ".join(
            f"{queue.path} uses {amounts_text(queue.used, state.types)}"
            f" ({share(queue.used, state.capacity):.1%}, weight {queue.weight:g})"
            for queue in (theirs, mine)
        )
        return f"{self.policy_of(top)} serves {theirs.path} before {mine.path}: {figures}"

    def words(self, found: Found) -> str:
        """What the found cause is, in one sentence without its begin."""
        ask = found.ask
        if found.constraints:
            said = "; and ".join(each.text for each in found.constraints)
            done = " and ".join(each.remedy for each in found.constraints)
            return f"{said}. It starts with {done}"
        leaf = ask.application.queue
        if found.rule is not None:
            where = leaf if found.queue is None else found.queue
            return (
                f"the rule {found.rule} of {self.policy_of(where)}"
                f"{self._details(ask, found)} keeps it waiting"
            )
        if found.code == NEXT:
            return f"{self.policy_of(leaf)} looks at it in the next round"
        return f"{self.policy_of(leaf)} chose others: its order within the queue"

    def _details(self, ask: Ask, found: Found) -> str:
        """What the policy itself says of its rule, in amounts; empty where it says nothing."""
        above = self.governing(ask.application.queue if found.queue is None else found.queue)
        instance = None if self.tree is None else self.tree.instances.get(above.number)
        explain = getattr(instance.policy, "explain", None) if instance is not None else None
        if explain is None or instance is None:
            return ""
        try:
            said = explain(instance.view, instance.memory, ask)
        except Exception:  # noqa: BLE001 - a policy's own words must not cost the explanation
            return ""
        return f" ({said})" if said else ""

    def sentence(self, found: Found, order: dict[str, Any] | None = None) -> str:
        """The sentence for YARN's diagnostics, of bounded length."""
        ask = found.ask
        what = "its AM" if ask.is_am else f"{ask.count} x {amounts_text(ask.size, self.state.types)}"
        since = datetime.fromtimestamp((self.epoch_ms + since_ms(ask)) / 1000, UTC)
        said = f"Since {since:%Y-%m-%d %H:%M:%S}Z waits for {what} in {ask.application.queue.path}: {found.code}: {self.words(found)}"
        if order:
            said += f". {order['text']}"
        return said if len(said) <= SENTENCE else said[: SENTENCE - 3] + "..."

    # Applications and queues

    def application(self, app: Application) -> dict[str, Any]:
        """The explanation of an application: why its asks wait, and the queues above it."""
        asks = [ask for ask in app.asks if ask.count > 0]
        found = [self.find(ask) for ask in asks[:ASKS_SHOWN]]
        return {
            "application": app.id,
            "name": app.name,
            "user": app.user,
            "queue": app.queue.path,
            "code": found[0].code if found else NOTHING_ASKED,
            "asks": [self._ask(each) for each in found],
            "further_asks": max(0, len(asks) - ASKS_SHOWN),
            "chain": self.chain(app.queue),
            "order": None,
            "sentence": self.sentence(found[0]) if found else "It asks for nothing now",
        }

    def _ask(self, found: Found) -> dict[str, Any]:
        ask, types = found.ask, self.state.types
        return {
            "priority": ask.key.priority,
            "allocation_request_id": ask.key.allocation_request_id,
            "am": ask.is_am,
            "count": ask.count,
            "asked": named(ask.size, types),
            "label": ask.label,
            "since_ms": self.epoch_ms + since_ms(ask),
            "served_ms": self.epoch_ms + ask.since_ms,
            "code": found.code,
            "rule": found.rule,
            "until_ms": None if found.until_ms is None else self.epoch_ms + found.until_ms,
            "text": self.words(found),
            "binding": [each.document(types) for each in found.constraints],
        }

    def chain(self, leaf: Queue) -> list[dict[str, Any]]:
        """The queues from root to a leaf: who governs them, and what they use of what."""
        path = [leaf]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        shares = self._entitlements()
        types = self.state.types
        return [
            {
                "queue": queue.path,
                "policy": self.governing(queue).policy,
                "used": named(queue.used, types),
                "entitlement": named(shares[queue], types),
                "guaranteed": named(queue.guaranteed, types),
                "maximum": named(queue.maximum, types),
                "pending": queue.pending_count,
                "share": round(share(queue.used, self.state.capacity), 4),
            }
            for queue in reversed(path)
        ]

    def _entitlements(self) -> dict[Queue, Resource]:
        return entitlements(self.state.queues[0], self.state.capacity, _wanted)

    def queue(self, queue: Queue) -> dict[str, Any]:
        """The explanation of a queue: what it uses of its share, and why its asks wait."""
        causes: dict[str, dict[str, Any]] = {}
        looked = 0
        for ask in asks_below(queue):
            if looked == QUEUE_ASKS:
                break
            looked += 1
            found = self.find(ask)
            cause = causes.get(found.code)
            if cause is None:
                cause = causes[found.code] = {
                    "code": found.code, "asks": 0, "containers": 0,
                    "first": ask.application.id, "text": self.words(found),
                    "binding": [each.document(self.state.types) for each in found.constraints],
                }  # fmt: skip
            cause["asks"] += 1
            cause["containers"] += ask.count
        most = sorted(causes.values(), key=lambda each: (-each["containers"], each["code"]))
        chain = self.chain(queue)
        used, entitled = queue.used, self._entitlements()[queue]
        below = any(u < e for u, e in zip(used, entitled, strict=True))
        share_text = (
            f"{queue.path} uses {amounts_text(used, self.state.types)} of"
            f" {amounts_text(entitled, self.state.types)}"
        )
        reason = f"{most[0]['code']}: {most[0]['text']}" if most else "it asks for nothing more"
        return {
            "queue": queue.path,
            "code": most[0]["code"] if most else NOTHING_ASKED,
            "below_share": below,
            "causes": most,
            "asks_looked_at": looked,
            "chain": chain,
            "sentence": f"{share_text}: {reason}"[:SENTENCE],
        }


def since_ms(ask: Ask) -> int:
    """Since when an ask waits for the reason that it has now, in ms."""
    return max(ask.since_ms, ask.reported_ms)


def _wanted(leaf: Queue) -> Resource:
    total = [0] * len(leaf.used)
    for ask in asks_below(leaf):
        add_all([total], ask.size.times(ask.count))
    return Resource(total)


# On a copy of the process


def order(explainer: Explainer, ask: Ask, clock: Callable[[], float] | None = None) -> dict[str, Any]:
    """Who is served before an ask once nothing binds it, by trial. It changes the state: call it
    only on a copy of the process that is thrown away.

    First what binds is relaxed by exactly the amounts found. If the ask then gets a container,
    nobody is ahead. Else those who got the room are, and a second trial, without limits and with
    room for all, counts how many come first. ``clock``: seconds, to end a trial in time.
    """
    mirror, tree = explainer.mirror, explainer.tree
    assert tree is not None
    found = explainer.find(ask)
    mirror.changes, mirror.timers_due = [], {}
    for each in found.constraints:
        _relax(explainer, ask, each)
    ask.reported_reason = None
    explainer.state.touched(ask.application)
    served = _served(tree, clock)
    if ask in served:
        return _order([], ask, "nobody is ahead of it", verified=True)
    reason = ask.reported_reason
    if not served and found.constraints:
        _open(explainer, ask, found.constraints)
        more = _served(tree, clock)
        if ask not in more:
            text = f"after that {reason or 'its policy'} keeps it waiting"
            return _order([], ask, text, verified=False, then=reason)
        served = more
    elif served:
        first = served
        _open(explainer, ask, found.constraints)
        served = [*first, *_served(tree, clock)]
    return _ahead(explainer, ask, served)


def _ahead(explainer: Explainer, ask: Ask, served: list[Ask]) -> dict[str, Any]:
    before = served[: served.index(ask)] if ask in served else served
    apps = dict.fromkeys(each.application for each in before)
    own = ask.application
    apps.pop(own, None)
    if not apps:
        if before:
            return _order([], ask, "other asks of its own come first", verified=True)
        then = ask.reported_reason
        return _order([], ask, f"its policy gives it nothing now: {then}", verified=False, then=then)
    first = next(iter(apps))
    more = "" if ask in served else " or more"
    one = "application" if len(apps) == 1 else "applications"
    text = (
        f"Ahead of it: {len(apps)}{more} {one}, the next is {first.id} in {first.queue.path};"
        f" {explainer.rule_between(own, first)}"
    )
    found = _order(list(apps), ask, text, verified=True)
    found["containers"] = sum(each.application is not own for each in before)
    found["complete"] = ask in served
    return found


def _order(
    apps: list[Application], ask: Ask, text: str, *, verified: bool, then: str | None = None
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
    time = None if clock is None else RoundTime(clock, 2.0)
    pending = tree.run(TRIED, time)
    steps = (step for step in pending.steps if isinstance(step, PendingAllocation))
    return [step.ask for step in steps for _ in step.containers]


def _relax(explainer: Explainer, ask: Ask, found: Constraint) -> None:
    """Relax one constraint by exactly what it lacks."""
    state, queue, node = explainer.state, found.queue, found.node
    if queue is not None and found.short is not None:
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


def _open(explainer: Explainer, ask: Ask, found: list[Constraint]) -> None:
    """Give every node room for all that is asked, and lift the maxima above the ask, and the limits
    that bind it: those who come first use up some of them.
    """
    state = explainer.state
    plenty = Resource([UNLIMITED >> 20] * len(state.zero))
    for queue in _up(ask.application.queue):
        if queue.maximum is not None:
            queue.maximum = plenty
    for each in found:
        if each.queue is not None and each.code == Reason.USER_LIMIT:
            each.queue.user_limit = None
        if each.queue is not None and each.code == Reason.AM_LIMIT:
            each.queue.am_limit = None
    for node in state.nodes.values():
        add_all([node.free], plenty)
        node.withhold()
        state.room_changed(node)
    for app in state.applications.values():
        state.touched(app)


def between(one: Queue, other: Queue) -> tuple[Queue, Queue, Queue]:
    """The lowest queue that is above both, and the two below it that lead to each."""
    first, second = list(_up(one)), list(_up(other))
    while len(first) > 1 and len(second) > 1 and first[-2] is second[-2]:
        first.pop()
        second.pop()
    return first[-1], first[-2], second[-2]


def _up(queue: Queue) -> Iterator[Queue]:
    above: Queue | None = queue
    while above is not None:
        yield above
        above = above.parent


def waiting(apps: Iterable[Application]) -> Iterator[tuple[Application, Ask]]:
    """The applications that ask for something, each with the first of its asks."""
    for app in apps:
        if app.pending_count > 0:
            for ask in app.asks:
                if ask.count > 0:
                    yield app, ask
                    break
