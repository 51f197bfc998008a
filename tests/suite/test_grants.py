"""When containers were granted, by the journal."""

import json
from pathlib import Path

from loomcard.suite.grants import granted_ms

SEGMENT = [
    ["segment", {"hello": ["hello", 1, 1_000_000, "x", "3.4.2", ["memory_mb", "vcores"], [], {}]}],
    ["batch", 1, 1, 100, [0, 0, 0, 0], [
        ["application_added", 90, 7, "application_1_0002", 1, "u", "a", "DAG", [], 0, 90, {}],
        ["attempt_added", 95, 3, 7, 1, True],
    ]],
    ["plan", 1, [["allocate", 3, 20, 1, 1, 2, 1], ["preempt", 9, 0, "", 1],
                 ["allocate", 3, 20, 1, 2, 3, 1]], [], [], {}, {}, [], [], None],
    ["batch", 2, 3, 250, [0, 0, 0, 0], [
        ["outcomes", 240, 1, 1, [4, 5, 6], [[2, 2, "NODE_FULL"]]],
        ["container_added", 245, 4, 3, 7, 1, [1, 1], 20, 1, False, "allocated", "fallback"],
    ]],
    ["plan", 2, [], [], [], {}, {}, [], [], None],
]  # fmt: skip


def test_a_container_was_granted_when_its_plan_was_asked_for(tmp_path: Path) -> None:
    """Refused ones take no number; what the fallback granted has its own time."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in SEGMENT)
    (tmp_path / "1-1.jsonl").write_text(text)
    key = ("application_1_0002", 1)
    assert granted_ms(tmp_path) == {
        (*key, 4): 1_000_100,
        (*key, 5): 1_000_100,
        (*key, 6): 1_000_100,
        (*key, 7): 1_000_245,
    }
