"""Directed graphs for PageRank and NWeight, and simple computations of both to compare with."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from random import Random

from loomcard.suite.data.files import Numbers, close, dealt, lines, part, require

DAMPING = 0.85
KEPT = 10
"""How many vertices NWeight keeps for each vertex: the nearest of those that it reaches."""


def write_links(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write links of pages, `from to`: one to the next page, the others mostly to the first
    pages.
    """
    _write(folder, numbers["pages"], numbers, rng, weighted=False)


def write_weighted(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write links of vertices, `from to weight`, with weights below 1."""
    _write(folder, numbers["vertices"], numbers, rng, weighted=True)


def _write(folder: Path, count: int, numbers: Numbers, rng: Random, *, weighted: bool) -> None:
    source = 0
    for index, own in enumerate(dealt(count, numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(own):
                # The square of a random number: most links lead to a few pages.
                drawn = {int(count * rng.random() ** 2) for _ in range(numbers["links"])}
                targets = sorted(drawn - {source} | {(source + 1) % count})
                for target in targets:
                    weight = f" {rng.random():.6f}" if weighted else ""
                    out.write(f"{source} {target}{weight}\n")
                source += 1


def check_pagerank(data: Path, output: Path, numbers: Numbers) -> None:
    """Check that every page's rank equals the simply computed one."""
    links: dict[str, list[str]] = defaultdict(list)
    for line in lines(data):
        source, target = line.split()
        links[source].append(target)
    ranks = dict.fromkeys(links, 1.0)
    for _ in range(numbers["iterations"]):
        sums: dict[str, float] = defaultdict(float)
        for source, targets in links.items():
            for target in targets:
                sums[target] += ranks[source] / len(targets)
        ranks = {page: 1 - DAMPING + DAMPING * got for page, got in sums.items()}
    found = {page: float(rank) for page, rank in (line.split(",") for line in lines(output))}
    require(found.keys() == ranks.keys(), f"{len(found)} pages, expected {len(ranks)}")
    for page, rank in ranks.items():
        require(close(found[page], rank), f"page {page} has {found[page]}, expected {rank}")


def check_nweight(data: Path, output: Path, numbers: Numbers) -> None:
    """Check every vertex's nearest vertices, with the weights of all paths to them."""
    near: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines(data):
        source, target, weight = line.split()
        near[source][target] = float(weight)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines(output):
        source, target, weight = line.split(",")
        found[source][target] = float(weight)
    require(found.keys() == near.keys(), f"{len(found)} vertices, expected {len(near)}")
    for source in near:
        wanted = _nearest(source, near, numbers["hops"])
        for target, all_paths in wanted.items():
            given = found[source].get(target, 0.0)
            said = f"{source} to {target}: {given}, expected {all_paths}"
            require(close(given, all_paths), said)
        require(len(found[source]) == len(wanted), f"{source} has {len(found[source])} neighbours")


def _nearest(source: str, near: dict[str, dict[str, float]], hops: int) -> dict[str, float]:
    """Return the weights of paths of exactly that many links: multiplied along each path and added
    over all paths.
    """
    reached = near[source]
    for _ in range(hops - 1):
        further: dict[str, float] = defaultdict(float)
        for middle, weight in reached.items():
            for target, more in near[middle].items():
                if target != source:
                    further[target] += weight * more
        reached = further
    best = sorted(reached.items(), key=lambda pair: (-pair[1], int(pair[0])))[:KEPT]
    return dict(best)
