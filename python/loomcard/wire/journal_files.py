"""Write a journal: segments of whole rounds into a folder, within a limit of disk space."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

FOLDER_MODE = 0o700
FILE_MODE = 0o600

RETRY_MS = 10_000
"""How many ms later a journal that could not be written is tried again."""

LARGE_HEADER = 1 << 18
"""A header of so many bytes holds up its round by milliseconds."""

WORTH = 4
"""How many times as large as a large header a segment becomes at least."""


class Files(Protocol):
    """Where a journal's segments are written. ``begin`` and ``add`` may raise ``OSError`` at once.
    Or they take the lines, and ``failure`` says later that they could not be written.
    """

    @property
    def lost(self) -> int:
        """Rounds that ``add`` took and that could not be written."""

    def begin(self, path: Path, line: bytes) -> None:
        """Open the segment at ``path`` with its first line; the previous one has been ended."""

    def add(self, lines: bytes) -> None:
        """Add one round to the open segment."""

    def end(self) -> None:
        """Close the open segment, if there is one. It never raises."""

    def failure(self) -> OSError | None:
        """The failure to write lines that were taken before; each is returned once."""

    def is_free(self) -> bool:
        """Whether all lines that were taken are written or dropped."""

    def flush(self, within_s: float) -> bool:
        """Wait until ``is_free``, at most ``within_s``; from any thread. False: not in time."""


MakeFiles = Callable[[Path, int | None], Files]
"""A function of the folder, and of the most bytes that all its segments may take."""


class SegmentFiles:
    """Writes segments at once, as whole rounds, into a folder that only its owner may read. The
    oldest segments are deleted if all together would take more than ``most`` bytes.
    """

    lost = 0

    def __init__(self, folder: Path, most: int | None) -> None:
        self._folder = folder
        self._most = most
        self._file: IO[bytes] | None = None
        self._closing: weakref.finalize[..., SegmentFiles] | None = None
        self._path = folder
        self._size = 0
        self._others = 0

    def begin(self, path: Path, line: bytes) -> None:
        """Open the segment at ``path``; if its first line does not fit, no file is left."""
        self._path = path
        self._size = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folder.chmod(FOLDER_MODE)
            self._make_room(len(line))
            path.touch(FILE_MODE)
            path.chmod(FILE_MODE)
            self._file = path.open("wb", buffering=0)
            self._closing = weakref.finalize(self, self._file.close)  # closed even without ``end``
            self._write(line)
        except OSError:
            self.end()
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def add(self, lines: bytes) -> None:
        """Add one round; a part that was written before an error is removed."""
        self._make_room(self._size + len(lines))
        self._write(lines)

    def end(self) -> None:
        """Close the open segment, if there is one."""
        file, self._file = self._file, None
        if file is not None:
            if self._closing is not None:
                self._closing.detach()
            with contextlib.suppress(OSError):  # as on NFS: what was lost is lost
                file.close()

    def failure(self) -> OSError | None:
        """Return None: errors are raised at once."""
        return None

    def is_free(self) -> bool:
        """True: nothing is left for later."""
        return True

    def flush(self, within_s: float) -> bool:  # noqa: ARG002 - there is nothing to wait for
        """True: nothing is left for later."""
        return True

    def _write(self, lines: bytes) -> None:
        assert self._file is not None
        left = memoryview(lines)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
            raise
        self._size += len(lines)

    def _make_room(self, size: int) -> None:
        """Delete the oldest segments until there is room for ``size`` bytes within the limit."""
        if self._most is None or (self._file is not None and self._others + size <= self._most):
            return
        others = [path for path in sorted(self._folder.glob("*.jsonl")) if path != self._path]
        sizes = {path: path.stat().st_size for path in others}
        self._others = sum(sizes.values())
        for path in others:
            if self._others + size <= self._most:
                return
            path.unlink()
            self._others -= sizes[path]


class Journal:
    """Appends segments of ``rounds`` rounds to a folder that only its owner may read. A segment
    with a large header has more rounds: writing the header holds up the round.

    Rounds that cannot be written are dropped: no method raises ``OSError``. ``problem`` then says
    why, and ``RETRY_MS`` later the journal continues in a new segment. So each segment can be
    replayed, whatever was dropped before it. All segments of the folder together stay within
    ``max_mb``: the oldest are deleted. ``files`` writes them; by default at once.
    """

    def __init__(
        self, folder: Path, epoch: int, rounds: int, max_mb: int | None = None,
        files: MakeFiles = SegmentFiles,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._epoch = epoch
        self._rounds = rounds
        self._most = None if max_mb is None else max_mb << 20
        self._files = files(folder, self._most)
        self._path = folder
        self._is_open = False
        self._left = 0
        self._size = 0
        self._early = 0
        self._least = 0
        self._retry_ms: int | None = None
        self._dropped = 0
        self.problem: str | None = None
        """Why nothing is written at present; None: there is no problem."""

    @property
    def lost_rounds(self) -> int:
        """The count of this process's rounds that are in no segment."""
        return self._dropped + self._files.lost

    def wants_segment(self, now_ms: int) -> bool:
        """Whether the next round needs a new segment. False until a failed journal is retried."""
        self._look(now_ms)
        if self._retry_ms is not None and (now_ms < self._retry_ms or not self._files.is_free()):
            return False
        return not self._is_open or (self._left <= 0 and self._size >= self._least)

    def open_segment(
        self, first_round: int, header: Callable[[], dict[str, Any]], now_ms: int
    ) -> None:
        """Begin the segment whose first round is ``first_round``. A header that raises, for example
        since a memory in it is not plain data, counts as one that cannot be written.
        """
        self.close()
        self._path = self._folder / f"{self._epoch}-{first_round:010d}.jsonl"
        try:
            line = msgspec.json.encode(["segment", header()], order="sorted") + b"\n"
            if self._most is not None and 2 * len(line) > self._most:
                raise OSError(f"a segment begins with {len(line) >> 20} MB, the limit for all of "
                              f"them is {self._most >> 20} MB")  # fmt: skip
            self._files.begin(self._path, line)
        except Exception as error:  # whatever it is, rounds must go on
            self._fail(error, now_ms)
            return
        self._is_open = True
        self._left = self._rounds
        self._size = len(line)
        # A segment ends early when it is a large part of the limit; it must be long enough to be
        # worth its header.
        self._early = sys.maxsize if self._most is None else max(self._most // 8, 2 * len(line))
        self._least = min(self._early, WORTH * len(line) if len(line) > LARGE_HEADER else 0)
        self._retry_ms = None
        self._look(now_ms)

    def append(self, batch: str, plan: str, now_ms: int) -> None:
        """Append one round."""
        self._look(now_ms)
        if not self._is_open:
            self._dropped += 1
            return
        lines = f"{batch}\n{plan}\n".encode()
        try:
            self._files.add(lines)
        except OSError as error:
            self._dropped += 1
            self._fail(error, now_ms)
            return
        self._size += len(lines)
        self._left = 0 if self._size >= self._early else self._left - 1

    def close(self) -> None:
        """Close the open segment, if there is one."""
        self._left = 0
        if self._is_open:
            self._is_open = False
            self._files.end()

    def flush(self, within_s: float) -> bool:
        """Wait until all rounds are written, at most ``within_s``; from any thread. False: not in
        time.
        """
        return self._files.flush(within_s)

    def _look(self, now_ms: int) -> None:
        """Note what became of the rounds that ``files`` took."""
        free = self._files.is_free()  # first: a failure is noted before the last write is done
        error = self._files.failure()
        if error is not None:
            self._fail(error, now_ms)
        elif free and self._is_open:
            self.problem = None

    def _fail(self, error: Exception, now_ms: int) -> None:
        why = error.strerror if isinstance(error, OSError) else None
        self.problem = f"{self._path}: {why or error}"
        self._retry_ms = now_ms + RETRY_MS
        self.close()
