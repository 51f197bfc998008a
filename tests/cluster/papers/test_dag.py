"""srtf uses a hint that the command wrote and that was given to a real MapReduce job."""

import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from loomcard.api.stages.dag_hint import HINT, read_dag
from loomcard.cli.app import run
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.engine.session import replay
from loomcard.wire import messages as r
from loomcard.wire.journal import read_segments, rounds
from loomcard.wire.plain_data import decode

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

MAPS = 3
COUNTS = ["--maps", str(MAPS), "--reduces", "1", "--map-ms", "900", "--reduce-ms", "400"]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """A cluster under srtf, in the folder where `loomcard submit` looks for it."""
    monkeypatch.chdir(tmp_path)
    settings = LocalSettings(
        run_dir=tmp_path / "run" / "local",
        nodes=2,
        policy="srtf",
        # A slow machine must not make the fallback serve; memory is in each segment.
        yarn={"loomcard.round.deadline-ms": "10000", "loomcard.journal.segment-rounds": "1"},
    )
    with LocalCluster(settings) as running:
        yield running


def test_srtf_counts_the_stages_of_a_real_job(
    cluster: LocalCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The AM asks with the hint's priorities, and each task that ends is counted in its stage."""
    assert run(["dag", "mapreduce", *COUNTS]) == 0
    hint = capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(hint.encode())))
    once = "-Dmapreduce.map.speculative=false"
    assert run(["submit", "--dag", "-", "pi", "--", once, str(MAPS), "100"]) == 0
    assert "SUCCEEDED" in capsys.readouterr().out

    batches = [each.batch for each in rounds(cluster.journal_dir)]
    records = [record for batch in batches for record in batch.records]
    (added,) = [each for each in records if isinstance(each, r.ApplicationAddedRecord)]
    dag = read_dag(added.hints, types=2)
    assert dag is not None
    assert read_dag({HINT: hint}).stages == dag.stages

    asked = {record.priority for record in records if isinstance(record, r.AskChangedRecord)}
    assert {stage.priority for stage in dag.stages} <= asked
    headers = [segment.header.get("memory", {}) for segment in read_segments(cluster.journal_dir)]
    memories = [decode(memory) for header in headers for memory in header.values()]
    finished = [rows for memory in memories for rows in memory.values()]
    counts = [{stage: row[0] for stage, row in rows.items()} for rows in finished]
    # In srtf's memory, by the hint's index. The AM may unregister before its reduce's
    # container has ended, so no memory needs to contain the reduce.
    assert {"0": MAPS} in counts
    assert cluster.rest.scheduler()["schedulerInfo"]["allocations"]["fallback"] == 0
    assert replay(cluster.journal_dir) == []
