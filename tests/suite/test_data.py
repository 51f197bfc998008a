"""Generated inputs are the same for equal seeds, and each check refuses a wrong result."""

import json
import math
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from loomcard.suite.benchmarks import BENCHMARKS, SIZES, SuiteError, benchmark
from loomcard.suite.data.files import WrongResultError, dealt, lines
from loomcard.suite.inputs import Job, made

NAMES = list(BENCHMARKS)


def tiny(name: str) -> Job:
    return Job(BENCHMARKS[name], "tiny")


def content(folder: Path) -> dict[str, bytes]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def check(name: str, data: Path, output: Path) -> None:
    job = tiny(name)
    job.benchmark.check(data, output, job.benchmark.numbers("tiny"))


def written(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-00000").write_text("".join(row + "\n" for row in rows), "utf-8")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_draw_equal_inputs(name: str, tmp_path: Path) -> None:
    """Two machines work on the same bytes; another seed draws others."""
    each = BENCHMARKS[BENCHMARKS[name].input]
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        each.write(tmp_path / folder, each.numbers("tiny"), Random(seed))  # noqa: S311 - data
    assert content(tmp_path / "a") == content(tmp_path / "b") != content(tmp_path / "c")
    assert len(content(tmp_path / "a")) >= 2


def test_sizes_grow() -> None:
    """A larger size has more rows, and never less of anything."""
    for each in BENCHMARKS.values():
        numbers = [each.numbers(size) for size in SIZES]
        assert all(a[key] <= b[key] for a, b in pairwise(numbers) for key in a)
        assert math.prod(numbers[0].values()) < math.prod(numbers[1].values())


def test_an_input_is_made_once_and_whole(tmp_path: Path) -> None:
    """Scan and Join share their input; an incomplete one is made again."""
    first = made(tiny("scan"), tmp_path)
    before = first.stat().st_mtime_ns
    assert made(tiny("join"), tmp_path) == first
    assert first.stat().st_mtime_ns == before
    (first.parent / "made.json").write_text("{")
    shutil.rmtree(first / "rankings")
    assert (made(tiny("scan"), tmp_path) / "rankings").is_dir()


def test_rows_are_dealt_out() -> None:
    """No row is lost if the files do not divide the rows evenly."""
    assert dealt(7, 3) == [3, 2, 2]


def test_an_unknown_benchmark_is_named_with_the_known() -> None:
    with pytest.raises(SuiteError, match="no benchmark 'grap'") as said:
        benchmark("grap")
    assert "terasort" in said.value.hint


def test_wordcount(tmp_path: Path) -> None:
    data = made(tiny("wordcount"), tmp_path)
    counts = Counter(word for line in lines(data) for word in line.split())
    rows = [f"{word}\t{count}" for word, count in counts.items()]
    check("wordcount", data, written(tmp_path / "right", *rows))
    for wrong in (rows[1:], [*rows, rows[0]], [*rows[1:], rows[0] + "1"], [*rows, "more\t1"]):
        with pytest.raises(WrongResultError, match="counted"):
            check("wordcount", data, written(tmp_path / "wrong", *wrong))


def test_grep(tmp_path: Path) -> None:
    """Hadoop's second job swaps count and match, and sorts the largest counts first."""
    data = made(tiny("grep"), tmp_path)
    words = [word for line in lines(data) for word in line.split()]
    longest = Counter(word[: word.rindex("7") + 1] for word in words if "7" in word)
    rows = [f"{count}\t{match}" for match, count in longest.most_common()]
    assert len(rows) > 50
    check("grep", data, written(tmp_path / "right", *rows))
    other = rows[0].replace("\t", "0\t")
    for wrong, said in (
        (rows[1:], "in the input or in the result alone"),
        ([other, *rows[1:]], "in the input or in the result alone"),
        ([rows[0], *rows], "twice"),
        (rows[::-1], "out of order"),
    ):
        with pytest.raises(WrongResultError, match=said):
            check("grep", data, written(tmp_path / "wrong", *wrong))


def test_sort(tmp_path: Path) -> None:
    data = made(tiny("sort"), tmp_path)
    rows = sorted(lines(data))
    check("sort", data, written(tmp_path / "right", *rows))
    with pytest.raises(WrongResultError, match="out of order in 1 places"):
        check("sort", data, written(tmp_path / "wrong", *rows[::-1][-1:], rows[1], rows[0]))
    for wrong in (rows[1:], [rows[0], *rows], [*rows[:-1], rows[-1] + "0"]):
        with pytest.raises(WrongResultError, match="not the input's"):
            check("sort", data, written(tmp_path / "wrong", *wrong))


def test_terasort_over_all_parts(tmp_path: Path) -> None:
    """The last key of a part is no larger than the first of the next."""
    data = made(tiny("terasort"), tmp_path)
    whole = b"".join(content(data)[name] for name in sorted(content(data)))
    records = sorted(whole[at : at + 100] for at in range(0, len(whole), 100))

    def output(first: list[bytes], second: list[bytes]) -> Path:
        folder = written(tmp_path / "output")
        (folder / "part-r-00000").write_bytes(b"".join(first))
        (folder / "part-r-00001").write_bytes(b"".join(second))
        (folder / "part-00000").unlink()
        return folder

    check("terasort", data, output(records[:1000], records[1000:]))
    for first, second, said in (
        (records[1000:], records[:1000], "out of order in 1 places"),
        (records[:1000], records[1001:], "not the input's"),
        ([*records[:1000], b"half"], records[1000:], "ends within a record"),
    ):
        with pytest.raises(WrongResultError, match=said):
            check("terasort", data, output(first, second))


def test_kmeans(tmp_path: Path) -> None:
    """Sizes must be those of the centres, and the centres must be good."""
    data = made(tiny("kmeans"), tmp_path)
    points = [tuple(map(float, line.split(","))) for line in lines(data)]
    centres = [points[0]]
    while len(centres) < 4:  # the point that is farthest from those chosen
        centres.append(max(points, key=lambda p: min(math.dist(p, c) for c in centres)))
    nearest = Counter(min(range(4), key=lambda i: math.dist(p, centres[i])) for p in points)
    right = {"centres": centres, "sizes": [nearest[i] for i in range(4)]}
    check("kmeans", data, written(tmp_path / "right", json.dumps(right)))
    swapped = right["sizes"][1:] + right["sizes"][:1]
    for wrong, said in (
        (right | {"centres": centres[:3]}, "3 centres of 4"),
        (right | {"sizes": swapped}, "clusters of"),
        ({"centres": [[-1000.0] * 3] * 4, "sizes": [len(points), 0, 0, 0]}, "spread is left"),
    ):
        with pytest.raises(WrongResultError, match=said):
            check("kmeans", data, written(tmp_path / "wrong", json.dumps(wrong)))


def test_lr(tmp_path: Path) -> None:
    """A model that guesses is refused, and so is one that claims to be better than it is."""
    data = made(tiny("lr"), tmp_path)
    guess = {"coefficients": [0.0] * 10, "intercept": 1.0, "accuracy": 1.0}
    with pytest.raises(WrongResultError, match=r"an accuracy of 1\.0, its coefficients give"):
        check("lr", data, written(tmp_path / "out", json.dumps(guess)))
    ones = sum(line.startswith("1") for line in lines(data)) / 500
    with pytest.raises(WrongResultError, match=r"expected 0\.8"):
        check("lr", data, written(tmp_path / "out", json.dumps(guess | {"accuracy": ones})))


def test_bayes(tmp_path: Path) -> None:
    data = made(tiny("bayes"), tmp_path)
    right = {"pages": 400, "classes": 4, "accuracy": 1.0}
    check("bayes", data, written(tmp_path / "out", json.dumps(right)))
    for key, value in (("pages", 399), ("classes", 3), ("accuracy", 0.25)):
        with pytest.raises(WrongResultError, match=str(value)):
            check("bayes", data, written(tmp_path / "out", json.dumps(right | {key: value})))


def test_scan(tmp_path: Path) -> None:
    data = made(tiny("scan"), tmp_path)
    rows = list(lines(data / "uservisits"))
    check("scan", data, written(tmp_path / "right", *reversed(rows)))
    for wrong in (rows[1:], [*rows[1:], rows[0].replace("10.", "11.", 1)]):
        with pytest.raises(WrongResultError, match="copied"):
            check("scan", data, written(tmp_path / "wrong", *wrong))


def test_join_by_hand(tmp_path: Path) -> None:
    """Two addresses in the days, one outside of them; a's pages have the ranks 10 and 30."""
    written(tmp_path / "rankings", "p,10,1", "q,30,1")
    visits = ("a,p,100,5,Lynx,1", "a,q,200,6,Lynx,1", "b,q,150,20,Lynx,1", "c,p,99,99,Lynx,1")
    written(tmp_path / "uservisits", *visits)
    check("join", tmp_path, written(tmp_path / "right", "b,20,30.0", "a,11,20.0"))
    for wrong, said in (
        (("a,11,20.0", "b,20,30.0"), "largest earners"),
        (("b,20,30.0", "a,11,10.0"), r"a: \(11, 10.0\)"),
        (("b,20,30.0",), "1 addresses, expected 2"),
    ):
        with pytest.raises(WrongResultError, match=said):
            check("join", tmp_path, written(tmp_path / "wrong", *wrong))


def test_pagerank_by_hand(tmp_path: Path) -> None:
    """Two pages that link to each other keep the rank of 1."""
    data = written(tmp_path / "data", "0 1", "1 0")
    check("pagerank", data, written(tmp_path / "right", "0,1.0", "1,1.0"))
    for wrong in (("0,1.0",), ("0,1.0", "1,1.1")):
        with pytest.raises(WrongResultError):
            check("pagerank", data, written(tmp_path / "wrong", *wrong))


def test_nweight_by_hand(tmp_path: Path) -> None:
    """Three links around a ring of four lead to the vertex before; weights multiply."""
    data = written(tmp_path / "data", "0 1 0.5", "1 2 0.5", "2 3 0.4", "3 0 0.1")
    right = ("0,3,0.1", "1,0,0.02", "2,1,0.02", "3,2,0.025")
    check("nweight", data, written(tmp_path / "right", *right))
    for wrong in (right[1:], ("0,3,0.2", *right[1:]), (*right, "0,2,0.1")):
        with pytest.raises(WrongResultError):
            check("nweight", data, written(tmp_path / "wrong", *wrong))


def test_no_output_is_a_wrong_result(tmp_path: Path) -> None:
    """A program that wrote nothing has failed."""
    data = made(tiny("sort"), tmp_path)
    (tmp_path / "out").mkdir()
    with pytest.raises(WrongResultError, match="holds no part"):
        check("sort", data, tmp_path / "out")
