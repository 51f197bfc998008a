"""What all tests share: how properties draw their examples, which tests run beside each other, and
what is done about tests that need a Docker engine where none answers.
"""

import functools
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# `make test` draws the same examples every time; `make explore` draws others, by seeds it prints.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("LOOMCARD_EXAMPLES", "same"))


@functools.cache
def docker_answers() -> bool:
    """Whether a Docker engine with compose v2 answers on this machine."""
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        try:
            if subprocess.run(command, capture_output=True, timeout=30, check=False).returncode:
                return False
        except (OSError, subprocess.TimeoutExpired):
            return False
    return True


GROUPS = ("docker", "cluster")
"""Files with such tests: those of a group run one after the other, and first, for they take
longest.
"""


@functools.cache
def group_of(file: str) -> str:
    """What one worker runs as a whole: the files of a marker, or else one file."""
    path = Path(__file__).parents[1] / file
    source = path.read_text() if path.is_file() else ""  # a test of tests runs files elsewhere
    return next((name for name in GROUPS if f"pytest.mark.{name}" in source), file)


class Groups(LoadScopeScheduling):
    """With several workers (`make test`) clusters wait beside each other and beside the rest."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Instead of one test a time to the free worker."""
    config.option.loadscopereorder = False
    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest groups first."""
    order = {name: place for place, name in enumerate(GROUPS)}
    items.sort(key=lambda item: order.get(group_of(item.nodeid.partition("::")[0]), len(order)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs Docker where there is none; under CI that is a failure instead."""
    if item.get_closest_marker("docker") is None or docker_answers():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("CI=true, yet no Docker engine with compose answers: see `docker info`")
    pytest.skip("no Docker engine answers here; start one (see `docker info`) to run these")
