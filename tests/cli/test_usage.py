"""`loomcard usage`: the table and the document, times, and what it refuses."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.simulator import simulate
from scenarios import app, compiled, scenario, stage

HOUR_MS, HALF_MS = 3_600_000, 1_800_000


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of two hours on four containers of 1 GB, by one application."""
    folder = tmp_path_factory.mktemp("journal")
    wanted = scenario(app("one", stage([2 * HOUR_MS] * 4)))
    simulate(wanted, compiled("fifo"), policy="fifo", journal=folder)
    return folder


def test_the_table_has_hours_by_queue_and_user(journal: Path, capsys) -> None:
    assert run(["usage", str(journal)]) == 0
    out = capsys.readouterr().out
    [row] = re.findall(r"root\.default.*", out)
    assert re.findall(r"[\w.]+", row) == ["root.default", "alice", "1", "4", "8.00", "8.00", "8.00"]
    assert "the journal tells of" in out


@pytest.fixture
def india(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone whose hours begin in the middle of others."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("by", "form"), [("hour", ":00"), ("day", "-"), ("month", "-")])
def test_periods_are_those_of_this_machine(
    journal: Path, capsys, india, by: str, form: str
) -> None:
    """The parts make the whole, and all but the first and last of them are whole periods."""
    assert run(["usage", str(journal), "--by", by, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["usage"]
    assert all(form in row["period"] for row in rows)
    seconds = [row["container_seconds"] for row in rows]
    assert sum(seconds) == 4 * 2 * HOUR_MS / 1000
    assert [row["amount_seconds"]["memory_mb"] for row in rows] == [1024 * s for s in seconds]
    until_ms = HALF_MS - found["begins_ms"] % HOUR_MS  # of the first hour
    if by == "hour":
        first = until_ms % HOUR_MS * 4 / 1000
        assert seconds == [first, 14400, 14400 - first]


def test_nothing_is_used_in_a_time_that_the_journal_does_not_tell_of(journal: Path, capsys) -> None:
    assert run(["usage", str(journal), "--since", "7d", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["usage"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["JOURNAL", "--since", "last week"], "such as 7d, 12h or 30m"),
        (["JOURNAL", "--since", "2026-02-01", "--until", "2026-01-01"], "is not after --since"),
        (["JOURNAL", "--by", "week"], "'hour', 'day', 'month'"),
        (["nowhere"], "no journal segment"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_error(journal: Path, capsys, words: list[str], said: str) -> None:
    words = [str(journal) if word == "JOURNAL" else word for word in words]
    assert run(["usage", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) <= 2
