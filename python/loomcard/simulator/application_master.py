"""An application master in the simulator: it runs the model of its application's kind.

It speaks to the ResourceManager in its heartbeats. With a period of 0 it is informed of everything
at once, and answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from loomcard import masters
from loomcard.masters.clock import Clock, next_beat
from loomcard.masters.host import Key
from loomcard.masters.host import Running as Known
from loomcard.masters.stage import Rows, StageRun
from loomcard.model import admission
from loomcard.model.objects import Application, AskKey, Attempt, Container
from loomcard.model.resource import Resource
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord
from loomcard.simulator.network import Network
from loomcard.simulator.nodes import Machines, Running
from loomcard.simulator.resourcemanager import RejectedError, ResourceManager
from loomcard.workload.hints import hints
from loomcard.workload.scenario import ScenarioApplication

AM_KEY = (0, 0)
AM_ATTEMPTS = 2
"""The value of yarn.resourcemanager.am.max-attempts."""


@dataclass(slots=True)
class SimulationContext:
    """The objects that all masters share."""

    rm: ResourceManager
    clock: Clock
    machines: Machines
    am_heartbeat_ms: int
    am_start_ms: int
    poke: Callable[[SimulatedMaster], None]  # let this master speak before the next decision
    keep: Callable[[ContainerRow], None]
    done: Callable[[], None]
    network: Network | None = None  # over which map output is copied


class SimulatedMaster:
    """The AM of one application; the ``masters.Host`` of its model."""

    def __init__(self, spec: ScenarioApplication, context: SimulationContext) -> None:
        self.spec = spec
        self.hints = hints(spec)
        self.context = context
        self.record = ApplicationRecord(spec.id, spec.queue, spec.submit_ms, list(spec.tags))
        self._app: Application | None = None
        self._attempt: Attempt | None = None
        self._phase_ms = 0
        self._beating = False  # its next heartbeat is scheduled
        self._allocated: list[Container] = []
        self._over: list[tuple[Running, str]] = []
        self._asks: dict[Key, tuple[Resource, int, StageRun | None]] = {}
        self._releases: list[Running] = []
        self.model = masters.model(spec, self)

    # Coming and going

    def submit(self) -> int | None:
        """Submit the application; an AM without a container registers at once. Return its number
        on the wire, or None when its queue rejects it.
        """
        spec = self.spec
        facts = (spec.id, spec.queue, spec.user, spec.kind, spec.tags, self.hints, spec.am)
        try:
            self._app = app = self.context.rm.submit(*facts)
        except RejectedError as error:
            self.model.ended = True
            self.record.state, self.record.diagnostics = "FAILED", str(error)
            self.context.done()
            return None
        if (lifetime_s := admission.lifetime_s(app.queue)) is not None:
            at = self.context.clock.now + 1000 * lifetime_s
            self.context.machines.busy_till(at)
            self.context.clock.at(at, self._expire)
        self._try(1)
        return app.number

    def _expire(self) -> None:
        if not self.model.ended:
            self.model.finish("KILLED", admission.TOO_OLD)

    def _try(self, ordinal: int) -> None:
        assert self._app is not None
        rm, am = self.context.rm, self.spec.am
        self._attempt = rm.add_attempt(self._app, ordinal, unmanaged=am is None)
        if am is None:
            self._register(self._attempt)
        else:
            rm.ask(self._attempt, AM_KEY, Resource(am), 1, is_am=True)

    def _register(self, attempt: Attempt) -> None:
        if self.model.ended or attempt is not self._attempt:
            return
        self._phase_ms = self.context.clock.now
        self.context.rm.register(attempt)
        demanding = self.record.demanding
        if not demanding:
            demanding.append((self.context.clock.now, -1))
        self.model.begin()
        self._send()

    def finish(self, state: str, diagnostics: str) -> None:
        """Unregister with this final state, or be killed; containers that still run end."""
        assert self._app is not None
        assert self._attempt is not None
        self.record.state, self.record.diagnostics = state, diagnostics
        since = self.record.demanding[0][0] if self.record.demanding else self.context.clock.now
        self.record.demanding = [(since, self.context.clock.now)]
        rm, attempt = self.context.rm, self._attempt
        killed = state == "KILLED"  # its containers with it
        for running in [] if killed else list(self.model.live.values()):
            rm.end(cast(Running, running).container, "released", -100)
        am = None if killed else next((c for c in self._app.containers if c.is_am), None)
        if am is not None:  # its process exits right after it has unregistered
            rm.end(am, "completed", 0)
        rm.remove_attempt(attempt, "FINISHED" if state == "SUCCEEDED" else state)
        rm.remove_application(self._app, "FINISHED" if state == "SUCCEEDED" else state)
        self.context.done()

    # What the ResourceManager sends; the AM receives it with its next heartbeat

    def allocated(self, container: Container) -> None:
        """A container was allocated; the AM's own is launched by the ResourceManager itself."""
        if container.is_am:
            running = Running(container, self.context.machines.of(container))
            self.context.machines.launch(running, None)
            assert running.started_ms is not None
            container.tag = running
            at = running.started_ms + self.spec.first_ask_ms(self.context.am_start_ms)
            self.context.machines.busy_till(at)
            self.context.clock.at(at, self._register, container.attempt)
            return
        self._allocated.append(container)
        self.listen()

    def lost(self, container: Container, kind: str, exit_status: int) -> None:
        """Note that the ResourceManager counts a container as ended."""
        model = self.model
        known = container.tag if container.is_am else model.gone(container.number)
        running = cast(Running | None, known)
        self._keep(container, running, kind, exit_status)
        if model.ended:
            return
        if container.is_am:
            self._restart()
        elif self._attempt is None:
            if running is not None:
                model.dropped(running)
        elif running is None:
            if container in self._allocated:  # lost before the AM heard of it
                self._allocated.remove(container)
                key = container.ask_key
                model.ask_again((key.priority, key.allocation_request_id))
        else:
            self._over.append((running, "failed" if exit_status > 0 else kind))
            self.listen()

    def _restart(self) -> None:
        """Begin another attempt, or end: the AM's container is lost. Ended tasks stay ended."""
        assert self._app is not None
        assert self._attempt is not None
        ordinal = self._attempt.ordinal
        if ordinal >= AM_ATTEMPTS:
            self.model.finish("FAILED")
            return
        old, self._attempt = self._attempt, None
        self.context.rm.remove_attempt(old, "FAILED")
        for running, _ in self._over:  # ends that the AM was not informed of do not count
            self.model.dropped(running)
        self._allocated, self._over, self._asks, self._releases = [], [], {}, []
        self._try(ordinal + 1)

    # Its heartbeat

    def listen(self) -> None:
        """Speak in the next heartbeat: something changed."""
        period = self.context.am_heartbeat_ms
        if self._beating or self._attempt is None:
            return
        self._beating = True
        if period == 0:
            self.context.poke(self)
        else:
            at = next_beat(self.context.clock.now + 1, self._phase_ms, period)
            self.context.clock.at(at, self.beat)

    def beat(self) -> None:
        """Send the requests, receive what happened, and act on it."""
        self._beating = False
        model = self.model
        if model.ended or self._attempt is None:
            return
        self._send()
        if model.ended:
            return
        self._beating = at_once = self.context.am_heartbeat_ms == 0
        over, self._over = self._over, []
        allocated, self._allocated = self._allocated, []
        for running, kind in over:
            model.completed(running, kind)
            if model.ended:
                return
        for container in allocated:
            if container.number in self.context.rm.state.containers:
                model.received(Running(container, self.context.machines.of(container)))
        model.on_heartbeat()
        if at_once:
            self._beating = False
            self._send()

    def _send(self) -> None:
        if self._attempt is None:
            return
        try:
            if not self.model.ended:
                self.model.on_send()
            asks, self._asks = self._asks, {}
            for key, (size, change, stage) in asks.items():
                rows, label = (({}, {}), "") if stage is None else (stage.rows, stage.spec.label)
                self.context.rm.ask(self._attempt, key, size, change, rows, label=label)
        except RejectedError as error:  # the AM cannot continue without it
            self.model.finish("FAILED", str(error))
            return
        releases, self._releases = self._releases, []
        for running in releases:
            if self.is_live(running):
                self.context.rm.end(running.container, "released", -100)

    # What its model asks of it

    @property
    def now(self) -> int:
        """The virtual time."""
        return self.context.clock.now

    @property
    def beat_ms(self) -> int:
        """The period of its heartbeats."""
        return self.context.am_heartbeat_ms

    @property
    def round(self) -> int:
        """The count of rounds so far."""
        return self.context.rm.rounds

    @property
    def network(self) -> Network | None:
        """The cluster's network, if the workload has one."""
        return self.context.network

    @property
    def capacity(self) -> Sequence[int]:
        """The amounts of all machines."""
        machines = self.context.machines.by_name.values()
        return [sum(amounts) for amounts in zip(*(m.spec.capacity for m in machines), strict=True)]

    def rack_of(self, name: str) -> str:
        """Return the rack of a machine."""
        return self.context.machines.rack_of(name)

    def headroom(self) -> Sequence[int]:
        """Return what the ResourceManager says now."""
        assert self._app is not None
        return self.context.rm.headroom(self._app)

    def counted(self, size: Sequence[int]) -> Sequence[int]:
        """Return the size: policies count all types."""
        return size

    def ask(self, stage: StageRun | None, key: Key, size: Resource, change: int) -> None:
        """Add to the asks of the next heartbeat."""
        before = self._asks.get(key)
        self._asks[key] = (size, change + (before[1] if before is not None else 0), stage)
        self.listen()

    def state(self, stage: StageRun, key: Key, count: int, rows: Rows) -> None:
        """Set a row at the ResourceManager, which counts down by itself."""
        attempt = self._attempt
        assert attempt is not None
        known = attempt.asks.get(AskKey(attempt.number, *key))
        change = count - (known.count if known is not None else 0)
        self.context.rm.ask(attempt, key, stage.size, change, rows, label=stage.spec.label)

    def release(self, running: Known) -> None:
        """Add to the releases of the next heartbeat."""
        self._releases.append(cast(Running, running))
        self.listen()

    def launch(
        self, running: Known, length_ms: int | None, on_start: Callable[[], None] | None = None
    ) -> None:
        """Start a process on the container's machine."""
        self.context.machines.launch(cast(Running, running), length_ms)
        if on_start is not None:
            assert running.started_ms is not None
            self.at(running.started_ms, on_start)

    def ends(self, running: Known, ran_ms: int, earliest_ms: int) -> None:
        """End the process; its start is known from its launch on."""
        assert running.started_ms is not None
        at = max(running.started_ms + ran_ms, earliest_ms)
        self.context.machines.ends_at(cast(Running, running), at)

    def is_live(self, running: Known) -> bool:
        """Whether the ResourceManager counts the container as live."""
        return running.number in self.context.rm.state.containers

    def at(self, at_ms: int, action: Callable[..., None], *facts: Any) -> None:
        """Schedule an event; a run does not count as stalled before."""
        self.context.machines.busy_till(at_ms)
        self.context.clock.at(at_ms, action, *facts)

    def look_again(self, at_ms: int, action: Callable[[], None]) -> None:
        """Schedule an event; a run may count as stalled before."""
        self.context.clock.at(at_ms, action)

    # The record

    def _keep(
        self, container: Container, running: Running | None, kind: str, exit_status: int = 0
    ) -> None:
        """Keep one container's row; ``kind`` is "" for a container that still runs."""
        now = self.context.clock.now
        started = ended = None
        stage, task, attempt = "", -1, 1
        if running is not None:
            started = running.started_ms
            if started is not None and started > now:
                started = None  # it never started
            if started is not None and kind:
                ended = now if running.ends_ms is None else min(running.ends_ms, now)
            task, attempt = running.task, running.attempt
            if task >= 0:
                stage = self.spec.stages[running.stage].id
        said = "failed" if kind == "completed" and exit_status > 0 else kind
        self.context.keep(
            ContainerRow(
                self.spec.id, stage, task, attempt, container.node.host, container.is_am,
                container.size, container.allocated_ms, started, ended, said,
            )
        )  # fmt: skip

    def unfinished(self) -> None:
        """Keep the live containers as they are: the run stopped before its end."""
        if self._app is None or self.model.ended:
            return
        for container in list(self._app.containers):
            known = container.tag if container.is_am else self.model.live.get(container.number)
            self._keep(container, cast(Running | None, known), "")
        if self.record.demanding:
            self.record.demanding = [(self.record.demanding[0][0], self.context.clock.now)]
