"""Copies of the policy process, made by fork: what takes long is done there, while rounds continue.

A copy has the state of the moment of the fork, one thread and no locks of other threads. It closes
everything that it inherited, so that the end of the policy process is noticed, writes one answer to
a pipe and ends without any cleaning up.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import signal
import struct
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress

PIPE_BYTES = 1 << 20
"""How much of an answer a pipe should hold, so that a copy need not wait until it is read."""
LATER = 5
"""By how much a copy is nicer than the policy process, whose rounds go first."""
_HEAD = struct.Struct("!?Q")
"""What precedes an answer: whether it is one (otherwise it is the error), and its length."""
_TRACE_CHARS = 4_000


class CopyError(Exception):
    """A copy raised, took too long or was killed before its answer was complete."""


class Copy:
    """A copy that computes ``work()``; after ``limit_s`` seconds it ends, also while its answer is
    not read. ``clock``: seconds since any zero. Raises OSError where the machine has no room for
    another process.
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
        """Return the answer; None while it is not complete. After an answer the copy is gone.
        Raises CopyError.
        """
        ended = False
        with suppress(BlockingIOError):
            while chunk := os.read(self._pipe, PIPE_BYTES):
                self._said += chunk
            ended = True
        if not ended and not self.is_overdue:
            return None
        self.end()
        if len(self._said) >= _HEAD.size:
            good, length = _HEAD.unpack_from(self._said)
            answer = bytes(self._said[_HEAD.size :])
            if len(answer) == length:
                if not good:
                    raise CopyError(answer.decode(errors="replace"))
                return answer
        raise CopyError("it was killed before it had answered" if ended else "it took too long")

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
        os.nice(LATER)
        signal.alarm(int(limit_s) + 1)  # even if the process that asks has ended
        _close_all_but(pipe)
        try:
            good, said = True, work()
        except BaseException:
            good, said = False, traceback.format_exc()[-_TRACE_CHARS:].encode()
        rest = memoryview(_HEAD.pack(good, len(said)) + said)
        while rest:
            rest = rest[os.write(pipe, rest) :]
    finally:
        os._exit(0)


def _close_all_but(pipe: int) -> None:
    """Close the connections, files and pipes that were inherited: others wait for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 1 << 20 if most == resource.RLIM_INFINITY else most)
