"""Fixtures that compile a configuration, or list what is wrong with one."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from loomcard.config import Finding, FindingsError, compile_config

POLICIES = '''
"""Policies of every sort that governs differently."""

from dataclasses import dataclass
from typing import Annotated, Literal


@dataclass(frozen=True)
class Walker:
    """Governs its whole subtree."""

    setting: Literal["static", "dynamic"] = "static"
    walks_tree = True

    def decide(self, view):
        raise NotImplementedError


@dataclass(frozen=True)
class Leafy:
    """Governs applications only."""

    theta: float = 0.1
    rounds: int = 3
    names: tuple[str, ...] = ()
    leaf_only = True
    needs = frozenset({"heartbeats"})

    def __post_init__(self):
        if not 0 <= self.theta <= 1:
            raise ValueError("theta must be between 0 and 1")
        if self.rounds > 100:
            raise ValueError("too patient")

    def decide(self, view):
        raise NotImplementedError


@dataclass(frozen=True)
class Demanding:
    """Has an option without a default."""

    size: int

    def decide(self, view):
        raise NotImplementedError
'''


def _wrong(yaml_text: str, **more: Any) -> list[Finding]:
    try:
        compile_config(dedent(yaml_text), "test.yml", **more)
    except FindingsError as error:
        return list(error.findings)
    return []


@pytest.fixture(scope="session")
def queues() -> Callable[..., dict[str, dict[str, Any]]]:
    """Return a function that maps a YAML text to the compiled queues by YARN path."""

    def compiled(yaml_text: str, **more: Any) -> dict[str, dict[str, Any]]:
        config = compile_config(dedent(yaml_text), "test.yml", **more)
        return {queue["path"]: queue for queue in config["queues"]}

    return compiled


@pytest.fixture(scope="session")
def findings_of() -> Callable[..., list[Finding]]:
    """Return a function that maps a YAML text to all its findings, none if it compiles."""
    return _wrong


@pytest.fixture(scope="session")
def places() -> Callable[..., list[tuple[int, str]]]:
    """Return a function that maps a YAML text to line and path of every finding, in the order of
    the file.
    """

    def found(yaml_text: str, **more: Any) -> list[tuple[int, str]]:
        return [(finding.line, finding.path) for finding in _wrong(yaml_text, **more)]

    return found


@pytest.fixture
def sorts(tmp_path: Path) -> str:
    """Return the path of a file with the policies Walker, Leafy and Demanding."""
    file = tmp_path / "sorts.py"
    file.write_text(POLICIES)
    return str(file)
