"""capacity-scheduler.xml as a policy configuration under `capacity`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loomcard.config.schema import QUEUE_NAME
from loomcard.install.convert.access import Access
from loomcard.install.convert.amounts import number
from loomcard.install.convert.application_limits import ApplicationLimits
from loomcard.install.convert.capacity_lost import IDLE, LOST
from loomcard.install.convert.conversion import (
    ROOT,
    RUNNING,
    Conversion,
    ConversionError,
    Draft,
)
from loomcard.install.convert.created import LISTS, Created
from loomcard.install.convert.inherited import Inherited
from loomcard.install.convert.leaf_rules import LeafRules
from loomcard.install.convert.own_keys import (
    convert_labels,
    convert_priority,
    convert_running,
    convert_state,
)
from loomcard.install.convert.placement import CapacityPlacement
from loomcard.install.convert.preemption import capacity_preemption
from loomcard.install.convert.properties import PREFIX, Properties
from loomcard.install.convert.shares import Shares

ACLS: Final = "yarn.acl.enable"
_IF_ASKED: Final = f"YARN asks it only if {ACLS} is true"
_CALCULATORS: Final = {
    "DefaultResourceCalculator": "memory",
    "DominantResourceCalculator": "dominant",
}


def convert_capacity(
    properties: Mapping[str, str], place: str, site_known: bool = False
) -> Conversion:
    """Return the policy configuration of a CapacityScheduler with these properties.

    ``properties`` holds the file's own, with variables replaced; ``site_known``: and all that
    yarn-site.xml states of the scheduler. Raises ConversionError for a file that CapacityScheduler
    refuses too.
    """
    made = Conversion(place, "CapacityScheduler")
    return _Converter(properties, made, site_known).convert()


class _Converter:
    """Takes one property after the other; what nobody takes is named as lost at the end."""

    def __init__(self, properties: Mapping[str, str], made: Conversion, site_known: bool) -> None:
        self.given = Properties(properties, made)
        self.order = {name: index for index, name in enumerate(properties)}
        self.made = made
        self.access = Access(made, self._asked(site_known), _IF_ASKED)

    def _asked(self, site_known: bool) -> bool | None:
        """Whether YARN asks queues' lists; None if it is not known."""
        text = self.given.left.pop(ACLS, None)
        if text is not None:
            self.made.idle(ACLS, text, "lists that are written are always asked here")
        if text is None and not site_known:
            return None
        return text is not None and text.strip().lower() == "true"

    def convert(self) -> Conversion:
        """Convert all properties; the outcomes have the order of the file."""
        left = self.given.left
        root = self.made.root
        self._tree(root)
        if root.leaf and not any("auto" in name for name in left):
            raise ConversionError(
                f"{self.made.place}: {PREFIX}root.queues names no queue",
                "give the file of a CapacityScheduler: capacity-scheduler.xml",
            )
        shares = Shares(self.given)
        created = Created(self.given, shares)
        queues = list(root.all())
        for queue in queues:
            shares.level(queue)
        for queue in queues:
            convert_labels(self.given, queue)
        for queue in queues:
            created.convert(queue)
        for queue in queues:
            self._access(queue)
            created.access(self.access, queue)
            convert_state(self.given, queue)
            convert_priority(self.given, queue)
        Inherited(self.given, created.templates).convert(root)
        applications = ApplicationLimits(self.given, shares)
        rules = LeafRules(self.given)
        for queue in queues:
            applications.of_queue(queue, rules.read(queue))
        created.limits(rules, applications)
        created.general()
        self._running()
        self._policy(rules)
        CapacityPlacement(self.made, PREFIX, left).convert()
        self._rest()
        self.made.outcomes.sort(key=lambda outcome: self.order[outcome.name])
        return self.made

    def _tree(self, queue: Draft) -> None:
        name, text = self.given.take(queue, "queues")
        children = [each.strip() for each in (text or "").split(",") if each.strip()]
        if text is not None:
            self.made.converted(name, text, queue, "queues")
        for child in children:
            if not re.fullmatch(QUEUE_NAME, child) or child == ROOT:
                raise ConversionError(
                    f"{self.made.place}: {name} has a queue {child!r}, a name that cannot be kept",
                    "rename it there first: letters, digits, _ and -",
                )
            self._tree(queue.add(child))

    def _access(self, queue: Draft) -> None:
        stated: dict[str, tuple[str, str] | None] = {}
        for key, suffix in LISTS.items():
            name = f"{PREFIX}{queue.path}.{suffix}"
            text = self.given.left.pop(name, None)  # not trimmed: a space parts users and groups
            stated[key] = None if text is None else (name, text)
        self.access.convert(queue, stated)

    def _running(self) -> None:
        """A queue's limit is its own, or the general one; a user's likewise, in all queues."""
        root, left = self.made.root, self.given.left
        for queue in root.all():
            convert_running(self.given, queue)
        name, text = self.given.take(None, "max-parallel-apps")
        if text is not None:
            root.limit_running(max(0, int(number(text, name))), f"{name} = {text}")
            self.made.converted(name, text, root, f"{RUNNING} of the queues without one")
        start, end = f"{PREFIX}user.", "max-parallel-apps"
        users: dict[str, int] = {}
        for name in [each for each in left if each.startswith(start) and each.endswith(end)]:
            text = left.pop(name)
            user = name.removeprefix(start).removesuffix(end).removesuffix(".")
            users[user or "*"] = max(0, int(number(text, name)))
            self.made.converted(name, text, root, f"{RUNNING}_per_user")
        if users:
            root.put(f"{RUNNING}_per_user", users, f"{start}...{end}")

    # -- the policy's options

    def _policy(self, rules: LeafRules) -> None:
        root = self.made.root
        root.put("policy", "capacity", "")
        options: dict[str, Any] = {}
        name, text = self.given.take(None, "resource-calculator")
        calculator = "memory"
        if text is not None:
            calculator = _CALCULATORS.get(text.rpartition(".")[2], "")
            if calculator:
                self.made.converted(name, text, root, "options: calculator")
            else:
                self.made.lost(name, text, "there are two calculators: by memory, and dominant",
                               "choose calculator: dominant or memory")  # fmt: skip
        options["calculator"] = calculator or "dominant"
        options |= rules.options()
        options |= capacity_preemption(self.made, self.given.left)
        root.put("options", options, "ordering, user limits, calculator and preemption of the file")

    # -- what is left

    def _rest(self) -> None:
        known = {queue.path for queue in self.made.root.all()}
        left = self.given.left
        for name, text in list(left.items()):
            del left[name]
            key = name.removeprefix(PREFIX)
            of_queue = key.startswith(f"{ROOT}.") and not any(
                key.startswith(f"{path}.") for path in known if path != ROOT
            )
            for pattern, why in IDLE:
                if re.search(pattern, key):
                    self.made.idle(name, text, why)
                    break
            else:
                for pattern, why, remedy in LOST:
                    if re.search(pattern, key):
                        self.made.lost(name, text, why, remedy)
                        break
                else:
                    if of_queue and key.count(".") > 1:
                        self.made.idle(name, text, "the file names no such queue")
                    else:
                        self.made.lost(name, text, "Loomcard does not know it",
                                       "see whether your cluster relies on it")  # fmt: skip
