"""One queue in order: serve its members by a sort key until nothing more fits.

``order`` computes a member's key only from the member and the cluster's capacity. The index re-keys
only members that changed: the author of a policy writes one line, and the loop stays fast. Queues
below their guaranteed capacity come first.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from mypy_extensions import mypyc_attr

from loomcard.api.member_index import MemberIndex, Order
from loomcard.api.order_identity import bound_values, described, identity_of
from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.reserve import RESERVE_AFTER_MS, want_room
from loomcard.api.serve import Chooser, ExhaustedShapes, report_limited, report_waiting, serve
from loomcard.api.view import WITHHELD, asks_below
from loomcard.model.queue import Queue
from loomcard.model.renamed import argument
from loomcard.model.resource import Resource, fits

ALL = 1 << 30
"""A count of containers that no round reaches."""

SHARE = "SHARE"
"""The reason of an ask that waits because its application uses all that its policy allows it."""

RESERVED = "RESERVED"
"""The reason of an ask that waits because the policy keeps what is free for others."""


def fill(
    plan: Plan, *, order: Order, index: str = "fill", live: bool = False, turn_containers: int = 1,
    reserve_after_ms: int = RESERVE_AFTER_MS, goes_on: bool = False, **renamed: int,
) -> Plan:  # fmt: skip
    """Allocate containers to the scope's members, in order, until nothing fits.

    ``order``: a member's sort key; ties are resolved by submission, then number. It may read the
    member and the cluster's capacity; if it reads more, set ``live=True`` to re-key every member at
    each call. ``index``: the name under which the members are kept in this order from call to call;
    a policy that fills by several orders needs one name for each. ``turn_containers``: how many
    containers a child queue's policy may allocate in one turn; if no other queue demands anything,
    it may take all. ``reserve_after_ms``: for how long the first in line of a leaf queue is passed
    over, because it fits nowhere, before room is reserved for it; 0: no room is reserved.
    ``goes_on``: the policy does nothing else in ``decide``, so that later turns of the round need
    not call it (``plan.go_on``).

    Deprecated since 0.1: ``hold_after_ms``, which is ``reserve_after_ms``.

    Raises ValueError if the index was made for another order.
    """
    view = plan.view
    if renamed:
        reserve_after_ms = argument("fill", "reserve_after_ms", renamed, "hold_after_ms")
    kept = view.cache(
        (_CachedIndex, index), lambda: _CachedIndex(MemberIndex(view.queue).attach(view), order)
    )
    kept.check(order, index, None if live else view.version)
    members = InOrder(plan, kept.index, order, live, turn_containers)
    if goes_on:
        plan.go_on = partial(serve, plan, members, reserve_after_ms)
    return serve(plan, members, reserve_after_ms)


class _CachedIndex:
    """An index and the order that it is in."""

    __slots__ = ("_bound", "_order", "_version", "index")

    def __init__(self, index: MemberIndex, order: Order) -> None:
        self.index = index
        self._order = identity_of(order)
        self._bound: Any = None  # of the order, in the round of that version
        self._version: int | None = -1

    def check(self, order: Order, name: str, version: int | None) -> None:
        """Raise ValueError if the order is not the one before, or contains other values than
        earlier in the round of that ``version``; None: its values may change with each call.
        """
        identity, bound = identity_of(order), [] if version is None else bound_values(order)
        if version != self._version:
            self._version, self._bound = version, bound
        if identity != self._order or bound != self._bound:
            ours, theirs = described(self._order, self._bound), described(identity, bound)
            raise ValueError(
                f"fill: index {name!r} is in the order of {ours}, not of {theirs}:"
                " name another one, as in fill(..., index='second')"
            )


@mypyc_attr(allow_interpreted_subclasses=True)
class InOrder(Chooser):
    """Serve the members of one queue by ``order``, with an index that is kept from call to call.

    ``live``, ``turn_containers``: as in ``fill``.
    """

    def __init__(
        self, plan: Plan, index: MemberIndex, order: Order, live: bool = False,
        turn_containers: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(index.queue)
        self.plan = plan
        self.index = index
        self.order = order
        self.live = live
        self.turn_containers = turn_containers

    def update(self) -> None:
        """Re-key what changed."""
        index, version = self.index, self.plan.view.capacity_version
        if index.stale or self.live or index.capacity_version != version:
            index.refresh(version, self.order, self.live)

    def next(self, full: ExhaustedShapes) -> Any:
        """The first in order; of applications, the first that asks for a shape that may fit."""
        if not self.queue.leaf:
            return self.index.top()
        return None if full.everything() else self.index.top(full)

    def allocated(self, chosen: Any, ask: Any) -> None:  # noqa: ARG002
        """Give it its new place in the order."""
        self.index.served(self.order, chosen)

    def passed(self, chosen: Any, *, forbidden: bool) -> None:
        """Set it aside, or close its heap."""
        if chosen in self.index.entries and (forbidden or not self.index.close()):
            self.index.set_aside()

    def end(self) -> None:
        """Put members that were set aside back in their places."""
        self.index.put_back()

    def turn(self, plan: Plan, child: Queue) -> bool:
        """Give the child a turn; if no other child demands anything, it may take all."""
        alone = len(self.index.entries) == 1
        return take_turn(plan, self.index, child, ALL if alone else self.turn_containers)

    def report(self, plan: Plan) -> None:
        """Report that applications that changed wait for room."""
        if self.queue.leaf:
            report_limited(plan, self.index.limited)
            report_waiting(plan, self.index.unreported)

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Want a reservation for the first in line."""
        if self.queue.leaf:
            want_room(plan, self.index, after_ms, self)


def take_turn(
    plan: Plan, index: MemberIndex, child: Queue, count: int, limit: Resource | None = None
) -> bool:
    """Let a child queue's policy decide. Return whether it took something. A child that withholds
    its asks leaves the index until its next change or timer.
    """
    taken = plan.turn(child, count, limit)
    if taken.count:
        return True
    if limit is not None and not any(fits(ask.size, limit) for ask in asks_below(child)):
        plan.wait(child, SHARE, plan.view.now_ms + RULE_MS)
    index.stale.pop(child, None)
    if taken.stopped == WITHHELD:
        del index.entries[child]
    return False
