"""The times at which containers were allocated, from the journal."""

import json
from pathlib import Path

from loomcard.player.journal_allocations import allocated_ms

SEGMENT = [
    ["segment", {"hello": ["hello", 1, 1_000_000, "x", "3.4.2", ["memory_mb", "vcores"], [], {}]}],
    ["batch", 1, 1, 100, [0, 0, 0, 0], [
        ["application_added", 90, 7, "application_1_0002", 1, "u", "a", "DAG", [], 0, 90, {}],
        ["attempt_added", 95, 3, 7, 1, True],
    ]],
    ["plan", 1, [["allocate", 3, 20, 1, 1, 2, 1], ["preempt", 9, 0, "", 1],
                 ["allocate", 3, 20, 1, 2, 3, 1]], [], [], {}, {}, [], [], [], None],
    ["batch", 2, 3, 250, [0, 0, 0, 0], [
        ["outcomes", 240, 1, 1, [4, 5, 6], [[2, 2, "NODE_FULL"]]],
        ["container_added", 245, 4, 3, 7, 1, [1, 1], 20, 1, False, "allocated", "fallback"],
    ]],
    ["plan", 2, [], [], [], {}, {}, [], [], [], None],
]  # fmt: skip

KEY = ("application_1_0002", 1)
ALLOCATED = {
    (*KEY, 4): 1_000_100,
    (*KEY, 5): 1_000_100,
    (*KEY, 6): 1_000_100,
    (*KEY, 7): 1_000_245,
}


def write(path: Path, lines: list[list[object]]) -> None:
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def test_a_container_was_allocated_when_its_plan_was_asked_for(tmp_path: Path) -> None:
    """Refused ones take no number; allocations of the fallback have their own time."""
    write(tmp_path / "1-1.jsonl", SEGMENT)
    assert allocated_ms(tmp_path) == ALLOCATED


def test_a_segment_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    """A long run's journal has several segments: attempts keep their numbers, and the outcomes of a
    plan may be in the next one.
    """
    write(tmp_path / "1-1.jsonl", SEGMENT[:3])
    write(tmp_path / "1-2.jsonl", [SEGMENT[0], *SEGMENT[3:]])
    assert allocated_ms(tmp_path) == ALLOCATED
