"""Input files that are written and output files that are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

Numbers = Mapping[str, int]
"""The parameters of a size: how many rows, files, iterations."""


class WrongResultError(Exception):
    """A program ended well but its result is wrong."""


def require(right: bool, message: str) -> None:
    """Raise WrongResultError with the message, unless `right`."""
    if not right:
        raise WrongResultError(message)


def dealt(total: int, files: int) -> list[int]:
    """Divide `total` rows among the files; the first files get the remainder."""
    return [total // files + (index < total % files) for index in range(files)]


def part(folder: Path, index: int) -> Path:
    """Return an input file's path, and make its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"part-{index:05}"


def parts(folder: Path) -> list[Path]:
    """Return the files of a job's input or output that contain rows, in their order. Raises
    WrongResultError if the folder has none.
    """
    found = sorted(folder.glob("part-*"))
    require(bool(found), f"{folder.name} holds no part of a result")
    return found


def lines(folder: Path) -> Iterator[str]:
    """Yield the lines of all parts, without their line ends."""
    for file in parts(folder):
        with file.open(encoding="utf-8") as rows:
            for row in rows:
                yield row.rstrip("\n")


def close(one: float, other: float) -> bool:
    """Return whether two sums of the same numbers, added in different orders, agree."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
