"""What is recorded of a cluster while a scenario runs: the facts that predicates judge. Everything
is read from the ResourceManager's own state, never from the policy's mirror, each time after the
policies have decided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from loomcard.model.objects import Application, Ask, Container, Node
from loomcard.model.reasons import Reason
from loomcard.model.reservations import why_never
from loomcard.model.resource import Resource, fits, share
from loomcard.model.state import ClusterState
from loomcard.simulator.engine import Simulation
from loomcard.simulator.invariants import check_agreement

FULL = (Reason.QUEUE_MAX, Reason.USER_LIMIT)
CHECK_EVERY = 100
"""The state is compared with the mirror's after this many decisions."""


class QueueUsage(NamedTuple):
    """A queue, or a user of a leaf queue (``root.a/alice``), at a moment. ``share``: its dominant
    share of the cluster; ``task``: the share of its largest task; ``wants``: one of its tasks waits
    that some node could run if it were empty, and that only limits on the use of a queue or a user
    forbid.
    """

    share: float
    task: float
    wants: bool


class Sample(NamedTuple):
    """The cluster at a time at which something happened. ``used``: the largest part of a resource
    type that is used.
    """

    at_ms: int
    capacity: Resource
    used: float
    usages: dict[str, QueueUsage]


class Interval(NamedTuple):
    """An interval of time, and what is reported of it."""

    from_ms: int
    to_ms: int
    about: str

    @property
    def ms(self) -> int:
        """Its length in ms."""
        return self.to_ms - self.from_ms


NONE = Interval(0, 0, "")


@dataclass
class Observations:
    """What was seen of one run.

    ``idle``: the longest time in which room was free that a waiting task could have used.
    ``overtaken``: by application, the longest time, while it held no task and wanted one, in which
    room that it could have used went to some of its queue that were submitted later.
    ``waited``: by application, the longest time in which it held no task and wanted one.
    ``changes_ms``: when the policy was swapped. ``fault``: what ended the run, if anything did.
    ``states``: how each application ended, "" for one that did not. ``took_ms``: from submission to
    end, of those that did.
    """

    samples: list[Sample] = field(default_factory=list)
    idle: Interval = NONE
    overtaken: dict[str, Interval] = field(default_factory=dict)
    waited: dict[str, Interval] = field(default_factory=dict)
    changes_ms: tuple[int, ...] = ()
    states: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    fault: str | None = None


class Watch:
    """Watch a simulation after each decision. ``largest``: the largest task of each queue, and of
    each user that is to be followed (``root.a/alice``).
    """

    def __init__(self, largest: Mapping[str, Resource]) -> None:
        self.seen = Observations()
        self._largest = largest
        self._allocated: list[Container] = []
        self._waiting: dict[Application, int] = {}  # without a task that they want: since when
        self._idle: tuple[int, str] | None = None
        self._overtaken: dict[Application, int] = {}  # since when, for those that wait
        self._wanted: dict[Application, Ask] = {}
        self._could_run: dict[tuple[Resource, str], bool] = {}
        self._capacity_version = -1

    def follow(self, simulation: Simulation) -> None:
        """Follow the simulation's containers; ``look`` is then called after each decision."""
        self._rm, self._state = simulation.rm, simulation.rm.state
        before = simulation.rm.on_allocated

        def allocated(container: Container) -> None:
            self._allocated.append(container)
            before(container)

        simulation.rm.on_allocated = allocated

    def look(self) -> None:
        """Record the present state."""
        state, now = self._state, self._rm.clock.now
        if self._capacity_version != state.capacity_version:
            self._capacity_version = state.capacity_version
            self._could_run.clear()
        self._wanted = {
            app: ask for app in state.applications.values() if (ask := self._first_wanted(app))
        }
        used = share(state.queues[0].used, state.capacity)
        usages = {name: self._usage(name) for name in self._largest}
        self.seen.samples.append(Sample(now, state.capacity, used, usages))
        self._note_waiting(now)
        self._note_idle(now)
        self._allocated.clear()
        if len(self.seen.samples) % CHECK_EVERY == 0:
            check_agreement(self._rm)

    def end(self) -> None:
        """End the run: intervals that still last end now."""
        now = self._rm.clock.now
        for app, since in self._waiting.items():
            self._longest(self.seen.waited, app.name, Interval(since, now, ""))
        self._idle_ended(now)

    # Standings

    def _usage(self, name: str) -> QueueUsage:
        state = self._state
        path, _, user = name.partition("/")
        below = [
            app
            for app in state.applications.values()
            if (app.queue.path + ".").startswith(path + ".") and user in ("", app.user)
        ]
        held = state.by_path[path].used
        if user:
            held = [sum(c) for c in zip(state.zero, *(app.used for app in below), strict=True)]
        wants = any(app in self._wanted or self._first_wanted(app, FULL) for app in below)
        largest = self._largest[name]
        return QueueUsage(share(held, state.capacity), share(largest, state.capacity), wants)

    def _first_wanted(
        self, app: Application, apart_from: Collection[Reason | None] = (None,)
    ) -> Ask | None:
        """Return its first ask that an empty node could run and that only these limits may
        forbid.
        """
        if not app.pending_count:
            return None
        possible = (ask for ask in app.asks if ask.count > 0 and self._possible(ask))
        return next((ask for ask in possible if self._state.limited(ask) in apart_from), None)

    def _possible(self, ask: Ask) -> bool:
        shape = (ask.size, ask.label)
        if shape not in self._could_run:
            nodes = self._state.nodes.values()
            self._could_run[shape] = any(could_run(ask, node) for node in nodes)
        return self._could_run[shape]

    # Which applications wait and are overtaken

    def _note_waiting(self, now: int) -> None:
        before, self._waiting = self._waiting, {}
        for app, ask in self._wanted.items():
            if any(not c.is_am for c in app.containers):
                continue
            self._waiting[app] = before.pop(app, now)
            passed = next((c for c in self._allocated if self._overtakes(c, app, ask)), None)
            if passed is not None:
                about = f"{app.name} waits while {passed.application.name} is served"
                first = self._overtaken.setdefault(app, now)
                self._longest(self.seen.overtaken, app.name, Interval(first, now, about))
        for app, since in before.items():
            self._overtaken.pop(app, None)
            self._longest(self.seen.waited, app.name, Interval(since, now, ""))

    @staticmethod
    def _overtakes(container: Container, app: Application, ask: Ask) -> bool:
        """Return whether the container's application was submitted later to the same queue, and the
        container uses everything that ``ask`` lacks on a node of its partition which could run it.
        """
        other, node = container.application, container.node
        later = (other.submitted_ms, other.number) > (app.submitted_ms, app.number)
        if other.queue is not app.queue or not later or why_never(ask, node) is not None:
            return False
        amounts = zip(ask.size, node.free, container.size, strict=True)
        lacking = [taken for wanted, free, taken in amounts if wanted > free]
        return bool(lacking) and all(lacking)

    @staticmethod
    def _longest(known: dict[str, Interval], name: str, interval: Interval) -> None:
        if interval.ms > known.get(name, NONE).ms:
            known[name] = interval

    # Room that no task uses

    def _note_idle(self, now: int) -> None:
        usable = usable_room(self._state)
        if usable is None:
            self._idle_ended(now)
        elif self._idle is None:
            self._idle = now, usable

    def _idle_ended(self, now: int) -> None:
        if self._idle is not None and now - self._idle[0] > self.seen.idle.ms:
            self.seen.idle = Interval(self._idle[0], now, self._idle[1])
        self._idle = None


def could_run(ask: Ask, node: Node) -> bool:
    """Return whether an empty ``node`` could run the ask, in its own partition or on what that
    lends.
    """
    lent = node.shared and not ask.label and fits(ask.size, node.capacity)
    return lent or why_never(ask, node) is None


def usable_room(state: ClusterState) -> str | None:
    """Return a waiting task that could start now, in words: it fits on a node, beside what runs and
    is reserved there, and no limit forbids it. None if there is no such task.
    """
    if not state.shapes:
        return None
    least = [min(column) for column in zip(*(size for size, _ in state.shapes), strict=True)]
    nodes = [node for node in state.nodes.values() if fits(least, node.free)]
    fitting = {
        (size, label)
        for size, label in (state.shapes if nodes else ())
        if any(fits(size, node.free) and node.takes(label) for node in nodes)
    }
    for app in state.applications.values() if fitting else ():
        for ask in app.asks:
            if (ask.size, ask.label) in fitting and ask.count > 0 and state.limited(ask) is None:
                node = next((n for n in nodes if state.why_not(ask, n) is None), None)
                if node is not None:
                    return f"a task of {app.name}, {tuple(ask.size)}, would fit on {node.host}"
    return None
