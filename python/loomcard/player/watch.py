"""Follow a player to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from loomcard.cluster.container_times import ContainerRun
from loomcard.player.faults import Faults
from loomcard.player.process import Player
from loomcard.player.run_record import counts, zero_ms
from loomcard.simulator import Progress
from loomcard.workload.scenario import Scenario

_LOOK_S = 0.1


class Watch:
    """Follows a player to its end."""

    def __init__(
        self,
        player: Player,
        scenario: Scenario,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.player = player
        self.scenario = scenario
        self.on_progress = on_progress

    def now_ms(self) -> int:
        """The run's clock."""
        zero = zero_ms(self.player.events)
        return 0 if zero is None else int(time.time() * 1000) - zero

    def ended_ms(self) -> int:
        """When the last application ended; otherwise when the last event happened."""
        zero = zero_ms(self.player.events) or 0
        return max((event["at_ms"] - zero for event in self.player.events), default=0)

    def until_over(self, faults: Faults | None = None) -> bool:
        """Wait for the player's end; return False if Ctrl-C came first."""
        try:
            while not self.player.ended():
                fresh = self.player.follow()
                if faults is not None and any(event["event"] == "zero" for event in fresh):
                    faults.start()
                self._report_progress()
                time.sleep(_LOOK_S)
            self.player.follow()
            self._report_progress()
        except KeyboardInterrupt:
            return False
        finally:
            if faults is not None:
                faults.stop()
        return counts(self.player.events)["done"] > 0

    def _report_progress(self) -> None:
        if self.on_progress is not None:
            seen = counts(self.player.events)
            total = len(self.scenario.applications)
            self.on_progress(Progress(self.now_ms(), seen["ended"], seen["closed"], total))


def settled(look: Callable[[], Sequence[ContainerRun]], seconds: float) -> Sequence[ContainerRun]:
    """What `look` sees when nodes have reported every end, or when the time is over."""
    deadline = time.monotonic() + seconds
    runs = look()
    while any(run.ended_ms is None for run in runs) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
        runs = look()
    return runs
