"""A scenario's faults on the embedded cluster: NodeManagers that stop and return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from loomcard.cluster.embedded import ClusterError
from loomcard.player.settings import capacity
from loomcard.workload.scenario import Amounts, Scenario


@dataclass
class Faults:
    """Stop and start nodes at their times, on a separate thread, because stopping one takes
    seconds. `command` carries out `stop-node NAME` and `start-node NAME`; `now_ms` is the run's
    clock. `steps`: the capacity of the whole cluster over time. A stopped NodeManager unregisters,
    so the ResourceManager knows at once that its containers are lost.
    """

    scenario: Scenario
    command: Callable[[str], None]
    now_ms: Callable[[], int]
    steps: list[tuple[int, Amounts]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin: from now on the faults happen."""
        self.steps.append((0, capacity(self.scenario)))
        if self.scenario.faults:
            self._thread = threading.Thread(target=self._run, name="faults", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop: no further fault happens."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def plan(self) -> list[tuple[int, str, str]]:
        """Return what happens when: (ms, `stop-node` or `start-node`, node), by time."""
        found = []
        for fault in self.scenario.faults:
            found.append((fault.at_ms, "stop-node", fault.node))
            if fault.down_ms is not None:
                found.append((fault.at_ms + fault.down_ms, "start-node", fault.node))
        return sorted(found)

    def _run(self) -> None:
        absent: list[str] = []
        for at_ms, what, node in self.plan():
            if self._over.wait(max(0, at_ms - self.now_ms()) / 1000):
                return
            began = self.now_ms()
            try:
                self.command(f"{what} {node}")
            except ClusterError as error:
                self.failures.append(f"{what} {node}: {error}")
                continue
            if what == "stop-node":
                absent.append(node)
                self.steps.append((began, capacity(self.scenario, absent)))
            else:
                absent.remove(node)
                self.steps.append((self.now_ms(), capacity(self.scenario, absent)))
