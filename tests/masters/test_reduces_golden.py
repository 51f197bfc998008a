"""When reduces are asked for: the cases that the player's tests and Hadoop's own class agree on."""

import json
from pathlib import Path
from typing import Any

import pytest

from loomcard.masters.mapreduce import (
    Progress,
    reduces_to_ask,
    reduces_to_preempt,
    slow_start_over,
)

GOLDEN = Path(__file__).parents[1] / "golden/player"
CASES = json.loads((GOLDEN / "reduces.json").read_text())
GIVEN_UP = json.loads((GOLDEN / "gives_up.json").read_text())


def progress_of(counts: dict[str, int]) -> Progress:
    return Progress(
        maps=counts["total_maps"],
        maps_completed=counts["completed_maps"],
        maps_scheduled=counts["scheduled_maps"],
        maps_assigned=counts["assigned_maps"],
        reduces_scheduled=counts["scheduled_reduces"],
        reduces_assigned=counts["assigned_reduces"],
        reduces_pending=counts["pending_reduces"],
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reduces_are_asked_for_as_hadoop_does(case: dict[str, Any]) -> None:
    """Slow start, then the ramp, as RMContainerAllocator.scheduleReduces."""
    progress = progress_of(case["counts"])
    types = 2 if case["with_vcores"] else 1
    sizes = (case[name][:types] for name in ("map", "reduce", "headroom"))
    pending = progress.reduces_pending and slow_start_over(progress, case["slowstart"])
    assert (reduces_to_ask(progress, *sizes) if pending else 0) == case["change"]


@pytest.mark.parametrize("case", GIVEN_UP, ids=lambda case: case["name"])
def test_reduces_are_given_up_as_the_player_does(case: dict[str, Any]) -> None:
    """Maps that could not run otherwise get the room of reduces."""
    sizes = (case[name] for name in ("map", "reduce", "headroom"))
    assert reduces_to_preempt(progress_of(case["counts"]), *sizes) == case["gives_up"]
