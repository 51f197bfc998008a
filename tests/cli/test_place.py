"""The command `loomcard policy place`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from loomcard.cli.app import app
from loomcard.cli.policy.commands import policy

run = CliRunner().invoke


def test_it_says_the_queue_and_the_rule() -> None:
    """And whether the queue is created; the rules that applied before say why they did not."""
    asked = ["place", "--user", "dora", "--group", "staff", "--group", "data", "placement"]
    answer = run(policy, asked)
    assert answer.output == "root.data.dora, which is created (rule 2)\n"
    answer = run(policy, ["place", "--user", "b/b", "--group", "x", "placement"])
    assert "rule 4: root.users.x.b/b does not exist, and 'b/b' cannot be" in answer.output
    assert answer.output.endswith("root.default (rule 4)\n")
    answer = run(policy, ["place", "--user", "eve", "--queue", "root.batch", "placement", "--json"])
    assert json.loads(answer.output) == {
        "queue": "root.batch", "rule": 1, "created": False, "why": []
    }  # fmt: skip


def test_a_refusal_is_exit_status_1() -> None:
    """With the reason."""
    answer = run(policy, ["place", "--user", "eve", "--queue", "nope", "placement"])
    assert answer.exit_code == 1
    assert "refused: rule 1: no queue, or more than one, is called 'nope'" in answer.output


def test_without_rules_the_submitter_decides() -> None:
    """As the ResourceManager does it."""
    assert (
        run(policy, ["place", "--user", "eve", "drf"]).output == "root.default (default rule 2)\n"
    )


def test_a_wrong_file_is_exit_status_2(tmp_path: Path) -> None:
    """With the finding's line."""
    file = tmp_path / "bad.yml"
    file.write_text("version: 1\npolicy: drf\nplacement: [{queue: root.x}]\nqueues: {a: {}}\n")
    answer = run(app, ["policy", "place", "--user", "eve", str(file)])
    assert answer.exit_code != 0
