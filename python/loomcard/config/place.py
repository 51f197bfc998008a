"""Which queue an application goes to, and by which placement rule: as the ResourceManager decides.

``tests/golden/placement.json`` has the cases that both languages must agree on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomcard.config.placement import CONDITIONS, NEXT, REJECT
from loomcard.config.queue_names import ALL_LEVELS, ROOT, QueueNames

DEFAULT: Final = "default"
"""The queue that YARN writes down for an application that names none."""
NO_RULES: Final[tuple[Mapping[str, Any], ...]] = (
    {"named": True, "queue": "%specified", "else": REJECT},
    {"queue": DEFAULT},
)
"""What a configuration without rules means."""


@dataclass(frozen=True)
class Submission:
    """An application as rules see it: ``groups``, the user's, the primary first; ``queue``, the one
    that was named, if any.
    """

    user: str
    groups: Sequence[str] = ()
    name: str = ""
    tags: Iterable[str] = ()
    queue: str | None = None


@dataclass(frozen=True)
class Placed:
    """The outcome: ``queue`` is None if the application is refused. ``rule`` counts from 1; None if
    no rule fits. ``created``: the queue does not exist yet. ``why``: the reasons of the rules that
    applied and did not place it.
    """

    queue: str | None
    rule: int | None
    created: bool = False
    why: tuple[str, ...] = ()


def clean(name: str) -> str:
    """Return the name of a user or group as a part of a path."""
    return name.strip().replace(".", "_dot_")


def place(config: Mapping[str, Any], submission: Submission) -> Placed:
    """Return where an application goes under a compiled configuration."""
    placing = _Placing(QueueNames(config["queues"]), submission)
    rules = config.get("placement", NO_RULES)
    why: list[str] = []
    for number, rule in enumerate(rules, 1):
        if not placing.applies(rule):
            continue
        if rule.get("reject"):
            return Placed(None, number, why=(*why, f"rule {number} refuses it"))
        levels = {"leaf": 1, "all": ALL_LEVELS}.get(rule.get("create", ""), 0)
        path, problem = placing.find(rule["queue"], levels)
        if path is not None:
            return Placed(path, number, path not in placing.names.by_path, tuple(why))
        why.append(f"rule {number}: {problem}")
        otherwise = rule.get("else", NEXT)
        if otherwise == REJECT:
            return Placed(None, number, why=tuple(why))
        if otherwise != NEXT:
            path, problem = placing.find(otherwise, 0)
            if path is None:
                return Placed(None, number, why=(*why, f"rule {number}, else: {problem}"))
            return Placed(path, number, why=tuple(why))
    return Placed(None, None, why=(*why, "no placement rule fits"))


class _Placing:
    def __init__(self, names: QueueNames, submission: Submission) -> None:
        self.names = names
        self._of = submission
        queue = submission.queue
        self._named = "" if queue is None or queue == DEFAULT else queue

    def applies(self, rule: Mapping[str, Any]) -> bool:
        """Whether all conditions of a rule hold."""
        of = self._of
        if rule.get("named", bool(self._named)) != bool(self._named):
            return False
        values: dict[str, Sequence[str]] = {
            "user": (of.user,),
            "primary_group": of.groups[:1],
            "group": of.groups,
            "application": (of.name,),
            "tag": [tag.lower() for tag in of.tags],
        }
        return all(
            key not in rule or any(value in rule[key] for value in values[key])
            for key in CONDITIONS
        )

    def find(self, pattern: str, levels: int) -> tuple[str | None, str]:
        """Return the path of the leaf that a rule's path means; or None, and why there is none. At
        most ``levels`` parts of it may be new.
        """
        parts: list[str] = []
        for part in pattern.split("."):
            value = self._value(part, parts)
            if not value:
                below = f" with a queue below {'.'.join(parts)}" if parts else ""
                exists = below if part in ("%secondary_group", "%group") else ""
                return None, f"there is no {part.removeprefix('%')}{exists}"
            parts += value.split(".")
        if not all(parts):
            return None, f"a part of {'.'.join(parts)!r} is empty"
        path = self.names.absolute(parts)
        if path is None or not (path == ROOT or path.startswith(ROOT + ".")):
            return None, f"no queue, or more than one, is called {parts[0]!r}"
        why = self.names.why_not(path, levels)
        return (None, why) if why else (path, "")

    def _value(self, part: str, before: list[str]) -> str:
        groups = self._of.groups
        match part:
            case "%user":
                return clean(self._of.user)
            case "%primary_group":
                return clean(groups[0]) if groups else ""
            case "%secondary_group":
                return self._existing(groups[1:], before)
            case "%group":
                return self._existing(groups, before)
            case "%specified":
                return self._named.removeprefix(ROOT + ".") if before else self._named
            case "%application":
                return self._of.name
        return part

    def _existing(self, groups: Sequence[str], before: list[str]) -> str:
        """Return the first group whose queue exists below the path so far."""
        for group in groups:
            name = clean(group)
            path = self.names.absolute([*before, name]) if name else None
            if path in self.names.by_path:
                return name
        return ""
