"""Which job gets the next container, and the headroom of AMs (docs/papers/dress.md 2.7)."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from loomcard import (
    EVERYBODY,
    RULE_MS,
    Application,
    Ask,
    Chooser,
    ExhaustedShapes,
    Member,
    Order,
    Plan,
    Queue,
    Resource,
    Shape,
    headroom_by_user,
    no_room,
)
from loomcard.advanced import RESERVED, Amounts, MemberIndex, only_shape_of, shapes_of, want_room
from loomcard.policies.dress.jobs import UNKNOWN
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL, dominant

if TYPE_CHECKING:
    from loomcard.policies.dress.pools import Pools

AMS_WAIT = "AMS_WAIT"
"""The reason of an AM that waits because enough other AMs wait for their first task."""


class CategoryQueue(MemberIndex):
    """The queue of one category: its applications in order; the pools say which changed.

    ``shape in queue`` means that no member may have the shape now: the nodes are full, or
    the quota forbids it.
    """

    def __init__(self, queue: Queue, kind: str, pools: Pools) -> None:
        super().__init__(queue, guarantees_first=False)
        self.kind = kind
        self.pools = pools
        self.closed = ClosedShapes(self)
        self.shapes: dict[Member, tuple[Shape | None, ...]] = {}  # that each has entries for

    def __contains__(self, shape: object) -> bool:
        return shape in self.pools.exhausted or shape in self.closed

    def rekey(self, order: Order, member: Member) -> None:
        """Update a member's place as any index does; leave out members of other categories."""
        self.shapes.pop(member, None)
        if self.pools.category_of.get(member) == self.kind:
            super().rekey(order, member)
            if member in self.entries:
                self.shapes[member] = tuple(shapes_of(member))
        else:
            self.entries.pop(member, None)

    def is_current(self, app: Application) -> bool:
        """Whether an application that asks for something has its place, in each of its shapes."""
        entry = self.entries.get(app)
        return (
            entry is not None
            and entry[1] == self.key(app)
            and self.shapes[app] == tuple(shapes_of(app))
        )

    def key(self, app: Application) -> tuple[int, bool, float]:
        """Return an application's sort key: priority; then those that have waited too long first;
        then, with ``order: demand``, its demand as a share of the queue.
        """
        demand, pools = 0.0, self.pools
        if pools.options.order == "demand":
            demand = sum(ask.count * dominant(ask.size, pools.total) for ask in app.asks)
        return -app.priority, not pools.memory.jobs[app.number].aged, demand

    def first(self) -> Any:
        """Return the first application with an ask that may be served, or None."""
        return self.top(self) if self.entries else None

    def first_open(self) -> Any:
        """Return the same as ``first``, but ignore whether the nodes are full."""
        return self.top(self.closed) if self.entries else None


class ClosedShapes:
    """The shapes that the quota forbids to a category."""

    __slots__ = ("_queue",)

    def __init__(self, queue: CategoryQueue) -> None:
        self._queue = queue

    def __contains__(self, shape: object) -> bool:
        assert isinstance(shape, tuple)
        return not self._queue.pools.may(self._queue.kind, shape[0])


class ReservationRule(Chooser):
    """Allow a reservation while a category's quota leaves room for anything.

    Without this a large task could wait for ever: the jobs behind it would take every free bit.
    """

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def forbids(self, ask: Ask) -> str | None:
        """Return the reason if an ask waits for its quota, or None."""
        category = self._pools.category_of[ask.application]
        size = ask.size if category == UNKNOWN else [min(amount, 1) for amount in ask.size]
        return None if self._pools.may(category, size) else _why_closed(category)


class Allocation(Chooser):
    """Serve the category that uses less of its quota, until quotas or nodes leave no more.

    ``eager``: free room that no large job could use goes to small jobs beyond their quota.
    ``due``: this is a tick, at which all asks are given their reasons again.
    """

    def __init__(
        self, plan: Plan, pools: Pools, *, eager: bool, reserve_after_ms: int, due: bool
    ) -> None:
        super().__init__(plan.view.queue)
        self._plan = plan
        self._pools = pools
        self._queues = pools.queues
        self._eager = eager
        self._after_ms = reserve_after_ms
        self._due = due
        self._from: CategoryQueue | None = None  # of the application that is next
        pools.lifted = False

    def update(self) -> None:
        """Update what each application uses and asks for, and its place."""
        self._from = None
        self._pools.update()

    def next(self, full: ExhaustedShapes) -> Any:
        """Return the first application of the category that uses less of its quota; ties go to
        SMALL. Only asks that quota and nodes allow count.
        """
        pools, large = self._pools, self._queues[LARGE]
        pools.exhausted = full
        if self._from is None:
            self._want_room()
        if full.everything():
            return None
        behind = bool(large.entries) and pools.large_has_less()
        found = (large, large.first()) if behind else self._small()
        if found[1] is None:
            found = self._small() if behind else (large, large.first())
        eager = found[1] is None and self._eager and not pools.lifted
        if eager and (not large.entries or large.top(full) is None):
            pools.lifted = True  # no node has what LARGE asks for, whatever its quota
            found = self._small()
        self._from = found[0]
        return found[1]

    def _small(self) -> tuple[CategoryQueue, Any]:
        tasks, ams = self._queues[SMALL], self._queues[UNKNOWN]
        task, am = tasks.first(), ams.first()
        if am is None or (task is not None and tasks.entries[task] < ams.entries[am]):
            return tasks, task
        return ams, am

    def allocated(self, chosen: Application, ask: Any) -> None:  # noqa: ARG002
        """Count the container to its category."""
        assert self._from is not None
        self._pools.allocated(chosen)
        self._from.served(self._from.key, chosen)

    def passed(self, chosen: Application, *, forbidden: bool) -> None:  # noqa: ARG002
        """Set it aside, or all if a limit of the queue forbids what they ask for."""
        assert self._from is not None
        if forbidden or not self._from.close(report=False):
            self._from.set_aside()

    def end(self) -> None:
        """Put the applications that were set aside back in their places."""
        for queue in self._queues.values():
            queue.put_back()

    def forbids(self, ask: Ask) -> str | None:
        """Return the reason if the quota forbids this shape to the category, or None.

        The next application may have other shapes that are allowed. A reserved ask passed this
        check when its reservation was made.
        """
        queue = self._from
        if queue is None or only_shape_of(ask.application) is not False:
            return None
        return _why_closed(queue.kind) if (ask.size, ask.label) in queue.closed else None

    def report(self, plan: Plan) -> None:
        """Report which asks wait for their quota, and which for room. At a tick all are looked at,
        since a limit of YARN may have been lifted for an ask that a quota keeps waiting.
        """
        for queue in self._queues.values():
            if self._due:
                queue.unreported.update(dict.fromkeys(queue.entries))
            _report_reasons(plan, queue, again=self._due)

    def _want_room(self) -> None:
        """Reserve for applications that are passed over, before others take that room."""
        if self._after_ms and self._plan.view.passed_over(self._after_ms):
            for queue in self._queues.values():
                want_room(self._plan, queue, self._after_ms, ReservationRule(self._pools))


def _why_closed(category: str) -> str:
    return AMS_WAIT if category == UNKNOWN else RESERVED


def _report_reasons(plan: Plan, queue: CategoryQueue, *, again: bool) -> None:
    kept = _why_closed(queue.kind)
    for member in queue.unreported:
        if isinstance(member, Application) and member in queue.entries:
            for ask in member.asks:
                if ask.count > 0 and (again or ask.reported_reason is None):
                    limit = plan.limited(ask)
                    if limit is None and (ask.size, ask.label) in queue.closed:
                        plan.wait(ask, kept, plan.view.now_ms + RULE_MS)
                    else:
                        plan.wait(ask, limit or no_room(plan.view, ask))
    queue.unreported.clear()


def report_headroom(plan: Plan, pools: Pools) -> None:
    """Report changed headrooms to AMs: the least of what is free and of what quota, maxima and user
    limit leave.

    If an AM counted the other category's reserve as free, its reduces would wait for maps that
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
