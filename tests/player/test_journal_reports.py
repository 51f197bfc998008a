"""What policies reported over time, from the journal of a real cluster."""

import json
from pathlib import Path
from typing import Any

from loomcard.player.journal_reports import reported_states
from loomcard.results.policy_series import StateRow

EPOCH_MS = 1_000_000
HEAD = ["segment", {"hello": ["hello", 1, EPOCH_MS, "x", "3.4.2", ["memory_mb"], [], {}]}]


def round_(number: int, now_ms: int, reports: dict[str, Any]) -> list[list[Any]]:
    return [
        ["batch", number, 1, now_ms, [0, 0, 0, 0], []],
        ["plan", number, [], [], [], reports, {}, [], [], [], None],
    ]


def report(value: float) -> dict[str, Any]:
    about = {"name": "d", "label": "delta", "unit": "share", "panel": "delta"}
    return {"typed": 1, "figures": [{**about, "value": value}], "tables": []}


SECOND = {"root": report(0.2)}


def write(path: Path, rounds: list[list[Any]]) -> None:
    lines = [json.dumps(line, separators=(",", ":")) for line in [HEAD, *rounds]]
    path.write_text("\n".join(lines) + "\n")


def test_states_are_those_of_the_run_since_its_zero(tmp_path: Path) -> None:
    """Rounds before and after it, plain reports, and plans that report nothing are skipped."""
    write(tmp_path / "1-1.jsonl", [*round_(1, 90, {"root": report(0.1)}), *round_(2, 150, SECOND)])
    more = [*round_(3, 170, {"root": {"delta": 1}}), *round_(4, 180, {})]
    more += [*round_(5, 190, {"root": report(0.3)}), *round_(6, 300, {"root": report(0.4)})]
    write(tmp_path / "1-2.jsonl", more)
    where = ("root", "delta", "d", "delta", "share")
    assert reported_states(tmp_path, EPOCH_MS + 100, 150) == [
        StateRow(50, *where, 0.2), StateRow(90, *where, 0.3),
    ]  # fmt: skip


def test_without_a_journal_or_a_beginning_nothing_was_reported(tmp_path: Path) -> None:
    """A run that was stopped early gives an empty series, not an error."""
    assert reported_states(tmp_path, 0, 100) == []
    assert reported_states(tmp_path, None, 100) == []
