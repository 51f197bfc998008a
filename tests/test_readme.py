"""The policy and the configurations in the README work unchanged."""

import re
from pathlib import Path

import pytest

from loomcard.api import registry
from loomcard.api.plan import Plan
from loomcard.config import compile_config

README = (Path(__file__).parents[1] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_the_policy_shown_is_a_policy(tmp_path: Path) -> None:
    """A reader who copies the fifteen lines into a file can name that file in a configuration."""
    [source] = blocks("python")
    file = tmp_path / "my_drf.py"
    file.write_text(source)
    name = f"{file}:DominantResourceFairness"
    assert registry.find(name).decide.__annotations__["return"] is Plan
    assert len([line for line in source.splitlines() if line.strip()]) <= 15
    config = compile_config(f"version: 1\nkind: policy\npolicy: '{name}'\n", "mine.yml")
    assert config["queues"][1]["policy"] == name


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_configurations_shown_compile(text: str) -> None:
    """Each YAML block is a configuration without findings."""
    config = compile_config(text, "readme.yml")
    assert config["queues"][0]["path"] == "root"
