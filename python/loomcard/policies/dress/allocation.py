"""Which job gets the next container, and what AMs may still obtain (docs/papers/dress.md 2.7)."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from loomcard import (
    EVERYBODY,
    RESERVED,
    RULE_MS,
    Amounts,
    Application,
    Ask,
    ExhaustedShapes,
    Member,
    MemberIndex,
    Order,
    Plan,
    Queue,
    ReservationRules,
    Resource,
    headroom_by_user,
    no_room,
    only_shape_of,
    serve_application,
    serve_reservations,
    want_room,
)
from loomcard.policies.dress.jobs import UNKNOWN
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL, dominant

if TYPE_CHECKING:
    from loomcard.policies.dress.pools import Pools

AMS_WAIT = "AMS_WAIT"
"""The reason of an AM that waits because enough AMs wait for their first task."""


class CategoryQueue(MemberIndex):
    """The queue of one category: its applications in order; the pools say which changed. Contains
    the shapes that none of them may have now, for the nodes are full or the border forbids it.
    """

    def __init__(self, queue: Queue, kind: str, pools: Pools) -> None:
        super().__init__(queue, guarantees_first=False)
        self.kind = kind
        self.pools = pools
        self.closed = ClosedShapes(self)
        self.exhausted: ExhaustedShapes | None = None  # what is full in this call

    def __contains__(self, shape: object) -> bool:
        assert self.exhausted is not None
        return shape in self.exhausted or shape in self.closed

    def rekey(self, order: Order, member: Member) -> None:
        """As any index; members of another category are left out."""
        if self.pools.category_of.get(member) == self.kind:
            super().rekey(order, member)
        else:
            self.entries.pop(member, None)

    def key(self, app: Application) -> tuple[int, bool, float]:
        """Where an application stands: by priority, those that have waited too long first, then,
        with ``order: demand``, by what it asks for in parts of the queue.
        """
        demand, pools = 0.0, self.pools
        if pools.options.order == "demand":
            demand = sum(ask.count * dominant(ask.size, pools.total) for ask in app.asks)
        return -app.priority, not pools.memory.jobs[app.number].aged, demand

    def first(self) -> Any:
        """The first application of which something may be served; None if there is none."""
        return self.top(self) if self.entries else None

    def first_open(self) -> Any:
        """As ``first``, whether or not the nodes are full."""
        return self.top(self.closed) if self.entries else None


class ClosedShapes:
    """The shapes that the border keeps from a category."""

    __slots__ = ("_queue",)

    def __init__(self, queue: CategoryQueue) -> None:
        self._queue = queue

    def __contains__(self, shape: object) -> bool:
        assert isinstance(shape, tuple)
        return not self._queue.pools.may(self._queue.kind, shape[0])


class Quota(ReservationRules):
    """Room is reserved while the border leaves a category room for anything: to wait until there is
    enough for a large task, while the jobs behind it take every bit, would be to wait for ever.
    """

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def forbids(self, ask: Ask) -> str | None:
        """The reason of an ask that waits for its quota."""
        category = self._pools.category_of[ask.application]
        size = ask.size if category == UNKNOWN else [min(amount, 1) for amount in ask.size]
        return None if self._pools.may(category, size) else _reserved(category)


class Allocation:
    """One container at a time, till quotas and nodes leave no more; for the turns of one round.

    ``eager``: what is free and no large job could use goes to small ones beyond their quota.
    """

    def __init__(self, plan: Plan, pools: Pools, *, eager: bool, reserve_after_ms: int) -> None:
        self._plan = plan
        self._pools = pools
        self._queues = pools.queues
        self._eager = eager
        self._reserve_after_ms = reserve_after_ms
        self._exhausted = ExhaustedShapes(plan.view)
        pools.lifted = False
        for queue in pools.queues.values():
            queue.exhausted = self._exhausted

    def run(self) -> None:
        """Serve until nothing more may be served; then everybody who waits has a reason. Who is
        first in line and passed over for ``reserve_after_ms`` wants room reserved.
        """
        plan, queues, full = self._plan, self._queues.values(), self._exhausted
        after_ms = self._reserve_after_ms
        if plan.spent:
            return
        if plan.view.reservations:
            self._fill_reservations()
        self._pools.arrange()
        if after_ms and plan.view.passed_over(after_ms):
            for queue in queues:  # before others take what the border leaves them
                want_room(plan, queue, after_ms, Quota(self._pools))
        while not plan.spent and not full.everything():
            queue, app = self._next()
            if app is None:
                break
            reserved = queue.closed if only_shape_of(app) is False else ()  # its one shape is open
            if serve_application(plan, app, full, reserved=reserved):
                self._pools.allocated(app)
                queue.served(queue.key, app)
            else:
                queue.set_aside()
        for queue in queues:
            queue.put_back()
            if queue.unreported and not plan.spent:
                _report_reasons(plan, queue)

    def _fill_reservations(self) -> None:
        """Allocate what fits into the room reserved for it. The border let it have that room when
        the reservation was placed; others have taken what came free within it since.
        """
        mine = self._plan.view.queue
        if serve_reservations(self._plan, lambda queue: queue is mine):
            self._pools.update()

    def _next(self) -> tuple[CategoryQueue, Any]:
        """The queue and its first application of the category that holds less of its quota, ties to
        SMALL, of those that want something which quota and nodes allow.
        """
        pools, large = self._pools, self._queues[LARGE]
        behind = bool(large.entries) and pools.large_has_less()
        found = (large, large.first()) if behind else self._small()
        if found[1] is None:
            found = self._small() if behind else (large, large.first())
        eager = found[1] is None and self._eager and not pools.lifted
        if eager and (not large.entries or large.top(self._exhausted) is None):
            pools.lifted = True  # whatever its quota, no node has what it asks for
            found = self._small()
        return found

    def _small(self) -> tuple[CategoryQueue, Any]:
        tasks, ams = self._queues[SMALL], self._queues[UNKNOWN]
        task, am = tasks.first(), ams.first()
        if am is None or (task is not None and tasks.entries[task] < ams.entries[am]):
            return tasks, task
        return ams, am


def _reserved(category: str) -> str:
    return AMS_WAIT if category == UNKNOWN else RESERVED


def _report_reasons(plan: Plan, queue: CategoryQueue) -> None:
    kept = _reserved(queue.kind)
    for member in queue.unreported:
        if isinstance(member, Application) and member in queue.entries:
            for ask in member.asks:
                if ask.count > 0 and ask.reported_reason is None:
                    limit = plan.limited(ask)
                    if limit is None and (ask.size, ask.label) in queue.closed:
                        plan.wait(ask, kept, plan.view.now_ms + RULE_MS)
                    else:
                        plan.wait(ask, limit or no_room(plan.view, ask))
    queue.unreported.clear()


def report_headroom(plan: Plan, pools: Pools) -> None:
    """Tell the AMs whose headroom has changed: the least of what is free, and of what quota, maxima
    and user limit leave.

    An AM that takes the other category's reserve for free room lets its reduces wait for maps that
    never come.
    """
    leaf, free = plan.view.queue, plan.view.free
    found: dict[str, dict[str, Amounts]] = {}
    for kind in CATEGORIES:
        found[kind] = headroom_by_user(
            leaf, free.least([floor(amount) for amount in pools.left(kind)])
        )
    for app in leaf.applications.values():
        job = pools.memory.jobs[app.number]
        kind = LARGE if job.kind == LARGE else SMALL
        amounts = found[kind][EVERYBODY if leaf.user_limit is None else app.user]
        if amounts != job.reported_headroom:
            job.reported_headroom = amounts
            plan.headroom(app, Resource(amounts))
