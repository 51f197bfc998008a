"""The reports of policies, as `loomcard status` shows them: labels, units, a table for equal
queues.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from loomcard.api.report import as_json
from loomcard.cluster.report_tables import Table, tables, text
from scripted import Held, ReportedState

GOLDEN = Path(__file__).parents[1] / "golden" / "shown.json"


def queue(path: str, state: object) -> dict[str, Any]:
    return {"path": path, "report": None if state is None else as_json(state)}


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text("utf-8")), ids=str)
def test_values_are_written_as_text(case: dict[str, Any]) -> None:
    assert text(case["value"], case["unit"]) == case["text"]


def test_a_queue_with_figures_of_its_own_has_them_below_each_other() -> None:
    """Each figure has its unit; then come the tables that have rows."""
    state = ReportedState(0.5, 1200, None, (Held("a", 2), Held("b", 0)))
    found = list(tables([queue("root", None), queue("root.a", state)]))
    assert found == [
        Table(
            "root.a", ["figure", "value"],
            [["used", "50.0 %"], ["waiting", "1,200 containers"], ["mood", "-"]], [False, True],
        ),
        Table(
            "members of root.a", ["application", "holds, containers"],
            [["a", "2"], ["b", "0"]], [False, True],
        ),
    ]  # fmt: skip


def test_queues_with_the_same_figures_share_a_table() -> None:
    """There is a row per queue, in the document's order; a plain report has a figure per key."""
    queues = [queue(f"root.{name}", ReportedState(0.25, 3, name, ())) for name in "ba"]
    found = list(tables([queues[0], queue("root", {"calls": 7}), queues[1]]))
    assert found == [
        Table(
            "", ["queue", "used", "waiting, containers", "mood"],
            [["root.b", "25.0 %", "3", "b"], ["root.a", "25.0 %", "3", "a"]],
            [False, True, True, False],
        ),
        Table("root", ["figure", "value"], [["calls", "7"]], [False, True]),
    ]  # fmt: skip


def test_what_the_policy_above_reports_stands_beside_the_queues_own() -> None:
    """The report from above has a name of its own, in a table with others of the same figures."""
    nested = queue("root.a", {"delta": 0.5}) | {"report_from_above": {"share": 1}}
    found = [table.rows for table in tables([queue("root", {"share": 2}), nested])]
    assert found == [[["root", "2"], ["root.a from above", "1"]], [["delta", "0.5"]]]
