"""The harness that runs the papers' policies on real YARN, for half a minute."""

from pathlib import Path

import pytest

from benchmarks.papers_on_yarn import hdrf

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_a_churning_cluster_is_full_of_cpus_and_of_gpus_without_cpus(tmp_path: Path) -> None:
    """There are ten real NodeManagers of 4 CPUs and 4 GPUs. Tasks of 0 vcores pass player, shim and
    ResourceManager; the harness reads its state during the run.
    """
    found = hdrf.churn("hdrf", tmp_path / "churn", seed=1, churn_ms=30_000)
    leaves = found["leaves"]
    assert leaves["n2_2"]["median"] == 40
    assert leaves["n1_1"]["median"] == pytest.approx(20, abs=1)
    assert leaves["n2_1"]["median"] == pytest.approx(20, abs=1)
    assert found["started_per_second"] > 0
    # The run ends by killing its applications, while a plan for them may be on its way.
    assert set(found["refusals"]) <= {"ATTEMPT_GONE"}
