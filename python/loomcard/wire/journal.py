"""The journal: the messages of a run, one per line, in segments that can each be replayed alone.
This module is the only reader; ``journal_files`` writes. A segment may be compressed by xz.

A segment begins with one line, ``["segment", {...}]``: the handshake, the mirror's whole state and
every instance's memory, encoded. Then batches and plans follow in turn. Nothing is rebuilt between
segments, so a replay from any segment is equal to the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from loomcard.wire import older
from loomcard.wire.messages import SCHEMA, Batch, Hello, PlanReply, read_reply, read_request


class JournalError(Exception):
    """A journal cannot be read; the message names the file, the line and what was expected."""


@dataclass(frozen=True)
class Segment:
    """One segment: its header and its rounds as (batch, plan) texts. Iteration yields the rounds,
    which are decoded when read.
    """

    path: Path
    header: dict[str, Any]
    rounds: list[tuple[str, str]]

    def __iter__(self) -> Iterator[Round]:
        return (Round(self, index) for index in range(len(self.rounds)))

    @property
    def place(self) -> str:
        """File and line of the header."""
        return f"{self.path}:1"

    @cached_property
    def hello(self) -> Hello:
        """The handshake. Raises JournalError if it cannot be read."""
        with reading(self.place, "no handshake"):
            return msgspec.convert(self.header["hello"], Hello)


class Round:
    """One round of a segment; batch and plan are decoded when they are read."""

    def __init__(self, segment: Segment, index: int) -> None:
        self.segment = segment
        self.batch_text, self.plan_text = segment.rounds[index]
        self.line = 2 * index + 2  # of the batch; the plan's is the next

    @property
    def batch_place(self) -> str:
        """File and line of the batch."""
        return f"{self.segment.path}:{self.line}"

    @property
    def plan_place(self) -> str:
        """File and line of the plan."""
        return f"{self.segment.path}:{self.line + 1}"

    @cached_property
    def batch(self) -> Batch:
        """The batch that the engine sent. Raises JournalError if it cannot be read."""
        with reading(self.batch_place, "the batch cannot be read"):
            found = read_request(self.batch_text)
            if not isinstance(found, Batch):
                raise TypeError(f"expected a batch, found {type(found).__name__}")
            return found

    @cached_property
    def plan(self) -> PlanReply:
        """The plan that the policies answered. Raises JournalError if it cannot be read."""
        with reading(self.plan_place, "the plan cannot be read"):
            found = read_reply(self.plan_text)
            if not isinstance(found, PlanReply):
                raise TypeError(f"expected a plan, found {type(found).__name__}")
            return found


def rounds(journal: Path) -> Iterator[Round]:
    """Every round of a journal, oldest first: of a folder of segments, or of one segment's file.
    Raises JournalError.
    """
    for segment in read_segments(journal):
        yield from segment


def read_segments(journal: Path) -> Iterator[Segment]:
    """The segments of a folder, oldest first, or the one in a file. Raises JournalError."""
    return map(read_segment, [journal] if journal.is_file() else segments(journal))


def segments(folder: Path) -> list[Path]:
    """The segment files of a journal folder, oldest first. Raises JournalError if there is no
    segment, OSError for a path that no file can have.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        folder.stat()  # since Python 3.14 no other call here raises for such a path
    found = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.xz")])
    if not found:
        raise JournalError(
            f"{folder}: no journal segment (*.jsonl or *.jsonl.xz) there;"
            " was loomcard.journal.dir set?"
        )
    return found


@contextmanager
def reading(place: str, what: str) -> Iterator[None]:
    """Raise JournalError with ``place`` and ``what`` if the text there cannot be used: text from
    outside may break any rule of the mirror.
    """
    try:
        yield
    except JournalError:
        raise
    except (
        msgspec.MsgspecError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise JournalError(f"{place}: {what} ({said}); was the journal altered?") from error


def read_segment(path: Path) -> Segment:
    """Read a segment. A last batch without a plan (the process was killed) is left out. Raises
    JournalError.
    """
    try:
        lines = _text(path).split("\n")  # texts may contain other line ends
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JournalError(f"{path}: not UTF-8 at byte {error.start}, so no journal") from error
    if not lines[-1]:
        lines.pop()
    if not lines:
        return Segment(path, {}, [])
    try:
        tag, header = msgspec.json.decode(lines[0], type=tuple[str, dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise JournalError(f'{path}:1: expected ["segment", {{...}}]: {error}') from error
    if tag != "segment":
        raise JournalError(f"{path}:1: expected a segment, found {tag!r}")
    rounds = list(_rounds(path, lines))
    with reading(f"{path}:1", "a segment of an older schema cannot be read"):
        if older.schema(header) > SCHEMA:
            raise JournalError(
                f"{path}:1: schema {older.schema(header)}, and this Loomcard reads up to {SCHEMA}:"
                " use the version that wrote it, or a newer one"
            )
        return Segment(path, *older.segment(header, rounds))


def _text(path: Path) -> str:
    if path.suffix != ".xz":
        return path.read_text(encoding="utf-8")
    import lzma  # here: a policy process reads no such file

    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return file.read()
    except (lzma.LZMAError, EOFError) as error:
        raise JournalError(f"{path}: not compressed by xz, or cut off: {error}") from error


def _rounds(path: Path, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number in range(1, len(lines) - 1, 2):
        batch, plan = lines[number], lines[number + 1]
        if not batch.startswith('["batch",') or not plan.startswith('["plan",'):
            raise JournalError(f"{path}:{number + 1}: expected a batch and then its plan")
        if plan.endswith("]"):
            yield batch, plan
        elif number + 2 < len(lines):  # only the last plan may have been cut off by a kill
            raise JournalError(f"{path}:{number + 2}: the plan ends in its middle")
