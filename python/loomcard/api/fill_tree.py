"""The shared walk: one policy serves a whole tree of queues, one container a time.

From the root down, at each queue, the first member in the order of its level is tried: an
application is served, a queue with a policy of its own gets a turn, any other queue is walked into.
One that gets nothing is set aside for the rest of the call. Each level is re-keyed only for members
that changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mypy_extensions import mypyc_attr

from loomcard.api.fill import (
    ALL,
    SHARE,
    ExhaustedShapes,
    MemberIndex,
    Order,
    report_waiting,
    serve_application,
    take_turn,
)
from loomcard.api.lazy_heap import Entry
from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.reserve import RESERVE_AFTER_MS, ReservationRules, serve_reservations, want_room
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

    ``order`` gives a member's sort key from the member and the cluster's capacity alone; ties go by
    submission, then number. Guarantees are the policy's to honour.

    Who is first in the order and gets nothing, because of ``forbids``, ``limit_of`` or want of
    room, is passed over for the rest of the call; ``ask_again`` is for the first of these.
    """

    one_at_a_time: ClassVar[bool] = False
    """A child queue that demands alone gets one container a turn nevertheless."""

    ask_again: ClassVar[bool] = False
    """In a leaf queue: whether those to whom ``forbids`` gave a reason are asked about again after
    each container that is allocated there. Set it where ``forbids`` looks at what others of the
    queue hold: without it who had to wait for them waits for the next call. It costs a look at each
    of those a container.
    """

    def __init__(self, queue: Queue, order: Order) -> None:
        super().__init__(queue, guarantees_first=False)
        self.order = order
        self._refused: list[tuple[Shape | None, Entry]] = []  # by forbids, until it is asked again

    def update(self, view: ClusterView) -> None:
        """Re-key what changed since the last call; a level with state of its own looks first."""
        if self.stale or self.capacity_version != view.capacity_version:
            self.refresh(view.capacity_version, self.order)

    def forbids(self, app: Application) -> Reason | str | None:  # noqa: ARG002 - a level may
        """Why the policy itself gives ``app`` nothing now; None if it may have a container.

        Asked before each container that ``app`` would get, and before room is reserved for it.
        After a reason it is not asked again in this call, unless ``ask_again`` is set. That is
        right where it looks at ``app`` alone, which uses no less later in the call.
        """
        return None

    def limit_of(self, member: Member) -> Resource | None:  # noqa: ARG002 - as above
        """The amounts that a member, an application or a child queue with a policy of its own, may
        be given now; None: no bound. Asked before each container, after ``forbids``.
        """
        return None

    def _pass_over(self, *, refused: bool) -> None:
        if refused and self.ask_again:
            self._refused += self.take_top()
        else:
            self.set_aside()

    def _take_back(self) -> None:
        if self._refused:
            self.restore(self._refused)
            self._refused = []


Levels = dict[Queue, Level]


class LevelRules(ReservationRules):
    """What the levels forbid is reserved for nobody either."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels

    def forbids(self, ask: Ask) -> Reason | str | None:
        """As the level of its queue says of its application, and of this size."""
        app = ask.application
        level = self._levels[app.queue]
        reason = level.forbids(app)
        most = None if reason else level.limit_of(app)
        return reason if most is None or fits(ask.size, most) else SHARE


def fill_tree(
    plan: Plan, level_of: Callable[[Queue], Level], reserve_after_ms: int = RESERVE_AFTER_MS,
    **renamed: int,
) -> Plan:  # fmt: skip
    """Allocate containers until nothing fits, down the tree of queues that the policy governs.

    ``level_of``: makes the level of a queue, once for each queue of the scope that no other policy
    governs. ``reserve_after_ms``: as of ``fill``.
    Deprecated since 0.1: ``hold_after_ms``, which is ``reserve_after_ms``.
    """
    view = plan.view
    if renamed:
        reserve_after_ms = argument("fill_tree", "reserve_after_ms", renamed, "hold_after_ms")
    levels: Levels = view.cache(
        "fill_tree", lambda: {q: level_of(q).attach(view) for q in _governed(view.queue)}
    )
    for level in levels.values():
        level.update(view)
    if plan.spent:
        return plan
    rules = LevelRules(levels)
    if view.reservations and serve_reservations(plan, levels.__contains__, rules):
        for level in levels.values():
            level.update(view)
    full, root = ExhaustedShapes(view), levels[view.queue]
    while not plan.spent and _serve_one(plan, levels, root, full, alone=True):
        pass
    for level in levels.values():
        level._take_back()
        level.put_back()
        if level.queue.leaf and level.unreported and not plan.spent:
            report_waiting(plan, level.unreported)
        if level.queue.leaf and not plan.spent:
            want_room(plan, level, reserve_after_ms, rules)
    return plan


def _governed(scope: Queue) -> list[Queue]:
    below = [q for c in scope.children if c.policy is None for q in _governed(c)]
    return [scope, *below]


def _serve_one(
    plan: Plan, levels: Levels, level: Level, full: ExhaustedShapes, *, alone: bool
) -> bool:
    """One container for the first below ``level`` that can have it; whether one was allocated."""
    alone = alone and len(level.entries) == 1
    while not plan.spent and not full.everything():
        member: Any = level.top(full)
        if member is None:
            return False
        refused = None
        if level.queue.leaf:
            refused = level.forbids(member)
            got = _serve_application(plan, level, member, full, refused)
        elif member.policy is not None:
            count = ALL if alone and not level.one_at_a_time else 1
            got = take_turn(plan, level, member, count, level.limit_of(member))
        else:
            got = _serve_one(plan, levels, levels[member], full, alone=alone)
        if got:
            level.served(level.order, member)
            level._take_back()
            return True
        if member in level.entries:
            level._pass_over(refused=refused is not None)
    return False


def _serve_application(
    plan: Plan, level: Level, app: Application, full: ExhaustedShapes, reason: Reason | str | None
) -> bool:
    if reason is None:
        return serve_application(plan, app, full, level.limit_of(app))
    # This reason, even where a limit applies too.
    plan.wait(app, reason, plan.view.now_ms + RULE_MS)
    return False
