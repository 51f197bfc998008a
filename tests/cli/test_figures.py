"""The table of ``loomcard simulate`` and ``loomcard replay``."""

from io import StringIO

from rich.console import Console

from loomcard.cli.runs.simulation import figures


def test_the_table_leaves_out_and_counts_who_failed_or_has_not_ended():
    """A failure after a second is no quick completion; and eighty columns hold it all."""
    ends = [("SUCCEEDED", 4000, 1_010_000), ("FAILED", 0, 1000), ("KILLED", 0, None), ("", 0, None)]
    summary = {
        "policy": "capacity",
        "makespan_ms": 98_765_432,
        "utilization": {"memory_mb": 1.0},
        "jain": {"mean": 1.0},
        "applications": [
            {"state": state, "waiting_ms": wait, "completion_ms": end} for state, wait, end in ends
        ],
    }
    shown = StringIO()
    Console(file=shown, width=80).print(figures([summary, summary | {"applications": []}]))
    lines = [line.split() for line in shown.getvalue().splitlines()]
    heading = ["policy", "makespan", "waiting", "median", "completion", "median", "used", "Jain"]
    assert [*heading, "open"] in lines
    figured = ["98,765.4", "4.0", "4.0", "1,010.0", "1,010.0", "100%", "1.00", "1"]
    assert ["capacity", *figured] in lines
    assert ["failed", "applications,", "left", "out:", "capacity", "2"] in lines
