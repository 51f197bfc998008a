"""Limits of which the nearest counts in YARN, and the least of the path here.

A value is written at the queue that states it if all leaves below have it; otherwise at each leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from loomcard.install.convert.amounts import BINARY, amount, number, resource, vector
from loomcard.install.convert.conversion import Draft
from loomcard.install.convert.properties import Properties

Templates = Mapping[Draft, Sequence[Draft]]
"""By queue, the templates of what is created below it; a later one goes before an earlier one."""
_MOST: Final = 2**31 - 1
_MAXIMUM: Final = "maximum_lifetime"
_DEFAULT: Final = "default_lifetime"
_ALLOCATION: Final = "maximum_allocation"
Found = tuple[str, str]
"""A property's name and its value."""


class Inherited:
    """Converts lifetimes and the largest containers of all queues and templates."""

    def __init__(self, given: Properties, templates: Templates) -> None:
        self._given = given
        self._templates = templates
        self._values: dict[str, dict[Draft, Any]] = {_MAXIMUM: {}, _DEFAULT: {}, _ALLOCATION: {}}
        self._origins: dict[str, dict[Draft, list[Found]]] = {key: {} for key in self._values}
        self._stated: list[tuple[Found, Draft, str]] = []
        self._specified: set[Draft] = set()
        self._used: set[str] = set()
        """Names of the properties that came to a key of some queue."""

    def convert(self, root: Draft) -> None:
        """Convert the three limits of root and all below."""
        for queue in root.all():
            self._read(queue, queue.parent, [queue])
            drafts = self._templates.get(queue, [])
            if drafts:
                self._read(drafts[-1], queue, drafts)
        for key in self._values:
            self._spread(root, key)
        for found, queue, key in self._stated:
            if found[0] in self._used:
                self._given.made.converted(*found, queue, key)
            else:
                self._given.made.idle(*found, _WITHOUT_EFFECT[key])

    def _read(self, queue: Draft, above: Draft | None, drafts: Sequence[Draft]) -> None:
        """Keep what is in force in YARN at a queue, or at what a template's drafts make."""
        self._lifetimes(queue, above, drafts)
        self._allocation(queue, above, drafts)

    def _take(self, drafts: Sequence[Draft], suffix: str, key: str) -> Found | None:
        """Return the property of the last draft that states it."""
        last: Found | None = None
        for draft in drafts:
            name, text = self._given.take(draft, suffix)
            if text:
                last = (name, text)
                self._stated.append((last, draft, key))
            elif text is not None:
                self._given.made.idle(name, text, "nothing is stated")
        return last

    # -- lifetimes

    def _lifetimes(self, queue: Draft, above: Draft | None, drafts: Sequence[Draft]) -> None:
        most = self._lifetime(queue, above, drafts)
        found = self._take(drafts, "default-application-lifetime", _DEFAULT)
        default = -1 if found is None else int(number(found[1], found[0]))
        origins = [] if found is None else [found]
        if default >= 0 or above in self._specified:
            self._specified.add(queue)
        if default < 0 and above is not None and above in self._specified:
            default = min(self._values[_DEFAULT][above], most)
            origins = self._origins[_DEFAULT][above]
        self._set(_DEFAULT, queue, most if default <= 0 else default, origins)

    def _lifetime(self, queue: Draft, above: Draft | None, drafts: Sequence[Draft]) -> int:
        found = self._take(drafts, "maximum-application-lifetime", _MAXIMUM)
        most = -1 if found is None else int(number(found[1], found[0]))
        origins = [] if found is None else [found]
        if most < 0 and above is not None:
            most, origins = self._values[_MAXIMUM][above], self._origins[_MAXIMUM][above]
        self._set(_MAXIMUM, queue, most, origins)
        return most

    # -- the largest container

    def _allocation(self, queue: Draft, above: Draft | None, drafts: Sequence[Draft]) -> None:
        largest: dict[str, int] = {}
        origins: list[Found] = []
        for suffix in ("maximum-allocation-mb", "maximum-allocation-vcores", "maximum-allocation"):
            found = self._take(drafts, suffix, _ALLOCATION)
            if found is None:
                continue
            name, text = found
            if suffix == "maximum-allocation":
                parts = vector(text, name).items()
                stated = {kind: amount(kind, part, name, BINARY) for kind, part in parts}
            else:
                stated = {resource(suffix.rpartition("-")[2]): int(number(text, name))}
            if any(most <= 0 for most in stated.values()):
                self._stated = [each for each in self._stated if each[0] != found]
                self._given.made.lost(
                    name, text, "with 0 of a resource nothing could be asked for",
                    f"state maximum_allocation of {queue.path}, or state: stopped",
                )  # fmt: skip
                continue
            largest |= stated
            origins.append(found)
        inherited: Mapping[str, int] = {}
        if above is not None:
            inherited = self._values[_ALLOCATION][above] or {}
            if inherited.keys() - largest.keys():
                origins = [*self._origins[_ALLOCATION][above], *origins]
        self._set(_ALLOCATION, queue, {**inherited, **largest} or None, origins)

    # -- where it is written

    def _set(self, key: str, queue: Draft, value: Any, origins: list[Found]) -> None:
        self._values[key][queue] = value
        self._origins[key][queue] = origins

    def _written(self, key: str, queue: Draft) -> Any:
        """Return what a queue states if it states it: None if nothing holds."""
        value = self._values[key][queue]
        if key == _ALLOCATION:
            return value
        if key == _DEFAULT and value == self._values[_MAXIMUM][queue]:
            return None
        return value if 0 < value <= _MOST else None

    def _leaves(self, queue: Draft) -> Iterator[Draft]:
        for below in queue.all():
            if below in self._templates:
                yield self._templates[below][-1]
            elif not below.queues:
                yield below

    def _spread(self, queue: Draft, key: str) -> None:
        found = [self._written(key, leaf) for leaf in self._leaves(queue)]
        own = self._written(key, queue)
        if all(each == own for each in found):
            self._write(queue, key, own)
            return
        for below in queue.queues.values():
            self._spread(below, key)
        for template in self._templates.get(queue, [])[-1:]:
            self._write(template, key, self._written(key, template))

    def _write(self, queue: Draft, key: str, value: Any) -> None:
        origins = self._origins[key][queue]
        self._used |= {name for name, _ in origins} if value is not None else set()
        if value is not None:
            queue.put(key, value, ", ".join(f"{name} = {text}" for name, text in origins))


_WITHOUT_EFFECT: Final = {
    _MAXIMUM: "no lifetime is set there, or the leaves below have their own",
    _DEFAULT: "it is the maximum lifetime, or the leaves below have their own",
    _ALLOCATION: "the leaves below have their own",
}
