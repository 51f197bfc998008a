"""Which job gets the next container, and what AMs may still obtain (specification 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any, Protocol

from loomcard.model.cluster import Application, Member, Queue
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource
from loomcard.model.room import Shape
from loomcard.policies.dress.memory import UNKNOWN, Job
from loomcard.policies.dress.paper import CATEGORIES, LARGE, SMALL
from loomcard.policies.fill import RESERVED, Full, Index, Order, serve
from loomcard.policies.headroom import EVERYBODY, Told, rooms

AMS_WAIT = "AMS_WAIT"
"""The reason of an AM that waits because enough AMs wait for their first task."""


class Line(Index):
    """The applications of one kind, in order; the pools say which changed."""

    def __init__(self, queue: Queue, kind: str, line_of: Callable[[Any], str | None]) -> None:
        super().__init__(queue, guarantees_first=False)
        queue.watchers.pop()  # its own
        self.kind = kind
        self.closed: set[Shape | None] = set()  # shapes that the quota forbids
        self._line_of = line_of

    def rekey(self, order: Order, member: Member) -> None:
        """As any index; members of another line are none of its."""
        if self._line_of(member) == self.kind:
            super().rekey(order, member)
        else:
            self.entries.pop(member, None)

    def has_open(self) -> bool:
        """Whether a member asks for a shape that is not closed. Entries that were superseded stay
        in the heaps for a while, and do not count.
        """
        live = self.entries
        return any(
            shape not in self.closed and any(live.get(entry[4]) is entry for entry in heap)
            for shape, heap in self.heaps.items()
        )


class Border(Protocol):
    """What divides the lines."""

    lines: dict[str, Line]

    def may(self, line: str, size: Sequence[int]) -> bool:
        """The quota lets a line's members have a container of ``size``."""

    def may_start(self, size: Sequence[int]) -> bool:
        """An AM of ``size`` may start."""

    def filled(self, pool: str) -> float:
        """How much of its quota a category holds."""

    def granted(self, app: Application) -> None:
        """An application got a container."""


class Grant:
    """One container at a time, till quotas and nodes leave no more; for one call.

    ``eager``: what is free and no large job could use goes to small ones beyond their quota.
    """

    def __init__(self, plan: Plan, border: Border, order: Order, *, eager: bool) -> None:
        self._plan = plan
        self._border = border
        self._lines = border.lines
        self._order = order
        self._eager = eager
        self._full = Full(plan.view._ledger, plan.view._draft.full)
        for line in self._lines.values():
            line.refresh(plan.view._ledger.capacity_version, order)
        self._shut = {kind: _Either(self._full, line) for kind, line in self._lines.items()}
        self._filled: dict[str, float] = {}
        self._lifted = False
        self._update(CATEGORIES)

    def run(self) -> None:
        """Serve until nothing more may be served; then everybody who waits has a reason."""
        plan = self._plan
        while not plan.spent and not self._full.everything():
            found = self._next()
            if found is None:
                break
            line, app = found
            if serve(plan, app, self._full, reserved=line.closed):
                line.served(self._order, app)
                self._border.granted(app)
                self._update((LARGE,) if line.kind == LARGE else (SMALL,))
            else:
                line.set_aside()
        for line in self._lines.values():
            line.put_back()
            if not plan.spent:
                _tell(plan, line)

    def _update(self, pools: Sequence[str]) -> None:
        """Something was granted: see anew what the quotas allow."""
        for pool in pools:
            self._filled[pool] = self._border.filled(pool)
            for kind in (LARGE,) if pool == LARGE else (UNKNOWN, SMALL):
                line = self._lines[kind]
                line.closed = {
                    shape for shape, heap in line.heaps.items()
                    if heap and shape is not None and not self._may(kind, shape[0])
                }  # fmt: skip

    def _may(self, kind: str, size: Sequence[int]) -> bool:
        if self._lifted and kind != LARGE:
            return kind == SMALL or self._border.may_start(size)
        return self._border.may(kind, size)

    def _next(self) -> tuple[Line, Any] | None:
        """The line and its first application of the category that holds less of its quota, ties to
        SMALL, of those that want something which quota and nodes allow.
        """
        first, then = SMALL, LARGE
        if self._filled[LARGE] < self._filled[SMALL]:
            first, then = then, first
        found = self._first_of(first) or self._first_of(then)
        if found is None and self._eager and not self._lifted:
            large = self._lines[LARGE]
            if large.top(self._full) is None:  # whatever its quota, no node has what it asks for
                self._lifted = True
                self._update((SMALL,))
                found = self._first_of(SMALL)
        return found

    def _first_of(self, pool: str) -> tuple[Line, Any] | None:
        if pool == LARGE:
            return self._top(LARGE)
        task, am = self._top(SMALL), self._top(UNKNOWN)
        if task is None or am is None:
            return task or am
        earlier = am[0].entries[am[1]] < task[0].entries[task[1]]
        return am if earlier else task

    def _top(self, kind: str) -> tuple[Line, Any] | None:
        line = self._lines[kind]
        if not line.entries:
            return None
        app = line.top(self._shut[kind])
        return None if app is None else (line, app)


class _Either:
    """What is full, or closed to a line."""

    __slots__ = ("_full", "_line")

    def __init__(self, full: Full, line: Line) -> None:
        self._full = full
        self._line = line

    def __contains__(self, shape: object) -> bool:
        return shape in self._full or shape in self._line.closed


def _tell(plan: Plan, line: Line) -> None:
    kept = AMS_WAIT if line.kind == UNKNOWN else RESERVED
    for member in line.untold:
        if isinstance(member, Application) and member in line.entries:
            for ask in member.asks:
                if ask.count > 0 and ask.told is None:
                    held = kept if (ask.size, ask.label) in line.closed else Reason.NODE_FULL
                    plan.wait(ask, plan.limited(ask) or held)
    line.untold.clear()


def tell_headroom(plan: Plan, jobs: dict[int, Job], left: dict[str, list[float]]) -> None:
    """Tell the AMs whose headroom has changed: the least of what is free, and of what quota, maxima
    and user limit leave. ``left``: what each category's quota leaves it.

    An AM that takes the other category's reserve for free room lets its reduces wait for maps that
    never come.
    """
    ledger, leaf = plan.view._ledger, plan.view.queue
    free = ledger.capacity.minus(ledger.queues[0].used)
    found: dict[str, dict[str, Told]] = {}
    for kind, room in left.items():
        found[kind] = rooms(leaf, free.least([floor(amount) for amount in room]))
    for app in leaf.applications.values():
        job = jobs[app.number]
        kind = LARGE if job.kind == LARGE else SMALL
        amounts = found[kind][EVERYBODY if leaf.user_limit is None else app.user]
        if amounts != job.told:
            job.told = amounts
            plan.headroom(app, Resource(amounts))
