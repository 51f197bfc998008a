"""What all tests share: how properties draw their examples, which tests run at the same time, and
how tests that need a Docker engine are handled when none answers.
"""

import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from xdist.scheduler import LoadGroupScheduling

from shared_cluster import shared_cluster, third_party  # noqa: F401 - fixtures

# `make test` draws the same examples every time; `make explore` draws others, by seeds it prints.
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # it measures the machine
)
settings.register_profile(
    "mutants", settings.get_profile("same"), phases=(Phase.explicit, Phase.generate)
)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("LOOMCARD_EXAMPLES", "same"))


@functools.cache
def docker_answers() -> bool:
    """Return whether a Docker engine with compose v2 answers on this machine."""
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        try:
            if subprocess.run(command, capture_output=True, timeout=30, check=False).returncode:
                return False
        except (OSError, subprocess.TimeoutExpired):
            return False
    return True


class Files(LoadGroupScheduling):
    """Gives each file as a whole to one worker; clusters wait at the same time as each other and as
    all other tests.
    """

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Files:
    """Replace the scheduler that gives one test at a time to the free worker."""
    return Files(config, log)


BENCHMARKS = Path(__file__).parent / "benchmarks"
LONGEST_FIRST = ("docker", "cluster")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for a cluster, or for the compiled build, come first, because they take
    longest. Those of a file stay together, except the tests in it that need no cluster. Docker's
    clusters share one engine.
    """

    def place(item: pytest.Item) -> int:
        if "compiled_build" in getattr(item, "fixturenames", ()):
            return 0
        for number, name in enumerate(LONGEST_FIRST):
            if item.get_closest_marker(name):
                group = name if name == "docker" else f"cluster-{item.path.stem}"
                if "shared_cluster" in getattr(item, "fixturenames", ()):
                    group = "shared-cluster"
                item.add_marker(pytest.mark.xdist_group(group))
                return number
        return len(LONGEST_FIRST)

    for item in items:
        if item.path.is_relative_to(BENCHMARKS):
            item.add_marker(pytest.mark.slow)
    items.sort(key=place)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check that the groups take effect: xdist sends them in the ids of tests, and with a pytest
    that it does not know it silently sends none.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        grouped = [i for i in session.items if i.get_closest_marker("xdist_group")]
        assert all("@" in i.nodeid for i in grouped), "xdist does not know this pytest's groups"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs Docker if there is none; under CI that is a failure."""
    if item.get_closest_marker("docker") is None or docker_answers():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("CI=true, yet no Docker engine with compose answers: see `docker info`")
    pytest.skip("no Docker engine answers here; start one (see `docker info`) to run these")


@pytest.fixture
def no_jars(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Provide jars by name only, for tests that start no JVM: they need neither a JDK nor `make
    setup`.
    """
    folder = tmp_path_factory.mktemp("jars")
    for name in ("loomcard-yarn-0.jar", "hadoop-common-3.4.2.jar"):
        (folder / name).write_text(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOMCARD_JARS", str(folder))
        yield
