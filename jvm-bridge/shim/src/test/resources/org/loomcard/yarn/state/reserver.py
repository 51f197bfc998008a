"""A policy for ReservationAgreementTest: reserves room for any ask anywhere, gives it up, and
reports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loomcard.model.objects import Ask, Node
from loomcard.model.events import TimerFired
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView
from loomcard.api.random import draw
from loomcard.api.orders import by_priority
from loomcard.api.fill import fill


ALONE_MS = 500
"""A round this long after the last one did not come from this policy's timer."""


@dataclass(frozen=True)
class Reserver:
    """First in, first out, with random reservations; only a few last until their end time."""

    seed: int = 1
    leaf_only = True

    def decide(self, view: ClusterView, reported: Any) -> tuple[Plan, Any]:
        """Decide and remember the last report, its time, and the number of rounds without a change
        since.

        What the round itself reserves after this call is reported in the next one, which a timer
        starts; the engine's own timers come at any time.
        """
        plan, before = Plan(view), _reservations(view)
        last, last_ms, quiet = reported or ("", 0, 0)
        happened = any(not isinstance(event, TimerFired) for event in view.changes)
        if happened:
            for ask, node in {reservation.ask: reservation.node for reservation in view.reservations}.items():
                if self._draw("release", ask, node, view) < 0.2:
                    plan.unreserve(ask)
            for ask, node in _pairs(view):
                until_ms = view.now_ms + 50 if self._draw("until", ask, node, view) < 0.3 else None
                if self._draw("reservation", ask, node, view) < 0.2 and not plan.why_no_reservation(ask, node):
                    plan.reserve(ask, node, until_ms)
        # Not at once (1): a round in which nothing happened could then reserve room after
        # this call, and start no next round to report it.
        fill(plan, order=by_priority, reserve_after_ms=2)
        after = _reservations(view)
        plan.report(view.queue, {"reservations": after})
        changed = happened or before != last or after != before
        # A round on labelled nodes has several stages, and each calls this: they are one round.
        rounds = int(view.now_ms > last_ms)
        quiet = 0 if changed or view.now_ms - last_ms > ALONE_MS else quiet + rounds
        if quiet < 2:
            plan.wake_at(view.now_ms + 20)
        return plan, (after, view.now_ms, quiet)

    def _draw(self, what: str, ask: Ask, node: Node, view: ClusterView) -> float:
        return draw(self.seed, f"{what} {ask.key} {node.number}", view.version)


def _pairs(view: ClusterView) -> Iterator[tuple[Ask, Node]]:
    return ((ask, node) for ask in view.asks for node in view.nodes)


def _reservations(view: ClusterView) -> str:
    return ";".join(f"{':'.join(map(str, h.ask.key))} on {h.node.number}" for h in view.reservations)
