"""Playing a scenario under a policy that must not let an ask wait that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loomcard.player import play as player
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario


def play(scenario: Scenario, policy: Path | str, **how: Any) -> RunRecord:
    """Call the player's ``play``. Raises ValueError also if a queue stalled: its figures then come
    from the FIFO in part.
    """
    record = player.play(scenario, policy, **how)
    if record.stalls:
        raise ValueError(f"{record.workload} under {record.policy}: {record.stalls} stalls")
    return record
