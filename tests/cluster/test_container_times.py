import json
from pathlib import Path

import pytest

from loomcard.cluster.container_times import (
    ContainerRun,
    containers_over_time,
    job_times,
    read_runs,
)
from loomcard.cluster.embedded import ClusterError


def run(number: int, started: int, ended: int | None, *, am: bool = False) -> ContainerRun:
    return ContainerRun(f"c{number}", "application_1_0001", "n1", am, 256, 1, started, ended)


def test_waiting_and_completion_leave_the_master_out() -> None:
    """Waiting ends with the first container that is not the AM's; completion is the end of the last
    one.
    """
    runs = [run(1, 1_100, 9_999, am=True), run(2, 3_000, 5_000), run(3, 2_500, 4_000)]
    document = {"id": "application_1_0001", "startedTime": 1_000, "finalStatus": "SUCCEEDED"}
    times = job_times(document, "pi", "fifo", runs)
    assert (times.waiting_ms, times.completion_ms) == (1_500, 4_000)


def test_a_job_that_still_runs_has_no_completion_time() -> None:
    """A figure is given only for what has happened."""
    document = {"id": "application_1_0001", "startedTime": 0, "finalStatus": "UNDEFINED"}
    times = job_times(document, "pi", "fifo", [run(2, 10, None), run(3, 10, 20)])
    assert (times.waiting_ms, times.completion_ms) == (10, None)
    empty = job_times(document, "pi", "fifo", [])
    assert (empty.waiting_ms, empty.completion_ms) == (None, None)


def test_nodes_lines_become_runs(tmp_path: Path) -> None:
    """Each container has one run: its first RUNNING and its first end, by time of start."""
    shared = {"application": "a", "node": "n1", "am": False, "memory_mb": 256, "vcores": 1}
    events = [
        {"at_ms": 7, "event": "running", "container": "c2"},
        {"at_ms": 5, "event": "running", "container": "c1"},
        {"at_ms": 9, "event": "ended", "container": "c1"},
        {"at_ms": 11, "event": "ended", "container": "c1"},
        {"at_ms": 12, "event": "ended", "container": "never-ran"},
    ]
    file = tmp_path / "containers.jsonl"
    file.write_text("".join(json.dumps(event | shared) + "\n" for event in events))
    found = [(each.container, each.started_ms, each.ended_ms) for each in read_runs(file)]
    assert found == [("c1", 5, 9), ("c2", 7, None)]
    assert read_runs(tmp_path / "missing") == []


def test_a_line_that_is_still_written_does_not_count_yet(tmp_path: Path) -> None:
    """A reader of a running cluster sees only complete lines; half a line in the middle is
    damage.
    """
    whole = {"at_ms": 7, "event": "running", "container": "c", "application": "a", "node": "n"}
    text = json.dumps(whole | {"am": False, "memory_mb": 256, "vcores": 1}) + "\n"
    file = tmp_path / "containers.jsonl"
    file.write_text(text + text[:40])
    assert [each.container for each in read_runs(file)] == ["c"]
    file.write_text(text[:40] + text)
    with pytest.raises(ClusterError, match="has half a line"):
        read_runs(file)


def test_counts_over_time_include_the_start_and_not_the_end() -> None:
    """At each moment exactly the running containers are counted."""
    counts = containers_over_time([run(1, 0, 50), run(2, 50, 100)], 0, 100, 5)
    assert counts == {"application_1_0001": [1, 1, 1, 1, 0]}
