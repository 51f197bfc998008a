"""Loomcard put into a Hadoop configuration folder, and taken out again.

What was there before is kept in loomcard-install.json and in a copy of yarn-site.xml beside it.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from loomcard.cluster import paths
from loomcard.cluster.hadoop_config import LOOMCARD_SCHEDULER, compiled_policy, loomcard_properties
from loomcard.config.shipped import PlaceError, checkout, shipped
from loomcard.install.site_file import SiteFileError, properties, with_properties

SITE: Final = "yarn-site.xml"
BACKUP: Final = "yarn-site.xml.before-loomcard"
RECORD: Final = "loomcard-install.json"
SETUP: Final = "loomcard-setup.json"
SCHEDULER_KEY: Final = "yarn.resourcemanager.scheduler.class"
_WEB: Final = {
    "yarn.http.rmwebapp.scheduler.page.class": "org.loomcard.yarn.web.LoomcardSchedulerPage",
    "yarn.webapp.custom.webservice.class": "org.loomcard.yarn.web.LoomcardWebServices",
}


@dataclass(frozen=True)
class Wishes:
    """What to install, and where."""

    conf_dir: Path
    """Hadoop's configuration folder, which the ResourceManager reads."""
    jar_dir: Path
    """A folder of jars on the ResourceManager's class path."""
    state_dir: Path
    """For the policy, its journal and its secret; the ResourceManager's user owns it."""
    policy: str = "fifo"
    """A policy's name or a YAML file, to begin with; not used where one was compiled before."""
    python: str = sys.executable
    """The interpreter of the policy process."""


@dataclass(frozen=True)
class Plan:
    """What an installation changes: nothing yet."""

    wishes: Wishes
    before: str
    after: str
    previous: dict[str, str | None]
    """What the properties were before the first installation; None: they were not there."""
    jars: dict[Path, Path]
    """From here to there."""
    old_jars: list[Path]
    """Of an earlier version, to be removed."""
    setup: str | None
    """The compiled policy configuration to write; None: one is there."""

    @property
    def diff(self) -> str:
        """The change of yarn-site.xml as a unified diff; empty where there is none."""
        return diff(self.wishes.conf_dir / SITE, self.before, self.after)

    @property
    def empty(self) -> bool:
        """Whether all is as it should be."""
        return self.before == self.after and not self.jars and self.setup is None


def diff(file: Path, before: str, after: str) -> str:
    """A unified diff of a file's text."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, str(file), f"{file} (new)"))


def plan(wishes: Wishes) -> Plan:
    """What `apply` would do. Raises SiteFileError, PlaceError, RenderError and FindingsError."""
    text = read_site(wishes.conf_dir)
    place = str(wishes.conf_dir / SITE)
    present = properties(text, place)
    record = read_record(wishes.conf_dir)
    if not wishes.jar_dir.is_dir():
        raise SiteFileError(
            f"{wishes.jar_dir}: no such folder",
            "--jar-dir names a folder on the ResourceManager's class path",
        )
    wanted = _wanted(wishes, present)
    previous = {name: present.get(name) for name in wanted} | (record.get("previous") or {})
    jars = {jar: wishes.jar_dir / jar.name for jar in shim_jars()}
    ours = {each.name for each in jars}
    setup = wishes.conf_dir / SETUP
    return Plan(
        wishes,
        text,
        with_properties(text, wanted, place),
        previous,
        {source: target for source, target in jars.items() if not _same(source, target)},
        [jar for jar in wishes.jar_dir.glob("loomcard-yarn-*.jar") if jar.name not in ours],
        None if setup.exists() else compiled_policy(wishes.policy)["setup.json"],
    )


def _wanted(wishes: Wishes, present: Mapping[str, str]) -> dict[str, str | None]:
    state = wishes.state_dir
    keys = loomcard_properties(
        str(wishes.conf_dir), str(state), wishes.python, str(state / "policy.yml")
    )
    keys["setup.path"] = str(wishes.conf_dir / SETUP)
    wanted: dict[str, str | None] = {SCHEDULER_KEY: LOOMCARD_SCHEDULER, **_WEB}
    for key, value in keys.items():
        name = f"loomcard.{key}"
        # What the administrator has set stays; which Python it is follows this installation.
        wanted[name] = value if key == "python" else present.get(name, value)
    return wanted


def apply(planned: Plan) -> None:
    """Do it: jars and policy first, yarn-site.xml last, so that it never names what is missing."""
    wishes = planned.wishes
    conf_dir, record = wishes.conf_dir, read_record(wishes.conf_dir)
    wishes.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for source, target in planned.jars.items():
        _replace(target, source.read_bytes())
    for jar in planned.old_jars:
        jar.unlink()
    if planned.setup is not None:
        _replace(conf_dir / SETUP, planned.setup.encode())
    if not record:
        shutil.copy2(conf_dir / SITE, conf_dir / BACKUP)
    copied = {str(each) for each in planned.jars.values()} | set(record.get("jars", ()))
    document = {
        "previous": planned.previous,
        "written": _digest(planned.after),
        "jars": sorted(copied - {str(each) for each in planned.old_jars}),
        "jar_dir": str(wishes.jar_dir),
        "setup": planned.setup is not None or bool(record.get("setup")),
    }
    _replace(conf_dir / RECORD, json.dumps(document, indent=2).encode() + b"\n")
    _replace(conf_dir / SITE, planned.after.encode())


def restored(conf_dir: Path) -> tuple[str, str]:
    """yarn-site.xml as it is, and as `uninstall` leaves it: the copy where nobody has changed it
    since, else the present text with the earlier values of the properties that were set.
    """
    record = read_record(conf_dir)
    if not record:
        raise SiteFileError(
            f"{conf_dir}: no {RECORD}: Loomcard was not installed here",
            "name the folder that `loomcard install` was given",
        )
    now = read_site(conf_dir)
    backup = conf_dir / BACKUP
    if _digest(now) == record["written"] and backup.is_file():
        return now, backup.read_text(encoding="utf-8")
    return now, with_properties(now, record["previous"], str(conf_dir / SITE))


def uninstall(conf_dir: Path) -> None:
    """Put yarn-site.xml back and remove the jars. The state folder, with its journal, stays."""
    _, text = restored(conf_dir)
    record = read_record(conf_dir)
    _replace(conf_dir / SITE, text.encode())
    for jar in record["jars"]:
        Path(jar).unlink(missing_ok=True)
    for name in (SETUP,) if record["setup"] else ():
        (conf_dir / name).unlink(missing_ok=True)
    for name in (BACKUP, RECORD):
        (conf_dir / name).unlink(missing_ok=True)


def read_site(conf_dir: Path) -> str:
    """The text of yarn-site.xml. Raises SiteFileError where there is none."""
    file = conf_dir / SITE
    if not file.is_file():
        raise SiteFileError(f"no {file}", "name Hadoop's configuration folder, HADOOP_CONF_DIR")
    return file.read_text(encoding="utf-8")


def read_record(conf_dir: Path) -> dict[str, Any]:
    """What an earlier installation wrote down; empty where there was none."""
    file = conf_dir / RECORD
    if not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def shim_jars() -> list[Path]:
    """The jars that the ResourceManager needs: the scheduler's, and Py4J's of this Python.

    Raises PlaceError where one is not there.
    """
    built = os.environ.get("LOOMCARD_JARS") or checkout() is not None
    shim = list((paths.jars() if built else shipped("jars")).glob("loomcard-yarn-*.jar"))
    py4j = list((Path(sys.prefix) / "share" / "py4j").glob("py4j*.jar"))
    if not shim or not py4j:
        missing = "loomcard-yarn" if not shim else "py4j"
        raise PlaceError(f"no jar of {missing} in this installation", "install loomcard again")
    return [shim[0], py4j[0]]


def same_jar(target: Path) -> bool:
    """Whether a jar of ours there is the one of this installation."""
    return any(_same(jar, target) for jar in shim_jars())


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and source.read_bytes() == target.read_bytes()


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _replace(file: Path, data: bytes) -> None:
    """Writes a file whole or not at all; its mode and owner stay."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(data)
    if file.exists():
        shutil.copymode(file, new)
        status = file.stat()
        if os.geteuid() == 0:
            os.chown(new, status.st_uid, status.st_gid)
    new.replace(file)
