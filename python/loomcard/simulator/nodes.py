"""NodeManagers: what runs where, and when the ResourceManager is informed of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loomcard.api.random import pick
from loomcard.masters import host as masters
from loomcard.masters.clock import Clock, next_beat
from loomcard.model.objects import Container, Node
from loomcard.model.resource import Resource
from loomcard.simulator.resourcemanager import ResourceManager
from loomcard.simulator.thrashing import Pressure
from loomcard.workload.scenario import Fault, Scenario, ScenarioNode


class Running(masters.Running):
    """A container's process, from its launch on."""

    __slots__ = ("container", "left_ms", "machine")

    def __init__(self, container: Container, machine: NodeManager) -> None:
        ask, spec = container.ask_key, machine.spec
        key = (ask.priority, ask.allocation_request_id)
        super().__init__(container.number, key, spec.name, spec.rack)
        self.container = container
        self.machine = machine
        self.left_ms = 0.0  # of its work, if its machine may thrash


@dataclass(slots=True, eq=False)
class NodeManager:
    """A node of the scenario; ``node`` is what the ResourceManager calls it while it is up."""

    spec: ScenarioNode
    phase_ms: int
    node: Node | None = None
    pressure: Pressure | None = None  # None: it has as much memory as it promises


class Machines:
    """All machines of the cluster, their heartbeats and their faults."""

    def __init__(self, scenario: Scenario, rm: ResourceManager, clock: Clock) -> None:
        self._rm = rm
        self._clock = clock
        self._period_ms = scenario.heartbeat_ms
        self._reports_beats = self._beats = False
        self._launch_delay_ms = scenario.launch_delay_ms
        self.by_name: dict[str, NodeManager] = {}
        self.capacity: list[tuple[int, tuple[int, ...]]] = []  # steps, for the whole cluster
        self.busy_ms = 0  # until this time something will happen without a decision
        for spec in scenario.nodes:
            phase = pick(scenario.seed, spec.name, 0, self._period_ms) if self._period_ms else 0
            machine = self.by_name[spec.name] = NodeManager(spec, phase)
            if spec.physical_mb is not None and scenario.thrashing > 1:
                machine.pressure = Pressure(spec.physical_mb, scenario.thrashing, clock)
            self._join(machine)
        self._note_capacity()
        for fault in scenario.faults:
            clock.at(fault.at_ms, self._fail, fault)
            self.busy_till(fault.at_ms + (fault.down_ms or 0))

    def rack_of(self, name: str) -> str:
        """Return the rack of the node of this name."""
        return self.by_name[name].spec.rack

    def of(self, container: Container) -> NodeManager:
        """Return the machine on which a container was allocated."""
        return self.by_name[container.node.host]

    def launch(self, running: Running, length_ms: int | None) -> None:
        """Start a container's process, for ``length_ms``; None: its AM says later when it ends."""
        started = self._clock.now + self._launch_delay_ms
        running.started_ms = started
        self._rm.launched(running.container, started)
        heard = next_beat(started, running.machine.phase_ms, self._period_ms)
        if heard == self._clock.now:
            self._rm.started(running.container)
        else:
            self._clock.at(heard, self._report_start, running)
        if running.machine.pressure is not None:
            self._reschedule(running.machine.pressure.add(running))
        if length_ms is not None:
            self.ends_at(running, started + length_ms)

    def ends_at(self, running: Running, at_ms: int) -> None:
        """End the process at ``at_ms``, or later on a machine that thrashes. The node's next
        heartbeat informs the ResourceManager.
        """
        pressure = running.machine.pressure
        if pressure is None:
            self._end_reported(running, at_ms)
        else:
            self._reschedule([pressure.lasts(running, at_ms - self._clock.now)])

    def forget(self, container: Container) -> None:
        """Return the memory of an ended container to its machine."""
        machine = self.by_name[container.node.host]
        if machine.pressure is not None:
            self._reschedule(machine.pressure.remove(container))

    def _reschedule(self, changed: Iterable[tuple[Running, int]]) -> None:
        for running, at_ms in changed:
            self._clock.at(at_ms, self._end_process, running, at_ms)
            self._end_reported(running, at_ms)

    def _end_process(self, running: Running, at_ms: int) -> None:
        """End a process; its memory is free before the ResourceManager is informed."""
        if running.ends_ms == at_ms:
            self.forget(running.container)

    def _end_reported(self, running: Running, at_ms: int) -> None:
        running.ends_ms = at_ms
        heard = next_beat(at_ms, running.machine.phase_ms, self._period_ms)
        self.busy_till(heard)
        self._clock.at(max(heard, self._clock.now), self._report_end, running, at_ms)

    def busy_till(self, at_ms: int) -> None:
        """Note that something will happen at ``at_ms`` without a decision."""
        self.busy_ms = max(self.busy_ms, at_ms)

    def report_beats(self, wanted: bool) -> None:
        """Report each heartbeat of each node from now on, or no heartbeat: for policies that count
        them.
        """
        self._reports_beats = wanted
        if wanted and not self._beats and self._period_ms > 0:
            self._beats = True
            for machine in self.by_name.values():
                first_ms = next_beat(self._clock.now, machine.phase_ms, self._period_ms)
                self._clock.at(first_ms, self._beat, machine)

    def _beat(self, machine: NodeManager) -> None:
        if self._reports_beats and machine.node is not None:
            self._rm.heartbeat(machine.node)
        self._clock.at(self._clock.now + self._period_ms, self._beat, machine)

    def _is_running(self, running: Running) -> bool:
        container = running.container
        return self._rm.state.containers.get(container.number) is container

    def _report_start(self, running: Running) -> None:
        if self._is_running(running):
            self._rm.started(running.container)

    def _report_end(self, running: Running, at_ms: int) -> None:
        if running.ends_ms == at_ms and self._is_running(running):
            self._rm.end(running.container, "completed", running.status, at_ms)

    def _join(self, machine: NodeManager) -> None:
        spec = machine.spec
        place = (spec.name, spec.rack, Resource(spec.capacity), spec.label, spec.shared)
        machine.node = self._rm.add_node(*place)

    def _fail(self, fault: Fault) -> None:
        machine = self.by_name[fault.node]
        if machine.node is None:
            return
        self._rm.remove_node(machine.node)
        machine.node = None
        self._note_capacity()
        if fault.down_ms is not None:
            self._clock.at(self._clock.now + fault.down_ms, self._return, machine)

    def _return(self, machine: NodeManager) -> None:
        self._join(machine)
        self._note_capacity()

    def _note_capacity(self) -> None:
        self.capacity.append((self._clock.now, tuple(self._rm.state.capacity)))
