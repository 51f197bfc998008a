"""What ``view.changes`` reports to a policy: typed events of the past, each with ``at_ms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard.model.objects import Application, Ask, Attempt, Container, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource


@dataclass(frozen=True, slots=True)
class Event:
    """What all events have: the time in ms since the engine's zero, and the sequence number of the
    record.
    """

    at_ms: int
    sequence: int


@dataclass(frozen=True, slots=True)
class NodeAdded(Event):
    """A NodeManager registered."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeRemoved(Event):
    """A node is gone."""

    node: Node
    reason: str


@dataclass(frozen=True, slots=True)
class NodeResized(Event):
    """A node's capacity went from ``old`` to ``new``."""

    node: Node
    old: Resource
    new: Resource


@dataclass(frozen=True, slots=True)
class NodeRelabelled(Event):
    """A node went from the partition ``old`` to ``new``; its containers stay."""

    node: Node
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class NodeHeartbeat(Event):
    """A node's heartbeat; only if the policy needs heartbeats."""

    node: Node


@dataclass(frozen=True, slots=True)
class ApplicationAdded(Event):
    """An application entered the scope."""

    application: Application


@dataclass(frozen=True, slots=True)
class ApplicationRemoved(Event):
    """An application ended or left the scope."""

    application: Application
    state: str


@dataclass(frozen=True, slots=True)
class AttemptAdded(Event):
    """A new attempt of an application began."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptRegistered(Event):
    """An attempt's AM registered."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptRemoved(Event):
    """An attempt ended; its asks are gone."""

    attempt: Attempt
    state: str


@dataclass(frozen=True, slots=True)
class AskChanged(Event):
    """The AM changed an ask: outstanding count and size before and after."""

    ask: Ask
    old_count: int
    new_count: int
    old_size: Resource
    new_size: Resource


@dataclass(frozen=True, slots=True)
class ContainerAdded(Event):
    """A container that no plan of this process placed: recovered, or allocated by the fallback."""

    container: Container
    origin: str


@dataclass(frozen=True, slots=True)
class ContainerStarted(Event):
    """A container is RUNNING on its node."""

    container: Container


@dataclass(frozen=True, slots=True)
class ContainerResized(Event):
    """A container's size went from ``old`` to ``new``."""

    container: Container
    old: Resource
    new: Resource


@dataclass(frozen=True, slots=True)
class ContainerCompleted(Event):
    """A container ended: ``kind`` is completed, killed, released, expired, lost or preempted."""

    container: Container
    kind: str
    exit_status: int


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """The engine refused one container of a decision of the last plan; it is asked for again."""

    tag: Any
    reason: Reason
    ask: Ask | None
    node: Node | None
    size: Resource


@dataclass(frozen=True, slots=True)
class TimerFired(Event):
    """The timer that the policy set is due."""


Change = tuple[type[Event], int, int, Queue | None, tuple[Any, ...]]
"""An event that is built when it is read: type, at_ms, sequence, leaf queue (None: for all queues),
other fields.
"""


class Changes:
    """What one batch reports, in its order. A leaf queue's part is found without a look at the
    others': of a thousand leaf queues most have no part.
    """

    def __init__(self, *every: Change) -> None:
        self.every = list(every)
        self._places: dict[str, list[int]] = {}  # by path of the leaf queue; "": for all queues
        self._counted = 0  # of ``every``, in ``_places``

    def add(self, change: Change) -> None:
        """Add the next one."""
        self.every.append(change)

    def concern(self, scope: Queue) -> bool:
        """Return whether any of them happened in the scope of a policy."""
        if not scope.leaf:
            return bool(self.of(scope))
        places = self._by_leaf()
        return scope.path in places or "" in places

    def of(self, scope: Queue) -> list[Change]:
        """Return those in the scope of a policy."""
        every = self.every
        if scope.leaf:
            places = self._by_leaf()
            own, common = places.get(scope.path), places.get("")
            if own is None or common is None:
                return [every[at] for at in own or common or ()]
            return [every[at] for at in sorted([*own, *common])]
        inside: dict[str, bool] = {"": True}
        for path in self._by_leaf():
            inside[path] = not path or _is_within(path, scope.path)
        return [each for each in every if inside["" if each[3] is None else each[3].path]]

    def _by_leaf(self) -> dict[str, list[int]]:
        places = self._places
        while self._counted < len(self.every):
            leaf = self.every[self._counted][3]
            path = "" if leaf is None else leaf.path
            if path not in places:
                places[path] = []
            places[path].append(self._counted)
            self._counted += 1
        return places


def _is_within(path: str, scope: str) -> bool:
    """Return whether a queue's path is the scope's or below it."""
    return path == scope or path.startswith(scope + ".")
