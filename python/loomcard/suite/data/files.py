"""Input files to write, output files to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

Numbers = Mapping[str, int]
"""What a size means to a benchmark: how many rows, files, iterations."""


class WrongResultError(Exception):
    """A program ended well, and its result is not right. `hint` says where the files are."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def require(right: bool, message: str) -> None:
    """Raises WrongResultError with the message, unless `right`."""
    if not right:
        raise WrongResultError(message)


def dealt(total: int, files: int) -> list[int]:
    """How many of `total` rows go into each of the files; the first ones get what is over."""
    return [total // files + (index < total % files) for index in range(files)]


def part(folder: Path, index: int) -> Path:
    """An input file's path; its folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"part-{index:05}"


def parts(folder: Path) -> list[Path]:
    """The files of a job's input or output that hold rows, in their order. Raises
    WrongResultError where the folder has none.
    """
    found = sorted(folder.glob("part-*"))
    require(bool(found), f"{folder.name} holds no part of a result")
    return found


def lines(folder: Path) -> Iterator[str]:
    """The lines of all parts, without their ends."""
    for file in parts(folder):
        with file.open(encoding="utf-8") as rows:
            for row in rows:
                yield row.rstrip("\n")


def close(one: float, other: float, relative: float = 1e-6) -> bool:
    """Whether two sums of the same numbers, added in different orders, agree."""
    return abs(one - other) <= relative * max(1.0, abs(one), abs(other))
