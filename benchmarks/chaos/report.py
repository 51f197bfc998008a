"""What a run of ``make chaos`` found, from its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from benchmarks.chaos.compare import violation_kinds


def summary(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a log: faults and longest stall by kind, comparisons, violations."""
    kinds: dict[str, dict[str, int]] = {}
    checks, seconds, violations, longest = 0, 0.0, [], 0
    for line in lines:
        what = line["line"]
        if what == "fault":
            row = kinds.setdefault(line["kind"], _row())
            row["faults"] += 1
            row["not_done"] += "failed" in line
        elif what == "wait":
            longest = max(longest, line["net_ms"])
            for _, kind in line["faults"]:
                row = kinds.setdefault(kind, _row())
                row["longest_stall_ms"] = max(row["longest_stall_ms"], line["net_ms"])
        elif what == "check":
            checks += 1
            seconds += line["seconds"]
        elif what == "violation":
            violations.append({key: line[key] for key in ("seed", "index", "kind", "text")})
    return {
        "faults": sum(row["faults"] for row in kinds.values()),
        "comparisons": checks,
        "longest_stall_ms": longest,
        "violations": len(violations),
        "violations_by_kind": dict(violation_kinds(violations)),
        "kinds": kinds,
        "named": violations,
    }


def _row() -> dict[str, int]:
    return {"faults": 0, "not_done": 0, "longest_stall_ms": 0}


def table(found: dict[str, Any]) -> Table:
    """Faults by kind, with the longest stall beside each."""
    result = Table(title="faults by kind")
    for title in ("kind", "faults", "could not be done", "longest stall beside it, ms"):
        result.add_column(title, justify="left" if title == "kind" else "right")
    for kind, row in sorted(found["kinds"].items()):
        result.add_row(kind, *(f"{row[key]:,}" for key in _row()))
    return result
