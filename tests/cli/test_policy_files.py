"""A policy's file that a command cannot load: the line of the error, and how to name its class."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from loomcard.cli.policy.commands import policy

run = CliRunner().invoke


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\ny = = 2\n", "line 2, cannot be loaded: SyntaxError"),
        ("import json\nimport no_such_module_here\n", "line 2, cannot be loaded: ModuleNotFound"),
    ],
)
def test_a_policys_file_that_cannot_be_loaded_names_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    """It names no place in a configuration that the user did not write."""
    (tmp_path / "bad.py").write_text(text)
    named = f"{tmp_path}/bad.py:Bad"
    done = run(policy, ["check", named])
    assert done.exit_code == 2
    assert done.output.startswith(f"{named}: error LC130: policy: {tmp_path}/bad.py, {said}")
    assert done.output.endswith("(correct that line, or install what it needs)\n")


@pytest.mark.parametrize("in_yaml", [True, False])
def test_a_policys_file_without_its_class_says_how_to_name_it(
    tmp_path: Path, in_yaml: bool
) -> None:
    """The error does not list the names of other policies, which are no help."""
    given = str(tmp_path / "courtesy.py")
    (tmp_path / "p.yml").write_text(f"version: 1\nkind: policy\npolicy: {given}\n")
    done = run(policy, ["check", str(tmp_path / "p.yml") if in_yaml else given])
    assert done.exit_code == 2
    assert done.output.endswith(f"(name the class, too: {given}:Class)\n")
