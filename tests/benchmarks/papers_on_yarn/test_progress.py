"""A run whose figures come from the FIFO in part is not a result."""

from pathlib import Path

import pytest

from benchmarks.papers_on_yarn import progress
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario


def test_a_run_in_which_a_queue_stalled_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without stalls the record is returned unchanged."""
    record = RunRecord("hdrf", "churn", 1, "local", ["memory_mb"], [])
    scenario = Scenario("churn", 1, ["memory_mb", "vcores"], [], [])
    monkeypatch.setattr(progress.player, "play", lambda *_, **__: record)
    assert progress.play(scenario, "hdrf", folder=tmp_path) is record
    record.stalls = 2
    with pytest.raises(ValueError, match="churn under hdrf: 2 stalls"):
        progress.play(scenario, "hdrf", folder=tmp_path)
