"""Words for WordCount and Bayes, and lines with keys for Sort."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from zlib import crc32

from loomcard.suite.data.files import Numbers, dealt, lines, part, parts, require

VOCABULARY = 1000
WORDS_A_LINE = 10
WORDS_A_PAGE = 30
GREP_PATTERN = "word[0-9]*7"
"""A pattern that means the same to Java and to Python."""
_OWN_WORDS = 0.3  # of a page's words are its class's own; all classes share the others


def _zipf(count: int) -> list[float]:
    """Cumulative weights: the word of rank r is drawn in proportion to 1/r."""
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


def write_words(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write lines of Zipf-distributed words."""
    words, weights = [f"word{rank}" for rank in range(VOCABULARY)], _zipf(VOCABULARY)
    for index, count in enumerate(dealt(numbers["lines"], numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                out.write(" ".join(rng.choices(words, cum_weights=weights, k=WORDS_A_LINE)) + "\n")


def check_wordcount(data: Path, output: Path, _: Numbers) -> None:
    """Check that every word's total is the input's."""
    wanted = Counter(word for line in lines(data) for word in line.split())
    found = {}
    for line in lines(output):
        word, _tab, count = line.partition("\t")
        require(word not in found, f"the word {word} was counted twice")
        found[word] = int(count)
    wrong = sorted(w for w in wanted.keys() | found.keys() if wanted[w] != found.get(w, 0))
    if wrong:
        word = wrong[0]
        require(False, f"{word}: {found.get(word, 0)} counted, {wanted[word]} there")


def check_grep(data: Path, output: Path, _: Numbers) -> None:
    """Check that every match of the pattern has its count, and that larger counts come first."""
    wanted = Counter(match for line in lines(data) for match in re.findall(GREP_PATTERN, line))
    rows = [line.partition("\t") for line in lines(output)]
    found = [(match, int(count)) for count, _tab, match in rows]
    falls = sum(one < other for (_, one), (_, other) in pairwise(found))
    require(falls == 0, f"the counts are out of order in {falls} places")
    require(len(found) == len(dict(found)), "a match was counted twice")
    wrong = sorted(set(found) ^ set(wanted.items()))
    require(
        not wrong, f"{wrong[:1]}: a match and its count are in the input or in the result alone"
    )


def write_keyed_lines(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write lines of a random key, a tab and a text."""
    for index, count in enumerate(dealt(numbers["lines"], numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                out.write(f"{rng.getrandbits(40):010x}\t{rng.getrandbits(200):050x}\n")


def check_sorted_lines(data: Path, output: Path, _: Numbers) -> None:
    """Check that each part is in the order of its keys, and that all parts together contain the
    input's lines.
    """
    for file in parts(output):
        keys = [line.partition("\t")[0] for line in file.read_text("utf-8").splitlines()]
        falls = sum(one > other for one, other in pairwise(keys))
        require(falls == 0, f"{file.name} is out of order in {falls} places")
    require(_content(data) == _content(output), "the lines are not the input's")


def _content(folder: Path) -> tuple[int, int]:
    """Return how many lines there are, and a sum that changes if any line is lost or changed."""
    sums = [crc32(line.encode()) for line in lines(folder)]
    return len(sums), sum(sums)


def write_pages(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write pages, each of one class: its number, a tab, and words, some of them the class's
    own.
    """
    shared, weights = [f"word{rank}" for rank in range(VOCABULARY)], _zipf(VOCABULARY)
    for index, count in enumerate(dealt(numbers["pages"], numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                label = rng.randrange(numbers["classes"])
                words = rng.choices(shared, cum_weights=weights, k=WORDS_A_PAGE)
                own = [rng.random() < _OWN_WORDS for _ in words]
                page = [
                    f"class{label}word{rng.randrange(50)}" if mine else word
                    for word, mine in zip(words, own, strict=True)
                ]
                out.write(f"{label}\t{' '.join(page)}\n")


def check_bayes(data: Path, output: Path, _: Numbers) -> None:
    """Check that all pages were classified, and nearly all correctly: the classes have words of
    their own.
    """
    said = json.loads("".join(lines(output)))
    labels = Counter(line.partition("\t")[0] for line in lines(data))
    require(said["pages"] == labels.total(), f"{said['pages']} pages of {labels.total()}")
    require(said["classes"] == len(labels), f"{said['classes']} classes of {len(labels)}")
    require(said["accuracy"] >= 0.95, f"an accuracy of {said['accuracy']}, expected 0.95")
