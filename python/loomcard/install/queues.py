"""The queues of a policy configuration, and those that the cluster uses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from loomcard.cluster.hadoop_config import CAPACITY_SCHEDULER, FAIR_SCHEDULER
from loomcard.install.hadoop_conf import HadoopConf
from loomcard.install.site_file import SiteFile, SiteFileError

_CAPACITY: Final = "yarn.scheduler.capacity"


class PolicyQueues:
    """The leaf queues of a compiled policy configuration."""

    def __init__(self, setup: dict[str, Any], place: str) -> None:
        self.place = place
        """Where it was read from, for messages."""
        self.leaves: list[str] = [each["path"] for each in setup["queues"] if each["leaf"]]
        self._others = {each["path"] for each in setup["queues"] if not each["leaf"]}

    def has(self, queue: str) -> bool:
        """Return whether the scheduler finds an application's queue: by its path, its path below
        the root, or its last part if only one leaf has that.
        """
        for path in (queue, f"root.{queue}"):
            if path in self.leaves or path in self._others:
                return path in self.leaves
        return sum(leaf.rpartition(".")[2] == queue for leaf in self.leaves) == 1


def governing(conf: HadoopConf, setup: str | None, name: str) -> PolicyQueues | None:
    """Return the queues of the policy after a restart: the one applied last, if the state folder
    can be read, otherwise `setup`, which is not written yet, otherwise the file of
    loomcard.setup.path. None if none can be read.
    """
    applied = Path(conf.get("loomcard.state.dir")) / "applied.json"
    written = Path(conf.get("loomcard.setup.path"))
    try:
        try:
            found = json.loads(applied.read_text("utf-8"))
            return PolicyQueues(found.get("config") or found["setup"], str(applied))
        except OSError:
            text = written.read_text("utf-8") if setup is None else setup
        return PolicyQueues(json.loads(text), name if setup is not None else str(written))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stock(conf: HadoopConf, scheduler: str) -> tuple[str, list[str]]:
    """Return the file of a stock scheduler and its leaf queues; none if it has no file. Raises
    SiteFileError if the file is not one.
    """
    if scheduler in ("", CAPACITY_SCHEDULER):  # Hadoop's default
        file = conf.folder / "capacity-scheduler.xml"
        return str(file), list(_capacity(file)) if file.is_file() else []
    if scheduler == FAIR_SCHEDULER:
        file = conf.folder / conf.get("yarn.scheduler.fair.allocation.file")
        return str(file), _fair(file) if file.is_file() else []
    return "", []


def _capacity(file: Path) -> Iterator[str]:
    queues = HadoopConf(file.parent)
    queues.add(SiteFile(file.read_bytes(), str(file)))
    waiting, seen = ["root"], set()
    while waiting:
        path = waiting.pop(0)
        names = queues.get(f"{_CAPACITY}.{path}.queues").split(",")
        below = [f"{path}.{name.strip()}" for name in names if name.strip()]
        if not below and path != "root":
            yield path
        waiting += [each for each in below if each not in seen]
        seen.update(below)


def _fair(file: Path) -> list[str]:
    try:
        root = ElementTree.parse(file).getroot()  # noqa: S314 (the administrator's own file)
    except ElementTree.ParseError as error:
        raise SiteFileError(f"{file}: not XML", "correct the file") from error
    return list(_fair_leaves(root, "root"))


def _fair_leaves(element: ElementTree.Element, path: str) -> Iterator[str]:
    for each in element:
        if each.tag in ("queue", "pool"):
            name = each.get("name", "").strip()
            below = path if name == "root" else f"{path}.{name}"
            leaves = list(_fair_leaves(each, below))
            if leaves or below != "root":
                yield from leaves or [below]
