"""Access lists: YARN adds a queue's to its parents', a policy configuration's replaces them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from loomcard.config.schema import ACL_ENTRY
from loomcard.install.convert.conversion import Conversion, Draft

EVERYONE: Final = frozenset("*")
KEYS: Final = ("submit", "administer")
Stated = Mapping[str, tuple[str, str] | None]
"""By key, the name of the property that states the list, and its value; None if none does."""


class Access:
    """Writes the lists that are in force; queues come parents first.

    ``asked``: whether YARN asks these lists; None if it is not known, which ``unsure`` then says.
    """

    def __init__(self, made: Conversion, asked: bool | None = True, unsure: str = "") -> None:
        self._made = made
        self._asked = asked
        self._unsure = "" if asked else unsure
        self._known: dict[str, dict[Draft, frozenset[str]]] = {key: {} for key in KEYS}

    def convert(self, queue: Draft, stated: Stated) -> None:
        """Write ``submit`` and ``administer`` of a queue where they differ from its parent's."""
        if self._asked is False:
            for each in filter(None, stated.values()):
                self._made.idle(*each, "yarn.acl.enable is not true: YARN asks no queue's list")
            return
        for key in KEYS:
            own = _members(self._text(queue, stated[key]))
            known = self._known[key]
            above = known[queue.parent] if queue.parent is not None else frozenset()
            known[queue] = _joined(above | own)
        for key in KEYS:
            now = self._in_force(queue, key)
            was = EVERYONE if queue.parent is None else self._in_force(queue.parent, key)
            if now != was:
                self._write(queue, key, now, stated[key])
            elif (found := stated[key]) is not None:
                self._without_effect(queue, key, was, found)

    @staticmethod
    def _text(queue: Draft, stated: tuple[str, str] | None) -> str:
        if stated is not None:
            return stated[1]
        return "*" if queue.parent is None else ""

    def _in_force(self, queue: Draft, key: str) -> frozenset[str]:
        """In YARN, who may administer may also submit."""
        names = self._known["administer"][queue]
        return names if key == "administer" else _joined(names | self._known["submit"][queue])

    def _write(
        self, queue: Draft, key: str, names: frozenset[str], stated: tuple[str, str] | None
    ) -> None:
        origin = f"{stated[0]} = {stated[1]}" if stated else "administrators may submit"
        if queue.parent is not None:
            origin += ", with the parents' lists"
        if self._unsure:
            origin += f"; {self._unsure}"
        queue.put(key, sorted(names), origin)
        if stated is not None:
            without = _no_names(stated[1])
            why = f"no user or group can be called {', '.join(without)}" if without else ""
            said = "; ".join(filter(None, [why, self._unsure]))
            self._made.converted(*stated, queue, key, said)

    def _without_effect(
        self, queue: Draft, key: str, was: frozenset[str], stated: tuple[str, str]
    ) -> None:
        if was == EVERYONE and _members(stated[1]) != EVERYONE:
            root = "root's acl_administer_queue lets everyone in, who may then submit"
            above = "YARN adds the parents' lists, and one of them lets everyone in"
            self._made.lost(
                *stated, root if queue.parent is None else above,
                f"if it is to hold, state {key} of {queue.path}: here it replaces the parent's",
            )  # fmt: skip
        else:
            self._made.idle(*stated, "the parent's list says the same")


def _members(text: str) -> frozenset[str]:
    """Return the names of an ACL: users, then groups, parted by a space.

    ``*`` for one of the two parts means everyone; inside a list it means nobody.
    """
    if "*" in (part.strip() for part in text.split(" ", 1)):
        return EVERYONE
    return frozenset(name for name in _names(text) if _may_be(name))


def _names(text: str) -> list[str]:
    users, _, groups = text.partition(" ")
    names = [each.strip() for each in users.split(",")]
    return [each for each in names if each] + [
        f"group:{each.strip()}" for each in groups.split(",") if each.strip()
    ]


def _may_be(name: str) -> bool:
    return name != "*" and re.fullmatch(ACL_ENTRY, name) is not None


def _no_names(text: str) -> list[str]:
    """Return the names in an ACL that nobody can have, such as a ``*`` inside a list."""
    return [name for name in _names(text) if not _may_be(name)]


def _joined(names: frozenset[str]) -> frozenset[str]:
    return EVERYONE if "*" in names else names
