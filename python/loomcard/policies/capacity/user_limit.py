"""YARN's user limit: how much of a leaf queue one user may use while others want some of it.

YARN takes the cluster's minimum allocation as the size of the next container. A policy does not
know that minimum, so here the size that is asked for counts. If both are the same, so is the limit;
for larger containers it is higher, by about the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add

from loomcard import (
    Application,
    Ask,
    ClusterView,
    Level,
    Order,
    Queue,
    Reason,
    Resource,
    Shape,
    add_all,
    subtract_all,
)
from loomcard.advanced import Entry
from loomcard.policies.capacity.yarn import LimitRule, user_limit

Magnitude = Callable[[Sequence[int]], float]


def next_size(app: Application) -> Resource:
    """Return the size of the container that an application asks for first."""
    return next(ask.size for ask in app.asks if ask.count > 0)


class UserLimitedLevel(Level):
    """A leaf queue with a user limit, and what each user uses.

    As in YARN, a user is refused only when above the limit: the last container may exceed it.
    """

    def __init__(
        self, queue: Queue, order: Order, promised: Mapping[Queue, Resource], magnitude: Magnitude,
        rule: LimitRule,
    ) -> None:  # fmt: skip
        super().__init__(queue, order)
        self._promised = promised
        self._magnitude = magnitude
        self._rule = rule
        self._forget()

    def _forget(self) -> None:
        self._used: dict[str, list[int]] = {}  # by user
        self._asking: dict[str, int] = {}  # by user: applications that ask
        self._known: dict[Application, tuple[str, Resource, int]] = {}
        self._active_used = [0] * len(self.queue.used)
        # By user and size of the next container: the applications that wait for the limit.
        self._held: dict[tuple[str, Resource], list[tuple[Shape | None, Entry]]] = {}

    def update(self, view: ClusterView) -> None:
        """Bring the users' use up to date, then the order; release those below the limit."""
        if self.capacity_version != view.capacity_version:
            self._forget()
            for app in self.queue.applications.values():
                self._note(app)
        for member in self.stale:
            assert isinstance(member, Application)
            self._note(member)
        super().update(view)
        self._let_go()

    def served(self, order: Order, member: Application) -> None:  # type: ignore[override]
        """Count the first's new container: its user uses more, and the limit may have risen."""
        self._note(member)
        super().served(order, member)
        if self._held:
            self._let_go()

    def beyond(self, user: str, size: Resource, change: Sequence[int]) -> float:
        """Return by how much a user exceeds the limit after a ``change`` of what it uses, if a
        container of ``size`` comes next.
        """
        used = list(self._used.get(user) or [0] * len(size))
        return self._magnitude(list(map(add, used, change))) - self._limit(size)

    def forbids(self, app: Application) -> Reason | None:
        """Return USER_LIMIT while its user uses more than the limit."""
        return None if self._may(app.user, next_size(app)) else Reason.USER_LIMIT

    def figures(self, ask: Ask) -> dict[str, float]:
        """Return the limit of an ask's user and what the user uses, as the calculator counts."""
        used = self._used.get(ask.application.user) or [0] * len(ask.size)
        return {
            "its user's limit is": round(self._limit(ask.size), 6),
            "the user uses": round(self._magnitude(used), 6),
        }

    def set_aside(self) -> None:
        """Set the first aside; one that waits for the user limit stays so beyond this call."""
        taken = self.take_top()
        app = taken[0][1][4]
        assert isinstance(app, Application)
        key = app.user, next_size(app)
        waits = self.aside if self._may(*key) else self._held.setdefault(key, [])
        waits.extend(taken)
        if len(waits) > 64 + 4 * len(self.entries):  # drop outdated ones
            waits[:] = [each for each in waits if self.entries.get(each[1][4]) is each[1]]

    def _may(self, user: str, required: Resource) -> bool:
        """Return whether a user may have one more container, of the size ``required``."""
        used = self._used.get(user) or [0] * len(required)
        return self._magnitude(used) <= self._limit(required)

    def _limit(self, required: Resource) -> float:
        size = self._magnitude
        return user_limit(
            size(self._promised[self.queue]), size(required), size(self.queue.used),
            size(list(map(add, self.queue.used, required))),
            size(list(map(add, self._active_used, required))),
            max(1, len(self._asking)), self._rule,
        )  # fmt: skip

    def _let_go(self) -> None:
        for key in [key for key in self._held if self._may(*key)]:
            self.restore(self._held.pop(key))

    def _note(self, app: Application) -> None:
        """Count an application again: its use, user or asks may have changed."""
        user, used, asks = self._known.pop(app, (app.user, None, 0))
        if used is not None:
            self._charge(user, used, -asks, subtract_all)
        if app.number in self.queue.applications:
            asks = 1 if app.pending_count > 0 else 0
            self._known[app] = app.user, Resource(app.used), asks
            self._charge(app.user, self._known[app][1], asks, add_all)

    def _charge(
        self, user: str, amounts: Resource, asks: int,
        charge: Callable[[list[list[int]], Sequence[int]], None],
    ) -> None:  # fmt: skip
        used = self._used.setdefault(user, [0] * len(amounts))
        if user in self._asking:
            subtract_all([self._active_used], used)
        charge([used], amounts)
        asking = self._asking.pop(user, 0) + asks
        if asking:
            self._asking[user] = asking
            add_all([self._active_used], used)
        elif not any(used):
            del self._used[user]  # a user without use or asks is forgotten
