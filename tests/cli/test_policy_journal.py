"""`loomcard policy check --journal`: exit status, the first difference, a policy in a file."""

import json
import lzma
from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.simulator import simulate
from loomcard.testing import Cluster
from scenarios import app, compiled, scenario, stage

POLICY = '''
from dataclasses import dataclass

from loomcard import Plan, fill


@dataclass(frozen=True)
class Mine:
    """Counts its rounds, and saves the count."""

    leaf_only = True

    def initial(self, view, saved):
        return saved or 0

    def save(self, memory):
        return memory

    def decide(self, view, memory):
        return fill(Plan(view), order=lambda app: ({order}, memory)), memory + 1
'''


@pytest.fixture(scope="module")
def journal(tmp_path_factory) -> Path:
    """Return the journal of a fifo run in which two applications want all four slots at once."""
    folder = tmp_path_factory.mktemp("journal")
    wanted = scenario(app("early", stage([100] * 6)), app("late", stage([100] * 6)))
    simulate(wanted, compiled("fifo"), policy="fifo", journal=folder)
    return folder


@pytest.mark.parametrize(("policy", "status"), [("fifo", 0), ("drf", 1)])
def test_the_exit_status_says_whether_plans_differ(journal: Path, policy: str, status: int) -> None:
    assert run(["policy", "check", policy, "--journal", str(journal)]) == status


def test_the_first_difference_is_shown_both_ways(journal: Path, tmp_path: Path, capsys) -> None:
    """The journal may be below the folder, and compressed; the shown round is the first in which
    plans differ.
    """
    [segment] = journal.glob("*.jsonl")
    below = tmp_path / "recorded"
    below.mkdir()
    (below / f"{segment.name}.xz").write_bytes(lzma.compress(segment.read_bytes()))
    assert run(["policy", "check", "drf", "--journal", str(tmp_path), "--json"]) == 1
    [found] = json.loads(capsys.readouterr().out)
    [first] = found["journal"]["differ"]
    assert first["journal"] == str(below / f"{segment.name}.xz")
    assert first["what"].startswith("decisions[")
    assert "Allocate(" in first["recorded"]
    assert first["recorded"] != first["now"]
    assert run(["policy", "check", "drf", "--journal", str(tmp_path)]) == 1
    assert f"round {first['round']}" in capsys.readouterr().out


def test_a_policy_in_a_file_is_held_to_its_journal(tmp_path: Path, monkeypatch, capsys) -> None:
    """An edited file decides again; neither its place nor a snapshot matters."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, order in ((old, "app.number"), (new, "app.number + 0")):
        folder.mkdir()
        (folder / "mine.py").write_text(POLICY.replace("{order}", order))
        (folder / "mine.yml").write_text("version: 1\npolicy: mine.py:Mine\n")
    cluster = Cluster(f"{old}/mine.py:Mine", journal=tmp_path / "journal", nodes=[(2048, 2)])
    for number in (1, 2, 3):
        cluster.add_app(number)
        cluster.ask(number, 2)
    for _ in range(5):
        cluster.round(1000)
        cluster.complete(min(cluster.containers))
        cluster.snapshot()
    monkeypatch.chdir(new)
    checked = ["policy", "check", "mine.yml", "--journal", str(tmp_path / "journal")]
    assert run(checked) == 0
    assert "decided identically" in capsys.readouterr().out
    (new / "other.py").write_text(POLICY.replace("{order}", "-app.number"))
    (new / "mine.yml").write_text("version: 1\npolicy: other.py:Mine\n")
    assert run(checked) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not compressed", "not compressed by xz"),
        (None, "recorded under the queues root, root.default"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    journal: Path, tmp_path: Path, text: str | None, said: str, capsys
) -> None:
    """A broken file, and a configuration with other queues, give exit status 2."""
    two = tmp_path / "two.yml"
    two.write_text("version: 1\npolicy: fifo\nqueues:\n  a: {policy: fifo}\n  b: {policy: fifo}\n")
    if text is not None:
        journal = tmp_path / "1-1.jsonl.xz"
        journal.write_text(text)
    assert run(["policy", "check", str(two), "--journal", str(journal)]) == 2
    [line] = [each for each in capsys.readouterr().err.splitlines() if each]
    assert said in line
