"""What a conversion makes: the queues with the origin of each key, and every property's outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from loomcard.install.site_file import SiteFileError

ROOT: Final = "root"
RUNNING: Final = "maximum_running_applications"
Became = Literal["converted", "no effect", "lost"]


class ConversionError(SiteFileError):
    """A file that is no configuration of a stock scheduler, or one that YARN refuses too."""


@dataclass(frozen=True)
class Outcome:
    """What became of one property of the file.

    ``key`` is where its value is now, such as ``root.prod: guaranteed``; empty unless it was
    converted. ``why`` says why it is lost or has no effect, or how the converted key differs;
    ``remedy`` what to do about it.
    """

    name: str
    value: str
    became: Became
    key: str = ""
    why: str = ""
    remedy: str = ""


@dataclass(eq=False)
class Draft:
    """One queue of the policy configuration, with the origin of each of its keys."""

    path: str
    keys: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    """Text of the comment beside each key."""
    queues: dict[str, Draft] = field(default_factory=dict)
    parent: Draft | None = None

    def put(self, key: str, value: Any, origin: str) -> None:
        """Set a key."""
        self.keys[key] = value
        self.origins[key] = origin

    def add(self, name: str) -> Draft:
        """Return a new queue below this one."""
        self.queues[name] = Draft(f"{self.path}.{name}", parent=self)
        return self.queues[name]

    def limit_running(self, limit: int, origin: str) -> None:
        """Limit how many applications run in this queue and in each below it that states no number;
        one limit on a path is enough.
        """
        if RUNNING not in self.keys:
            self.put(RUNNING, limit, origin)
            return
        if "auto_create" in self.keys:
            self.keys["auto_create"].setdefault("template", {}).setdefault(RUNNING, limit)
        for queue in self.queues.values():
            queue.limit_running(limit, origin)

    @property
    def leaf(self) -> bool:
        """Whether applications may be in this queue."""
        return not self.queues and "auto_create" not in self.keys

    def all(self) -> Iterator[Draft]:
        """Yield this queue and all below it, parents first."""
        yield self
        for queue in self.queues.values():
            yield from queue.all()

    def leaves(self) -> Iterator[Draft]:
        """Yield the leaf queues."""
        return (queue for queue in self.all() if queue.leaf)


@dataclass
class Conversion:
    """A converted file: its queues, and what became of every property."""

    place: str
    scheduler: Literal["CapacityScheduler", "FairScheduler"]
    root: Draft = field(default_factory=lambda: Draft(ROOT))
    open_parents: set[str] = field(default_factory=set)
    """Paths of queues with nothing below them that may have queues, and no applications."""
    outcomes: list[Outcome] = field(default_factory=list)

    def converted(self, name: str, value: str, queue: Draft, key: str, why: str = "") -> None:
        """Record that a property's value is now a key of a queue."""
        self.outcomes.append(Outcome(name, value, "converted", f"{queue.path}: {key}", why))

    def idle(self, name: str, value: str, why: str) -> None:
        """Record that a property changes nothing, here or there."""
        self.outcomes.append(Outcome(name, value, "no effect", why=why))

    def lost(self, name: str, value: str, why: str, remedy: str) -> None:
        """Record that there is nothing like a property here."""
        self.outcomes.append(Outcome(name, value, "lost", why=why, remedy=remedy))

    def explain(self, name: str, why: str) -> None:
        """Add to what is said of a property that was converted."""
        for index, each in enumerate(self.outcomes):
            if each.name == name and each.became == "converted":
                said = "; ".join(filter(None, [each.why, why]))
                self.outcomes[index] = replace(each, why=said)

    def count(self, became: Became) -> int:
        """Return how many properties had this outcome."""
        return sum(outcome.became == became for outcome in self.outcomes)
