"""Processes that can be ended together with all processes that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_GRACE_S: Final = 10.0
_LOOK_S: Final = 0.05


class Children:
    """Processes, each in its own session. A terminal's Ctrl-C goes to this process only, which ends
    them by `stop`. Threads may share it.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    @property
    def stopped(self) -> bool:
        """Whether no further process is started."""
        return self._stopped.is_set()

    def pause(self, until_s: float) -> None:
        """Wait until the monotonic clock shows this time, or until they are stopped."""
        self._stopped.wait(max(0.0, until_s - time.monotonic()))

    def run(
        self, command: Sequence[str], folder: Path, variables: Mapping[str, str], log: Path
    ) -> int | None:
        """Run the command in the folder until it ends; return its status, or None if it was not
        started. `log`: the file of its output.
        """
        with log.open("wb") as out, self._lock:
            if self._stopped.is_set():
                return None
            child = subprocess.Popen(  # noqa: S603 - the caller's
                command,
                cwd=folder,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(child)
        try:
            return child.wait()
        finally:
            with self._lock:
                self._running.discard(child)

    def stop(self) -> None:
        """End them and what they started, by force after some seconds; no further process is
        started.
        """
        with self._lock:
            self._stopped.set()
            groups = [child.pid for child in self._running]  # each leads its group
        _signal(groups, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while _signal(groups, 0) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        _signal(groups, signal.SIGKILL)


def _signal(groups: Sequence[int], number: int) -> bool:
    """Send a signal to every group; return whether one was still there."""
    there = False
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, number)
            there = True
    return there
