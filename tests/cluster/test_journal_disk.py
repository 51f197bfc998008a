"""A real cluster whose journal is on a disk that hangs."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import example
from loomcard.cluster.submit import Client
from loomcard.engine.session import replay
from loomcard.wire.journal import segments
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

DEADLINE_S = 420.0  # a minute on a quiet machine
SEGMENT_ROUNDS = 5


until = functools.partial(wait_until, seconds=DEADLINE_S)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    settings = LocalSettings(
        run_dir=tmp_path / "cluster",
        nodes=2,
        node_memory_mb=1024,
        yarn={
            "loomcard.journal.segment-rounds": str(SEGMENT_ROUNDS),
            "loomcard.round.deadline-ms": "10000",  # a slow machine is not a disk that hangs
        },
    )
    with LocalCluster(settings) as running:
        yield running


def status(cluster: LocalCluster) -> Any:
    return cluster.rest.scheduler()["schedulerInfo"]


def run_job(cluster: LocalCluster) -> None:
    client = Client(cluster.conf_dir, cluster.run_dir / "work", tuple(cluster.client_options))
    submission = client.submit(example("sleep", ("-m", "10", "-r", "0", "-mt", "3000")))
    try:
        assert submission.wait(DEADLINE_S) == 0, submission.reason()
    finally:
        submission.stop()


def next_segment(folder: Path) -> Path:
    """Return the place of the segment after the present one, when that is full."""
    epoch, _, first = segments(folder)[-1].stem.partition("-")
    return folder / f"{epoch}-{int(first) + SEGMENT_ROUNDS:010d}.jsonl"


def test_the_policy_allocates_while_the_disk_of_its_journal_hangs(cluster: LocalCluster) -> None:
    """A job gets all its containers from the policy while the disk hangs: the next segment is a
    named pipe without a reader, and a process that opens it hangs. When the disk is back the
    journal continues, and its content can be replayed.
    """
    journal = cluster.run_dir / "loomcard" / "journal"
    until(lambda: journal.is_dir() and list(journal.glob("*.jsonl")), "the journal begins")
    until(lambda: status(cluster)["bridge"]["state"] == "up", "the policy decides")
    pipe = next_segment(journal)
    os.mkfifo(pipe)
    before = status(cluster)
    run_job(cluster)
    after = status(cluster)
    assert "does the disk hang?" in after["bridge"]["journal"]["trouble"]
    assert after["allocations"]["policy"] > before["allocations"]["policy"] + 10
    assert after["allocations"]["fallback"] == before["allocations"]["fallback"]
    assert after["bridge"]["process"] == before["bridge"]["process"], "it was not started again"
    assert pipe.read_bytes(), "the disk is back: what waited is written"
    pipe.unlink()
    known = set(segments(journal))
    run_job(cluster)
    journal_now = status(cluster)["bridge"]["journal"]
    assert journal_now["trouble"] is None
    assert journal_now["lost_rounds"] > 0
    assert set(segments(journal)) - known, "it goes on in new segments"
    assert replay(journal) == []
