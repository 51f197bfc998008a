"""A policy that ends its process is a finding, and the process that checks it continues."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loomcard.api.registry import PolicyNotFoundError
from loomcard.config import Finding, FindingsError, compile_config, isolated
from loomcard.config.isolated import ChildEndedError, find_isolated, run_isolated

FindingsOf = Callable[..., list[Finding]]

HEAD = "import os\nimport signal\nfrom dataclasses import dataclass\nfrom loomcard import Plan\n"
CLASS = """

@dataclass(frozen=True)
class Mine:
    n: int = 0

    def __post_init__(self):
        {built}

    def decide(self, view):
        {decide}
        return Plan(view)
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


def policy(folder: Path, imported: str = "", built: str = "pass", decide: str = "pass") -> str:
    """Write a policy's file that runs these statements; return the name of its class."""
    file = folder / "mine.py"
    file.write_text(f"{HEAD}{imported}\n" + CLASS.format(built=built, decide=decide))
    return f"{file}:Mine"


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ({"imported": "os._exit(0)"}, "ended the process that loaded it, with status 0"),
        ({"imported": KILL}, "ended the process that loaded it, by signal SIGKILL"),
        ({"built": "os._exit(3)"}, "ended the process that loaded it, with status 3"),
        ({"decide": "os._exit(0)"}, "ended its process in its first round, with status 0"),
        ({"decide": KILL}, "ended its process in its first round, by signal SIGKILL"),
    ],
)
def test_what_ends_the_process_is_one_finding_at_its_policy(
    tmp_path: Path, findings_of: FindingsOf, ends: dict[str, str], says: str
) -> None:
    """If loading the policy ends the process, each queue that names it has a finding. If its round
    does, the innermost place has one.
    """
    name = policy(tmp_path, **ends)
    text = f"version: 1\npolicy: drf\nqueues:\n  a: {{}}\n  b:\n    policy: {name}\n"
    [found] = findings_of(text, isolated=True)
    assert (found.line, found.path, found.rule) == (6, "queues.b.policy", "LC130")
    assert name in found.message
    assert says in found.message
    assert "expected" in found.message
    assert "os._exit()" in found.hint


def test_it_is_found_again_at_the_next_queue(tmp_path: Path, findings_of: FindingsOf) -> None:
    """One child process is enough for all queues of the policy, and none of them loads it in this
    process.
    """
    name = policy(tmp_path, imported="os._exit(0)")
    text = f"version: 1\npolicy: drf\nqueues:\n  a: {{policy: '{name}'}}\n  b: {{policy: '{name}'}}"
    assert [found.line for found in findings_of(text, isolated=True)] == [4, 5]


def test_the_policy_of_a_file_without_queues_is_named(
    tmp_path: Path, findings_of: FindingsOf
) -> None:
    """The policy is that of root.default, and its place is the file's own key."""
    text = f"version: 1\npolicy: {policy(tmp_path, decide='os._exit(0)')}\n"
    [found] = findings_of(text, isolated=True)
    assert (found.line, found.path) == (2, "policy")


def test_a_first_round_that_does_not_end_is_a_finding(
    tmp_path: Path, findings_of: FindingsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check does not hang when the policy does. The time is enough to reach the policy, since
    what hangs before is no policy's fault.
    """
    monkeypatch.setattr(isolated, "FIRST_ROUND_S", 2.0)
    text = f"version: 1\npolicy: {policy(tmp_path, decide='signal.pause()')}\n"
    [found] = findings_of(text, isolated=True)
    assert "did not finish its first round" in found.message
    assert "returns" in found.hint


@pytest.mark.parametrize("decide", ["pass", "raise ValueError", "raise SystemExit(0)"])
def test_what_ends_no_process_is_compiled_as_ever(tmp_path: Path, decide: str) -> None:
    """The hash is the same, with amounts of any resource, and if files come from folders alone."""
    policy(tmp_path, decide=decide)
    text = "version: 1\npolicy: mine.py:Mine\nqueues:\n  a: {guaranteed: {fpga: 1}}\n"
    for places in ({"beside": tmp_path}, {"policy_path": [tmp_path]}):
        assert compile_config(text, "x", **places, isolated=True) == compile_config(
            text, "x", **places
        )


def test_no_child_is_made_for_policies_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of our policies stays fast."""
    monkeypatch.setattr(os, "fork", None)
    assert compile_config("version: 1\npolicy: hdrf\nqueues: {a: {}}", "x", isolated=True)["hash"]


def test_a_child_prints_nothing_and_changes_nothing_here(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    findings_of: FindingsOf,
) -> None:
    """Nothing is printed even on the descriptors below Python's own files."""
    monkeypatch.delitem(sys.modules, "loomcard_policy_mine", raising=False)
    name = policy(tmp_path, imported="os.write(1, b'out'); os.write(2, b'err'); os._exit(0)")
    assert findings_of(f"version: 1\npolicy: {name}\n", isolated=True)
    assert capfd.readouterr() == ("", "")
    assert "loomcard_policy_mine" not in sys.modules


def test_a_name_given_by_itself_is_tried_too(tmp_path: Path) -> None:
    """``simulate --policy file.py:Class`` gives such a name."""
    with pytest.raises(PolicyNotFoundError, match="with status 4") as error:
        find_isolated(policy(tmp_path, imported="os._exit(4)"))
    assert "os._exit()" in error.value.hint
    assert find_isolated(policy(tmp_path)).__name__ == "Mine"


def test_no_child_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """No child is left after work that is late, or after Ctrl-C. Children of other tests do not
    count.
    """
    fork, children = os.fork, list[int]()

    def counted() -> int:
        if child := fork():
            children.append(child)
        return child

    monkeypatch.setattr(os, "fork", counted)
    with pytest.raises(ChildEndedError) as lost:
        run_isolated(lambda _: signal.pause(), within_s=0.01)
    assert (lost.value.how, lost.value.last_number) == (None, None)
    monkeypatch.setattr(isolated, "_received", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_isolated(lambda _: signal.pause())
    assert len(children) == 2
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def _interrupted(*_: object) -> tuple[bytes, bool]:
    raise KeyboardInterrupt


def test_the_error_of_a_lost_policy_names_every_finding(tmp_path: Path) -> None:
    """The other errors of the file are found at the same time."""
    name = policy(tmp_path, imported="os._exit(0)")
    with pytest.raises(FindingsError) as error:
        compile_config(
            f"version: 1\npolicy: {name}\nqueues: {{a: {{policy: dfr}}}}", "x", isolated=True
        )
    assert len(error.value.findings) == 2
