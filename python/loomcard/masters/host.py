"""What a model of an AM needs of the engine that runs it: the simulator, or the player."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from loomcard.masters.stage import Rows, StageRun
from loomcard.model.resource import Resource

Key = tuple[int, int]
"""An ask's priority and allocation request id."""


class Running:
    """A container that its AM knows, and what runs in it. Times are ms on the engine's clock."""

    __slots__ = ("attempt", "ends_ms", "given_up", "host", "key", "number", "rack", "stage",
                 "started_ms", "status", "task")  # fmt: skip

    def __init__(self, number: int, key: Key, host: str, rack: str) -> None:
        self.number = number
        self.key = key
        self.host = host
        self.rack = rack
        self.started_ms: int | None = None
        self.ends_ms: int | None = None  # None: not known yet, or kept until it is released
        self.status = 0
        self.given_up = False  # its AM has asked for its end
        self.stage = -1
        self.task = -1
        self.attempt = 1


class Network(Protocol):
    """The links over which map output is copied."""

    def start(self, source: str, target: str, mb: float, done: Callable[[], None]) -> Any:
        """Copy ``mb`` from host to host; ``done`` is called at the end, never at once."""

    def cancel(self, flow: Any) -> None:
        """Stop a copy that ``start`` returned."""


class Host(Protocol):
    """The engine, as the model of one AM sees it. Times are ms on the engine's clock."""

    @property
    def now(self) -> int:
        """The time."""

    @property
    def beat_ms(self) -> int:
        """The time between two heartbeats; 0: the AM sees every change at once."""

    @property
    def round(self) -> int:
        """A number that grows when the scheduler may have acted on what was sent."""

    @property
    def network(self) -> Network | None:
        """The network over which map output is copied; None: copying takes a given time."""

    @property
    def capacity(self) -> Sequence[int]:
        """The amounts of the whole cluster, when all nodes are up."""

    def rack_of(self, name: str) -> str:
        """Return the rack of the node of this name."""

    def headroom(self) -> Sequence[int]:
        """Return what the application may still obtain, as the AM knows it."""

    def counted(self, size: Sequence[int]) -> Sequence[int]:
        """Return the amounts of a size, with 0 for each type that the scheduler ignores."""

    def ask(self, stage: StageRun | None, key: Key, size: Resource, change: int) -> None:
        """Ask for ``change`` more containers; sent with the next heartbeat, with the stage's rows
        of that time.
        """

    def state(self, stage: StageRun, key: Key, count: int, rows: Rows) -> None:
        """Ask for ``count`` containers in all under ``key``; called while a heartbeat is sent."""

    def release(self, running: Running) -> None:
        """Give a container back; sent with the next heartbeat."""

    def launch(
        self, running: Running, length_ms: int | None, on_start: Callable[[], None] | None = None
    ) -> None:
        """Start a container's process, for ``length_ms``; None: until the AM ends it. ``on_start``
        is called when the process runs.
        """

    def ends(self, running: Running, ran_ms: int, earliest_ms: int) -> None:
        """End a process when it has run for ``ran_ms``, but not before ``earliest_ms``."""

    def is_live(self, running: Running) -> bool:
        """Whether a container has not ended, even if the AM would not know it."""

    def at(self, at_ms: int, action: Callable[..., None], *facts: Any) -> None:
        """Call ``action(*facts)`` at ``at_ms``, which may be now but never in the past."""

    def look_again(self, at_ms: int, action: Callable[[], None]) -> None:
        """Call ``action`` at ``at_ms``, only to see whether something has changed."""

    def listen(self) -> None:
        """Speak with the ResourceManager soon: something changed."""

    def finish(self, state: str, diagnostics: str) -> None:
        """End the application: SUCCEEDED, FAILED or KILLED. Its containers end with it."""
