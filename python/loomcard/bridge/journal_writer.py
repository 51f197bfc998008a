"""Write the journal in a separate thread, so that no round waits for a disk."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from loomcard.wire.journal_files import MakeFiles, SegmentFiles

MOST_ROUNDS = 10_000
"""The most rounds that may wait to be written."""
MOST_BYTES = 32 << 20
"""The most bytes that may wait; a longer piece may wait only alone."""
HANGS_S = 5.0
"""A write that takes more seconds than this counts as hanging."""

LINGER_S = 0.01
"""For how many seconds to wait for more rounds, so that one call writes them all. Each call takes
Python's lock from the thread that decides, and that costs more than the write.
"""
PIECE_BYTES = 1 << 20
"""The most bytes to write with one call."""

Order = bytes | tuple[Callable[[], None], int] | threading.Event
"""A round's lines; or some other work and the bytes that it writes; or an event that is set when
all orders before it are done.
"""


class JournalWriter:
    """``Files`` that takes lines at once and writes them later, in order.

    If a write hangs, or too much waits, ``begin`` and ``add`` raise ``OSError`` and take nothing;
    what waits is still written if the disk accepts it later. After a failed write, what waits for
    the same segment is dropped and counted: a segment can be replayed only without gaps.
    """

    def __init__(self, folder: Path, most: int | None, files: MakeFiles = SegmentFiles) -> None:
        self._files = files(folder, most)
        self._orders: SimpleQueue[Order] = SimpleQueue()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        # Each number is changed by one thread and read by the other.
        self._given = self._given_bytes = 0
        self._done = self._done_bytes = 0
        self._lost = 0
        self._busy_since: float | None = None
        self._broken = False
        self._failure: OSError | None = None

    @property
    def lost(self) -> int:
        """The count of rounds that were taken and could not be written."""
        return self._lost

    def begin(self, path: Path, line: bytes) -> None:
        """Take a segment's first line. Raises ``OSError`` if too much waits already."""
        self._check(len(line))
        self._start()
        self._give((lambda: self._begin(path, line), len(line)), len(line))

    def add(self, lines: bytes) -> None:
        """Take one round. Raises ``OSError`` if too much waits already."""
        self._check(len(lines))
        self._give(lines, len(lines))

    def end(self) -> None:
        """Close the open segment once everything before is written."""
        if self._thread is not None:
            self._give((self._files.end, 0), 0)

    def failure(self) -> OSError | None:
        """The failure since the last call, if any."""
        if self._failure is None:
            return None
        failure, self._failure = self._failure, None
        return failure

    def is_free(self) -> bool:
        """Whether everything that was taken is written or dropped."""
        return self._done == self._given

    def flush(self, within_s: float) -> bool:
        """Wait until all that was taken is written or dropped, at most ``within_s`` seconds."""
        if self._thread is None:
            return True
        reached = threading.Event()
        self._orders.put(reached)
        self._hurry.set()
        return reached.wait(within_s)

    def _check(self, size: int) -> None:
        busy_since = self._busy_since
        if busy_since is not None and time.monotonic() - busy_since > HANGS_S:
            raise OSError(f"a write has not ended for {HANGS_S:.0f} s; does the disk hang?")
        rounds, waiting = self._given - self._done, self._given_bytes - self._done_bytes
        if rounds >= MOST_ROUNDS or (rounds and waiting + size > MOST_BYTES):
            raise OSError(
                f"{rounds} writes ({waiting >> 20} MB) wait for the disk, which is too slow"
            )

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="journal", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads, or no memory for one
                raise OSError(f"no thread can be started to write it: {error}") from error
            self._thread = thread

    def _give(self, order: Order, size: int) -> None:
        self._given += 1
        self._given_bytes += size
        self._orders.put(order)

    def _run(self) -> None:
        rounds: list[bytes] = []
        size = 0
        while True:
            order = self._orders.get()
            if isinstance(order, bytes):
                rounds.append(order)
                size += len(order)
                if size < PIECE_BYTES and not self._orders.empty():
                    continue
            self._add(rounds, size)
            rounds, size = [], 0
            if isinstance(order, threading.Event):
                order.set()
            elif isinstance(order, tuple):
                self._do(*order)
            if self._orders.empty():
                self._hurry.wait(LINGER_S)
                self._hurry.clear()

    def _add(self, rounds: list[bytes], size: int) -> None:
        """Write rounds with one call, or otherwise as many whole ones as the disk accepts."""
        left = rounds.copy()
        if left and not self._broken:
            error = self._attempt(lambda: self._files.add(b"".join(left)))
            if error is None:
                left.clear()
        while left and not self._broken:
            error = self._attempt(self._files.add, left[0])
            if error is None:
                del left[0]
            else:
                self._break(error)
        self._lost += len(left)
        self._count(len(rounds), size)

    def _do(self, work: Callable[[], None], size: int) -> None:
        error = self._attempt(work)
        if error is not None:
            self._break(error)
        self._count(1, size)

    def _attempt(self, write: Callable[..., None], *lines: bytes) -> Exception | None:
        self._busy_since = time.monotonic()
        try:
            write(*lines)
        except Exception as error:  # lack of memory too: this thread must continue
            return error
        finally:
            self._busy_since = None
        return None

    def _break(self, error: Exception) -> None:
        self._broken = True
        self._failure = error if isinstance(error, OSError) else OSError(repr(error))
        with contextlib.suppress(Exception):
            self._files.end()

    def _count(self, orders: int, size: int) -> None:
        self._done_bytes += size
        self._done += orders  # last: a thread that sees it done also sees its failure

    def _begin(self, path: Path, line: bytes) -> None:
        self._broken = False
        self._files.begin(path, line)
