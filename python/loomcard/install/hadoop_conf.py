"""The configuration of a ResourceManager as Hadoop's own Configuration reads it.

    conf = read(Path("/etc/hadoop/conf"))
    conf.get("yarn.resourcemanager.scheduler.class")    # variables replaced
    conf.place("yarn.resourcemanager.scheduler.class")  # the file that sets it

core-site.xml, then yarn-site.xml, with what they include; a property that is `final` in one stays
as it is in what follows. Defaults that Hadoop's jars hold are those of `DEFAULTS` alone.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from loomcard.install.site_file import Include, Property, SiteFile, SiteFileError

CORE: Final = "core-site.xml"
SITE: Final = "yarn-site.xml"
_INCLUDES_MOST: Final = 100
_VARIABLES_MOST: Final = 20  # Hadoop's own limit
_VARIABLE: Final = re.compile(r"\$\{([^}$ ]+)\}")
DEFAULTS: Final = {
    "hadoop.tmp.dir": "/tmp/hadoop-${user.name}",  # noqa: S108 (Hadoop's default)
    "yarn.resourcemanager.fs.state-store.uri": "${hadoop.tmp.dir}/yarn/system/rmstore",
    "yarn.resourcemanager.store.class": (
        "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
    ),
    "yarn.resourcemanager.hostname": "0.0.0.0",  # noqa: S104 (Hadoop's default)
    "yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:8088",
    "yarn.resourcemanager.webapp.https.address": "${yarn.resourcemanager.hostname}:8090",
    "yarn.scheduler.fair.allocation.file": "fair-scheduler.xml",
    "yarn.resourcemanager.scheduler.monitor.policies": (
        "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity"
        ".ProportionalCapacityPreemptionPolicy"
    ),
}


@dataclass(frozen=True)
class _Setting:
    value: str
    place: str


@dataclass
class HadoopConf:
    """Every property of some files; each file is added on top of those before."""

    folder: Path
    """Where Hadoop looks for a file by its name: the first folder of its class path that has it."""
    _settings: dict[str, _Setting] = field(default_factory=dict)
    _final: set[str] = field(default_factory=set)
    _read: int = 0

    def add(self, file: SiteFile) -> None:
        """Read a file. Raises SiteFileError if an included file is missing or not such a file."""
        missing: set[int] = set()
        for each in file.entries:
            if isinstance(each, Include):
                if each.href is not None and not self._include(each, file):
                    missing.add(id(each))
            elif each.fallback_of is None or id(each.fallback_of) in missing:
                self._set(each, file.place)

    def get(self, name: str, absent: str = "") -> str:
        """Return the value with its variables replaced, without space around it; `absent` if there
        is none. Raises SiteFileError for variables without end.
        """
        raw = self.raw(name)
        return absent if raw is None else self._replaced(raw).strip()

    def untrimmed(self, name: str) -> str:
        """Return the value with its variables replaced, with the space around it; empty if there
        is none. Raises SiteFileError for variables without end.
        """
        return self._replaced(self.raw(name) or "")

    def on(self, name: str, absent: bool = False) -> bool:
        """Return a switch as Hadoop reads it: a value that is neither true nor false counts as
        absent.
        """
        return {"true": True, "false": False}.get(self.get(name).lower(), absent)

    def raw(self, name: str) -> str | None:
        """Return the value as it is written; None if nothing sets it."""
        found = self._settings.get(name)
        return found.value if found is not None else DEFAULTS.get(name)

    def place(self, name: str) -> str:
        """Return the file that sets it; empty if no file does."""
        return self._settings[name].place if name in self._settings else ""

    def names(self) -> list[str]:
        """Return every property that a file sets."""
        return list(self._settings)

    def _set(self, found: Property, place: str) -> None:
        if found.name is None:
            return
        if found.value is not None and found.name not in self._final:
            self._settings[found.name] = _Setting(found.value, place)
        if found.final:
            self._final.add(found.name)

    def _include(self, include: Include, file: SiteFile) -> bool:
        href = include.href or ""
        path = self._path(href)
        if path is None or not path.exists():
            if include.has_fallback:
                return False
            raise SiteFileError(
                f"{file.place}: it includes {href}, which Hadoop does not find",
                f"put it into {self.folder}, or give its whole path",
            )
        self._read += 1
        if self._read > _INCLUDES_MOST:
            raise SiteFileError(
                f"{file.place}: more than {_INCLUDES_MOST} files are included",
                "does one include itself?",
            )
        self.add(SiteFile(path.read_bytes(), str(path)))
        return True

    def _path(self, href: str) -> Path | None:
        parts = urlsplit(href)
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        if parts.scheme:
            raise SiteFileError(
                f"{href} is included from elsewhere, which is not read here", "include a file"
            )
        # By the class path, which contains nothing above its folders. Hadoop would then look below
        # the folder in which its daemon was started, which nobody can rely on.
        path = Path(os.path.normpath(self.folder / href))
        return path if href.startswith("/") or path.is_relative_to(self.folder) else None

    def _replaced(self, whole: str) -> str:
        text = whole
        for _ in range(_VARIABLES_MOST):
            found = _VARIABLE.search(text)
            value = None if found is None else self._variable(found[1])
            if found is None or value is None:
                return text  # an unknown variable ends it: what follows stays as it is
            if found[0] in value:
                return whole  # it contains itself
            text = text[: found.start()] + value + text[found.end() :]
        raise SiteFileError(
            f"{whole}: more than {_VARIABLES_MOST} variables in one another",
            "Hadoop refuses that: do two name each other?",
        )

    def _variable(self, name: str) -> str | None:
        if name.startswith("env."):
            return _environment(name.removeprefix("env."))
        system = {"user.name": getpass.getuser(), "user.home": str(Path.home())}
        return system.get(name, self.raw(name))


def _environment(text: str) -> str | None:
    """`NAME`, `NAME-if it is not set`, or `NAME:-if it is not set or empty`."""
    name, dash, absent = text.partition("-")
    value = os.environ.get(name.removesuffix(":"))
    if dash and (value is None or (name.endswith(":") and not value)):
        return absent
    return value


def read(folder: Path, instead: Mapping[str, bytes] | None = None) -> HadoopConf:
    """Return what a ResourceManager reads in its configuration folder, with some files replaced.
    Raises SiteFileError.
    """
    conf = HadoopConf(folder)
    for name in (CORE, SITE):
        data = (instead or {}).get(name)
        path = folder / name
        if data is None and path.exists():
            data = path.read_bytes()
        if data is not None:
            conf.add(SiteFile(data, str(path)))
    return conf
