"""What all tests share: how properties draw their examples, which tests run beside each other, and
what is done about tests that need a Docker engine where none answers.
"""

import functools
import os
import subprocess

import pytest
from hypothesis import settings

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
"""Tests with one of these markers run one after the other, the longest group first."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers (`make test`) clusters wait beside each other and beside the rest: one
    worker has those in Docker, one the embedded ones, and others take the rest file by file.
    """

    def group(item: pytest.Item) -> str:
        marked = (name for name in GROUPS if item.get_closest_marker(name))
        return next(marked, item.nodeid.partition("::")[0])

    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    order = {name: place for place, name in enumerate(GROUPS)}
    items.sort(key=lambda item: order.get(group(item), len(order)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs Docker where there is none; under CI that is a failure instead."""
    if item.get_closest_marker("docker") is None or docker_answers():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("CI=true, yet no Docker engine with compose answers: see `docker info`")
    pytest.skip("no Docker engine answers here; start one (see `docker info`) to run these")
