"""What a queue's limits forbid: who may have nothing more does not demand."""

from __future__ import annotations

from loomcard.model.cluster import Application, Ask, Queue
from loomcard.model.ledger import Ledger
from loomcard.model.resource import Resource


class Gate:
    """A leaf queue's user limit and AM share: who may have nothing more does not demand."""

    def __init__(self, ledger: Ledger, queue: Queue) -> None:
        self._ledger = ledger
        self._queue = queue
        self.verdicts: dict[tuple[str, Resource, bool], bool] = {}

    def allows(self, ask: Ask) -> bool:
        """Neither limit forbids one more container of the ask."""
        key = ask.application.user, ask.size, ask.is_am
        if key not in self.verdicts:
            self.verdicts[key] = self._verdict(*key)
        return self.verdicts[key]

    def moved(self) -> list[Application]:
        """Applications with an ask of which a verdict that was given is another now; forgets those
        verdicts.
        """
        old = [key for key, verdict in self.verdicts.items() if verdict != self._verdict(*key)]
        for key in old:
            del self.verdicts[key]
        users = {user for user, _, _ in old}
        applications = self._queue.applications.values() if old else ()
        return [app for app in applications if app.user in users]

    def _verdict(self, user: str, size: Resource, is_am: bool) -> bool:
        return self._ledger.limited_in(self._queue, user, size, is_am) is None
