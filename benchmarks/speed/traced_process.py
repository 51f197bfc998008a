"""The policy process of the bench's ``--trace``: it notes when each batch came, was read, decided
and answered, on the clock that Java's ``System.nanoTime`` reads too.

``trace_launcher`` makes the interpreter that the ResourceManager starts in its place.
"""

from __future__ import annotations

import os
import sys
from array import array
from pathlib import Path
from time import monotonic_ns

from loomcard.bridge import process
from loomcard.engine.session import Session
from loomcard.wire import messages

STAMPS = 4
"""Received, decoded, decided, encoded."""


def trace_launcher(python: Path, folder: Path, root: Path) -> Path:
    """Write an executable that runs this module instead of the one it is asked for; the stamps go
    to ``folder/python.trace``.
    """
    launcher = folder / "python"
    launcher.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={root}\nshift 3\n"
        f'exec {python} -m benchmarks.speed.traced_process {folder / "python.trace"} "$@"\n'
    )
    launcher.chmod(0o700)
    return launcher


class TracedService(process.PolicyService):
    """Answers as any policy process, without a journal, and keeps the stamps."""

    stamps = array("q")

    def _decided(self, text: str) -> str:
        session = self._opened()
        assert isinstance(session, Session)
        received = monotonic_ns()
        batch = messages.read_request(text)
        assert isinstance(batch, messages.Batch)
        decoded = monotonic_ns()
        plan = session.answer(batch)
        decided = monotonic_ns()
        reply = messages.write(plan)
        self.stamps.extend((received, decoded, decided, monotonic_ns()))
        return reply


def read_stamps(file: Path) -> list[tuple[int, ...]]:
    """Return the stamps of each round, oldest first."""
    stamps = array("q")
    stamps.frombytes(file.read_bytes())
    return [tuple(stamps[i : i + STAMPS]) for i in range(0, len(stamps), STAMPS)]


def main() -> int:
    """Run the process; the first argument is the file for the stamps."""
    file = Path(sys.argv[1])
    process.PolicyService = TracedService  # type: ignore[misc]
    status = process.main(sys.argv[2:])
    file.write_bytes(TracedService.stamps.tobytes())
    return status


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)
