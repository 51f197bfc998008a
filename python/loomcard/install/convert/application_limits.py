"""How many applications and masters a leaf of CapacityScheduler takes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from loomcard.install.convert.amounts import WHOLE, masters_share, number, percent
from loomcard.install.convert.conversion import Draft
from loomcard.install.convert.leaf_rules import of_user
from loomcard.install.convert.properties import Properties
from loomcard.install.convert.shares import DEFAULT, Shares

_APPLICATIONS: Final = 10_000
"""CapacityScheduler's default of maximum-applications."""
_AM_SHARE: Final = Decimal("0.1")
"""CapacityScheduler's default of maximum-am-resource-percent."""
_MOST: Final = "maximum_applications"


class ApplicationLimits:
    """A leaf takes its part of the system's number, unless it, or one for all, states another.

    Where YARN's number is 0, every submission is refused, and the queue is stopped.
    """

    def __init__(self, given: Properties, shares: Shares) -> None:
        self._given = given
        self._made = given.made
        self._shares = shares
        root = self._made.root
        name, text = given.take(None, "maximum-applications")
        self._system = _APPLICATIONS if text is None else max(0, int(number(text, name)))
        if text is not None and not self._system:
            given.put(root, "state", "stopped", name, text, "YARN accepts no application")
        else:
            origin = f"{DEFAULT}: {self._system}" if text is None else f"{name} = {text}"
            root.put(_MOST, self._system, origin)
            if text is not None:
                self._made.converted(name, text, root, _MOST)
        name, text = given.take(None, "global-queue-max-application")
        self._general = 0 if text is None else int(number(text, name))
        if text is not None and self._general > 0:
            self._made.converted(name, text, root, f"{_MOST} of the leaf queues")
        elif text is not None:
            self._made.idle(name, text, "no number is set")
        name, text = given.take(None, "maximum-am-resource-percent")
        self._masters = _AM_SHARE if text is None else number(text, name)
        self._masters_said = f"{DEFAULT}: {self._masters}" if text is None else f"{name} = {text}"
        if text is not None:
            self._made.converted(name, text, root, "am_share of the leaf queues")

    def of_queue(self, queue: Draft, rules: Mapping[str, Any]) -> None:
        """Convert both limits of a queue of the file, which has these rules for its users."""
        if not queue.leaf:
            for suffix in ("maximum-applications", "maximum-am-resource-percent"):
                name, text = self._given.take(queue, suffix)
                if text is not None:
                    self._made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
            return
        self._number(queue, [queue], self._shares.of_applications(queue), rules)
        self._share(queue, [queue])

    def of_template(
        self, parts: list[Draft], rules: Mapping[str, Any], share: Decimal | None, first_form: bool
    ) -> None:
        """Convert those of created leaves, which have this percentage of their parent.

        Leaves of the second form have no limit of masters unless the template states one; their
        part of the applications changes with their number, and is left out.
        """
        leaf = parts[-1]
        parent = leaf.parent
        part: Decimal | None = None
        above = self._shares.parts.get(parent) if parent is not None else None
        own = share if first_form or not share else None
        if above is not None and (own is not None or not above):
            self._shares.parts[leaf] = above * (own or 0) / WHOLE
            part = self._shares.of_applications(leaf)
        self._number(leaf, parts, part, rules)
        self._share(leaf, parts, general=first_form)

    def _take(self, parts: list[Draft], suffix: str) -> tuple[str, str | None]:
        """Return what the last part states; say of the others that it goes before them."""
        last: tuple[str, str | None] = ("", None)
        for part in parts:
            name, text = self._given.take(part, suffix)
            if text is not None:
                if last[1] is not None:
                    self._made.idle(last[0], last[1], f"{name} goes before it")
                last = (name, text)
        return last

    def _number(
        self, leaf: Draft, parts: list[Draft], part: Decimal | None, rules: Mapping[str, Any]
    ) -> None:
        name, text = self._take(parts, "maximum-applications")
        own = -1 if text is None else int(number(text, name))
        if text is not None and own < 0:
            self._made.idle(name, text, "no number is set")
        most: int | None = None
        origin = ""
        if own >= 0:
            most, origin = own, f"{name} = {text}"
        elif self._general > 0:
            most, origin = min(self._general, self._system), "global-queue-max-application"
        elif part is not None:
            most = int(self._system * part / WHOLE)
            origin = f"{percent(part)} of {self._system}"
        if most == 0:
            self._stop(leaf, f"{origin}: YARN accepts no application")
        elif most is not None:
            leaf.put(_MOST, most, origin)
        if own >= 0:
            self._made.converted(name, text or "", leaf, _MOST if own else "state")
        self._of_user(leaf, most, rules)

    def _of_user(self, leaf: Draft, most: int | None, rules: Mapping[str, Any]) -> None:
        """A user's part of a leaf's applications is that of its capacity, unless it has none."""
        part = of_user(rules, most)
        if part == 0:
            self._stop(leaf, "YARN accepts no application of any user")
        elif part is not None:
            leaf.put(f"{_MOST}_per_user", part, "a user's part of the queue")

    @staticmethod
    def _stop(leaf: Draft, origin: str) -> None:
        if "state" not in leaf.keys:
            leaf.put("state", "stopped", origin)

    def _share(self, leaf: Draft, parts: list[Draft], general: bool = True) -> None:
        name, text = self._take(parts, "maximum-am-resource-percent")
        if text is not None:
            leaf.put("am_share", masters_share(number(text, name)), f"{name} = {text}")
            self._made.converted(name, text, leaf, "am_share")
        elif general:
            leaf.put("am_share", masters_share(self._masters), self._masters_said)
