"""The ten benchmarks and grep: for each its sizes, generator, program and check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Literal

from loomcard.suite.data.files import Numbers
from loomcard.suite.data.graphs import (
    DAMPING,
    KEPT,
    check_nweight,
    check_pagerank,
    write_links,
    write_weighted,
)
from loomcard.suite.data.points import (
    check_kmeans,
    check_regression,
    write_clusters,
    write_labelled,
)
from loomcard.suite.data.records import check_terasort, write_records
from loomcard.suite.data.tables import FIRST_DAY, LAST_DAY, check_join, check_scan, write_tables
from loomcard.suite.data.text import (
    GREP_PATTERN,
    check_bayes,
    check_grep,
    check_sorted_lines,
    check_wordcount,
    write_keyed_lines,
    write_pages,
    write_words,
)
from loomcard.validation.hinted import HintedError

Size = Literal["tiny", "small", "large"]
SIZES: Final[tuple[Size, ...]] = ("tiny", "small", "large")
_FILES: Final = {"tiny": 2, "small": 8, "large": 16}
_REDUCES: Final = {"tiny": 1, "small": 2, "large": 4}


class SuiteError(HintedError):
    """The suite does not have something that was requested. `hint` lists what it has."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark. `arguments`: what its program gets between or after input and output; `data`:
    the benchmark whose input it reads, itself or another; `then`: names of the MapReduce jobs that
    its program submits after its first one. The last job writes the result.
    """

    name: str
    what: str
    framework: Literal["mapreduce", "spark"]
    sizes: Mapping[str, Numbers]
    write: Callable[[Path, Numbers, Random], None]
    check: Callable[[Path, Path, Numbers], None]
    arguments: Callable[[Numbers], tuple[str, ...]] = lambda _: ()
    data: str = ""
    then: tuple[str, ...] = ()

    def numbers(self, size: Size) -> Numbers:
        """Return the rows and iterations of a size, with the number of input files and of
        reduces.
        """
        return {"files": _FILES[size], "reduces": _REDUCES[size], **self.sizes[size]}

    @property
    def input(self) -> str:
        """The name under which its input is stored."""
        return self.data or self.name


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by name. Raises SuiteError."""
    found = BENCHMARKS.get(name)
    if found is None:
        raise SuiteError(f"no benchmark {name!r}", f"there are {', '.join(BENCHMARKS)}")
    return found


def _sizes(key: str, *counts: int, **fixed: int) -> dict[str, Numbers]:
    return {size: {key: count, **fixed} for size, count in zip(SIZES, counts, strict=True)}


_TABLES: Final = {
    "tiny": {"visits": 1_000, "pages": 200},
    "small": {"visits": 200_000, "pages": 20_000},
    "large": {"visits": 4_000_000, "pages": 200_000},
}
_SORT: Final = "org.apache.hadoop.mapreduce.lib"

_ALL: Final = (
    Benchmark(
        "wordcount", "counts words", "mapreduce", _sizes("lines", 2_000, 200_000, 4_000_000),
        write_words, check_wordcount,
    ),
    Benchmark(
        "sort", "sorts lines by their keys", "mapreduce",
        _sizes("lines", 2_000, 200_000, 4_000_000), write_keyed_lines, check_sorted_lines,
        lambda _: (
            "-inFormat", f"{_SORT}.input.KeyValueTextInputFormat",
            "-outFormat", f"{_SORT}.output.TextOutputFormat",
            "-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text",
        ),
    ),
    Benchmark(
        "terasort", "sorts records over all reduces", "mapreduce",
        _sizes("rows", 2_000, 200_000, 4_000_000), write_records, check_terasort,
    ),
    Benchmark(
        "kmeans", "clusters points", "spark",
        {
            "tiny": {"points": 600, "dimensions": 3, "clusters": 4, "iterations": 5},
            "small": {"points": 100_000, "dimensions": 10, "clusters": 10, "iterations": 5},
            "large": {"points": 1_000_000, "dimensions": 20, "clusters": 10, "iterations": 5},
        },
        write_clusters, check_kmeans,
        lambda n: (str(n["clusters"]), str(n["dimensions"]), str(n["iterations"])),
    ),
    Benchmark(
        "lr", "fits a logistic regression", "spark",
        {
            "tiny": {"rows": 500, "features": 10, "iterations": 10},
            "small": {"rows": 50_000, "features": 50, "iterations": 20},
            "large": {"rows": 1_000_000, "features": 50, "iterations": 20},
        },
        write_labelled, check_regression, lambda n: (str(n["features"]), str(n["iterations"])),
    ),
    Benchmark(
        "bayes", "learns classes of pages", "spark",
        {
            "tiny": {"pages": 400, "classes": 4},
            "small": {"pages": 30_000, "classes": 10},
            "large": {"pages": 300_000, "classes": 20},
        },
        write_pages, check_bayes,
    ),
    Benchmark("scan", "copies a table", "spark", _TABLES, write_tables, check_scan),
    Benchmark(
        "join", "joins two tables", "spark", _TABLES, write_tables, check_join,
        lambda _: (str(FIRST_DAY), str(LAST_DAY)), data="scan",
    ),
    Benchmark(
        "pagerank", "ranks linked pages", "spark",
        _sizes("pages", 200, 20_000, 300_000, links=8, iterations=3), write_links, check_pagerank,
        lambda n: (str(n["iterations"]), str(DAMPING)),
    ),
    Benchmark(
        "nweight", "weighs paths between vertices", "spark",
        _sizes("vertices", 150, 5_000, 50_000, links=6, hops=3), write_weighted, check_nweight,
        lambda n: (str(n["hops"]), str(KEPT)),
    ),
    Benchmark(
        "grep", "counts the words that a pattern finds, then sorts them by count", "mapreduce",
        _sizes("lines", 2_000, 200_000, 4_000_000), write_words, check_grep,
        lambda _: (GREP_PATTERN,), data="wordcount", then=("sort",),
    ),
)  # fmt: skip
BENCHMARKS: Final = {each.name: each for each in _ALL}
"""The ten benchmarks in the order of the DRESS paper, and grep, which is the most frequent job of
the Coupling paper.
"""
