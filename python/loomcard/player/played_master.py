"""An application master on a real ResourceManager: it runs the model of its application's kind.

The player's Java speaks with the ResourceManager and the nodes. After each heartbeat it sends what
happened (``Heard``) and carries out the reply (``Said``). Times are ms since 1970, by its clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from loomcard import masters
from loomcard.api.stages.marked_asks import unmarked
from loomcard.masters.clock import Clock
from loomcard.masters.host import Key, Running
from loomcard.masters.stage import Rows, StageRun
from loomcard.model.resource import Resource
from loomcard.player.ask_rows import AskRows
from loomcard.workload.scenario import Amounts, Scenario, ScenarioApplication

FAILED_TOO_OFTEN = "a task failed too often"
_NO_RACK = "/default-rack"


class Heard(msgspec.Struct):
    """What happened to an application since its last message. Containers are numbers, hosts are
    called as on the cluster.

    ``registered``: an attempt begins, and the containers of the one before have ended.
    ``headroom``: in the answer to a heartbeat; None: no heartbeat was sent. ``with_vcores``: the
    scheduler counts more than memory. ``started``: container and time, of those without a length.
    ``ended``: container and kind. ``allocated``: container, priority, allocation request id, host.
    """

    application: str
    now_ms: int
    registered: bool = False
    headroom: list[int] | None = None
    with_vcores: bool = True
    started: list[tuple[int, int]] = []
    ended: list[tuple[int, str]] = []
    allocated: list[tuple[int, int, int, str]] = []


class AskRow(msgspec.Struct):
    """A row of an ask; ``name``: a host, a rack or ``*``, as the cluster calls it."""

    priority: int
    request_id: int
    size: Amounts
    name: str
    count: int


class Use(msgspec.Struct):
    """What an allocated container is used for. ``kept`` False: it is given back. ``length_ms``: how
    long it runs, before it exits with ``status``; None: until an ``End``.
    """

    container: int
    node: str
    stage: str
    task: int = -1
    attempt: int = 1
    kept: bool = False
    length_ms: int | None = None
    status: int = 0


class End(msgspec.Struct):
    """A container ends when it has run for ``ran_ms``, but not before ``earliest_ms``."""

    container: int
    ran_ms: int
    earliest_ms: int


class Said(msgspec.Struct):
    """What an application does now. ``demanding``: it has containers or waits for some.
    ``wake_ms``: it wants a message at this time, even if no heartbeat is due; None: it does not.
    ``state``: SUCCEEDED or FAILED when it has ended, otherwise "".
    """

    asks: list[AskRow] = []
    uses: list[Use] = []
    releases: list[int] = []
    ends: list[End] = []
    demanding: bool = False
    wake_ms: int | None = None
    state: str = ""
    diagnostics: str = ""


class Cluster:
    """A scenario's nodes; ``real_names``: what the cluster calls them and their racks, where that
    is not the same.
    """

    def __init__(self, scenario: Scenario, real_names: Mapping[str, str]) -> None:
        self.beat_ms = scenario.am_heartbeat_ms
        columns = zip(*(node.capacity for node in scenario.nodes), strict=True)
        self.capacity = [sum(amounts) for amounts in columns]
        self.real_names = real_names
        self.names = {real: name for name, real in real_names.items()}
        self.racks = {node.name: node.rack for node in scenario.nodes}


class PlayedMaster:
    """The AM of one application; the ``masters.Host`` of its model."""

    network = None  # copying takes ``ms_per_map``

    def __init__(self, spec: ScenarioApplication, cluster: Cluster) -> None:
        self.round = 0  # count of heartbeats that were answered
        self._spec = spec
        self._cluster = cluster
        self._clock = Clock()
        self._headroom: Sequence[int] = [0] * len(cluster.capacity)
        self._with_vcores = True
        self._asks: dict[Key, AskRows] = {}
        self._starts: dict[int, Callable[[], None]] = {}  # by the number of the container
        self._said = Said()
        self._uses: dict[int, Use] = {}  # of the containers of this message
        self._final = ("", "")  # state and diagnostics
        self.model = masters.model(spec, self)

    def hear(self, heard: Heard) -> Said:
        """Act on what happened, in the order in which it happened."""
        self._said, self._uses = Said(), {}
        if heard.registered:
            self._start_over(heard.with_vcores)
        self._pass(heard)
        if heard.registered:
            self.model.begin()
        for number, kind in heard.ended:
            self._ended(number, kind)
        for allocated in heard.allocated:
            self._allocated(*allocated)
        if heard.headroom is not None:
            self._headroom = heard.headroom
            if not self.model.ended:
                self.model.on_heartbeat()
            self.round += 1
        if not self.model.ended:
            if heard.registered or heard.headroom is not None:
                self._send()
            self._said.demanding = bool(self.model.live) or any(
                rows.wanted for rows in self._asks.values()
            )
            self._said.wake_ms = self.model.ends_ms()
        self._said.state, self._said.diagnostics = self._final
        return self._said

    def _pass(self, heard: Heard) -> None:
        """Let the time pass; what starts and ends inside executors does so at its own time."""
        clock = self._clock
        for number, at_ms in heard.started:
            if (begin := self._starts.pop(number, None)) is not None:
                clock.at(max(at_ms, clock.now), begin)
        clock.run_until(heard.now_ms)

    def _start_over(self, with_vcores: bool) -> None:
        """Drop what the attempt before had: its executors end no task after its last message."""
        self._with_vcores = with_vcores
        self._asks.clear()
        self._starts.clear()
        for number in list(self.model.live):
            if (running := self.model.gone(number)) is not None:
                self.model.dropped(running)

    def _ended(self, number: int, kind: str) -> None:
        running = self.model.gone(number)
        if running is None or self.model.ended:
            return
        if running.ends_ms is not None:  # the ResourceManager heard of it later
            running.ends_ms = min(running.ends_ms, self.now)
        self.model.completed(running, kind)

    def _allocated(self, number: int, priority: int, request_id: int, real: str) -> None:
        host = self._cluster.names.get(real, real)
        executors = self._spec.executors is not None
        stage = "" if executors else self._spec.stages[unmarked(request_id) - 1].id
        use = self._uses[number] = Use(number, host, stage)
        self._said.uses.append(use)
        if self.model.ended:
            return
        running = Running(number, (priority, request_id), host, self.rack_of(host))
        if (rows := self._asks.get(running.key)) is not None:
            rows.allocated(host, running.rack)
        self.model.received(running)
        use.task, use.attempt = running.task, running.attempt

    def _send(self) -> None:
        self.model.on_send()
        for key, rows in self._asks.items():
            for name, count in rows.changes().items():
                real = self._cluster.real_names.get(name, name)
                self._said.asks.append(AskRow(*key, rows.size, real, count))

    # What its model asks of it

    @property
    def now(self) -> int:
        """The time of the event that is handled."""
        return self._clock.now

    @property
    def beat_ms(self) -> int:
        """The period of heartbeats in the scenario."""
        return self._cluster.beat_ms

    @property
    def capacity(self) -> Sequence[int]:
        """The amounts of all nodes of the scenario."""
        return self._cluster.capacity

    def rack_of(self, name: str) -> str:
        """Return the rack of a node; of an unknown node YARN's default rack."""
        return self._cluster.racks.get(name, _NO_RACK)

    def headroom(self) -> Sequence[int]:
        """Return the headroom of the last answer."""
        return self._headroom

    def counted(self, size: Sequence[int]) -> Sequence[int]:
        """Return the size, of which some schedulers count only memory."""
        return size if self._with_vcores else [size[0], *[0] * (len(size) - 1)]

    def ask(self, stage: StageRun | None, key: Key, size: Resource, change: int) -> None:
        """Change what is wanted under a key."""
        self._rows(key, size).add(change, stage)

    def state(self, stage: StageRun, key: Key, count: int, rows: Rows) -> None:
        """Set what is wanted under a key."""
        self._rows(key, stage.size).want(count, rows)

    def _rows(self, key: Key, size: Resource) -> AskRows:
        if key not in self._asks:
            self._asks[key] = AskRows(tuple(size))
        return self._asks[key]

    def release(self, running: Running) -> None:
        """Give a container back; one of this message was never used."""
        if running.number not in self._uses:
            self._said.releases.append(running.number)

    def launch(
        self, running: Running, length_ms: int | None, on_start: Callable[[], None] | None = None
    ) -> None:
        """Start a process; without a length its start is reported later."""
        use = self._uses[running.number]
        use.kept, use.length_ms, use.status = True, length_ms, running.status
        if length_ms is not None:
            running.started_ms = self.now
            running.ends_ms = self.now + length_ms
        if on_start is not None:
            self._starts[running.number] = on_start

    def ends(self, running: Running, ran_ms: int, earliest_ms: int) -> None:
        """Let the player end a process, whose start it knows."""
        self._said.ends.append(End(running.number, ran_ms, earliest_ms))

    def is_live(self, running: Running) -> bool:
        """Whether the end of a container was not reported."""
        return running.number in self.model.live

    def at(self, at_ms: int, action: Callable[..., None], *facts: Any) -> None:
        """Call it with the first message from this time on."""
        self._clock.at(max(at_ms, self.now), action, *facts)

    def look_again(self, at_ms: int, action: Callable[[], None]) -> None:
        """Do nothing: an AM on YARN speaks in every period."""

    def listen(self) -> None:
        """Do nothing: an AM on YARN speaks in every period."""

    def finish(self, state: str, diagnostics: str) -> None:
        """Say that the application has ended."""
        self._final = state, diagnostics or (FAILED_TOO_OFTEN if state == "FAILED" else "")
