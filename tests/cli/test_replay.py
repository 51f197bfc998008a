"""`loomcard replay`: exit status, other queues, the recorded policy again."""

import json
from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.config import compile_config
from loomcard.simulator import simulate
from scenarios import app, compiled, scenario, stage

TWO = "version: 1\npolicy: fifo\nqueues:\n  a: {policy: fifo}\n  b: {policy: fifo}\n"


@pytest.fixture(scope="module")
def journal(tmp_path_factory) -> str:
    """Return the journal of a fifo run in which two applications want all four slots at once."""
    folder = tmp_path_factory.mktemp("journal")
    wanted = scenario(app("early", stage([100] * 6)), app("late", stage([100] * 6)))
    simulate(wanted, compiled("fifo"), policy="fifo", journal=folder)
    return str(folder)


@pytest.fixture
def two(tmp_path: Path) -> str:
    """Return a configuration without the recorded root.default."""
    (tmp_path / "two.yml").write_text(TWO)
    return str(tmp_path / "two.yml")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--expect-same"], 0),
        (["--policy", "fifo", "--expect-same", "--rounds-only"], 0),
        (["--policy", "drf", "--rounds-only"], 0),
        (["--policy", "drf", "--expect-same", "--rounds-only"], 1),
    ],
)
def test_the_exit_status_says_whether_rounds_differ(
    journal: str, arguments: list[str], status: int
) -> None:
    """It is 1 for a difference under `--expect-same`, 0 otherwise."""
    assert run(["replay", journal, *arguments]) == status


def test_the_recorded_policy_runs_again(journal: str, tmp_path: Path, capsys) -> None:
    """Without a policy the recorded one is run again, and a plan that differs is named."""
    assert run(["replay", journal, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rounds"] > 3
    assert found["differ"] == []
    [segment] = Path(journal).glob("*.jsonl")
    lines = segment.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if '["allocate",1,20,1,1,4,' in line)
    lines[at] = lines[at].replace('["allocate",1,20,1,1,4,', '["allocate",1,20,1,1,3,')
    (tmp_path / segment.name).write_text("\n".join(lines) + "\n")
    assert run(["replay", str(tmp_path), "--expect-same"]) == 1
    said = capsys.readouterr().out
    assert "1 came out otherwise" in said
    assert f"{tmp_path / segment.name}, round {at // 2}" in said


def test_queues_are_mapped(journal: str, two: str, capsys) -> None:
    """Applications of a recorded queue run in the queue that the map names, in rounds and to the
    end.
    """
    assert run(["replay", journal, "--policy", two]) == 2
    assert "--map root.default=QUEUE" in capsys.readouterr().err
    mapped = ["--map", "default=root.b"]
    assert run(["replay", journal, "--policy", two, *mapped, "--expect-same", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rounds"]["same"] == found["rounds"]["rounds"]
    recorded, other = found["to_the_end"]
    assert recorded["makespan_ms"] == other["makespan_ms"]


def test_queues_that_went_away_leave_the_other_policy(journal: str, monkeypatch, capsys) -> None:
    """A last configuration without the earlier queues is not simulated, and the output says so."""
    monkeypatch.setattr(
        "loomcard.experiments.replay_runs.recorded_config", lambda _: compile_config(TWO, "b.yml")
    )
    assert run(["replay", journal, "--policy", "drf", "--json"]) == 0
    printed = capsys.readouterr()
    assert [each["policy"] for each in json.loads(printed.out)["to_the_end"]] == ["drf"]
    assert "b.yml has no leaf queue 'root.default'" in printed.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--map", "default"], "expected OLD=NEW"),
        (["--map", "default=c"], "no leaf root.c"),
        (["--map", "default=root"], "no leaf root.root"),
        (["--map", "default=a", "--map", "default=b"], "is root.a already"),
    ],
)
def test_a_wrong_map_is_one_line(journal: str, two: str, arguments, says, capsys) -> None:
    """Each mistake is named before a round is read."""
    assert run(["replay", journal, "--policy", two, *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_what_needs_another_policy_says_so(journal: str, capsys) -> None:
    """`--map` and `--out` have no meaning for the recorded policy."""
    assert run(["replay", journal, "--map", "a=b"]) == 2
    assert "--policy" in capsys.readouterr().err


def test_the_tables_compare_both_simulations(journal: str, tmp_path: Path, capsys) -> None:
    """The result is in words round by round, and like every run's tables to the end; the folder is
    a run's folder.
    """
    out = tmp_path / "out"
    assert run(["replay", journal, "--policy", "drf", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "rounds: drf would have decided" in said
    assert "as recorded" in said
    assert run(["report", str(out), "--baseline", "as recorded"]) == 0
    assert "against as recorded" in capsys.readouterr().out


def test_a_folder_without_a_journal_is_one_line(tmp_path: Path, capsys) -> None:
    """The line names what is missing."""
    assert run(["replay", str(tmp_path), "--policy", "drf"]) == 2
    assert "no journal segment" in capsys.readouterr().err
