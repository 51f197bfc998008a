"""Serve a queue whose policy raises: first in, first out, until the policy is tried again."""

from __future__ import annotations

from loomcard.api.cache import Cache
from loomcard.api.fill_tree import Level, fill_tree
from loomcard.api.orders import by_priority
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView
from loomcard.model.queue import Queue

FIRST_REST_MS = 1_000
LONGEST_REST_MS = 300_000
GOOD_CALLS = 20
"""After this many calls without a fault, the next fault counts as the first one again."""


class FifoFallback:
    """Serves the scope of one instance while its policy rests. After each fault the policy rests
    twice as long as before. Other instances are not affected.
    """

    def __init__(self) -> None:
        self.faults = 0
        self.good = 0
        self.until_ms = 0
        self._cache = Cache()

    def is_serving(self, now_ms: int) -> bool:
        """Return whether the policy rests. If not, drop what the fallback has cached."""
        if now_ms < self.until_ms:
            return True
        if self._cache.values:
            self._cache.drop()
        return False

    def fault(self, now_ms: int) -> int:
        """Note that the policy raised. Return for how many milliseconds it rests."""
        rest_ms = min(LONGEST_REST_MS, FIRST_REST_MS << min(self.faults, 10))
        self.faults += 1
        self.good = 0
        self.until_ms = now_ms + rest_ms
        return rest_ms

    def worked(self) -> None:
        """Note that the policy was called and raised nothing."""
        if self.faults:
            self.good += 1
            if self.good >= GOOD_CALLS:
                self.faults = self.good = 0

    def decide(self, view: ClusterView) -> Plan:
        """Fill by priority, then by submission, down to queues with a policy of their own."""
        own, view._cache = view._cache, self._cache
        try:
            return fill_tree(Plan(view), _level)
        finally:
            view._cache = own

    def state(self) -> list[int] | None:
        """The state that a journal keeps; None: there was no fault."""
        return [self.faults, self.good, self.until_ms] if self.faults else None

    def restore(self, state: list[int] | None) -> None:
        """Continue from a journal's ``state``."""
        if state is not None:
            self.faults, self.good, self.until_ms = state


def _level(queue: Queue) -> Level:
    return Level(queue, by_priority)
