"""A journal that was altered, cut or made up: one error with file and line, never a traceback."""

import json
import random
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from loomcard.cli.app import run
from loomcard.experiments.gaps import Coverage, coverage
from loomcard.experiments.replay_runs import (
    as_scenario,
    compare_rounds,
    recorded_config,
    replay_own,
)
from loomcard.simulator import simulate
from loomcard.wire.journal import JournalError
from scenarios import app, compiled, scenario, stage

PLACE = re.compile(r"\.jsonl:\d+: ")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The lines of the two segments of a run."""
    folder = tmp_path_factory.mktemp("journal")
    stages = [stage([10], i + 1, after=[i - 1] if i else []) for i in range(1010)]
    wanted = scenario(app("j", *stages), app("k", stage([50] * 8)))
    simulate(wanted, compiled("drf"), policy="drf", journal=folder)
    found = {path.name: path.read_text().splitlines() for path in sorted(folder.glob("*.jsonl"))}
    assert len(found) == 2
    return {name: lines[:121] for name, lines in found.items()}


def written(folder: Path, lines: dict[str, list[str]]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, each in lines.items():
        (folder / name).write_text("\n".join(each) + "\n")
    return folder


@pytest.fixture
def altered(tmp_path, recorded):
    """A function that writes the journal with one line of its first segment replaced."""

    def alter(line: int, change) -> Path:
        lines = {name: list(each) for name, each in recorded.items()}
        first = next(iter(lines))
        lines[first][line - 1] = change(lines[first][line - 1])
        return written(tmp_path / "journal", lines)

    return alter


def decisions(change):
    def changed(line: str) -> str:
        plan = msgspec.json.decode(line)
        assert plan[2], "a line with a decision"
        plan[2][0] = change(plan[2][0])
        return msgspec.json.encode(plan).decode()

    return changed


def first_allocation(lines: list[str]) -> int:
    return next(i + 1 for i, line in enumerate(lines) if '["allocate"' in line)


CHANGES = {
    "an attempt that is not there": decisions(lambda d: [d[0], 99, *d[2:]]),
    "a node that is not there": decisions(lambda d: [*d[:4], 99, *d[5:]]),
    "an ask that is not there": decisions(lambda d: [*d[:2], 77, *d[3:]]),
    "a billion containers": decisions(lambda d: [*d[:5], 10**9, *d[6:]]),
    "no container at all": decisions(lambda d: [*d[:5], 0, *d[6:]]),
    "a container that is not there": decisions(lambda _: ["preempt", 9, 0, "FAIRNESS", 0]),
    "text for a number": decisions(lambda d: [d[0], "x", *d[2:]]),
    "a number that no machine holds": decisions(lambda d: [d[0], 10**30, *d[2:]]),
    "half a plan": lambda line: line[: len(line) // 2] + "]",
    "a plan without an end": lambda line: line[:-1],
    "nesting": lambda _: '["plan",' + "[" * 100_000 + "]" * 100_000 + "]",
    "no text": lambda _: "",
    "a batch": lambda line: line.replace('["plan"', '["batch"'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_altered_plan_is_one_line_with_its_place(recorded, altered, change, capsys):
    """`replay` exits with 2 and names file and line, without a traceback."""
    line = first_allocation(next(iter(recorded.values())))
    folder = altered(line, CHANGES[change])
    assert run(["replay", str(folder), "--policy", "fifo", "--rounds-only"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1, said
    # A wrong pair is named by its first line.
    assert re.search(rf"\.jsonl:({line}|{line - 1}): ", said), said


def test_a_allocation_of_one_more_is_found(recorded, altered):
    """A count that the ask never had cannot be in any plan."""
    line = first_allocation(next(iter(recorded.values())))
    more = decisions(lambda d: [*d[:5], d[5] + 50, *d[6:]])
    with pytest.raises(JournalError, match=rf":{line}: .* containers of an ask of "):
        compare_rounds(altered(line, more), compiled("fifo"))


HEADERS = {
    "another tag": '["header", {}]',
    "no object": '["segment", []]',
    "no handshake": '["segment", {}]',
    "a handshake that is none": '["segment", {"hello": ["hello", 1]}]',
    "a state that is none": None,
    "garbage": "\x00garbage",
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_segments_first_line_is_checked(recorded, tmp_path, header):
    """Each way in which a segment's state can be wrong is reported with its file and line 1."""
    last, lines = list(recorded.items())[-1]
    text = HEADERS[header]
    if text is None:
        tag, state = msgspec.json.decode(lines[0])
        state["mirror"]["records"] = [["node_added", 1]]
        text = msgspec.json.encode([tag, state]).decode()
    folder = written(tmp_path / "journal", {last: [text, *lines[1:]]})
    for read in (lambda: compare_rounds(folder, compiled("fifo")), lambda: replay_own(folder)):
        with pytest.raises(JournalError, match=r"\.jsonl:1: "):
            read()


def test_a_dropped_round_is_found(recorded, tmp_path):
    """A journal in which a batch is missing says so; it does not skip the rounds up to the next
    snapshot.
    """
    lines = {name: list(each) for name, each in recorded.items()}
    first = next(iter(lines))
    del lines[first][21:23]
    with pytest.raises(JournalError, match=rf"{first}:22: record \d+ expected, \d+ came"):
        compare_rounds(written(tmp_path / "journal", lines), compiled("fifo"))


def test_rounds_lost_between_segments_are_stepped_over(recorded, tmp_path):
    """A journal that could not be written for a while continues in a new segment."""
    folder = written(tmp_path / "journal", recorded)
    assert next(len(lines) for lines in recorded.values()) == 121
    found = compare_rounds(folder, compiled("drf"))
    assert found.rounds == found.same == sum(len(lines) // 2 for lines in recorded.values())


@pytest.fixture
def seven(tmp_path, recorded):
    """A function that writes the journal in seven segments after changing some of them. Each
    segment begins with the same state, which the numbers of rounds ignore.
    """

    def write(change) -> Path:
        header, *lines = next(iter(recorded.values()))
        epoch = next(iter(recorded)).partition("-")[0]
        parts = {f"{epoch}-{1 + i * 8:010d}.jsonl": lines[i * 16 : i * 16 + 16] for i in range(7)}
        tag, state = msgspec.json.decode(header)
        later = msgspec.json.encode([tag, state | {"mirror": {}}]).decode()
        heads = [header, *[later] * 6]
        whole = {n: [h, *part] for h, (n, part) in zip(heads, parts.items(), strict=True)}
        change(whole, list(whole))
        return written(tmp_path / "journal", whole)

    return write


def cut(number: int, to: int):
    def change(lines: dict[str, list[str]], names: list[str]) -> None:
        lines[names[number]] = lines[names[number]][:to]

    return change


def deleted(*numbers: int):
    def change(lines: dict[str, list[str]], names: list[str]) -> None:
        for each in numbers:
            del lines[names[each]]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (cut(0, 11), r"rounds 6 to 8 between \d+-0{9}1\.jsonl and \d+-0{9}9\.jsonl"),
        (cut(0, 16), r"round 8 between \d+-0{9}1\.jsonl and \d+-0{9}9\.jsonl"),
        (deleted(3), r"rounds 25 to 32 between \d+-0{8}17\.jsonl and \d+-0{8}33\.jsonl"),
        (deleted(1, 3), r"rounds 9 to 16 between .*; rounds 25 to 32 between "),
    ],
)
def test_missing_rounds_are_named(seven, change, says) -> None:
    """A journal that was cut inside a segment, or lacks one, was not compared completely."""
    folder = seven(change)
    with pytest.raises(JournalError, match=says):
        coverage(folder).check(folder)


def test_what_retention_deleted_is_no_gap(seven) -> None:
    """The oldest segments are deleted by design; a journal without any loss begins with round 1."""
    assert coverage(seven(deleted())) == Coverage(1, [])
    assert coverage(seven(deleted(0, 1))) == Coverage(17, [])


def test_the_round_that_killed_a_process_is_no_gap(seven) -> None:
    """Its batch was never answered; the next process begins without a state."""

    def kill(lines: dict[str, list[str]], names: list[str]) -> None:
        tag, state = msgspec.json.decode(lines[names[2]][0])
        del state["mirror"]
        lines[names[2]][0] = msgspec.json.encode([tag, state]).decode()
        lines[names[1]] = lines[names[1]][:16]

    assert coverage(seven(kill)) == Coverage(1, [])


def test_replay_ends_with_2_and_the_missing_rounds(recorded, tmp_path, capsys) -> None:
    """The rounds that exist are run again and counted; then one line names the missing ones."""
    folder = written(tmp_path / "journal", recorded)
    for arguments in ([], ["--policy", "drf", "--rounds-only"]):
        assert run(["replay", str(folder), *arguments]) == 2
        printed = capsys.readouterr()
        assert "71 rounds" in printed.out
        [line] = printed.err.splitlines()
        assert "rounds 61 to 1000 between" in line
        assert "bring the segments back" in line


def test_replay_says_where_the_journal_begins(recorded, tmp_path, capsys) -> None:
    """Without its oldest segment the others are compared, with exit status 0."""
    last = list(recorded)[-1]
    folder = written(tmp_path / "journal", {last: recorded[last]})
    assert run(["replay", str(folder)]) == 0
    assert "begins with round 1001" in capsys.readouterr().out
    assert run(["replay", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["journal"] == {"begins": 1001, "gaps": []}


def test_a_renamed_segment_is_refused(recorded, tmp_path, capsys) -> None:
    """Without its number it is unknown whether rounds are missing."""
    folder = written(tmp_path / "journal", {"a.jsonl": next(iter(recorded.values()))})
    assert run(["replay", str(folder)]) == 2
    assert "EPOCH-ROUND.jsonl" in capsys.readouterr().err


def test_a_cut_off_end_is_no_error(recorded, tmp_path):
    """A killed process leaves half a line, which is left out."""
    lines = {name: list(each) for name, each in recorded.items()}
    last = list(lines)[-1]
    lines[last] = [*lines[last][:18], lines[last][18][:-5]]
    folder = written(tmp_path / "journal", lines)
    assert replay_own(folder).differ == []
    rounds = sum((len(each) - 1) // 2 for each in lines.values())
    assert compare_rounds(folder, compiled("drf")).rounds == rounds - 1


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_ends_in_a_traceback(recorded, tmp_path, seed):
    """Whatever character, number or line is changed, the error is JournalError, with its place."""
    rng = random.Random(seed)  # noqa: S311
    located = 0
    for _ in range(25):
        folder = written(tmp_path / "journal", _damaged(recorded, rng))
        for read in (
            lambda f: compare_rounds(f, compiled("fifo")),
            replay_own,
            recorded_config,
            lambda f: as_scenario(f, 1),
        ):
            said = error_of(read, folder)
            assert len(said.splitlines()) <= 1
            located += PLACE.search(said) is not None
    assert located > 25


def error_of(read, folder: Path) -> str:
    """Return the reader's error; any other exception is the test's failure."""
    try:
        read(folder)
    except JournalError as error:
        return str(error)
    return ""


def _damaged(recorded: dict[str, list[str]], rng: random.Random) -> dict[str, list[str]]:
    lines = {name: list(each) for name, each in recorded.items()}
    of = lines[rng.choice(list(lines))]
    at = rng.randrange(len(of))
    line = of[at]
    match rng.randrange(6):
        case 0:
            del of[at]
        case 1:
            of[at] = line[: rng.randrange(len(line))]
        case 2:
            place = rng.randrange(len(line))
            of[at] = line[:place] + rng.choice('0"[]{},x\\') + line[place + 1 :]
        case 3:
            numbers = list(re.finditer(r"\b\d+\b", line))
            number = rng.choice(numbers)
            value = rng.choice(["-1", "0", "7", "1e400", "null", str(10**25)])
            of[at] = line[: number.start()] + value + line[number.end() :]
        case 4:
            of[at] = rng.choice(of)
        case 5:
            of.insert(at, line)
    return lines


def test_what_is_no_folder_of_segments(tmp_path, capsys):
    """A file, a missing folder, a folder in a segment's place, and binary data give one line
    each.
    """
    (tmp_path / "a-file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "1-0.jsonl").mkdir()
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "1-0.jsonl").write_bytes(bytes(range(256)))
    for name in ("a-file", "missing", "empty", "odd", "binary"):
        for policy in ([], ["--policy", "drf"]):
            assert run(["replay", str(tmp_path / name), *policy]) == 2, name
            said = capsys.readouterr().err
            assert len(said.splitlines()) == 1
            assert str(tmp_path / name) in said
