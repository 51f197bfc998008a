"""What a run must fulfil. Each predicate judges what was recorded of it, and returns what is
broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import ClassVar, Protocol

from loomcard.stress.watch import NONE, Interval, Observations, Sample

TINY = 1e-9


class Predicate(Protocol):
    """One requirement; ``name`` is its name in tables."""

    name: ClassVar[str]

    def broken(self, seen: Observations) -> str | None:
        """Return what is broken, with the measured figure; None if nothing is."""


@dataclass(frozen=True)
class Consistent:
    """Nothing raises, no decision is refused, and the state is consistent: no node, queue or user
    uses more than allowed, and the mirror agrees with the ResourceManager.
    """

    name: ClassVar[str] = "sound"

    def broken(self, seen: Observations) -> str | None:
        """Return the error, or the refusals by reason."""
        if seen.fault is not None:
            return seen.fault
        if seen.refusals:
            return "refused: " + ", ".join(f"{n} {why}" for why, n in seen.refusals.items())
        return None


@dataclass(frozen=True)
class Ends:
    """Every application that can ever run has ended by the end of the scenario, whose time is
    several times what the work takes. ``apart_from``: applications that ask for what no node has.
    """

    apart_from: tuple[str, ...] = ()

    name: ClassVar[str] = "ends"

    def broken(self, seen: Observations) -> str | None:
        """Return how many have not ended, and the first of them."""
        left = [app for app, how in seen.states.items() if not how and app not in self.apart_from]
        if not left:
            return None
        return f"{len(left)} of {len(seen.states)} applications never end, {left[0]} first of all"


@dataclass(frozen=True)
class NoIdleRoom:
    """Room is never unused for longer than ``most_ms`` while a task waits that fits there and that
    no limit of the queue tree forbids. Room that is reserved for another task does not count.
    """

    most_ms: int = 2_000

    name: ClassVar[str] = "idle room"

    def broken(self, seen: Observations) -> str | None:
        """Return the longest such time, and a task that could have run."""
        if seen.idle.ms <= self.most_ms:
            return None
        idle = seen.idle
        return f"{_s(idle.ms)} from {_s(idle.from_ms)} on: {idle.about}"


@dataclass(frozen=True)
class NoStarvation:
    """No application waits without a running task while, for longer than ``most_ms``, room that it
    could have used is given to applications of its queue that were submitted later.
    """

    most_ms: int = 60_000

    name: ClassVar[str] = "starvation"

    def broken(self, seen: Observations) -> str | None:
        """Return how many wait so, and the one that waits longest."""
        long = [interval for interval in seen.overtaken.values() if interval.ms > self.most_ms]
        if not long:
            return None
        worst = max(long, key=lambda interval: interval.ms)
        return f"{len(long)} applications, the worst for {_s(worst.ms)}: {worst.about}"


@dataclass(frozen=True)
class Served:
    """An application is never without a task for longer than ``within_ms`` while it wants one."""

    application: str
    within_ms: int

    name: ClassVar[str] = "bounded wait"

    def broken(self, seen: Observations) -> str | None:
        """Return the longest time without a task."""
        waited = seen.waited.get(self.application)
        if waited is None or waited.ms <= self.within_ms:
            return None
        return f"{self.application} waits for {_s(waited.ms)}, {_s(self.within_ms)} at most"


@dataclass(frozen=True)
class InTime:
    """Each of these applications ends within its number of ms after its submission."""

    limits_ms: Mapping[str, int]

    name: ClassVar[str] = "in time"

    def broken(self, seen: Observations) -> str | None:
        """Return how many end later, and the one that exceeds its limit most."""
        took = {app: seen.took_ms.get(app, inf) for app in self.limits_ms}
        late = {app: ms - self.limits_ms[app] for app, ms in took.items()}
        worst = max(late, key=lambda app: late[app])
        if late[worst] <= 0:
            return None
        count = sum(ms > 0 for ms in late.values())
        ended = "never ends" if took[worst] == inf else f"takes {_s(took[worst])}"
        return (
            f"{count} of {len(late)} applications, the worst: {worst} {ended}, "
            f"{_s(self.limits_ms[worst])} at most"
        )


@dataclass(frozen=True)
class Guarantee:
    """While all of these queues (or users of a leaf, ``root.a/alice``) want more, none has for
    longer than ``most_ms`` a smaller dominant share than its part of the cluster but for ``tasks``
    of its largest size: one, since containers are whole, or one for each sibling whose part is less
    than a task.

    It counts from ``turnover_ms`` after all began to want, after the last change of the cluster's
    capacity and after the last swap: nothing is taken back, so running tasks end first.
    """

    parts: Mapping[str, float]
    turnover_ms: int
    tasks: int = 1
    most_ms: int = 2_000

    name: ClassVar[str] = "guarantee"

    def broken(self, seen: Observations) -> str | None:
        """Return the longest time for which one is below its share, and its lowest share."""
        counted = _while_all_want(seen, list(self.parts), self.turnover_ms)
        if not counted:
            return "all of the queues never wanted at once for long enough"
        short = [interval for name in self.parts for interval in self._short(name, counted)]
        longest = max(short, key=lambda interval: interval.ms, default=NONE)
        return f"{longest.about}, and is short for {_s(longest.ms)}" if longest.about else None

    def _short(self, name: str, counted: list[tuple[Sample, int, int]]) -> Iterator[Interval]:
        """Return each interval, longer than is allowed, in which the queue is below its share."""
        since, until, worst, about = 0, -1, 0.0, ""
        for sample, from_ms, to_ms in counted:
            usage = sample.usages[name]
            lack = self.parts[name] - usage.share - self.tasks * usage.task
            if lack <= TINY:
                until = -1
                continue
            if from_ms != until:
                since, worst = from_ms, 0.0
            until = to_ms
            if lack > worst:
                worst = lack
                about = (
                    f"{name} has {usage.share:.3f} of the cluster at {_s(from_ms)}, is promised"
                    f" {self.parts[name]:.3f}, its task is {usage.task:.3f}"
                )
            if until - since > self.most_ms:
                yield Interval(since, until, about)


def _while_all_want(
    seen: Observations, names: list[str], turnover_ms: int
) -> list[tuple[Sample, int, int]]:
    """Return the intervals in which all have wanted more for long enough."""
    found = []
    since: int | None = None
    before: Sample | None = None
    for sample, following in pairwise(seen.samples):
        changed = (
            before is None
            or before.capacity != sample.capacity
            or any(before.at_ms < at_ms <= sample.at_ms for at_ms in seen.changes_ms)
        )
        if not all(sample.usages[name].wants for name in names):
            since = None
        elif since is None or changed:
            since = sample.at_ms
        if since is not None and following.at_ms > since + turnover_ms:
            found.append((sample, max(sample.at_ms, since + turnover_ms), following.at_ms))
        before = sample
    return found


@dataclass(frozen=True)
class InUse:
    """From ``from_ms`` to ``to_ms`` at least ``least`` of the cluster is used on average, of the
    resource type that is used most.
    """

    least: float
    from_ms: int
    to_ms: int

    name: ClassVar[str] = "in use"

    def broken(self, seen: Observations) -> str | None:
        """Return how much was used."""
        total = 0.0
        for sample, following in pairwise(seen.samples):
            begin, end = max(sample.at_ms, self.from_ms), min(following.at_ms, self.to_ms)
            total += sample.used * max(0, end - begin)
        mean = total / (self.to_ms - self.from_ms)
        return None if mean >= self.least else f"{mean:.2f} is in use, at least {self.least:.2f}"


def _s(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
