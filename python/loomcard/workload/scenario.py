"""A workload with all random values sampled: what both engines play, task by task; equal bytes
for equal seeds.

A workload file says "20 maps of about 30 s"; a scenario says how long each of them runs, on which
nodes it would rather run and when it fails. The simulator reads it as it is; the player on a real
cluster reads its JSON. Times are ms; amounts are integers in the order of ``resource_types``.
"""

from __future__ import annotations

import msgspec

Amounts = tuple[int, ...]


class ScenarioNode(msgspec.Struct, frozen=True, gc=False):
    """A machine: its host name, its rack (``/r1``) and what it offers. ``physical_mb``: the memory
    that it really has (None: what it offers). ``shared``: its ``label`` is not exclusive.
    """

    name: str
    rack: str
    capacity: Amounts
    physical_mb: int | None = None
    label: str = ""
    shared: bool = False


class Fault(msgspec.Struct, frozen=True, gc=False):
    """A node that is lost at ``at_ms`` and returns ``down_ms`` later (None: never)."""

    at_ms: int
    node: str
    down_ms: int | None = None


class Stage(msgspec.Struct, frozen=True):
    """Tasks of one size that are asked for under one ask key: (``priority``, ``request_id``).

    ``durations_ms``: one a task. ``after``: indexes of the stages that must have ended before.
    ``nodes``: the hosts each task would rather run on; empty: no task has a wish. ``fails_ms``: by
    a task's index, how long each of its failing attempts runs; the attempt after them succeeds,
    unless there are ``max_attempts`` of them. ``label``: of the nodes that are asked for ("": the
    queue's). ``remote_factor``: so many times as long a task takes on another host than those.
    """

    id: str
    size: Amounts
    priority: int
    request_id: int
    durations_ms: list[int]
    after: list[int] = []
    nodes: list[list[str]] = []
    fails_ms: dict[int, list[int]] = {}
    label: str = ""
    remote_factor: float = 1.0


class Executors(msgspec.Struct, frozen=True, gc=False):
    """The containers that an application of kind spark keeps over all stages; each runs as many
    tasks at the same time as its vcores allow.
    """

    count: int
    size: Amounts


class ScenarioApplication(msgspec.Struct, frozen=True):
    """One application of a scenario.

    ``am``: the size of its AM's container; None: an unmanaged AM, which needs none. The rest is for
    kind mapreduce, whose stages are the map, and the reduce if there is one: ``slowstart`` and
    ``ms_per_map``; ``map_output_mb``: of one map, over the network that the scenario has;
    ``copies``: from so many nodes a reduce copies at a time; ``reduce_asks``: ``ramp``, as the AM
    does, or ``all``: at once when slow start is over, and none is given up.
    ``asks``: unmarked; or altruistic, of an AM that marks what must start now. ``am_start_ms``: as
    the scenario's, which counts where it is None.
    """

    id: str
    submit_ms: int
    queue: str
    user: str
    kind: str
    stages: list[Stage]
    tags: list[str] = []
    am: Amounts | None = None
    slowstart: float = 0.05
    ms_per_map: int = 0
    max_attempts: int = 4
    executors: Executors | None = None
    asks: str = "unmarked"
    map_output_mb: float = 0.0
    copies: int = 5
    reduce_asks: str = "ramp"
    am_start_ms: int | None = None

    def first_ask_ms(self, usual_ms: int) -> int:
        """Return the time from its AM's start to its first ask; ``usual_ms``: the scenario's
        ``am_start_ms``.
        """
        return usual_ms if self.am_start_ms is None else self.am_start_ms


class Network(msgspec.Struct, frozen=True, gc=False):
    """Links whose bandwidth flows share: each node's, in both directions, and each rack's to the
    other racks (0: no bound), in MB/s.
    """

    node_mb_s: float
    rack_mb_s: float = 0.0


class Scenario(msgspec.Struct, frozen=True):
    """A cluster and the applications that come to it, by time of submission.

    ``heartbeat_ms``, ``am_heartbeat_ms``: how often nodes and AMs speak to the ResourceManager, 0:
    every change is seen at once. ``launch_delay_ms``: from an AM's start of a container to RUNNING.
    ``am_start_ms``: from the AM container's start to its first ask. ``minimum``: what every size
    above has been rounded up to multiples of. ``thrashing``: so many times as long everything takes
    on a node while the containers that run there are larger than its ``physical_mb``. ``stop_ms``:
    the run ends then at the latest. ``network``: what map output is copied over; None: copying
    takes ``ms_per_map``.
    """

    name: str
    seed: int
    resource_types: list[str]
    nodes: list[ScenarioNode]
    applications: list[ScenarioApplication]
    heartbeat_ms: int = 1000
    am_heartbeat_ms: int = 1000
    launch_delay_ms: int = 0
    am_start_ms: int = 0
    minimum: Amounts = ()
    faults: list[Fault] = []
    thrashing: float = 1.0
    stop_ms: int | None = None
    network: Network | None = None


def write_scenario(scenario: Scenario) -> bytes:
    """Return its JSON with the fields in the order of declaration: equal scenarios give equal
    bytes.
    """
    return msgspec.json.encode(scenario)


def read_scenario(text: bytes) -> Scenario:
    """Return the scenario in a JSON text. Raises ``msgspec.MsgspecError``."""
    return msgspec.json.decode(text, type=Scenario)
