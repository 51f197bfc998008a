"""Why an application waits, or a queue is below its share, from the state of the policy process.

``Explainer`` reads the state between two rounds and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from loomcard.api.entitlement import entitlements
from loomcard.api.view import asks_below
from loomcard.engine import binding
from loomcard.engine.binding import Constraint, amounts_text, named
from loomcard.engine.mirror import Mirror
from loomcard.engine.round import PolicyTree
from loomcard.model.objects import Application, Ask
from loomcard.model.queue import Queue, queues_above
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, share

ORDER = "ORDER"
"""The next container is for others: the policy's order."""
NEXT = "NEXT_ROUND"
"""Nothing binds the ask: it was not looked at yet, or its last container is being allocated."""
REFUSED = "REFUSED"
"""YARN refused the last container that the policy gave it."""
REFUSED_MS = 10_000
"""For how many ms a refusal counts as the cause."""
NOTHING_ASKED = "NOTHING_ASKED"
"""The application, or the queue, asks for nothing."""
ASKS_SHOWN = 10
"""How many asks of an application are explained."""
SENTENCE = 500
"""The most characters of a sentence."""
QUEUE_ASKS = 1_000
"""How many asks of a queue are looked at."""
ASKS_LISTED = 200
"""How many asks are listed one by one, each with its reason."""

_STATED = {
    Reason.QUEUE_MAX, Reason.USER_LIMIT, Reason.AM_LIMIT, Reason.RUNNING_LIMIT,
    Reason.LABEL, Reason.NODE_FULL, Reason.NODE_RESERVED, Reason.BLACKLISTED, Reason.LOCALITY,
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

    def __init__(self, mirror: Mirror, tree: PolicyTree | None) -> None:
        self.mirror = mirror
        self.tree = tree
        self.epoch_ms = mirror.epoch_ms
        self.state = mirror.state
        self._shares: dict[Queue, Resource] | None = None
        self._nodes: dict[Any, Constraint | None] = {}  # by shape, for asks without places

    # One ask

    def find(self, ask: Ask) -> Found:
        """What binds an ask: the limits and the nodes, else a policy's rule, else its order."""
        found = list(binding.limits(self.state, ask))
        room = self._room(ask)
        if room is not None:
            found.append(room)
        if found:
            return Found(ask, found[0].code, found, None, None)
        reason, at_ms = self.mirror.refused.get(ask.key, ("", -1))
        if at_ms >= ask.since_ms and at_ms >= self.mirror.now_ms - REFUSED_MS:
            return Found(ask, REFUSED, [], reason, None)
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

    def rule_between(
        self, own: Application, other: Application, used: dict[Queue, Resource]
    ) -> str:
        """Which policy puts another application first, and on what figures: those in ``used``."""
        if own.queue is other.queue:
            return f"the order of {self.policy_of(own.queue)}"
        top, mine, theirs = between(own.queue, other.queue)
        state = self.state
        figures = " and ".join(
            f"{queue.path} uses {amounts_text(used[queue], state.types)}"
            f" ({share(used[queue], state.capacity):.1%}, weight {queue.weight:g})"
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
        if found.code == REFUSED:
            return f"YARN refused what {self.policy_of(leaf)} gave it last: {found.rule}"
        if found.rule is not None:
            where = leaf if found.queue is None else found.queue
            return (
                f"the rule {found.rule} of {self.policy_of(where)}"
                f"{self._details(ask, found)} keeps it waiting"
            )
        if found.code == NEXT:
            return f"{self.policy_of(leaf)} looks at it in the next round"
        return f"{self.policy_of(leaf)} chose others: its order within the queue"

    def ruled(self, ask: Ask, reason: str | None) -> str:
        """What keeps an ask waiting that nothing else binds: the rule with this reason."""
        if reason is None:
            return f"{self.policy_of(ask.application.queue)} gives it nothing"
        return self.words(Found(ask, reason, [], reason, None))

    def _details(self, ask: Ask, found: Found) -> str:
        """What the policy itself says of its rule, in amounts; empty where it says nothing."""
        above = self.governing(ask.application.queue if found.queue is None else found.queue)
        instance = None if self.tree is None else self.tree.instances.get(above.number)
        explain = getattr(instance.policy, "explain", None) if instance is not None else None
        if explain is None or instance is None:
            return ""
        try:
            said = explain(instance.view, instance.memory, ask)
            return f" ({', '.join(self._figures(said))})" if said else ""
        except Exception:  # a policy's own words must not cost the explanation
            return ""

    def _figures(self, said: dict[str, Any]) -> Iterator[str]:
        for name, value in said.items():
            shown = value if isinstance(value, str | int | float) else None
            yield f"{name} {amounts_text(value, self.state.types) if shown is None else shown}"

    def sentence(self, found: Found) -> str:
        """The sentence for YARN's diagnostics, of bounded length."""
        ask = found.ask
        what = (
            "its AM" if ask.is_am else f"{ask.count} x {amounts_text(ask.size, self.state.types)}"
        )
        since = datetime.fromtimestamp((self.epoch_ms + since_ms(ask)) / 1000, UTC)
        queue = ask.application.queue.path
        said = (
            f"Since {since:%Y-%m-%d %H:%M:%S}Z waits for {what} in {queue}:"
            f" {found.code}: {self.words(found)}"
        )
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

    def asks(self, of: Application | Queue, is_over: Callable[[], bool]) -> dict[str, Any]:
        """Why each ask waits, of an application or of a queue: the first ``ASKS_LISTED`` of them,
        or fewer, if the time ``is_over`` before.
        """
        every = asks_below(of)
        listed = [
            {
                "application": ask.application.id,
                "app_priority": ask.application.priority,
                "queue": ask.application.queue.path,
                **self._ask(self.find(ask)),
            }
            for ask in takewhile(lambda _: not is_over(), every[:ASKS_LISTED])
        ]
        further = len(every) - len(listed)
        document: dict[str, Any] = {"asks": listed, "further_asks": further}
        if isinstance(of, Application):
            document |= {"queue": of.queue.path, "app_priority": of.priority}
        return document

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
            for queue in reversed(list(queues_above(leaf)))
        ]

    def _entitlements(self) -> dict[Queue, Resource]:
        if self._shares is None:
            self._shares = entitlements(self.state.queues[0], self.state.capacity)
        return self._shares

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


def between(one: Queue, other: Queue) -> tuple[Queue, Queue, Queue]:
    """The lowest queue that is above both, and the two below it that lead to each."""
    first, second = list(queues_above(one)), list(queues_above(other))
    while len(first) > 1 and len(second) > 1 and first[-2] is second[-2]:
        first.pop()
        second.pop()
    return first[-1], first[-2], second[-2]


def waiting(apps: Iterable[Application]) -> Iterator[tuple[Application, Ask]]:
    """The applications that ask for something, each with the first of its asks."""
    for app in apps:
        if app.pending_count > 0:
            for ask in app.asks:
                if ask.count > 0:
                    yield app, ask
                    break
