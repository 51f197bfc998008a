"""Which rounds a journal's folder lacks, by the numbers of its segments' rounds.

Rounds are numbered from 1 in each epoch, across restarts of the policy process, and a segment's
name says its epoch and its first round: ``EPOCH-ROUND.jsonl``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from loomcard.wire.journal import JournalError, Segment, read_segments

_NAME: Final = re.compile(r"(\d+)-(\d+)\.jsonl")
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Gap:
    """Rounds ``first`` to ``last`` are in no segment. ``after`` and ``before`` are the names of the
    neighbouring segments; ``after`` is empty if the first rounds of an epoch are missing.
    """

    first: int
    last: int
    after: str
    before: str

    def __str__(self) -> str:
        rounds = f"round {self.first}" if self.first == self.last else (
            f"rounds {self.first} to {self.last}"
        )  # fmt: skip
        where = f"between {self.after} and" if self.after else "before"
        return f"{rounds} {where} {self.before}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a journal covers: from which round of its first segment's epoch on, and what is missing
    after that.
    """

    begins: int
    gaps: list[Gap]

    def check(self, folder: Path) -> None:
        """Raise JournalError, one line that names the missing rounds, if there are any."""
        if self.gaps:
            more = len(self.gaps) - _SHOWN
            shown = "; ".join(map(str, self.gaps[:_SHOWN]))
            shown += f"; and {more} more" if more > 0 else ""
            raise JournalError(
                f"{folder}: rounds are missing: {shown}; only the others were compared. A segment"
                " was cut or deleted, or the disk was full then: bring the segments back"
            )


def coverage(folder: Path) -> Coverage:
    """Read a journal's segments and compare the numbers of their rounds.

    The oldest segments may be gone, as ``loomcard.journal.max-mb`` deletes them: ``begins`` is then
    more than 1. The one round that a killed process left without its plan is no gap. Raises
    JournalError for a segment that cannot be read or is not named as one.
    """
    found = read_segments(folder)
    oldest = next(found)
    _, begins = _number(oldest.path)
    if begins == 2 and _starts_a_process(oldest):
        begins = 1
    return Coverage(begins, list(_gaps(oldest, found)))


def _gaps(oldest: Segment, others: Iterator[Segment]) -> Iterator[Gap]:
    epoch, last = _number(oldest.path)
    last -= 1
    before = ""
    for segment in chain([oldest], others):
        path = segment.path
        of, first = _number(path)
        if of != epoch:
            epoch, last, before = of, 0, ""
        unanswered = 1 if _starts_a_process(segment) else 0
        if first > last + 1 + unanswered:
            yield Gap(last + 1, first - 1, before, path.name)
        last, before = first + len(segment.rounds) - 1, path.name


def _starts_a_process(segment: Segment) -> bool:
    """A process's first segment opens without a state; the one before may have been killed."""
    return "mirror" not in segment.header


def _number(path: Path) -> tuple[int, int]:
    """Return the epoch and first round of a segment."""
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise JournalError(f"{path}: a segment is named EPOCH-ROUND.jsonl; was it renamed?")
    return int(found[1]), int(found[2])
