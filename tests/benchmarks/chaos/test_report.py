"""The report of `make chaos`, and where a resumed run continues."""

import json
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import first_fault, kinds_of
from benchmarks.chaos.jvm import ChaosError
from benchmarks.chaos.report import summary

LINES = [
    {"line": "fault", "seed": 4, "index": 0, "kind": "rm.kill", "what": "back"},
    {"line": "fault", "seed": 4, "index": 2, "kind": "rm.kill", "failed": "down"},
    {"line": "wait", "seed": 4, "net_ms": 700, "ms": 900, "faults": [[0, "rm.kill"]]},
    {"line": "wait", "seed": 4, "net_ms": 2500, "ms": 2600, "faults": [[2, "policy.kill"]]},
    {"line": "check", "seed": 4, "index": 2, "seconds": 3.5},
    {"line": "violation", "seed": 4, "index": 2, "kind": "stall", "text": "2500 ms"},
]


def test_the_report_counts_by_kind() -> None:
    """It has faults, those that could not be done, longest stalls, and violations with where to
    look.
    """
    found = summary(LINES)
    assert (found["faults"], found["comparisons"], found["longest_stall_ms"]) == (2, 1, 2500)
    assert found["kinds"]["rm.kill"] == {"faults": 2, "not_done": 1, "longest_stall_ms": 700}
    assert found["violations_by_kind"] == {"stall": 1}
    assert found["named"] == [{"seed": 4, "index": 2, "kind": "stall", "text": "2500 ms"}]


def test_a_resumed_run_goes_on_after_the_last_fault(tmp_path: Path) -> None:
    """An incomplete last line is left out. Another seed's log is refused. A new run begins at 0,
    and so does one whose faults are all done.
    """
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES) + '{"line": "fau')
    assert first_fault(tmp_path, 4, resume=True, count=5) == 3
    with pytest.raises(ChaosError, match="is of seed 4"):
        first_fault(tmp_path, 5, resume=True, count=5)
    assert first_fault(tmp_path, 4, resume=True, count=3) == 0
    assert not log.exists()
    assert first_fault(tmp_path, 5, resume=False, count=5) == 0
    assert not log.exists()
    assert first_fault(tmp_path, 5, resume=True, count=5) == 0


def test_kinds_are_chosen_by_how_they_begin() -> None:
    """An unknown word is refused with the known kinds."""
    assert kinds_of("rm,nodes.l") == ("nodes.leave", "rm.kill")
    with pytest.raises(ChaosError, match=r"known: policy\.kill"):
        kinds_of("weather")
