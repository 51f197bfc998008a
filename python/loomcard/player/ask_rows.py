"""The rows of one ask: how many containers are wanted where, and what the ResourceManager believes.

A row states a whole number, not a change. The ResourceManager counts down by itself when it
allocates. So a row is sent only if its count would be wrong: a row that is sent while allocations
are on their way asks for those again.
"""

from __future__ import annotations

from loomcard.masters.stage import Rows, StageRun

ANY = "*"


class AskRows:
    """The rows of one key, by names of hosts and racks, and ANY."""

    def __init__(self, size: tuple[int, ...]) -> None:
        self.size = size
        self.wanted = 0  # containers in all
        self._stage: StageRun | None = None  # whose waiting tasks say where
        self._rows: Rows = ({}, {})
        self._believed: dict[str, int] = {}
        self._changed = False  # since the last call of ``changes``

    def add(self, change: int, stage: StageRun | None) -> None:
        """Want ``change`` more containers, where the waiting tasks of ``stage`` want them."""
        self.wanted = max(0, self.wanted + change)
        self._stage, self._changed = stage, True

    def want(self, count: int, rows: Rows) -> None:
        """Want ``count`` containers in all, at these hosts and racks."""
        self.wanted, self._stage, self._rows, self._changed = count, None, rows, True

    def allocated(self, host: str, rack: str) -> None:
        """Note an allocation that has arrived: the ResourceManager counts one fewer there."""
        self.wanted, self._changed = max(0, self.wanted - 1), True
        for name in (host, rack):
            if self._believed.get(name, 0) > 0:
                self._believed[name] -= 1
        self._believed[ANY] = self._believed.get(ANY, 0) - 1

    def changes(self) -> dict[str, int]:
        """Return the rows to send; from now on the ResourceManager believes them."""
        if not self._changed:
            return {}
        self._changed = False
        hosts, racks = self._rows if self._stage is None else self._stage.rows
        wanted = {ANY: self.wanted, **racks, **hosts}
        names = sorted(wanted.keys() | self._believed.keys())
        changed = {
            name: wanted.get(name, 0)
            for name in names
            if wanted.get(name, 0) != self._believed.get(name, 0)
        }
        self._believed |= changed
        return changed
