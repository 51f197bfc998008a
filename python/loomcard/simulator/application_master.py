"""An application master: asks for its stages' tasks, runs them, repeats what failed.

docs/simulate/workload.md, "What an application master does", is the text that this follows, and
so does the player on real YARN. An AM speaks to the ResourceManager in its heartbeats. With a
period of 0 it is informed of everything at once, and answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loomcard.api.stages.marked_asks import unmarked
from loomcard.model import admission
from loomcard.model.objects import Application, AskKey, Attempt, Container
from loomcard.model.resource import Resource
from loomcard.results.record import ApplicationRecord, ContainerRow
from loomcard.simulator.clock import Clock, next_beat
from loomcard.simulator.network import Network
from loomcard.simulator.nodes import Machines, Running
from loomcard.simulator.resourcemanager import RejectedError, ResourceManager
from loomcard.simulator.stage import StageRun
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
    poke: Callable[[Master], None]  # let this master speak before the next decision
    keep: Callable[[ContainerRow], None]
    done: Callable[[], None]
    network: Network | None = None  # over which map output is copied


class Master:
    """The AM of kinds plain and dag, and the base class of the other kinds' AMs."""

    def __init__(self, spec: ScenarioApplication, context: SimulationContext) -> None:
        self.spec = spec
        self.hints = hints(spec)
        self.context = context
        self.record = ApplicationRecord(spec.id, spec.queue, spec.submit_ms, list(spec.tags))
        self.stages = [StageRun(stage, context.machines.rack_of) for stage in spec.stages]
        self.children: list[list[int]] = [[] for _ in spec.stages]
        for index, stage in enumerate(spec.stages):
            for parent in stage.after:
                self.children[parent].append(index)
        self.live: dict[int, Running] = {}  # its containers except the AM's, by number
        self.ended = False
        self._app: Application | None = None
        self._attempt: Attempt | None = None
        self._phase_ms = 0
        self._beating = False  # its next heartbeat is scheduled
        self._allocated: list[Container] = []
        self._over: list[tuple[Running, str]] = []
        self._asks: dict[tuple[int, int], tuple[Resource, int, StageRun | None]] = {}
        self._releases: list[Running] = []

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
            self.ended = True
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
        if not self.ended:
            self.finish("KILLED", admission.TOO_OLD)

    def _try(self, ordinal: int) -> None:
        assert self._app is not None
        rm, am = self.context.rm, self.spec.am
        self._attempt = rm.add_attempt(self._app, ordinal, unmanaged=am is None)
        if am is None:
            self._register(self._attempt)
        else:
            rm.ask(self._attempt, AM_KEY, Resource(am), 1, is_am=True)

    def _register(self, attempt: Attempt) -> None:
        if self.ended or attempt is not self._attempt:
            return
        self._phase_ms = self.context.clock.now
        self.context.rm.register(attempt)
        demanding = self.record.demanding
        if not demanding:
            demanding.append((self.context.clock.now, -1))
        self.begin()
        self._send()

    def finish(self, state: str, diagnostics: str = "") -> None:
        """Unregister with this final state, or be killed; containers that still run end."""
        assert self._app is not None
        assert self._attempt is not None
        self.ended = True
        self.record.state, self.record.diagnostics = state, diagnostics
        since = self.record.demanding[0][0] if self.record.demanding else self.context.clock.now
        self.record.demanding = [(since, self.context.clock.now)]
        rm, attempt = self.context.rm, self._attempt
        killed = state == "KILLED"  # its containers with it
        for running in [] if killed else list(self.live.values()):
            rm.end(running.container, "released", -100)
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
        self._listen()

    def lost(self, container: Container, kind: str, exit_status: int) -> None:
        """Note that the ResourceManager counts a container as ended."""
        running = container.tag if container.is_am else self.live.pop(container.number, None)
        self._keep(container, running, kind, exit_status)
        if self.ended:
            return
        if container.is_am:
            self._restart()
        elif self._attempt is None:
            if running is not None:
                self.dropped(running)
        elif running is None:
            if container in self._allocated:  # lost before the AM heard of it
                self._allocated.remove(container)
                self.ask_again(container.ask_key)
        else:
            self._over.append((running, "failed" if exit_status > 0 else kind))
            self._listen()

    def _restart(self) -> None:
        """Begin another attempt, or end: the AM's container is lost. Ended tasks stay ended."""
        assert self._app is not None
        assert self._attempt is not None
        ordinal = self._attempt.ordinal
        if ordinal >= AM_ATTEMPTS:
            self.finish("FAILED")
            return
        old, self._attempt = self._attempt, None
        self.context.rm.remove_attempt(old, "FAILED")
        for running, _ in self._over:  # ends that the AM was not informed of do not count
            self.dropped(running)
        self._allocated, self._over, self._asks, self._releases = [], [], {}, []
        self._try(ordinal + 1)

    # Its heartbeat

    def _listen(self) -> None:
        period = self.context.am_heartbeat_ms
        if self._beating:
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
        if self.ended or self._attempt is None:
            return
        self._send()
        if self.ended:
            return
        self._beating = at_once = self.context.am_heartbeat_ms == 0
        over, self._over = self._over, []
        allocated, self._allocated = self._allocated, []
        for running, kind in over:
            self.completed(running, kind)
            if self.ended:
                return
        for container in allocated:
            if container.number in self.context.rm.state.containers:
                self.received(Running(container, self.context.machines.of(container)))
        self.on_heartbeat()
        if at_once:
            self._beating = False
            self._send()

    def ask(
        self, stage: StageRun | None, key: tuple[int, int], size: Resource, change: int
    ) -> None:
        """Ask for ``change`` more containers; sent with the next heartbeat."""
        before = self._asks.get(key)
        self._asks[key] = (size, change + (before[1] if before is not None else 0), stage)
        self._listen()

    def release(self, running: Running) -> None:
        """Give a container back; sent with the next heartbeat."""
        running.given_up = True
        self._releases.append(running)
        self._listen()

    def _send(self) -> None:
        if self._attempt is None:
            return
        rm, asks, releases = self.context.rm, self._asks, self._releases
        if asks:
            self._asks = {}
            for key, (size, change, stage) in asks.items():
                rows, label = (({}, {}), "") if stage is None else (stage.rows, stage.spec.label)
                try:
                    rm.ask(self._attempt, key, size, change, rows, label=label)
                except RejectedError as error:  # the AM cannot continue without it
                    self.finish("FAILED", str(error))
                    return
        if releases:
            self._releases = []
            for running in releases:
                if running.container.number in rm.state.containers:
                    rm.end(running.container, "released", -100)

    # What it does with its stages

    def begin(self) -> None:
        """Open every stage that waits for no other; the AM may ask from now on."""
        for stage in self.stages:
            if stage.opened:
                self.ask(stage, stage.key, stage.size, stage.waiting)
            elif stage.parents_left == 0 and stage.left:
                self.open(stage)
        if not any(stage.left for stage in self.stages):
            self.finish("SUCCEEDED")

    def open(self, stage: StageRun) -> None:
        """Open a stage: its tasks can run now."""
        stage.opened = True
        for task in range(len(stage.spec.durations_ms)):
            stage.add(task)
        self.ask(stage, stage.key, stage.size, stage.left)

    def received(self, running: Running) -> None:
        """Run a task of the container's stage in it, or give it back."""
        container = running.container
        self.live[container.number] = running
        running.stage = unmarked(container.ask_key.allocation_request_id) - 1
        stage = self.stages[running.stage]
        spec = running.machine.spec
        task = stage.take(spec.name, spec.rack)
        if task is None:
            self.release(running)
            return
        if stage.preferences is not None:
            self.ask(stage, stage.key, stage.size, 0)  # the RM believes that other tasks wait
        running.task = task
        running.attempt = stage.failures.get(task, 0) + 1
        self.run(running, stage)

    def run(self, running: Running, stage: StageRun) -> None:
        """Launch a container with its task."""
        length, running.status = stage.attempt_length(running.task, running.machine.spec.name)
        self.context.machines.launch(running, length)

    def completed(self, running: Running, kind: str) -> None:
        """Handle a container's end: its task has succeeded, has failed, or must be repeated."""
        if running.task < 0 or running.given_up:
            return
        stage = self.stages[running.stage]
        if kind == "completed":
            self.task_ended(running.stage)
            return
        if kind == "failed":
            failures = stage.failures[running.task] = stage.failures.get(running.task, 0) + 1
            if failures >= self.spec.max_attempts:
                self.finish("FAILED")
                return
        self.repeat(stage, running.task)

    def task_ended(self, index: int) -> None:
        """Count a task as ended; after a stage's last task its child stages may open."""
        stage = self.stages[index]
        stage.left -= 1
        if stage.left:
            return
        for child in self.children[index]:
            self.stages[child].parents_left -= 1
            if self.stages[child].parents_left == 0:
                self.open(self.stages[child])
        if not any(other.left for other in self.stages):
            self.finish("SUCCEEDED")

    def repeat(self, stage: StageRun, task: int) -> None:
        """Ask for a task again."""
        stage.add(task)
        self.ask(stage, stage.key, stage.size, 1)

    def headroom_changed(self) -> None:
        """React to another headroom from the policy; the AM receives it with its heartbeat."""

    def on_heartbeat(self) -> None:
        """Act after a heartbeat was received whole; kinds that plan ahead plan here."""

    def dropped(self, running: Running) -> None:
        """Let a container's task wait for the next attempt, since this attempt ends."""
        if running.task >= 0:
            self.stages[running.stage].add(running.task)

    def ask_again(self, key: AskKey) -> None:
        """Ask for one more container, since one was lost before it had a task."""
        stage = self.stages[unmarked(key.allocation_request_id) - 1]
        self.ask(stage, stage.key, stage.size, 1)

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
        if self._app is None or self.ended:
            return
        for container in list(self._app.containers):
            running = container.tag if container.is_am else self.live.get(container.number)
            self._keep(container, running, "")
        if self.record.demanding:
            self.record.demanding = [(self.record.demanding[0][0], self.context.clock.now)]
