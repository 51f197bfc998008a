"""Fair shares as hard caps: what one member does not use, no other member gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any, Literal, Self

from loomcard import (
    EVERYBODY,
    RESERVE_AFTER_MS,
    SHARE,
    Application,
    Ask,
    ClusterView,
    Level,
    Member,
    Order,
    Plan,
    Queue,
    Resource,
    Shape,
    fill_tree,
    fits,
    headroom_by_user,
    members_of,
    subtract_all,
)
from loomcard.advanced import Amounts, Entry


@dataclass(frozen=True)
class StrictShares:
    """Give each member at most its fair share of the scope, by weight; never lend the rest.

    A queue's share is its guarantee, plus its part by weight of what no guarantee takes.
    ``over``: the members among which the scope is divided: those that ask for or use something, or
    all. The smallest dominant share goes first. ``reserve_after_ms``: as for ``fifo``; nothing is
    reserved beyond a share.
    """

    over: Literal["demanding", "all"] = "demanding"
    reserve_after_ms: int = RESERVE_AFTER_MS

    asks_again = True  # what the scope is entitled to depends on other queues

    def initial(self, _view: ClusterView, _saved: Any) -> dict[int, Amounts]:
        """Return no headrooms, because none was reported yet."""
        return {}

    def decide(
        self, view: ClusterView, reported: dict[int, Amounts]
    ) -> tuple[Plan, dict[int, Amounts]]:
        """Fill by dominant share, each member up to its share.

        The memory is the last headroom of AMs, by number. An AM that saw more room than its share
        allows would fill the share with reduces, which would then wait for its maps.
        """
        plan = Plan(view)
        level_of = partial(self._level, view, plan.dominant_share)
        fill_tree(plan, level_of, self.reserve_after_ms)
        if view.queue.leaf:
            _report_headroom(plan, level_of(view.queue), reported)
        return plan, reported

    def explain(self, view: ClusterView, _memory: Any, ask: Ask) -> dict[str, Any]:
        """Say what SHARE comes to: the share of the application, and what it uses."""
        level: CappedLevel | None = view.cached(ask.application.queue)
        app = ask.application
        if level is None:
            return {}
        return {"its share is": level.share_of(app), "it uses": app.used, "asked": ask.size}

    def _level(self, view: ClusterView, order: Order, queue: Queue) -> CappedLevel:
        whole, everyone = partial(scope_capacity, view), self.over == "all"
        return view.cache(queue, lambda: CappedLevel(queue, order, whole, everyone=everyone))


def hard_share(whole: Sequence[int], weight: float, total: float) -> Resource:
    """Return whole * weight / total for every resource, in whole units."""
    return Resource(int(amount * weight / total) for amount in whole)


def without(whole: Resource, members: Iterable[Member]) -> Resource:
    """Return what the members' guarantees leave of ``whole``."""
    rest = list(whole)
    for member in members:
        if isinstance(member, Queue):
            subtract_all([rest], member.guaranteed)
    return Resource(max(0, amount) for amount in rest)


def scope_capacity(view: ClusterView) -> Resource:
    """Return what the scope may divide now; without siblings, all that it may use."""
    if has_siblings(view.queue):
        return view.capacity
    return view.queue.maximum or view.cluster_capacity


def has_siblings(queue: Queue) -> bool:
    """Return whether the queue, or one above it, shares its parent with others."""
    parent = queue.parent
    return parent is not None and (len(parent.children) > 1 or has_siblings(parent))


def _report_headroom(plan: Plan, level: CappedLevel, reported: dict[int, Amounts]) -> None:
    """Report headroom to the AMs of a leaf for which it differs from ``reported``."""
    view, leaf = plan.view, plan.view.queue
    found: dict[str, Amounts] = {}  # without siblings the shares add up to at most the room
    if has_siblings(leaf) or leaf.user_limit is not None:
        found = headroom_by_user(leaf, view.free)
    for app in level.moved(found, everyone=not reported):
        if app.number not in leaf.applications:
            reported.pop(app.number, None)
            continue
        room = level.left_of(app)
        if found:
            room = room.least(found[EVERYBODY if leaf.user_limit is None else app.user])
        if reported.get(app.number) != room:
            reported[app.number] = tuple(room)
            plan.headroom(app, room)


class CappedLevel(Level):
    """A scope in which each member has at most its part.

    A member with a share of less than one container may have one, beside its AM. Otherwise it would
    wait for ever.
    """

    one_at_a_time = True

    def __init__(
        self, queue: Queue, order: Order, capacity: Callable[[], Resource], *, everyone: bool
    ) -> None:
        super().__init__(queue, order)
        self._capacity = capacity
        self._everyone = everyone
        self._weights: dict[Member, float] = {}  # of the members that share
        # What guarantees leave of the whole, and the sum of weights.
        self._shared: tuple[Resource, float] = (Resource(), 1.0)
        self._held: list[tuple[Shape | None, Entry]] = []  # have their share, until it changes
        self._moved: dict[Member, None] = {}  # headroom may have changed
        self._rooms: dict[str, Amounts] = {}  # the most that all may still have

    def attach(self, view: ClusterView) -> Self:
        """Attach as any level does, and watch for which members headroom may change."""
        view.watch(self.queue, self._moved)
        return super().attach(view)

    def update(self, view: ClusterView) -> None:
        """Update which members share what, then bring the order up to date."""
        resized = self.capacity_version != view.capacity_version
        if resized:
            self._weights.clear()  # members that left would otherwise share for ever
        for member in members_of(self.queue) if resized else self.stale:
            self._note(member)
        super().update(view)
        shared = without(self._capacity(), self._weights), fsum(self._weights.values())
        if resized or shared != self._shared:
            self._shared = shared
            self._moved.update(dict.fromkeys(members_of(self.queue)))
            self.restore(self._held)
            self._held = []

    def _note(self, member: Member) -> None:
        inside = isinstance(member, Queue) or member.number in self.queue.applications
        if inside and (self._everyone or member.pending_count > 0 or any(member.used)):
            self._weights[member] = member.weight
        else:
            self._weights.pop(member, None)

    def share_of(self, member: Member) -> Resource:
        """Return the most that a member may use, as if it shared if it does not yet."""
        rest, total = self._shared
        if member not in self._weights:
            rest, total = without(rest, [member]), total + member.weight
        share = hard_share(rest, member.weight, total)
        return share.plus(member.guaranteed) if isinstance(member, Queue) else share

    def forbids(self, app: Application) -> str | None:
        """Return SHARE if none of its asks fits into what is left of its share."""
        left = self.limit_of(app)
        if left is None or any(ask.count > 0 and fits(ask.size, left) for ask in app.asks):
            return None
        return SHARE

    def limit_of(self, member: Member) -> Resource | None:
        """Return what is left of a member's share; None: one container of any size is allowed."""
        return None if only_masters(member) else self.left_of(member)

    def left_of(self, member: Member) -> Resource:
        """Return what is left of a member's share."""
        share = self.share_of(member)
        return Resource(max(0, most - used) for most, used in zip(share, member.used, strict=True))

    def moved(self, rooms: dict[str, Amounts], *, everyone: bool) -> list[Application]:
        """Return the applications for which headroom may have changed since the last call: those
        that got or lost something, or all, if shares or the ``rooms`` of users changed.
        """
        moved = members_of(self.queue) if everyone or rooms != self._rooms else list(self._moved)
        self._rooms = rooms
        self._moved.clear()
        return [member for member in moved if isinstance(member, Application)]

    def set_aside(self) -> None:
        """Set the first aside; one that has its share stays aside beyond this call."""
        taken = self.take_top()
        app = taken[0][1][4]
        held = isinstance(app, Application) and self.forbids(app) is not None
        (self._held if held else self.aside).extend(taken)
        if len(self._held) > 64 + 4 * len(self.entries):  # drop outdated ones
            self._held = [each for each in self._held if self.entries.get(each[1][4]) is each[1]]


def only_masters(member: Member) -> bool:
    """Return whether a member runs nothing but application masters."""
    if isinstance(member, Application):
        return all(container.is_am for container in member.containers)
    below = member.applications.values() if member.leaf else member.children
    return all(only_masters(one) for one in below)
