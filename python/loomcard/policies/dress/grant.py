"""Which job gets the next container, and what AMs may still obtain (docs/papers/dress.md 2.7)."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from loomcard import (
    EVERYBODY,
    RESERVED,
    Amounts,
    Application,
    Ask,
    ExhaustedShapes,
    HoldRules,
    Member,
    MemberIndex,
    Order,
    Plan,
    Queue,
    Resource,
    headroom_by_user,
    no_room,
    only_shape_of,
    serve_application,
    serve_holds,
    want_room,
)
from loomcard.policies.dress.jobs import UNKNOWN
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL, dominant

if TYPE_CHECKING:
    from loomcard.policies.dress.pools import Pools

AMS_WAIT = "AMS_WAIT"
"""The reason of an AM that waits because enough AMs wait for their first task."""


class Line(MemberIndex):
    """The applications of one kind, in order; the pools say which changed. Contains the shapes that
    none of them may have now, for the nodes are full or the border forbids it.
    """

    def __init__(self, queue: Queue, kind: str, pools: Pools) -> None:
        super().__init__(queue, guarantees_first=False)
        self.kind = kind
        self.pools = pools
        self.closed = Closed(self)
        self.full: ExhaustedShapes | None = None  # what is full in this call

    def __contains__(self, shape: object) -> bool:
        assert self.full is not None
        return shape in self.full or shape in self.closed

    def rekey(self, order: Order, member: Member) -> None:
        """As any index; members of another line are none of its."""
        if self.pools.line_of.get(member) == self.kind:
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


class Closed:
    """The shapes that the border keeps from a line."""

    __slots__ = ("_line",)

    def __init__(self, line: Line) -> None:
        self._line = line

    def __contains__(self, shape: object) -> bool:
        assert isinstance(shape, tuple)
        return not self._line.pools.may(self._line.kind, shape[0])


class Quota(HoldRules):
    """Room is held while the border leaves a category room for anything: to wait until there is
    enough for a large task, while the jobs behind it take every bit, would be to wait for ever.
    """

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    def forbids(self, ask: Ask) -> str | None:
        """As an ask is told that waits for its quota."""
        line = self._pools.line_of[ask.application]
        size = ask.size if line == UNKNOWN else [min(amount, 1) for amount in ask.size]
        return None if self._pools.may(line, size) else _reserved(line)


class Grant:
    """One container at a time, till quotas and nodes leave no more; for the turns of one round.

    ``eager``: what is free and no large job could use goes to small ones beyond their quota.
    """

    def __init__(self, plan: Plan, pools: Pools, *, eager: bool, hold_after_ms: int) -> None:
        self._plan = plan
        self._pools = pools
        self._lines = pools.lines
        self._eager = eager
        self._hold_after_ms = hold_after_ms
        self._full = ExhaustedShapes(plan.view)
        pools.lifted = False
        for line in pools.lines.values():
            line.full = self._full

    def run(self) -> None:
        """Serve until nothing more may be served; then everybody who waits has a reason. Who is
        first in line and passed over for ``hold_after_ms`` wants room held.
        """
        plan, lines, full = self._plan, self._lines.values(), self._full
        after_ms = self._hold_after_ms
        if plan.spent:
            return
        if plan.view.holds:
            self._fill_holds()
        self._pools.arrange()
        if after_ms and plan.view.passed_over(after_ms):
            for line in lines:  # before others take what the border leaves them
                want_room(plan, line, after_ms, Quota(self._pools))
        while not plan.spent and not full.everything():
            line, app = self._next()
            if app is None:
                break
            reserved = line.closed if only_shape_of(app) is False else ()  # its one shape is open
            if serve_application(plan, app, full, reserved=reserved):
                self._pools.granted(app)
                line.served(line.key, app)
            else:
                line.set_aside()
        for line in lines:
            line.put_back()
            if line.unreported and not plan.spent:
                _tell(plan, line)

    def _fill_holds(self) -> None:
        """Grant what fits into the room held for it. The border let it have that room when the hold
        was placed; others have taken what came free within it since.
        """
        mine = self._plan.view.queue
        if serve_holds(self._plan, lambda queue: queue is mine):
            self._pools.update()

    def _next(self) -> tuple[Line, Any]:
        """The line and its first application of the category that holds less of its quota, ties to
        SMALL, of those that want something which quota and nodes allow.
        """
        pools, large = self._pools, self._lines[LARGE]
        behind = bool(large.entries) and pools.large_has_less()
        found = (large, large.first()) if behind else self._small()
        if found[1] is None:
            found = self._small() if behind else (large, large.first())
        eager = found[1] is None and self._eager and not pools.lifted
        if eager and (not large.entries or large.top(self._full) is None):
            pools.lifted = True  # whatever its quota, no node has what it asks for
            found = self._small()
        return found

    def _small(self) -> tuple[Line, Any]:
        tasks, ams = self._lines[SMALL], self._lines[UNKNOWN]
        task, am = tasks.first(), ams.first()
        if am is None or (task is not None and tasks.entries[task] < ams.entries[am]):
            return tasks, task
        return ams, am


def _reserved(line: str) -> str:
    return AMS_WAIT if line == UNKNOWN else RESERVED


def _tell(plan: Plan, line: Line) -> None:
    kept = _reserved(line.kind)
    for member in line.unreported:
        if isinstance(member, Application) and member in line.entries:
            for ask in member.asks:
                if ask.count > 0 and ask.told is None:
                    closed = (ask.size, ask.label) in line.closed
                    held = kept if closed else no_room(plan.view, ask)
                    plan.wait(ask, plan.limited(ask) or held)
    line.unreported.clear()


def tell_headroom(plan: Plan, pools: Pools) -> None:
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
        if amounts != job.told:
            job.told = amounts
            plan.headroom(app, Resource(amounts))
