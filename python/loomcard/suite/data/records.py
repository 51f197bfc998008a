"""TeraSort's records: 100 bytes, of which the first 10 are the key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from zlib import crc32

from loomcard.suite.data.files import Numbers, dealt, part, parts, require

KEY, RECORD = 10, 100


def write_records(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write records with random keys."""
    number = 0
    for index, count in enumerate(dealt(numbers["rows"], numbers["files"])):
        with part(folder, index).open("wb") as out:
            for _ in range(count):
                out.write(rng.randbytes(KEY) + b"%090d" % number)
                number += 1


def check_terasort(data: Path, output: Path, _: Numbers) -> None:
    """Check that the keys never fall, from the first part to the last, and that the records are the
    input's.
    """
    keys = chain.from_iterable(_records(file) for file in parts(output))
    falls = sum(one[:KEY] > other[:KEY] for one, other in pairwise(keys))
    require(falls == 0, f"the output is out of order in {falls} places")
    require(_content(data) == _content(output), "the records are not the input's")


def _records(file: Path) -> Iterator[bytes]:
    rows = file.read_bytes()
    require(len(rows) % RECORD == 0, f"{file.name} ends within a record")
    return (rows[at : at + RECORD] for at in range(0, len(rows), RECORD))


def _content(folder: Path) -> tuple[int, int]:
    sums = [crc32(record) for file in parts(folder) for record in _records(file)]
    return len(sums), sum(sums)
