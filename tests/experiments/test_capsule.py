"""A capsule shows the fault for which it was kept again, on another machine."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from compiled import flat
from loomcard.cli.app import run
from loomcard.engine.session import Session
from loomcard.experiments.capsule import is_capsule, opened, show
from loomcard.experiments.inputs import InputError
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

SOURCE = """
import os, time
from dataclasses import dataclass
from loomcard import Plan, fill

@dataclass(frozen=True)
class Odd:
    how: str = "serve"

    def decide(self, view):
        plan = Plan(view)
        if not view.asks or self.how == "serve":
            return fill(plan, order=lambda app: app.submitted_ms)
        if self.how == "raise":
            raise ValueError("on purpose")
        if self.how == "exit":
            os._exit(3)
        while self.how == "hang":
            time.sleep(60)
        return plan
"""


def kept(folder: Path, how: str, kind: str, *, answered: bool = True) -> Path:
    """Return a capsule as a ResourceManager writes it, of a policy that does ``how`` at its first
    ask.
    """
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    compiled = flat("odd.py:Odd", how=how) | {"files": {"odd.py:Odd": digest}}
    engine = Cluster(flat())
    engine.add_node(1, 4096, 4)
    engine.round()
    engine.add_app(1)
    engine.ask(1, 2)
    engine.exchange()
    copies = folder / "copies"
    copies.mkdir()
    (copies / f"{digest}.py").write_text(SOURCE)
    session = Session.restored({"hello": json.loads(r.write(engine.session.hello))}, copies)
    lines = [f'["segment",{{"hello":{r.write(engine.session.hello)}}}]']
    for number, (batch, _) in enumerate(engine.history):
        text = batch.replace(
            json.dumps(flat(), sort_keys=True, separators=(",", ":")),
            json.dumps(compiled, sort_keys=True, separators=(",", ":")),
        )
        assert number or text != batch
        lines.append(text)
        if answered or number + 1 < len(engine.history):
            lines.append(session.decide(text))
    about = {
        "kind": kind,
        "at_ms": 1_790_000_000_000,
        "version": 4,
        "source": "odd.yml",
        "reason": "queue root.default is stalled: it waits",
        "hello": json.loads(lines[0])[1]["hello"],
    }
    path = folder / "capsule.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("capsule.json", json.dumps(about))
        archive.writestr("policy.yml", "version: 1\npolicy: odd.py:Odd\n")
        archive.writestr(f"applied-policies/{digest}.py", SOURCE)
        archive.writestr("journal.jsonl", "\n".join([*lines, ""]))
    return path


def test_a_policy_that_allocates_nothing_is_shown_with_what_waits(tmp_path: Path):
    """The asks that fit and wait are named, and the rounds are those that were recorded."""
    capsule = kept(tmp_path, "nothing", "stalled")
    assert is_capsule(capsule)
    with opened(capsule) as read:
        shown = show(read)
    assert (shown.rounds, shown.differ) == (2, [])
    assert len(shown.fault) == 1
    assert "_0001 still waits for 2 x (1024, 1) (priority 20), which fits on" in shown.fault[0]


def test_what_it_raised_is_raised_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The line of the policy's own text is shown too."""
    assert run(["replay", str(kept(tmp_path, "raise", "raised"))]) == 0
    said = capsys.readouterr()
    assert "again: round 2: root.default:odd.py:Odd: ValueError: on purpose" in said.out
    assert "0 came out otherwise" in said.out
    assert 'File "odd.py", line 15, in decide' in said.err


@pytest.mark.parametrize(
    ("how", "said"), [("exit", "ended its process with status 3"), ("serve", "cannot be seen")]
)
def test_a_batch_without_a_plan_is_answered_in_a_child(
    tmp_path: Path, how: str, said: str, capsys: pytest.CaptureFixture[str]
):
    """A policy that ends its process ends only the child; one that answers here shows no fault."""
    assert run(["replay", str(kept(tmp_path, how, "failed", answered=False))]) == 0
    assert said in capsys.readouterr().out


def test_one_that_never_answers_is_left_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """It waits as long as a cluster does, but for less time in this test."""
    monkeypatch.setattr("loomcard.experiments.capsule.FIRST_ROUND_S", 0.5)
    assert run(["replay", str(kept(tmp_path, "hang", "failed", answered=False)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"] == [
        "the last batch: the policy did not answer within 0.5 s"
    ]


def test_what_is_no_capsule_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Refused are an archive of something else, an incomplete one, one that would fill the disk,
    and options that have no meaning for it.
    """
    good = kept(tmp_path, "serve", "late")
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("capsule.json", "{}")
    torn = tmp_path / "torn.zip"
    torn.write_bytes(good.read_bytes()[100:])
    for path, said in ((other, "not a capsule"), (torn, "not a capsule")):
        assert run(["replay", str(path)]) == 2
        assert said in capsys.readouterr().err
    assert run(["replay", str(good), "--policy", "drf"]) == 2
    assert "replayed as it is" in capsys.readouterr().err


def test_one_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is refused before anything of it is unpacked."""
    monkeypatch.setattr("loomcard.experiments.capsule.MOST_BYTES", 1000)
    with (
        pytest.raises(InputError, match="more than a capsule has"),
        opened(kept(tmp_path, "serve", "late")),
    ):
        pass
