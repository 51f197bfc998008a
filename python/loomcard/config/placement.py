"""Placement rules: the checks of a file's rules, and their compiled form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from loomcard.config.queue_names import ROOT, QueueNames
from loomcard.config.schema import PlacementRule, PolicyConfig
from loomcard.config.structure import StatedQueue
from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document, Path

VARIABLES: Final = (
    "%user",
    "%primary_group",
    "%secondary_group",
    "%group",
    "%specified",
    "%application",
)
CONDITIONS: Final = ("user", "primary_group", "group", "application", "tag")
NEXT: Final = "next"
REJECT: Final = "reject"


def check_placement(
    document: Document, stated: Sequence[StatedQueue]
) -> list[dict[str, Any]] | None:
    """Return the rules in their compiled form; None if the file has none. Report those that name no
    queue, can never decide or contradict themselves.
    """
    root = stated[0].keys if stated else None
    file = root if isinstance(root, PolicyConfig) else None
    if file is None or file.placement is None:
        return None
    if not file.placement:
        document.report(("placement",), "there is no rule: every application would be refused",
                        "give a rule, or remove the key")  # fmt: skip
    check = _Check(document, stated)
    last: int | None = None
    for number, rule in enumerate(file.placement):
        place = ("placement", number)
        if last is not None:
            document.report(
                place,
                f"no application comes to this rule: rule {last + 1} decides about all",
                "move it before that rule, or remove it",
            )
            break
        if check.rule(place, rule):
            last = number
    return [_compiled(rule) for rule in file.placement]


def _compiled(rule: PlacementRule) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in CONDITIONS:
        names = getattr(rule, key)
        if names is not None:
            found[key] = [name.lower() for name in names] if key == "tag" else list(names)
    if rule.named is not None:
        found["named"] = rule.named
    if rule.reject:
        return {**found, "reject": True}
    found["queue"] = rule.queue
    if rule.create:
        found["create"] = "leaf" if rule.create == "leaf" else "all"
    if rule.otherwise != NEXT:
        found["else"] = rule.otherwise
    return dict(sorted(found.items()))


class _Check:
    """Checks rules against the queues of the file."""

    def __init__(self, document: Document, stated: Sequence[StatedQueue]) -> None:
        self._document = document
        self._paths = [queue.path for queue in stated]
        rows = []
        for queue in stated:
            row: dict[str, Any] = {"path": queue.path, "leaf": queue.leaf}
            if queue.keys.auto_create is not None:
                keys = queue.keys.auto_create
                row["auto_create"] = {"depth": keys.depth, "maximum_queues": keys.maximum_queues}
            rows.append(row)
        self._names = QueueNames(rows)

    def rule(self, place: Path, rule: PlacementRule) -> bool:
        """Report what is wrong with a rule; return whether it decides about every application."""
        always = not any(getattr(rule, key) for key in CONDITIONS) and rule.named is None
        if rule.reject:
            stated = [key for key in ("queue", "create", "else") if self._states(rule, key)]
            if stated:
                message = f"the rule refuses applications, so {stated[0]} has no effect"
                hint = f"remove {stated[0]} or reject"
                self._report((*place, stated[0]), message, hint, key=True)
            return always
        if rule.queue is None:
            self._report(place, "the rule says neither queue nor reject", "such as queue: root.a")
            return False
        sure = self._path((*place, "queue"), rule.queue, rule.create)
        if rule.otherwise not in (NEXT, REJECT):
            self._path((*place, "else"), rule.otherwise, False)
        return always and (sure or rule.otherwise != NEXT)

    @staticmethod
    def _states(rule: PlacementRule, key: str) -> bool:
        return ("otherwise" if key == "else" else key) in rule.model_fields_set

    def _report(self, place: Path, message: str, hint: str, *, key: bool = False) -> None:
        self._document.report(place, message, hint, at_key=key)

    def _path(self, place: Path, path: str, create: bool | str) -> bool:
        """Report what is wrong with a path; return whether it is a leaf that the file has."""
        parts = path.split(".")
        for part in parts:
            if not part:
                self._report(place, f"a part of {path!r} is empty", "write it as root.a.b")
                return False
            if "%" in part and part not in VARIABLES:
                known = part.startswith("%")
                message = f"unknown variable {part!r}" if known else (
                    f"{part!r}: a variable is a whole part of a path")  # fmt: skip
                hint = nearest(part, VARIABLES) if known else "such as root.users.%user"
                self._report(place, message, hint)
                return False
        fixed = next((n for n, part in enumerate(parts) if part in VARIABLES), len(parts))
        if fixed == 0:
            return False
        whole = self._names.absolute(parts[:fixed])
        if whole is None or not whole.startswith(ROOT):
            self._report(place, f"no queue, or more than one, is called {parts[0]!r}",
                         nearest(path, self._paths) or "write the whole path")  # fmt: skip
            return False
        if fixed == len(parts):
            return self._fixed(place, whole, create)
        self._variable(place, whole, len(parts) - fixed, create)
        return False

    def _fixed(self, place: Path, path: str, create: bool | str) -> bool:
        levels = 1 if create == "leaf" else len(path) if create else 0
        why = self._names.why_not(path, levels)
        if not why:
            return path in self._names.by_path
        start, missing = self._names.existing(path)
        known = self._names.by_path[start]
        if missing and not create and known.auto_create is not None:
            hint = "write create: leaf"
        elif missing:
            hint = nearest(path, self._paths) or f"name it below {start}"
            if create and not known.leaf:
                hint = f"give {start} auto_create, or leave create out"
        else:
            hint = "name a leaf below it"
        self._report(place, why, hint)
        return False

    def _variable(self, place: Path, prefix: str, more: int, create: bool | str) -> None:
        """Check a path whose fixed beginning is ``prefix``, and that goes on for ``more`` parts."""
        start, missing = self._names.existing(prefix)
        known = self._names.by_path[start]
        if known.leaf:
            message = f"{start} is a leaf, which has no queues below it"
            self._report(place, message, f"name a parent queue, or give {start} auto_create")
        elif missing and not (create is True and known.auto_create is not None):
            self._report(place, f"{prefix} does not exist", nearest(prefix, self._paths))
        elif create and not self._creates(start, more + len(missing)):
            message = f"no queue {'is' if more == 1 else 'that could be meant is'} created below"
            hint = f"give {start} auto_create, or leave create out"
            self._report(place, f"{message} {start}", hint)

    def _creates(self, start: str, more: int) -> bool:
        """Whether a path of ``more`` parts below a queue may have created ones."""
        for path, known in self._names.by_path.items():
            below = path.count(".") - start.count(".")
            inside = path == start or path.startswith(start + ".")
            if inside and known.auto_create is not None and below < more:
                return True
        return False
