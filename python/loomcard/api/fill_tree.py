"""A tree of queues in order: one policy serves it from the root down, one container at a time.

At each queue, the first member in the order of its level is tried. An application is served, and a
queue with a policy of its own gets a turn; in any other queue, its first member is tried. A member
that gets nothing is set aside for the rest of the call. Each level re-keys only members that
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from loomcard.api.fill import ALL, SHARE, take_turn
from loomcard.api.lazy_heap import Entry
from loomcard.api.member_index import MemberIndex, Order
from loomcard.api.plan import Plan
from loomcard.api.reserve import RESERVE_AFTER_MS, last_turns, want_room
from loomcard.api.serve import Chooser, ExhaustedShapes, report_limited, report_waiting, serve
from loomcard.api.view import ClusterView
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Member
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.renamed import argument
from loomcard.model.resource import Resource, fits


@mypyc_attr(allow_interpreted_subclasses=True)
class Level(MemberIndex):
    """One queue of a walked tree: its members in the order of ``order``.

    ``order`` computes a member's sort key only from the member and the cluster's capacity; ties are
    resolved by submission, then number. The policy itself must honour guarantees.

    A member that is first in the order and gets nothing, because of ``forbids``, ``limit_of`` or
    lack of room, is passed over for the rest of the call. ``ask_again`` changes this for
    ``forbids``.
    """

    one_at_a_time: ClassVar[bool] = False
    """Whether a child queue gets one container per turn even if no other queue demands anything."""

    ask_again: ClassVar[bool] = False
    """In a leaf queue: whether ``forbids`` is called again, after each container allocated there,
    for the applications to which it gave a reason. Set it if ``forbids`` reads what others of the
    queue use: otherwise an application that had to wait for them waits until the next call. It
    costs one look at each of those applications per container.
    """

    def __init__(self, queue: Queue, order: Order) -> None:
        super().__init__(queue, guarantees_first=False)
        self.order = order
        self._refused: list[tuple[Shape | None, Entry]] = []  # by forbids, until it is asked again

    def update(self, view: ClusterView) -> None:
        """Re-key what changed since the last call; a level with own state updates that first."""
        if self.stale or self.capacity_version != view.capacity_version:
            self.refresh(view.capacity_version, self.order)

    def forbids(self, app: Application) -> Reason | str | None:  # noqa: ARG002 - a level may
        """Why the policy itself gives ``app`` nothing now; None if it may have a container.

        It is called before each container that ``app`` would get, and before room is reserved for
        it. After it gave a reason it is not called again for ``app`` in this call, unless
        ``ask_again`` is set. That is right if it reads only ``app``, which uses no less later in
        the call.
        """
        return None

    def limit_of(self, member: Member) -> Resource | None:  # noqa: ARG002 - as above
        """The amounts that a member may be given now; None: no bound. A member is an application or
        a child queue with a policy of its own. It is called before each container, after
        ``forbids``.
        """
        return None

    def pass_over(self, *, forbidden: bool) -> None:
        """Give the first nothing in this call, or until ``forbids`` is called again for it."""
        if forbidden and self.ask_again:
            self._refused += self.take_top()
        elif forbidden or not self.close():
            self.set_aside()

    def take_back(self) -> None:
        """Put those to which ``forbids`` gave a reason back, after something was allocated."""
        if self._refused:
            self.restore(self._refused)
            self._refused = []


Levels = dict[Queue, Level]


def fill_tree(
    plan: Plan, level_of: Callable[[Queue], Level], reserve_after_ms: int = RESERVE_AFTER_MS,
    **renamed: int,
) -> Plan:  # fmt: skip
    """Allocate containers until nothing fits, down the tree of queues that the policy governs.

    ``level_of``: makes the level of a queue, once for each queue of the scope that no other policy
    governs. ``reserve_after_ms``: as in ``fill``.
    Deprecated since 0.1: ``hold_after_ms``, which is ``reserve_after_ms``.
    """
    view = plan.view
    if renamed:
        reserve_after_ms = argument("fill_tree", "reserve_after_ms", renamed, "hold_after_ms")
    levels: Levels = view.cache(
        "fill_tree", lambda: {q: level_of(q).attach(view) for q in _governed(view.queue)}
    )
    return serve(plan, _Tree(view, levels), reserve_after_ms)


def _governed(scope: Queue) -> list[Queue]:
    below = [q for c in scope.children if c.policy is None for q in _governed(c)]
    return [scope, *below]


class _Tree(Chooser):
    """The levels of a scope, walked down from its root to the first that may get something."""

    def __init__(self, view: ClusterView, levels: Levels) -> None:
        super().__init__(view.queue)
        self._view = view
        self._levels = levels
        self._path: list[Level] = []  # from the root to the level of the one that is next
        self._last: list[Queue] | None = None  # queues that get a turn although nothing more fits
        self._rules: tuple[Application, Any, Resource | None] | None = None  # of the last one asked

    def update(self) -> None:
        """Update each level with what changed."""
        self._rules = None
        for level in self._levels.values():
            level.update(self._view)

    def next(self, full: ExhaustedShapes) -> Any:
        """Return the first at each level down the tree; set aside queues with nothing to serve.

        When nothing more fits, but room is reserved or may be, each queue with a policy of its own
        gets a turn.
        """
        if self._last is not None or full.everything():
            return self._next_last()
        path, level = self._path, self._levels[self.queue]
        path.clear()
        while True:
            member: Any = level.top(full)
            if member is not None:
                path.append(level)
                if level.queue.leaf or member.policy is not None:
                    return member
                level = self._levels[member]
            elif path:
                below, level = level.queue, path.pop()
                if below in level.entries:
                    level.set_aside()
            else:
                return None

    def _next_last(self) -> Queue | None:
        """Return the next queue that gets a turn although nothing more fits."""
        if self._last is None:
            below = ((level, c) for q, level in self._levels.items() for c in q.children)
            own = (c for level, c in below if c.policy is not None and c in level.entries)
            self._last = last_turns(self._view, own)
            self._last.reverse()
        return self._last.pop() if self._last else None

    def allocated(self, chosen: Any, ask: Any) -> None:  # noqa: ARG002
        """Give it, and the queues above it, their new places."""
        self._rules = None
        if self._last is not None:
            return  # it was not first; ``update`` gives it its place
        member = chosen
        for level in reversed(self._path):
            level.served(level.order, member)
            level.take_back()
            member = level.queue

    def passed(self, chosen: Any, *, forbidden: bool) -> None:
        """Set it aside in its queue."""
        if self._last is None and chosen in (level := self._path[-1]).entries:
            level.pass_over(forbidden=forbidden)

    def end(self) -> None:
        """Put members that were set aside back in their places."""
        self._last = None
        for level in self._levels.values():
            level.take_back()
            level.put_back()

    def governs(self, queue: Queue) -> bool:
        """Whether the queue has a level."""
        return queue in self._levels

    def forbids(self, ask: Ask) -> Any:
        """The reason that the level of its queue gives for its application, or ``SHARE`` if the
        size is beyond the level's limit; None if the ask may have a container.
        """
        app, rules = ask.application, self._rules
        if rules is None or rules[0] is not app:
            level = self._levels[app.queue]
            reason = level.forbids(app)
            rules = self._rules = app, reason, None if reason else level.limit_of(app)
        if rules[1] is not None or rules[2] is None or fits(ask.size, rules[2]):
            return rules[1]
        return SHARE

    def turn(self, plan: Plan, child: Queue) -> bool:
        """Give the child a turn for one container, or for all if no other member demands any."""
        assert child.parent is not None
        level, path = self._levels[child.parent], self._path
        alone = bool(path) and all(len(each.entries) == 1 for each in path)
        alone = alone and not level.one_at_a_time
        return take_turn(plan, level, child, ALL if alone else 1, level.limit_of(child))

    def report(self, plan: Plan) -> None:
        """Report that applications that changed wait for room."""
        for level in self._levels.values():
            if level.queue.leaf and level.limited:
                report_limited(plan, level.limited)
            if level.queue.leaf and level.unreported:
                report_waiting(plan, level.unreported)

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Want a reservation for the first in line of each leaf queue."""
        for level in self._levels.values():
            if level.queue.leaf:
                want_room(plan, level, after_ms, self)
