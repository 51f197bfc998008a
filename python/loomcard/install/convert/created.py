"""The queues that CapacityScheduler makes below a parent, in both of its forms: `auto_create`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from loomcard.install.convert.access import KEYS, Access
from loomcard.install.convert.amounts import number
from loomcard.install.convert.application_limits import ApplicationLimits
from loomcard.install.convert.conversion import Draft
from loomcard.install.convert.leaf_rules import LeafRules
from loomcard.install.convert.own_keys import (
    convert_labels,
    convert_priority,
    convert_running,
    convert_state,
)
from loomcard.install.convert.properties import PREFIX, Properties
from loomcard.install.convert.shares import Shares

_FIRST: Final = "auto-create-child-queue"
_SECOND: Final = "auto-queue-creation-v2"
_TEMPLATES: Final = {
    _FIRST: ("leaf-queue-template",),
    _SECOND: (f"{_SECOND}.template", f"{_SECOND}.leaf-template"),
}
_CREATED: Final = 1_000
"""CapacityScheduler's default of the most queues that are created below one."""
_BOUNDS: Final = {"maximum_queues": (1, 10_000), "depth": (1, 8), "remove_after": (1, 2**31 - 1)}
LISTS: Final = {"submit": "acl_submit_applications", "administer": "acl_administer_queue"}


class Created:
    """Converts what is created below the queues. A template's keys are put into its drafts, which
    share them, so that later parts of the conversion add to them.
    """

    def __init__(self, given: Properties, shares: Shares) -> None:
        self._given = given
        self._made = given.made
        self._shares = shares
        self.templates: dict[Draft, list[Draft]] = {}
        self._forms: dict[Draft, str] = {}
        self._of_parent: dict[Draft, Decimal | None] = {}
        """The percentage of the parent that each created leaf has; None: another form of it."""

    def convert(self, queue: Draft) -> None:
        """Set ``auto_create`` of a queue that has one of the forms."""
        for form in (_FIRST, _SECOND):
            name, text = self._given.take(queue, f"{form}.enabled")
            if text is not None and text.lower() == "true":
                self._convert(queue, form, name, text)
            elif text is not None:
                self._made.idle(name, text, "no queue is created")
                self._drop(queue, form)

    def _drop(self, queue: Draft, form: str) -> None:
        """Take out the other properties of a form that is off."""
        for part in (form, *_TEMPLATES[form]):
            start = f"{PREFIX}{queue.path}.{part}."
            for name in [each for each in self._given.left if each.startswith(start)]:
                self._made.idle(name, self._given.left.pop(name).strip(), "no queue is created")

    def _convert(self, queue: Draft, form: str, enabled: str, value: str) -> None:
        names = [f"{enabled} = {value}"]
        made: dict[str, Any] = {}
        name, text = self._given.take(queue, f"{form}.max-queues")
        if text is not None:
            made["maximum_queues"] = self._bounded(queue, "maximum_queues", name, text)
            names.append(f"{name} = {text}")
        made["template"] = self._template(queue, form, made.get("maximum_queues", _CREATED))
        if form == _FIRST:
            made["remove_after"] = "unlimited"
        else:
            made |= self._depth_and_removal(queue)
        queue.put("auto_create", made, ", ".join(names))
        self._made.converted(enabled, value, queue, "auto_create")

    def _bounded(self, queue: Draft, key: str, name: str, text: str) -> int:
        """Return a number, within the bounds that it has here; say so if it was outside."""
        found, why = _within(key, name, text)
        self._made.converted(name, text, queue, f"auto_create: {key}", why)
        return found

    def _depth_and_removal(self, queue: Draft) -> dict[str, Any]:
        found: dict[str, Any] = {"depth": 2}
        general = f"{PREFIX}{_SECOND}.maximum-queue-depth"
        name, text = self._given.take(queue, f"{_SECOND}.maximum-queue-depth")
        if text is not None:
            found["depth"] = self._bounded(queue, "depth", name, text)
        elif general in self._given.left:
            found["depth"] = _within("depth", general, self._given.left[general])[0]
        expiry = f"{PREFIX}{_SECOND}.queue-expiration-time"
        name, text = self._given.take(queue, f"{_SECOND}.queue-auto-removal.enable")
        if text is not None and text.lower() == "false":
            found["remove_after"] = "unlimited"
        elif expiry in self._given.left:
            found["remove_after"] = _within("remove_after", expiry, self._given.left[expiry])[0]
        if text is not None:
            self._made.converted(name, text, queue, "auto_create: remove_after")
        return found

    def _template(self, queue: Draft, form: str, most: int) -> dict[str, Any]:
        """Convert what a template states for itself; a later one goes before an earlier one."""
        keys: dict[str, Any] = {}
        origins: dict[str, str] = {}
        parts = [
            Draft(f"{queue.path}.{part}", keys, origins, parent=queue) for part in _TEMPLATES[form]
        ]
        self.templates[queue] = parts
        self._forms[queue] = form
        if form == _FIRST:
            self._of_parent[queue] = Decimal()  # YARN's default
        for leaf in parts:
            if f"{PREFIX}{leaf.path}.capacity" in self._given.left:
                self._of_parent[queue] = self._shares.of_template(leaf, most)
            self._shares.maximum(leaf)
            convert_labels(self._given, leaf, most)
            convert_state(self._given, leaf)
            convert_priority(self._given, leaf)
            convert_running(self._given, leaf)
        return keys

    def limits(self, rules: LeafRules, applications: ApplicationLimits) -> None:
        """Convert the rules of what is created, and how many applications it takes."""
        for queue, parts in self.templates.items():
            first = self._forms[queue] == _FIRST
            found = rules.read_template(queue, parts, user_limits=first)
            applications.of_template(parts, found, self._of_parent.get(queue), first)

    def access(self, access: Access, queue: Draft) -> None:
        """Convert the lists of what is created below a queue, whose own are known."""
        parts = self.templates.get(queue, [])
        stated: dict[str, tuple[str, str] | None] = dict.fromkeys(KEYS)
        for part in parts:
            for key, suffix in LISTS.items():
                name = f"{PREFIX}{part.path}.{suffix}"
                text = self._given.left.pop(name, None)
                before = stated[key]
                if text is not None:
                    if before is not None:
                        self._made.idle(*before, f"{name} goes before it")
                    stated[key] = (name, text)
        if any(stated.values()):
            access.convert(parts[-1], stated)

    def general(self) -> None:
        """Say what became of the depth and the time that hold for all queues."""
        used = _SECOND in self._forms.values()
        for suffix, key in (
            (f"{_SECOND}.maximum-queue-depth", "depth"),
            (f"{_SECOND}.queue-expiration-time", "remove_after"),
        ):
            name, text = self._given.take(None, suffix)
            if text is not None and used:
                _, why = _within(key, name, text)
                words = f"auto_create: {key} of the queues"
                self._made.converted(name, text, self._made.root, words, why)
            elif text is not None:
                self._made.idle(name, text, "no queue is created")


def _within(key: str, name: str, text: str) -> tuple[int, str]:
    """Return a number within its bounds here, and what to say if it was outside."""
    least, most = _BOUNDS[key]
    stated = int(number(text, name))
    found = min(max(stated, least), most)
    return found, "" if found == stated else f"here it is from {least} to {most}"
