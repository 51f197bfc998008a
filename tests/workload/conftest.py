"""Fixtures that load a workload, or list what is wrong with one."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from loomcard.validation.findings import Finding, FindingsError
from loomcard.workload import load
from loomcard.workload.scenario import Scenario

Loaded = Callable[..., Scenario]
FindingsOf = Callable[..., list[Finding]]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """Return a function that maps a YAML text to its scenario."""

    def read(text: str, *, seed: int = 1, vary: dict[str, Any] | None = None) -> Scenario:
        file = tmp_path / "w.yml"
        file.write_text(dedent(text))
        return load(file, seed=seed, vary=vary)

    return read


@pytest.fixture
def findings_of(loaded: Loaded) -> FindingsOf:
    """Return a function that maps a YAML text to all its findings, none if it loads."""

    def found(text: str, **more: Any) -> list[Finding]:
        try:
            loaded(text, **more)
        except FindingsError as error:
            return list(error.findings)
        return []

    return found
