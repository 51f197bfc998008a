"""The house rules on size and form."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_MAX, FUNCTION_MAX, JAVA_MAX = 300, 50, 300
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?|base)$", re.IGNORECASE)
WAITING = re.compile(r"wait|eventually|until", re.IGNORECASE)
CHECKING = re.compile(r"raises|warns|assert|check_|expect|fail")
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
JAVA_CLOCK = r"(System\.(nanoTime|currentTimeMillis)|Time\.(now|monotonicNow))\(\)"
JAVA_MEASURED = re.compile(rf"{JAVA_CLOCK}\s*-|-\s*{JAVA_CLOCK}")
JAVA_METHOD = re.compile(r"^ {2,8}[\w<>\[\], ]+ (\w+)\([^;]*$")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(pattern: str, *folders: str) -> list[Path]:
    """Files of the checkout that are ours: nothing that a build made."""
    found = (p for folder in folders for p in (ROOT / folder).rglob(pattern))
    return sorted(p for p in found if not {"target", "__pycache__"} & set(p.parts))


PYTHON = files("*.py", "python", "benchmarks", "tests")
JAVA = files("*.java", "jvm-bridge")
TESTS = [p for p in PYTHON if p.is_relative_to(ROOT / "tests")]
JAVA_TESTS = [p for p in JAVA if "test" in p.parts]


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_code_lines(source: str) -> int:
    """Lines that are not blank, comment or docstring, of an attribute too (PEP 257)."""
    words: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            words.update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(1 for n, s in lines if s.strip() and s.strip()[0] != "#" and n not in words)


def java_code_lines(source: str) -> int:
    """Lines that are not blank or comment."""
    lines = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL).splitlines()
    return sum(1 for s in lines if s.strip() and not s.strip().startswith("//"))


def functions(source: str) -> Iterator[Function]:
    yield from (n for n in ast.walk(ast.parse(source)) if isinstance(n, Function))


def size(function: Function) -> int:
    """Lines of a function with its signature, without its docstring."""
    docstring = ast.get_docstring(function, clean=False) or ""
    return (function.end_lineno or 0) - function.lineno + 1 - len(docstring.splitlines())


def asserts(function: Function) -> bool:
    """Whether a test can fail on what it sees: it asserts, expects an error or calls a check."""
    return any(
        isinstance(n, ast.Assert)
        or (isinstance(n, ast.Call) and CHECKING.search(ast.unparse(n.func)) is not None)
        for n in ast.walk(function)
    )


def sleeps(source: str) -> list[int]:
    """Lines that sleep, but for the pause of a function that is named for what it waits for."""
    pausing = [f for f in functions(source) if WAITING.search(f.name) and "test" not in f.name]
    allowed = {n for f in pausing for n in range(f.lineno, (f.end_lineno or 0) + 1)}
    calls = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call))
    slept = (n.lineno for n in calls if ast.unparse(n.func).split(".")[-1] == "sleep")
    return [line for line in slept if line not in allowed]


def clocks(source: str) -> list[int]:
    """Lines that read a clock, but in a function that is named for what it waits for: code
    that measures time is about to assert on it.
    """
    waiting = [f for f in functions(source) if WAITING.search(f.name) and "test" not in f.name]
    allowed = {n for f in waiting for n in range(f.lineno, (f.end_lineno or 0) + 1)}
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    read = [n.lineno for n in calls if ast.unparse(n.func) in {f"time.{c}" for c in CLOCKS}]
    read += [n.lineno for n in calls if ast.unparse(n.func) in CLOCKS - {"time"}]
    return sorted(line for line in read if line not in allowed)


def measured_bounds(source: str) -> list[int]:
    """Lines that hold a time seen on a real cluster, ``..._ms``, against a number."""
    found = []
    for compared in (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Compare)):
        parts = [n for side in (compared.left, *compared.comparators) for n in ast.walk(side)]
        names = [getattr(n, "attr", getattr(n, "id", getattr(n, "value", ""))) for n in parts]
        timed = any(isinstance(name, str) and name.endswith("_ms") for name in names)
        if timed and any(isinstance(name, int | float) and name > 0 for name in names):
            found.append(compared.lineno)
    return found


def java_lines_outside_waits(found: re.Pattern[str], source: str, name: str) -> list[int]:
    """Lines that match, but in a method, or a class, that is named for what it waits for."""
    method, lines = "", []
    for n, line in enumerate(source.splitlines(), 1):
        if begun := JAVA_METHOD.match(line):
            method = begun[1]
        if found.search(line) and not WAITING.search(method + name):
            lines.append(n)
    return lines


def java_sleeps(source: str, name: str = "") -> list[int]:
    """As `sleeps`, for Java: the last method begun above the line, or the class, names the wait."""
    return java_lines_outside_waits(re.compile(r"(Thread|TimeUnit\.\w+)\.sleep\("), source, name)


@pytest.mark.parametrize("path", PYTHON, ids=short)
def test_python_stays_small(path: Path) -> None:
    """A file holds at most 300 lines of code, a function 50 lines."""
    source = path.read_text()
    assert python_code_lines(source) <= FILE_MAX
    assert [f"{f.name} {size(f)}" for f in functions(source) if size(f) > FUNCTION_MAX] == []


@pytest.mark.parametrize("path", JAVA, ids=short)
def test_java_stays_small(path: Path) -> None:
    """A file holds at most 300 lines of code; Checkstyle holds the rest."""
    assert java_code_lines(path.read_text()) <= JAVA_MAX


@pytest.mark.parametrize("path", TESTS, ids=short)
def test_tests_assert_and_never_sleep(path: Path) -> None:
    """Every test can fail, and waits on conditions, not on the clock."""
    source = path.read_text()
    tests = [f for f in functions(source) if f.name.startswith("test")]
    assert [f.name for f in tests if not asserts(f)] == []
    assert sleeps(source) == []


@pytest.mark.parametrize("path", JAVA_TESTS, ids=short)
def test_java_tests_assert_and_never_sleep(path: Path) -> None:
    """As for Python; only methods named for what they wait for may pause."""
    source = path.read_text()
    assert "@Test" not in source or re.search(r"\b(assert\w*|fail|check\w*)\(|expected", source)
    assert java_sleeps(source, path.stem) == []


REAL = re.compile(r"pytest\.mark\.(cluster|docker)")
"""A test on a real cluster."""


@pytest.mark.parametrize("path", TESTS, ids=short)
def test_tests_assert_nothing_on_wall_time(path: Path) -> None:
    """A test that measures time answers by the load of the machine."""
    source = path.read_text()
    assert clocks(source) == []
    if REAL.search(source):
        assert measured_bounds(source) == []


@pytest.mark.parametrize("path", JAVA_TESTS, ids=short)
def test_java_tests_assert_nothing_on_wall_time(path: Path) -> None:
    """As for Python."""
    assert java_lines_outside_waits(JAVA_MEASURED, path.read_text(), path.stem) == []


def test_rooms_have_names_that_say_something() -> None:
    """No utils, helpers, common, misc, base or manager."""
    rooms = [(p, part) for p in PYTHON + JAVA for part in (*p.relative_to(ROOT).parts, p.stem)]
    assert sorted({short(p) for p, part in rooms if VAGUE.search(part)}) == []


def test_the_rules_bite() -> None:
    """Each check finds its fault in a sample: a rule that never fires proves nothing."""
    sample = 'def test_x():\n    """Says much."""\n    # and\n\n    sleep(1)\n'
    assert python_code_lines(sample) == 2
    assert [asserts(f) for f in functions(sample)] == [False]
    assert sleeps(sample) == [5]
    assert sleeps("def wait_for(x):\n    while not x():\n        sleep(0.1)\n") == []
    java = "/* a\n b */\n  void testX() {\n    // no\n    TimeUnit.SECONDS.sleep(5);\n  }\n"
    assert java_code_lines(java) == 3
    assert java_sleeps(java) == [5]
    assert java_sleeps(java.replace("testX", "awaitX")) == []
    assert clocks("def test_x():\n    begin = time.monotonic()\n") == [2]
    assert clocks("def wait_for(x):\n    end = time.monotonic() + 5\n") == []
    assert measured_bounds("assert row.started_ms < 15_000\n") == [1]
    assert measured_bounds('assert summary(x)["makespan_ms"] > 9\n') == [1]
    assert measured_bounds("assert row.started_ms < row.finished_ms\n") == []
    assert java_lines_outside_waits(JAVA_MEASURED, "t = System.nanoTime() - begin;", "X") == [1]
    assert VAGUE.search("string_utils")
    assert not VAGUE.search("database")


FOLDERS = ("python", "tests", "benchmarks", "jvm-bridge")
FOLDER_MAX = 19
UNCOUNTED = {"shipped", "golden"}
"""Folders of files that are looked up by name, one for each workload, experiment or message: they
grow with what there is, and nobody reads them one after the other.
"""


def crowded(paths: list[Path], most: int) -> dict[str, int]:
    """Folders that hold more files than that."""
    counts = Counter(p.parent for p in paths if p.is_file() and not UNCOUNTED & set(p.parts))
    return {short(folder): count for folder, count in counts.items() if count > most}


def test_a_folder_is_seen_at_a_glance() -> None:
    """Under 20 files, whatever they are but what a build leaves beside them."""
    sources = [p for p in files("*", *FOLDERS) if p.suffix not in {".pyc", ".so"}]
    assert {"loomcard", "wire", "main"} <= {part for p in sources for part in p.parts}
    assert crowded(sources, FOLDER_MAX) == {}
    assert crowded(files("*.md", "docs"), FOLDER_MAX) == {}


def test_a_crowded_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file too many, but where files are looked up by name."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    for folder in ("full", "shipped"):
        (tmp_path / folder).mkdir()
        for number in range(20):
            (tmp_path / folder / f"{number}.yml").touch()
    assert crowded(files("*", "full", "shipped"), FOLDER_MAX) == {"full": 20}
    (tmp_path / "full" / "0.yml").unlink()
    assert crowded(files("*", "full", "shipped"), FOLDER_MAX) == {}
