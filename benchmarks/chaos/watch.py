"""How long the policy process could not run because the machine gave it no processor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

LOOK_S = 0.1
PIDS_EVERY = 5
"""Number of looks between two searches for the processes."""
WORTH_NOTING_MS = 10
MOST = 200_000


def waited_ms(pid: int) -> float:
    """Return how long the main thread of a process has waited for a processor; 0 without such
    figures.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


class ProcessorWatch:
    """The machine's part of a wait that the control threads in the JVMs do not see."""

    def __init__(
        self, pids: Callable[[], Iterable[int]], waited: Callable[[int], float] = waited_ms
    ) -> None:
        self._pids = pids
        self._waited = waited
        self._known: dict[int, float] = {}
        self._pauses: list[list[int]] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Looks at the processes from now on, on a thread of its own, until this program ends."""
        threading.Thread(target=self._run, name="processor-watch", daemon=True).start()

    def _run(self) -> None:
        look = 0
        while True:
            self.look(int(time.time() * 1000), search=look % PIDS_EVERY == 0)
            look += 1
            time.sleep(LOOK_S)

    def look(self, at_ms: int, *, search: bool) -> None:
        """Notes how long each process waited since the last look; ``search``: looks for new ones,
        too.
        """
        pids = list(self._pids()) if search else list(self._known)
        known = {pid: self._waited(pid) for pid in pids}
        for pid, waited in known.items():
            more = round(waited - self._known.get(pid, waited))
            if more >= WORTH_NOTING_MS and len(self._pauses) < MOST:
                with self._lock:
                    self._pauses.append([at_ms - more, more])
        self._known = known

    def drain(self) -> list[list[int]]:
        """Return the pauses since the last call: when each began, in milliseconds since 1970, and
        its length.
        """
        with self._lock:
            drained, self._pauses = self._pauses, []
        return drained
