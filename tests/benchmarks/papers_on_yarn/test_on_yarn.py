"""The harness that puts the papers' policies onto real YARN, for half a minute."""

from pathlib import Path

import pytest

from benchmarks.papers_on_yarn import hdrf

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_a_churning_cluster_is_full_of_cpus_and_of_gpus_without_cpus(tmp_path: Path) -> None:
    """Ten real NodeManagers of 4 CPUs and 4 GPUs; tasks of 0 vcores get through player, shim and
    ResourceManager, whose state the harness reads while the run goes on.
    """
    found = hdrf.churn("hdrf", tmp_path / "churn", seed=1, churn_ms=30_000)
    leaves = found["leaves"]
    assert leaves["n2_2"]["median"] == 40
    assert leaves["n1_1"]["median"] == pytest.approx(20, abs=1)
    assert leaves["n2_1"]["median"] == pytest.approx(20, abs=1)
    assert found["started_per_second"] > 0
    # The run ends with its applications killed, which a plan may still be on its way to.
    assert set(found["refusals"]) <= {"ATTEMPT_GONE"}
