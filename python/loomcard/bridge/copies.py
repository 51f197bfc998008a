"""Copies of the policy process, made by fork: what takes long is done there, while rounds continue.

A copy has the state of the moment of the fork, one thread and no locks of other threads. It writes
one answer to a pipe and ends without any cleaning up.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

PIPE_BYTES = 1 << 20
"""How much of an answer a pipe should hold, so that a copy need not wait until it is read."""


class Copy:
    """A copy that computes ``work()``, for at most ``limit_s`` seconds. ``clock``: seconds since
    any zero. Raises OSError where the machine has no room for another process.
    """

    def __init__(
        self, work: Callable[[], bytes], limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._until_s = clock() + limit_s
        self._said = bytearray()
        self._pipe, theirs = os.pipe()
        try:
            with warnings.catch_warnings():
                # Python warns of forks beside threads. The copy uses none of them, nor their locks.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(theirs)
            raise
        if self.pid == 0:
            _answer(work, theirs, limit_s)
        os.close(theirs)
        os.set_blocking(self._pipe, False)
        with suppress(OSError):  # beyond what this user may have: the copy waits until it is read
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    @property
    def is_overdue(self) -> bool:
        """Whether its time has passed."""
        return self._clock() >= self._until_s

    def poll(self) -> bytes | None:
        """Return the answer, empty if the copy failed or took too long; None while it runs. After
        an answer the copy is gone.
        """
        ended = False
        with suppress(BlockingIOError):
            while chunk := os.read(self._pipe, PIPE_BYTES):
                self._said += chunk
            ended = True
        if not ended and not self.is_overdue:
            return None
        self.end()
        return bytes(self._said) if ended else b""

    def end(self) -> None:
        """End the copy."""
        os.close(self._pipe)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _answer(work: Callable[[], bytes], pipe: int, limit_s: float) -> None:
    """Write the answer to the pipe, in the copy of the process; it never returns."""
    try:
        gc.disable()
        signal.alarm(int(limit_s) + 1)  # even if the process that asks has ended
        said = memoryview(work())
        while said:
            said = said[os.write(pipe, said) :]
    finally:
        os._exit(0)
