"""Who used how much, from journals: by hand, beside the simulator's record, and over restarts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from loomcard.player.journal_usage import Usage, usage
from loomcard.simulator import simulate
from loomcard.testing import Cluster
from loomcard.wire.journal import JournalError
from scenarios import app, compiled, scenario, stage

EPOCH = 1_790_000_000_000
APP = "application_1790000000000_0001"
CONFIG = {"queues": [{"path": "root"}, {"path": "root.a"}, {"path": "root.b"}]}
STATE = [
    ["snapshot", 0, "start"],
    ["config", 0, 1, CONFIG],
    ["application_added", 0, 1, APP, 1, "alice", "x", "DAG", [], 0, 0, {}],
    ["attempt_added", 0, 1, 1, 1, False],
]


def head(epoch: int, schema: int = 4) -> list[Any]:
    hello = ["hello", schema, epoch, "x", "3.4.2", ["memory_mb", "vcores"], [], {}]
    return ["segment", {"hello": hello}]


def round_(number: int, now_ms: int, *records: list[Any], plan: Any = ()) -> list[list[Any]]:
    """A batch and its plan; sequence numbers do not matter within a segment."""
    return [
        ["batch", number, 1, now_ms, [0, 0, 0, 0], records],
        ["plan", number, plan, [], [], {}, {}, [], [], [], None],
    ]


def ask(key: int, memory: int) -> list[Any]:
    return ["ask", 0, 1, 20, key, False, [memory, 1], 1, {}, {}, True, ""]


def added(container: int, number: int, memory: int, at_ms: int, began_ms: int) -> list[Any]:
    what = [20, 1, False, "running", "recovered", began_ms]
    return ["container_added", at_ms, container, 1, number, 1, [memory, 1], *what]


def write(folder: Path, name: str, lines: list[list[Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    texts = (json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / name).write_text("".join(texts))
    return folder


def whole(_: int) -> tuple[str, int]:
    return "", 1 << 62


def amounts(found: Usage) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return container-milliseconds and MB-milliseconds of each row."""
    return {
        key: (used.container_ms, used.amount_ms["memory_mb"]) for key, used in found.rows.items()
    }


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two containers are allocated 1 s after the beginning: one grows and moves with its
    application, and runs at the end; the other ends after 4 s.
    """
    plan = [["allocate", 1, 20, 1, 1, 1, 1], ["allocate", 1, 20, 2, 1, 1, 1]]
    rounds = [
        *round_(1, 1000, *STATE, ask(1, 100), ask(2, 1000), plan=plan),
        *round_(2, 3000, ["outcomes", 3000, 1, 1, [1, 2], []]),
        *round_(3, 6000, ["container_resized", 4000, 1, [200, 1]],
                ["container_completed", 5000, 2, "completed", 0, None, None]),
        *round_(4, 9000, ["application_changed", 7000, 1, 2, 0]),
    ]  # fmt: skip
    return write(tmp_path / "one", f"{EPOCH}-1.jsonl", [head(EPOCH), *rounds])


def test_a_container_counts_from_its_round_with_the_size_and_queue_that_it_has(
    journal: Path,
) -> None:
    """As in YARN's figures: the outcomes of a plan are written with the next round only."""
    found = usage([journal], None, None, whole)
    assert amounts(found) == {
        ("", "root.a", "alice"): (3000 + 3000 + 4000, 100 * 3000 + 200 * 3000 + 1000 * 4000),
        ("", "root.b", "alice"): (2000, 200 * 2000),
    }
    assert [used.containers for used in found.rows.values()] == [2, 1]
    assert (found.begins_ms, found.ends_ms, found.running) == (EPOCH + 1000, EPOCH + 9000, 1)
    assert (found.restarts, found.lost) == ([], 0)


def test_use_is_cut_to_the_time_asked_for_and_to_its_periods(journal: Path) -> None:
    """Periods and the time asked for together; the parts make the whole."""

    def second(at_ms: int) -> tuple[str, int]:
        return str(at_ms // 1000 - EPOCH // 1000), (at_ms // 1000 + 1) * 1000

    found = usage([journal], EPOCH + 4500, EPOCH + 6000, second)
    assert {key[0]: used.container_ms for key, used in found.rows.items()} == {"4": 1000, "5": 1000}
    parts = usage([journal], None, None, second)
    total = amounts(usage([journal], None, None, whole))
    in_parts = sum(each.container_ms for each in parts.rows.values())
    assert in_parts == sum(container_ms for container_ms, _ in total.values())
    assert usage([journal], EPOCH + 9000, None, whole).rows == {}


@pytest.mark.parametrize("epoch", [EPOCH + 100_000, EPOCH - 500_000])
def test_a_restart_interrupts_no_container_that_is_there_again(
    journal: Path, tmp_path: Path, epoch: int
) -> None:
    """Another ResourceManager writes a journal of its own and gives other numbers; it may have
    started before the one that was active first. A container that ran meanwhile is counted once;
    one that is not there again, until it was last known.
    """
    zero = EPOCH + 100_000 - epoch
    state = [STATE[0], STATE[1], [*STATE[2][:4], 2, *STATE[2][5:]], STATE[3]]
    there = [
        added(7, 1, 200, zero + 4000, zero - 99_000),
        added(8, 9, 10, zero + 4000, zero + 2000),
    ]
    end = ["container_completed", zero + 6000, 7, "completed", 0, None, None]
    rounds = [*round_(1, zero + 5000, *state, *there), *round_(2, zero + 6000, end)]
    other = write(tmp_path / "two", f"{epoch}-1.jsonl", [head(epoch), *rounds])
    alone = amounts(usage([journal], None, None, whole))
    before = alone["", "root.b", "alice"]
    found = usage([other, journal], None, None, whole)
    [row] = [amounts(found)[key] for key in found.rows if key[1] == "root.b"]
    between = 100_000 + 6000 - 9000
    assert row == (before[0] + between + 4000, before[1] + 200 * between + 10 * 4000)
    assert (found.restarts, found.lost) == ([(EPOCH + 9000, EPOCH + 105_000)], 0)
    assert found.running == 1
    rounds = round_(1, zero + 5000, *state)
    again = write(tmp_path / "three", f"{epoch}-1.jsonl", [head(epoch), *rounds])
    without = usage([journal, again], None, None, whole)
    assert (amounts(without), without.lost) == (alone, 1)


def test_use_is_that_of_the_simulators_own_record(tmp_path: Path) -> None:
    """Its record of each container, made without a journal; the applications are of two users."""
    wanted = scenario(
        app("early", stage([700] * 6), user="bob"), app("late", stage([300] * 9), submit_ms=500)
    )
    record = simulate(wanted, compiled("fifo"), policy="fifo", journal=tmp_path)
    expected: Counter[str] = Counter()
    for row in record.containers:
        assert row.allocated_ms is not None
        assert row.finished_ms is not None
        user = "bob" if row.application == "early" else "alice"
        expected[user] += row.finished_ms - row.allocated_ms
    found = usage([tmp_path], None, None, whole)
    assert {key[2]: used.container_ms for key, used in found.rows.items()} == expected
    assert sum(used.containers for used in found.rows.values()) == len(record.containers)


def played(folder: Path, segment_rounds: int) -> Path:
    """Ten rounds in which containers of two applications begin and end, and the mirror is built
    again in the middle.
    """
    cluster = Cluster("drf", nodes=[(8192, 8)], journal=folder, segment_rounds=segment_rounds)
    for number in (1, 2):
        cluster.add_app(number)
        cluster.ask(number, 6, (1024, 1))
    for turn in range(10):
        cluster.round(advance_ms=100)
        if turn == 5:
            cluster.snapshot()
        elif turn > 1:
            cluster.complete(min(cluster.containers))
    return folder


def test_segments_change_nothing_but_for_one_that_is_lost(tmp_path: Path) -> None:
    """Each segment begins with the whole state. With the rounds that were lost go what both began
    and ended in them, and the ends of other containers.
    """
    one = usage([played(tmp_path / "one", 1000)], None, None, whole)
    folder = played(tmp_path / "many", 1)
    many = usage([folder], None, None, whole)
    assert amounts(many) == amounts(one)
    assert (many.restarts, many.lost) == ([], 0)
    for segment in sorted(folder.glob("*.jsonl"))[2:5]:
        segment.unlink()
    cut = usage([folder], None, None, whole)
    assert (len(cut.restarts), cut.lost) == (1, 2)
    [row], [all_] = cut.rows.values(), one.rows.values()
    assert 0 < all_.container_ms - row.container_ms <= 2 * 300


def test_a_segment_that_is_named_twice_does_not_count_twice(journal: Path) -> None:
    with pytest.raises(JournalError, match="would count twice"):
        usage([journal, journal], None, None, whole)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([head(EPOCH, schema=99)], "schema 99.*reads up to"),
        ([head(EPOCH), *round_(1, 1, ["container_completed", 1, 5, "x", 0])], "does not fit"),
        ([["what"]], r"expected \[.segment"),
    ],
)
def test_a_broken_journal_is_one_error_with_its_place(
    tmp_path: Path, lines: list[Any], said: str
) -> None:
    folder = write(tmp_path / "broken", f"{EPOCH}-1.jsonl", lines)
    with pytest.raises(JournalError, match=said) as error:
        usage([folder], None, None, whole)
    assert str(folder / f"{EPOCH}-1.jsonl") in str(error.value)
