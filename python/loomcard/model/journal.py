"""The journal: the messages of a run, one a line, in segments that can each be replayed on their
own.

A segment opens with one line, ``["segment", {...}]``: the handshake, the mirror's whole state, and
every instance's
memory, encoded; then batch and plan follow in turn. Nothing is rebuilt at a border, so replay from
any segment is the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec


class JournalError(Exception):
    """A journal cannot be read; the message names file, line and what was expected."""


class Journal:
    """Appends segments of at most ``rounds`` rounds to a folder."""

    def __init__(self, folder: Path, epoch: int, rounds: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._epoch = epoch
        self._rounds = rounds
        self._left = 0
        self._file: IO[str] | None = None

    @property
    def full(self) -> bool:
        """The next round belongs into a new segment."""
        return self._left <= 0

    def open_segment(self, first_round: int, header: dict[str, Any]) -> None:
        """Begin the segment whose first round is ``first_round``."""
        self.close()
        path = self._folder / f"{self._epoch}-{first_round:010d}.jsonl"
        self._file = path.open("w", encoding="utf-8")
        self._write(msgspec.json.encode(["segment", header], order="sorted").decode())
        self._left = self._rounds

    def append(self, batch: str, plan: str) -> None:
        """One round."""
        self._write(batch)
        self._write(plan)
        self._left -= 1

    def close(self) -> None:
        """Flush and close the open segment, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._left = 0

    def _write(self, line: str) -> None:
        assert self._file is not None
        self._file.write(line + "\n")
        self._file.flush()


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment read back: its header and its rounds as (batch, plan) texts."""

    path: Path
    header: dict[str, Any]
    rounds: list[tuple[str, str]]


def segments(folder: Path) -> list[Path]:
    """The segment files of a journal folder, oldest first. Raises JournalError if there is none."""
    found = sorted(folder.glob("*.jsonl"))
    if not found:
        raise JournalError(
            f"{folder}: no journal segment (*.jsonl) there; was loomcard.journal.dir set?"
        )
    return found


def read_segment(path: Path) -> Segment:
    """A segment; a last batch whose plan was never written (a killed process) is left out. Raises
    JournalError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise JournalError(f"{path}: not UTF-8 at byte {error.start}, so no journal") from error
    if not lines:
        return Segment(path, {}, [])
    try:
        tag, header = msgspec.json.decode(lines[0], type=tuple[str, dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise JournalError(f'{path}:1: expected ["segment", {{...}}]: {error}') from error
    if tag != "segment":
        raise JournalError(f"{path}:1: expected a segment, found {tag!r}")
    return Segment(path, header, list(_rounds(path, lines)))


def _rounds(path: Path, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number in range(1, len(lines) - 1, 2):
        batch, plan = lines[number], lines[number + 1]
        if not batch.startswith('["batch",') or not plan.startswith('["plan",'):
            raise JournalError(f"{path}:{number + 1}: expected a batch and then its plan")
        if plan.endswith("]"):
            yield batch, plan
