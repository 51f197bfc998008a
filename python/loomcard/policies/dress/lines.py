"""The two queues of jobs, and who is next in each (specification 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

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


class Border(Protocol):
    """What divides the two lines."""

    lines: dict[str, Line]
    divided: bool

    def may(self, kind: str, size: Sequence[int]) -> bool:
        """The quota of a category lets it have a container of ``size``."""

    def filled(self, kind: str) -> float:
        """How much of its quota a category holds."""


class Lines:
    """Both lines, for one call."""

    def __init__(self, plan: Plan, border: Border, order: Order) -> None:
        self._plan = plan
        self._border = border
        self._lines = border.lines
        self._order = order
        self._full = Full(plan.view._ledger, plan.view._draft.full)
        for line in self._lines.values():
            line.refresh(plan.view._ledger.capacity_version, order)
        self.update()

    def update(self) -> None:
        """Something was granted: see anew what the quotas allow."""
        for line in self._lines.values():
            line.close(self._border.may)

    def next(self) -> tuple[str, Application] | None:
        """The category that holds least of its quota, ties to SD, of those that want something
        which their quota and the nodes allow; and the first of its applications.

        Where nothing is divided: first in, first out over both lines.
        """
        if self._plan.spent or self._full.everything():
            return None
        kinds = sorted(CATEGORIES, key=self._border.filled)
        tops = [(kind, app) for kind in kinds if (app := self._top(kind)) is not None]
        if not self._border.divided and len(tops) > 1:
            return min(tops, key=lambda top: self._lines[top[0]].entries[top[1]])
        return tops[0] if tops else None

    def _top(self, kind: str) -> Any:
        line = self._lines[kind]
        return line.top(_Either(self._full, line.closed))

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
