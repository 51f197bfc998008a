"""``loomcard stress``, as a user types it."""

import json
from pathlib import Path

import pytest

from loomcard.cli.app import run

BROKEN = '''
from dataclasses import dataclass
from loomcard import ClusterView, Plan


@dataclass(frozen=True)
class Idles:
    """Allocates nothing to anyone."""

    patience: int = 1

    def decide(self, view: ClusterView) -> Plan:
        return Plan(view)
'''
ONE = ["--scenario", "tiny-weights", "--processes", "1"]


def test_a_policy_that_holds_is_ok_and_one_that_is_broken_ends_with_status_1(
    tmp_path, capsys, monkeypatch
):
    """A third party names its file; the table shows what was seen."""
    monkeypatch.chdir(tmp_path)  # a short name leaves the table room
    assert run(["stress", "drf", *ONE]) == 0
    assert "ok" in capsys.readouterr().out
    Path("idles.py").write_text(BROKEN)
    assert run(["stress", "idles.py:Idles", *ONE]) == 1
    out = capsys.readouterr().out
    assert "BROKEN [1]" in out
    assert "applications never end" in " ".join(out.split())  # lines wrap at any path


def test_a_configurations_file_gives_policy_and_options(tmp_path, capsys):
    """Its queues do not count: each scenario has its own."""
    (tmp_path / "idles.py").write_text(BROKEN)
    file = tmp_path / "mine.yml"
    file.write_text("version: 1\npolicy: idles.py:Idles\noptions: {patience: 2}\nqueues: {x: {}}\n")
    assert run(["stress", str(file), *ONE, "--json"]) == 1
    [verdict] = json.loads(capsys.readouterr().out)
    assert (verdict["policy"], verdict["scenario"]) == ("mine", "tiny-weights")
    assert {each["predicate"] for each in verdict["broken"]} >= {"ends", "idle room"}
    assert all(each["by_design"] is None for each in verdict["broken"])


def test_the_page_is_written_below_its_mark(tmp_path, capsys):
    page = tmp_path / "page.md"
    assert run(["stress", "fifo", *ONE, "--write", str(page)]) == 0
    assert "| tiny-weights | guarantee [1] |" in page.read_text()
    assert "knows guarantees and no weights" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "there is no policy 'nobody'"),
        (["drf", "--scenario", "nothing"], "no such scenario (known are many-applications"),
        (["stock:capacity"], "YARN's own scheduler is not simulated"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, said, capsys):
    assert run(["stress", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
