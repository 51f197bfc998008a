"""The suite on a real YARN: MapReduce and Spark jobs, results checked, policies swapped live."""

import os
from pathlib import Path

import pytest

from loomcard.results.run_folder import read_json
from loomcard.suite import environment
from loomcard.suite.cluster import SuiteCluster
from loomcard.suite.on_local import LocalSuite
from loomcard.suite.prepare import Asked, prepare
from loomcard.suite.study import run_study

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark() -> environment.SparkEnvironment:
    """The environment that LOOMCARD_SUITE names, else one in build/, made once."""
    named = os.environ.get("LOOMCARD_SUITE")
    return environment.set_up(Path(named) if named else ROOT / "build" / "suite")


def test_a_slice_of_the_suite_under_two_policies(
    spark: environment.SparkEnvironment, tmp_path: Path
) -> None:
    """Every result is right and every container the named policy's; nothing falls back."""
    study = prepare(Asked(("slice",), "local", ("drf", "dress")))
    cluster: SuiteCluster
    with LocalSuite(tmp_path / "out" / "cluster", study.mixes["slice"].cluster, spark) as cluster:
        finished = run_study(study, cluster, tmp_path / "out", lambda *_: None)
    assert finished.problems == []
    assert [run["policy"] for run in finished.runs] == ["drf", "dress"]
    for run in finished.runs:
        account = read_json(tmp_path / "out" / run["folder"] / "manifest.json")["suite"]
        assert [job["result"] for job in account["jobs"]] == ["right"] * 3
        assert account["grants"]["fallback"] == 0
        # An AM and two maps and a reduce; twice a driver and two executors.
        assert account["grants"]["policy"] >= 10
        assert all(each["completion_ms"] for each in run["applications"])
        assert {each["state"] for each in run["applications"]} == {"SUCCEEDED"}
