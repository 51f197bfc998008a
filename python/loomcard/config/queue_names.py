"""Which queue a path means, and which may be created: as the ResourceManager finds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from loomcard.config.schema import QUEUE_NAME

ROOT: Final = "root"
ALL_LEVELS: Final = 1000
"""More levels of queues than there can be."""


@dataclass(frozen=True)
class KnownQueue:
    """A queue that exists: whether it holds applications, whether it was created, and the
    ``auto_create`` of its row, if any.
    """

    leaf: bool
    created: bool = False
    auto_create: Mapping[str, Any] | None = None


class QueueNames:
    """The queues of a compiled configuration, by path and by name."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.by_path: dict[str, KnownQueue] = {}
        self._by_name: dict[str, list[str]] = {}
        for row in rows:
            path = row["path"]
            known = KnownQueue(row["leaf"], row.get("created", False), row.get("auto_create"))
            self.by_path[path] = known
            self._by_name.setdefault(path.rpartition(".")[2], []).append(path)

    def absolute(self, parts: Sequence[str]) -> str | None:
        """Return the whole path; it may not exist. None if its first part means no queue, or more
        than one.
        """
        first = parts[0]
        if first == ROOT:
            start = ROOT
        elif f"{ROOT}.{first}" in self.by_path:
            start = f"{ROOT}.{first}"
        else:
            named = self._by_name.get(first, [])
            if len(named) != 1:
                return None
            start = named[0]
        return ".".join((start, *parts[1:]))

    def existing(self, path: str) -> tuple[str, list[str]]:
        """Return the longest beginning of a whole path that exists, and the parts that do not."""
        missing: list[str] = []
        while path and path not in self.by_path:
            path, _, last = path.rpartition(".")
            missing.insert(0, last)
        return path, missing

    def creator(self, path: str) -> str | None:
        """Return the queue whose ``auto_create`` says what may be created below this one."""
        while self.by_path[path].created:
            path = path.rpartition(".")[0]
        return path if self.by_path[path].auto_create is not None else None

    def why_not(self, path: str, levels: int) -> str:
        """Return why a whole path is no leaf and cannot be created, at most ``levels`` of its parts
        new; empty if it can be used.
        """
        start, missing = self.existing(path)
        if not start:
            return f"{path} does not exist"
        known = self.by_path[start]
        if not missing:
            return "" if known.leaf else f"{path} holds queues, not applications"
        if known.leaf:
            return f"{path} does not exist, and {start} is a leaf"
        if levels < len(missing):
            return f"{path} does not exist"
        bad = [name for name in missing if not re.fullmatch(QUEUE_NAME, name) or name == ROOT]
        if bad:
            return f"{path} does not exist, and {bad[0]!r} cannot be the name of a queue"
        creator = self.creator(start)
        if creator is None:
            return f"{path} does not exist, and {start} creates no queues"
        creates = self.by_path[creator].auto_create
        assert creates is not None
        if path.count(".") - creator.count(".") > creates["depth"]:
            return f"{path} does not exist, and is deeper than {creator} creates queues"
        count = sum(1 for each in self._created_below(creator))
        if count >= creates["maximum_queues"]:
            return f"{path} does not exist, and {creator} has {count} created queues already"
        return ""

    def _created_below(self, creator: str) -> Iterable[str]:
        for path, known in self.by_path.items():
            if known.created and known.leaf and path.startswith(creator + "."):
                yield path
