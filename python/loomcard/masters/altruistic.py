"""An AM that plans itself: it computes which tasks must start now within its share, which it
receives as its headroom. It marks its asks DEFAULT and ALTRUISTIC (docs/simulate/dag.md, "An AM
that plans itself").
"""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS
from loomcard.masters.host import Host, Key, Running
from loomcard.masters.master import Master
from loomcard.masters.must_starts import MustStarts
from loomcard.masters.stage import Rows, StageRun
from loomcard.workload.scenario import ScenarioApplication


class AltruisticMaster(Master):
    """The AM of kinds plain and dag whose ``asks`` are altruistic.

    It states total numbers, as on YARN: when a task must start now that did not have to before,
    one row grows by one and the other shrinks by one.
    """

    def __init__(self, spec: ScenarioApplication, host: Host) -> None:
        super().__init__(spec, host)
        self._plan = MustStarts(spec.stages, host.capacity, host.beat_ms)
        self._share: Sequence[int] | None = None
        self._first_round: int | None = None  # before it, nothing was marked
        self._believed: dict[Key, int] = {}  # the asks that the ResourceManager knows
        self._timer_ms: int | None = None

    def begin(self) -> None:
        """Begin an attempt, which has sent nothing yet and knows no share."""
        self._believed.clear()
        self._share = self._first_round = None
        super().begin()

    def headroom_changed(self) -> None:
        """React to another share or another headroom."""
        self.host.listen()

    def on_heartbeat(self) -> None:
        """Read the share from the answer to a marked ask; before that the headroom is no share."""
        if self._first_round is None or self.host.round == self._first_round:
            return
        share = self.host.headroom()
        if share != self._share:
            self._share = share
            self.host.listen()

    def ask(self, *_: object) -> None:
        """Note that the waiting tasks changed; the next heartbeat sends the rows of that time."""
        self.host.listen()

    def received(self, running: Running) -> None:
        """Receive a container; the ResourceManager has already counted it off the ask."""
        self._allocated_of(running.key)
        super().received(running)
        self.host.listen()

    def completed(self, running: Running, kind: str) -> None:
        """Note that a task has ended, so that the plan may change."""
        super().completed(running, kind)
        if not self.ended:
            self.host.listen()

    def ask_again(self, key: Key) -> None:
        """Ask again: a container was lost before it had a task, and the task still waits."""
        self._allocated_of(key)
        self.host.listen()

    def _allocated_of(self, key: Key) -> None:
        self._believed[key] = self._believed.get(key, 0) - 1

    def on_send(self) -> None:
        """State every row that differs from what the ResourceManager knows."""
        must = self._must()
        for stage, most in zip(self.stages, must, strict=True):
            if not stage.opened:
                continue
            first = min(most, stage.waiting)
            counts = {DEFAULT_ASKS: first, ALTRUISTIC_ASKS: stage.waiting - first}
            for (band, count), rows in zip(counts.items(), stage.split_rows(first), strict=True):
                self._state((stage.key[0], band.start + stage.key[1]), stage, count, rows)

    def _state(self, key: Key, stage: StageRun, count: int, rows: Rows) -> None:
        believed = self._believed.get(key, 0)
        if count == believed and (stage.preferences is None or not count):
            return
        self._believed[key] = count
        if self._first_round is None:
            self._first_round = self.host.round
        self.host.state(stage, key, count, rows)

    def _must(self) -> list[int]:
        """Return for each stage how many must start; nearly nothing until the share is known."""
        if self._share is None:
            return [0] * len(self.stages)
        now = self.host.now
        waiting = [s.waiting if s.opened else len(s.spec.durations_ms) for s in self.stages]
        running = [
            (each.stage, now if each.started_ms is None else each.started_ms)
            for each in self.live.values()
            if each.task >= 0 and not each.given_up
        ]
        decision = self._plan.decide(now, self._share, waiting, running)
        if decision.next_ms is not None and decision.next_ms != self._timer_ms:
            self._timer_ms = at = max(decision.next_ms, now + 1)
            self.host.at(at, self._wake)
        return decision.must

    def _wake(self) -> None:
        if not self.ended:
            self.host.listen()
