"""Two tables for Scan and Join: pages with a rank, and visits to them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random
from zlib import crc32

from loomcard.suite.data.files import Numbers, close, dealt, lines, part, require

VISITS, RANKINGS = "uservisits", "rankings"
FIRST_DAY, LAST_DAY = 100, 200
"""The days that Join selects, of 0 to 364."""
_AGENTS = ("Lynx", "Links", "Dillo", "Mosaic")


def write_tables(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write `rankings`: page, rank, seconds; and `uservisits`: address, page, day, revenue in
    cents, agent, seconds. Both are comma-separated, with whole numbers and plain words.
    """
    pages, files = numbers["pages"], numbers["files"]
    page = 0
    for index, count in enumerate(dealt(pages, files)):
        with part(folder / RANKINGS, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                out.write(f"page{page},{rng.randrange(1, 1000)},{rng.randrange(1, 100)}\n")
                page += 1
    for index, count in enumerate(dealt(numbers["visits"], files)):
        with part(folder / VISITS, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                address = f"10.0.{rng.randrange(256)}.{rng.randrange(4)}"
                out.write(
                    f"{address},page{rng.randrange(pages)},{rng.randrange(365)},"
                    f"{rng.randrange(1000)},{rng.choice(_AGENTS)},{rng.randrange(1, 60)}\n"
                )


def check_scan(data: Path, output: Path, _: Numbers) -> None:
    """Check that every visit was copied without a change."""
    wanted, found = _content(data / VISITS), _content(output)
    require(wanted == found, f"{found[0]} visits were copied of {wanted[0]}, or some were changed")


def _content(folder: Path) -> tuple[int, int]:
    sums = [crc32(line.encode()) for line in lines(folder)]
    return len(sums), sum(sums)


def check_join(data: Path, output: Path, _: Numbers) -> None:
    """Check for each address what its visits in those days earned and the mean rank of their pages;
    the largest revenue comes first.
    """
    ranks = {row[0]: int(row[1]) for row in _rows(data / RANKINGS)}
    visits: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for address, page, day, cents, *_more in _rows(data / VISITS):
        if FIRST_DAY <= int(day) <= LAST_DAY:
            visits[address].append((int(cents), ranks[page]))
    found = {row[0]: (int(row[1]), float(row[2])) for row in _rows(output)}
    require(found.keys() == visits.keys(), f"{len(found)} addresses, expected {len(visits)}")
    for address, seen in visits.items():
        total, mean = sum(one for one, _ in seen), sum(other for _, other in seen) / len(seen)
        right = found[address][0] == total and close(found[address][1], mean)
        require(right, f"{address}: {found[address]}, expected {(total, mean)}")
    earned = [total for total, _ in found.values()]
    require(all(a >= b for a, b in pairwise(earned)), "the largest earners do not come first")


def _rows(folder: Path) -> list[list[str]]:
    return [line.split(",") for line in lines(folder)]
