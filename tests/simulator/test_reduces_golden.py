"""When reduces are asked for: the cases that the player's tests and Hadoop's own class agree on."""

import json
from pathlib import Path
from typing import Any

import pytest

from loomcard.simulator.mapreduce import Progress, reduces_to_ask, slow_start_over

CASES = json.loads((Path(__file__).parents[1] / "golden/player/reduces.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reduces_are_asked_for_as_hadoop_does(case: dict[str, Any]) -> None:
    """Slow start, then the ramp, as RMContainerAllocator.scheduleReduces."""
    counts = case["counts"]
    progress = Progress(
        maps=counts["total_maps"],
        maps_completed=counts["completed_maps"],
        maps_scheduled=counts["scheduled_maps"],
        maps_assigned=counts["assigned_maps"],
        reduces_scheduled=counts["scheduled_reduces"],
        reduces_assigned=counts["assigned_reduces"],
        reduces_pending=counts["pending_reduces"],
    )
    types = 2 if case["with_vcores"] else 1
    sizes = (case[name][:types] for name in ("map", "reduce", "headroom"))
    pending = progress.reduces_pending and slow_start_over(progress, case["slowstart"])
    assert (reduces_to_ask(progress, *sizes) if pending else 0) == case["change"]
