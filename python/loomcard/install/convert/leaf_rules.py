"""How CapacityScheduler orders leaves and limits their users, as options of `capacity`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from loomcard.install.convert.amounts import WHOLE, number, plain
from loomcard.install.convert.conversion import Draft
from loomcard.install.convert.properties import Properties

LEAF_DEFAULTS: Final = {
    "ordering": "fifo",
    "minimum_user_limit_percent": 100,
    "user_limit_factor": 1.0,
}
_LIMITS: Final = {
    "minimum-user-limit-percent": "minimum_user_limit_percent",
    "user-limit-factor": "user_limit_factor",
}
_NO_LIMIT: Final = -1
_ORDERINGS: Final = {
    "fifo": ("fifo", ""),
    "fair": ("fair", ""),
    "fifo-with-partitions": ("fifo", "orders by priority and submission, without the partition"),
    "fifo-for-pending-apps": ("fifo", "recovered applications get no precedence"),
}


class LeafRules:
    """Reads the rules of leaves and templates, then writes them as the policy's options."""

    def __init__(self, given: Properties) -> None:
        self._given = given
        self._made = given.made
        self._general: dict[str, Any] = dict(LEAF_DEFAULTS)
        for suffix, key in _LIMITS.items():
            name, text = given.take(None, suffix)
            if text is not None:
                self._general[key] = self._limit(key, text, name)
                self._made.converted(name, text, self._made.root, f"options: {key}")
        self._of: dict[Draft, dict[str, Any]] = {}

    def read(self, queue: Draft) -> dict[str, Any]:
        """Read the rules of a queue of the file."""
        rules = dict(self._general)
        self._state(queue, rules)
        if queue.leaf:
            self._of[queue] = rules
        return rules

    def read_template(self, parent: Draft, parts: list[Draft], user_limits: bool) -> dict[str, Any]:
        """Read the rules of what is created below a queue, from its template's parts.

        ``user_limits``: False for the second form, whose users have no limit unless it says so.
        """
        rules = dict(self._general)
        if not user_limits:
            rules["user_limit_factor"] = _NO_LIMIT
        for part in parts:
            self._state(part, rules)
        self._of[parent] = rules
        return rules

    def _state(self, queue: Draft, rules: dict[str, Any]) -> None:
        name, text = self._given.take(queue, "ordering-policy")
        if text is not None:
            self._ordering(queue, name, text, rules)
        for suffix, key in _LIMITS.items():
            name, text = self._given.take(queue, suffix)
            if text is not None and not queue.leaf:
                self._made.idle(name, text, "CapacityScheduler reads it at leaf queues only")
                continue
            if text is None:
                continue
            rules[key] = self._limit(key, text, name)
            if key == "user_limit_factor" and not _allows(rules[key]):
                self._made.converted(name, text, queue, "state", "no user may submit")
                continue
            exact = key == "user_limit_factor" or number(text, name) == int(rules[key])
            why = "" if exact else "a whole percent, at most 100"
            self._made.converted(name, text, self._made.root, f"options: {key}", why)

    @staticmethod
    def _limit(key: str, text: str, name: str) -> float:
        found = number(text, name)
        return plain(found if key == "user_limit_factor" else max(Decimal(), min(found, WHOLE)))

    def _ordering(self, queue: Draft, name: str, text: str, rules: dict[str, Any]) -> None:
        if not queue.leaf:
            if text == "utilization":
                self._made.idle(name, text, "capacity orders the queues by utilization, too")
            else:
                self._made.lost(
                    name, text, "it orders queues by utilization and knows no queue's priority",
                    "give the urgent queue a larger guarantee, or a policy of your own at the root",
                )  # fmt: skip
            return
        ordering, why = _ORDERINGS.get(text, ("", ""))
        if not ordering:
            self._made.lost(name, text, "a class of your own orders this queue's applications",
                            f"write it as a policy and name it at {queue.path}")  # fmt: skip
            return
        rules["ordering"] = ordering
        self._made.converted(name, text, self._made.root, "options: ordering", why)

    def options(self) -> dict[str, Any]:
        """Return the rules that most leaves have, and those of the others by `levels`."""
        for rules in self._of.values():
            key = "minimum_user_limit_percent"
            rules[key] = int(rules[key])
            if not _allows(rules["user_limit_factor"]):
                rules["user_limit_factor"] = LEAF_DEFAULTS["user_limit_factor"]
        leaves = [rules for queue, rules in self._of.items() if queue.leaf]
        common = (
            {
                key: Counter(rules[key] for rules in leaves).most_common(1)[0][0]
                for key in LEAF_DEFAULTS
            }
            if leaves
            else dict(LEAF_DEFAULTS)
        )
        options: dict[str, Any] = {
            key: value for key, value in common.items() if value != LEAF_DEFAULTS[key]
        }
        levels: dict[str, dict[str, Any]] = {}
        for queue in sorted(self._of, key=lambda queue: queue.path):
            rules = self._of[queue]
            found = {key: value for key, value in rules.items() if value != common[key]}
            if not found and any(queue.path.startswith(f"{path}.") for path in levels):
                found = rules  # else those of the created queues beside it would count
            if found:
                levels[queue.path] = found
        return options | ({"levels": levels} if levels else {})


def _allows(factor: float) -> bool:
    """Whether a user may have any application at this user-limit-factor."""
    return factor > 0 or factor == _NO_LIMIT


def of_user(rules: Mapping[str, Any], most: int | None) -> int | None:
    """Return how many applications of one user a leaf takes of ``most``; None: as many as of all.

    0: YARN accepts none at all.
    """
    factor = Decimal(str(rules["user_limit_factor"]))
    if factor == _NO_LIMIT:
        return None
    part = Decimal(str(rules["minimum_user_limit_percent"])) * max(Decimal(), factor) / WHOLE
    if most is None:
        return None if part else 0
    found = int(most * part)
    return found if found < most else None
