"""The two queues of jobs, and who is next in each (specification 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loomcard.model.cluster import Application, Member, Queue
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.room import Shape
from loomcard.policies.dress.classify import CATEGORIES
from loomcard.policies.fill import RESERVED, Full, Index, Order, serve


class Line(Index):
    """The applications of one category, in order."""

    def __init__(self, queue: Queue, kind: str, kind_of: Callable[[Any], str]) -> None:
        super().__init__(queue, guarantees_first=False)
        self.kind = kind
        self._kind_of = kind_of
        self.closed: set[Shape | None] = set()  # shapes that the category's quota forbids

    def rekey(self, order: Order, member: Member) -> None:
        """As any index; members of the other category are none of its."""
        if member.pending_count > 0 and self._kind_of(member) != self.kind:
            self.entries.pop(member, None)
        else:
            super().rekey(order, member)

    def close(self, may: Callable[[str, Any], bool]) -> None:
        """See anew which shapes the quota forbids."""
        self.closed = {s for s in self.heaps if s is not None and not may(self.kind, s[0])}


class Lines:
    """Both lines of a call. ``may(kind, size)``: the quota allows a container of ``size``;
    ``filled(kind)``: how much of its quota a category holds.
    """

    def __init__(
        self, plan: Plan, lines: dict[str, Line], order: Order,
        may: Callable[[str, Any], bool], filled: Callable[[str], float],
    ) -> None:  # fmt: skip
        self._plan = plan
        self._lines = lines
        self._order = order
        self._may = may
        self._filled = filled
        self._full = Full(plan.view._ledger, plan.view._draft.full)
        for line in lines.values():
            line.refresh(plan.view._ledger.capacity_version, order)
        self.update()

    def next(self, kinds: Iterable[str] = CATEGORIES) -> tuple[str, Application] | None:
        """The category that holds least of its quota, of those that want something which quota and
        nodes allow, ties to SD; and the first of its applications.
        """
        if self._plan.spent or self._full.everything():
            return None
        for kind in sorted(kinds, key=self._filled):
            app: Any = self._lines[kind].top(_Either(self._full, self._lines[kind].closed))
            if app is not None:
                return kind, app
        return None

    def first(self) -> tuple[str, Application] | None:
        """As ``next`` where there is nothing to divide: first in, first out over both lines."""
        tops = [found for kind in CATEGORIES if (found := self.next([kind])) is not None]
        return min(tops, key=lambda top: self._lines[top[0]].entries[top[1]], default=None)

    def serve(self, kind: str, app: Application) -> bool:
        """One container for the application; where it can have none it leaves its line for this
        call.
        """
        line = self._lines[kind]
        if serve(self._plan, app, self._full, reserved=line.closed):
            line.served(self._order, app)
            return True
        line.set_aside()
        return False

    def update(self) -> None:
        """Something was granted: what quotas allow is less now, or more if nobody waits for it."""
        for line in self._lines.values():
            line.close(self._may)

    def finish(self) -> None:
        """The call is over: whoever was set aside may try again, and who waits is told why."""
        for line in self._lines.values():
            line.put_back()
            if not self._plan.spent:
                _tell(self._plan, line)


def _tell(plan: Plan, line: Line) -> None:
    for member in line.untold:
        if isinstance(member, Application) and member in line.entries:
            for ask in member.asks:
                if ask.count > 0 and ask.told is None:
                    held = RESERVED if (ask.size, ask.label) in line.closed else Reason.NODE_FULL
                    plan.wait(ask, plan.limited(ask) or held)
    line.untold.clear()


class _Either:
    """What is full, or closed to the category."""

    __slots__ = ("_closed", "_full")

    def __init__(self, full: Full, closed: set[Shape | None]) -> None:
        self._full = full
        self._closed = closed

    def __contains__(self, shape: object) -> bool:
        return shape in self._full or shape in self._closed
