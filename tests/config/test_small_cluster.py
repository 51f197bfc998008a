"""A policy that answers but allocates nothing is a warning before it governs."""

from pathlib import Path

import pytest

from loomcard.api.registry import built_in
from loomcard.cli.app import run
from loomcard.config import compile_config
from loomcard.config.small_cluster import _play, left_waiting

POLICY = """
import os
from dataclasses import dataclass
from loomcard import Plan, fill

@dataclass(frozen=True)
class Mine:
    def decide(self, view):
        plan = Plan(view)
        {body}
        return plan
"""
FILL = "fill(plan, order=lambda member: member.submitted_ms)"
RULE = 'any(plan.wait(ask, "LATER", view.now_ms + 60_000) for ask in view.asks)'


def mine(folder: Path, body: str) -> str:
    """Write a configuration with that policy in one of its two leaf queues; return its path."""
    (folder / "mine.py").write_text(POLICY.format(body=body))
    text = "version: 1\npolicy: drf\nqueues:\n  a: {}\n  b:\n    policy: mine.py:Mine\n"
    (folder / "mine.yml").write_text(text)
    return str(folder / "mine.yml")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", "root.b: its policy allocates nothing: 3 containers of 1024 MB are asked for"),
        ("os._exit(4) if view.asks else None", "ended with status 4 on a small cluster"),
        (FILL, None),
        (RULE, None),
        (f"{FILL} if view.now_ms >= 5000 else plan.wake_at(5000)", None),
    ],
)
def test_what_allocates_nothing_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, said: str | None
):
    """There is no warning for a policy that serves, early or late, or that states its rule."""
    assert run(["policy", "check", mine(tmp_path, body)]) == 0
    out = capsys.readouterr().out
    assert (said or "") in out
    assert ("LC140" in out) == (said is not None)


def test_the_warning_stands_at_the_queue(tmp_path: Path):
    """Line and path are those of the queue that gets nothing, not those of its parent."""
    file = Path(mine(tmp_path, "pass"))
    config = compile_config(file.read_text(), file.name, beside=tmp_path)
    [found] = left_waiting(file.read_text(), config, None)
    assert (found.line, found.path, found.severity) == (6, "queues.b", "warning")


@pytest.mark.parametrize("policy", sorted(built_in()))
def test_every_policy_of_ours_serves_a_small_cluster(policy: str):
    """It does so alone, and above and below another policy if that is allowed."""
    text = f"version: 1\npolicy: {policy}\n"
    assert _play(compile_config(text, "alone.yml"), None) == []
