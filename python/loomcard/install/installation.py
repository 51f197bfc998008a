"""Put Loomcard into a Hadoop configuration folder, and remove it again. Changes are recorded in
loomcard-install.json, with a copy of the original file beside it.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from loomcard.cluster import paths
from loomcard.cluster.hadoop_config import (
    LOOMCARD_SCHEDULER,
    RenderError,
    compiled_policy,
    loomcard_properties,
)
from loomcard.config.shipped import PlaceError, checkout, shipped
from loomcard.install import hadoop_conf
from loomcard.install.hadoop_conf import SITE, HadoopConf
from loomcard.install.site_file import Change, SiteFile, SiteFileError
from loomcard.validation.findings import FindingsError

BACKUP: Final = "yarn-site.xml.before-loomcard"
RECORD: Final = "loomcard-install.json"
SETUP: Final = "loomcard-setup.json"
SCHEDULER_KEY: Final = "yarn.resourcemanager.scheduler.class"
PROMETHEUS_KEY: Final = "hadoop.prometheus.endpoint.enabled"
"""Whether the metrics can be read at /prom; Hadoop's default is no."""


@dataclass(frozen=True)
class Wishes:
    """What to install, and where."""

    conf_dir: Path
    """Hadoop's configuration folder, which the ResourceManager reads."""
    jar_dir: Path
    """A folder of jars on the ResourceManager's class path."""
    state_dir: Path
    """For the policy, its journal and its secret; the ResourceManager's user owns it."""
    policy: str | None = None
    """The policy at the first start: a policy's name or a YAML file; None: the one compiled before,
    otherwise fifo.
    """
    python: str = sys.executable
    """The interpreter of the policy process."""

    @property
    def first_policy(self) -> str:
        """The policy to compile."""
        return self.policy or "fifo"


@dataclass(frozen=True)
class Plan:
    """The changes of an installation."""

    wishes: Wishes
    before: bytes
    after: bytes
    wanted: dict[str, str]
    """The properties that the ResourceManager should read, each with its value."""
    conf: HadoopConf
    """The properties that it reads after the change."""
    changes: dict[str, Change]
    """The changes of this installation and of earlier ones: what uninstall undoes."""
    jars: dict[Path, Path]
    """The jars to copy: from here to there."""
    old_jars: list[Path]
    """Jars of an earlier version in this folder, which are removed."""
    other_jars: list[Path]
    """Jars that an earlier installation put into another folder. They stay: it may be the one on
    the class path.
    """
    setup: str | None
    """The compiled policy configuration to write; None: there is one already."""
    policy_files: dict[Path, str]
    """The policy's text for loomcard.policy.file, and the former text, which is kept beside it.
    From there the ResourceManager takes the text of version 1, for a rollback.
    """

    @property
    def state_dir(self) -> Path:
        """The state folder that the ResourceManager uses: a key that was set stays."""
        return Path(self.conf.get("loomcard.state.dir"))

    @property
    def diff(self) -> str:
        """Return the change of yarn-site.xml as a unified diff; empty if there is none."""
        return diff(self.wishes.conf_dir / SITE, self.before, self.after)

    @property
    def empty(self) -> bool:
        """Whether nothing needs to be changed."""
        written = self.jars or self.old_jars or self.setup is not None or self.policy_files
        return self.before == self.after and not written


def diff(file: Path, before: bytes, after: bytes) -> str:
    """Return a unified diff of a file's text."""
    old, new = (
        each.decode("utf-8", "backslashreplace").replace("\r\n", "\n").splitlines(keepends=True)
        for each in (before, after)
    )
    return "".join(difflib.unified_diff(old, new, str(file), f"{file} (new)"))


def plan(wishes: Wishes) -> Plan:
    """Return what `apply` would do. Raises SiteFileError, PlaceError, RenderError and
    FindingsError.
    """
    site = read_site(wishes.conf_dir)
    before = (wishes.conf_dir / SITE).read_bytes()
    present = hadoop_conf.read(wishes.conf_dir)
    record = read_record(wishes.conf_dir)
    if not wishes.jar_dir.is_dir():
        raise SiteFileError(
            f"{wishes.jar_dir}: no such folder",
            "--jar-dir names a folder on the ResourceManager's class path",
        )
    wanted = _wanted(wishes, present)
    missing = {name: value for name, value in wanted.items() if present.raw(name) != value}
    after, changes = site.changed(missing)
    if SiteFile(after, site.place).undone(changes) != before:
        raise SiteFileError(
            f"{site.place}: the change could not be undone to the byte",
            f"set {', '.join(each.name for each in changes)} by hand, then install again",
        )
    jars = {jar: wishes.jar_dir / jar.name for jar in shim_jars()}
    ours = {each.name for each in jars}
    _refuse_theirs(jars, record)
    conf = hadoop_conf.read(wishes.conf_dir, {SITE: after})
    setup, text = _setup(wishes)
    return Plan(
        wishes,
        before,
        after,
        wanted,
        conf,
        _all_changes(site, changes_of(record), changes),
        {source: target for source, target in jars.items() if not _same(source, target)},
        [jar for jar in wishes.jar_dir.glob("loomcard-yarn-*.jar") if jar.name not in ours],
        _other_jars(wishes.jar_dir, record),
        setup,
        _policy_files(conf, text, wishes.conf_dir / SETUP),
    )


def _other_jars(jar_dir: Path, record: dict[str, Any]) -> list[Path]:
    """Return the jars that an earlier installation put elsewhere, and that are still there."""
    jars = map(Path, record.get("jars", ()))
    return [jar for jar in jars if jar.exists() and jar.parent.resolve() != jar_dir.resolve()]


def _setup(wishes: Wishes) -> tuple[str | None, str]:
    """Return the compiled policy configuration to write, and its text; None: the one that is there
    stays.
    """
    file = wishes.conf_dir / SETUP
    if file.exists() and wishes.policy is None:
        return None, ""
    made = compiled_policy(wishes.first_policy)
    compiled, text = made["setup.json"], made["policy.yml"]
    same = file.exists() and file.read_bytes() == compiled.encode()
    return None if same else compiled, text


def _policy_files(conf: HadoopConf, text: str, setup: Path) -> dict[Path, str]:
    """Return what to write at loomcard.policy.file and beside it, as the ResourceManager does when
    it applies a configuration. Nothing, if it has applied one, or if somebody else changed the text
    since the last installation.
    """
    file, state = Path(conf.get("loomcard.policy.file")), Path(conf.get("loomcard.state.dir"))
    if not text or (state / "applied.json").exists():
        return {}
    if file.parent != state and not file.parent.is_dir():
        return {}
    if not file.exists():
        return {file: text}
    old = file.read_text("utf-8")
    if old == text or (setup.exists() and not _compiles_to(file, setup)):
        return {}
    return {file.with_name(f"{file.name}.previous"): old, file: text}


def _compiles_to(file: Path, setup: Path) -> bool:
    """Return whether a policy file is that of a compiled configuration, whatever its name was."""
    try:
        texts = compiled_policy(file)["setup.json"], setup.read_text("utf-8")
        now, then = ({**json.loads(text), "source": "", "hash": ""} for text in texts)
    except (RenderError, FindingsError, ValueError, TypeError):
        return False
    return now == then


def _wanted(wishes: Wishes, present: HadoopConf) -> dict[str, str]:
    state = wishes.state_dir
    keys = loomcard_properties(
        str(wishes.conf_dir), str(state), wishes.python, str(state / "policy.yml")
    )
    keys["setup.path"] = str(wishes.conf_dir / SETUP)
    wanted = {
        SCHEDULER_KEY: LOOMCARD_SCHEDULER,
        PROMETHEUS_KEY: present.raw(PROMETHEUS_KEY) or "true",
    }
    for key, value in keys.items():
        name = f"loomcard.{key}"
        # The administrator's values stay; the interpreter is this installation's.
        wanted[name] = value if key == "python" else present.raw(name) or value
    return wanted


def _refuse_theirs(jars: dict[Path, Path], record: dict[str, Any]) -> None:
    """Refuse to overwrite a jar of the same name that was not ours."""
    for source, target in jars.items():
        theirs = source.name.startswith("py4j") and str(target) not in record.get("jars", ())
        if theirs and target.exists() and not _same(source, target):
            raise SiteFileError(
                f"{target}: another file of this name is there", "move it, then install again"
            )


def _all_changes(site: SiteFile, first: dict[str, Change], then: list[Change]) -> dict[str, Change]:
    """Return the changes of both installations as one. What was written between them is what the
    second one found, and what is restored.
    """
    merged = dict(first)
    for each in then:
        before = first.get(each.name)
        if before is not None and (before.old is None or site.carries(before)):
            each = Change(each.name, before.old, each.new)
        merged[each.name] = each
    return merged


def apply(planned: Plan) -> None:
    """Install. The record is written first, so that uninstall knows what may be there, and
    yarn-site.xml last, so that it never names what is missing. Raises OSError; then nothing is
    changed.
    """
    wishes = planned.wishes
    conf_dir, record = wishes.conf_dir, read_record(wishes.conf_dir)
    copied = {str(each) for each in planned.jars.values()} | set(record.get("jars", ()))
    document = {
        "changes": [asdict(each) for each in planned.changes.values()],
        "jars": sorted(copied - {str(each) for each in planned.old_jars}),
        "jar_dir": str(wishes.jar_dir),
        "setup": planned.setup is not None or bool(record.get("setup")),
    }
    files = {conf_dir / RECORD: json.dumps(document, indent=2).encode() + b"\n"}
    if not record:
        files[conf_dir / BACKUP] = planned.before
    files |= {target: source.read_bytes() for source, target in planned.jars.items()}
    if planned.setup is not None:
        files[conf_dir / SETUP] = planned.setup.encode()
    files |= {file: text.encode() for file, text in planned.policy_files.items()}
    files[conf_dir / SITE] = planned.after
    undo: list[Callable[[], object]] = []
    try:
        for folder in _missing(planned.state_dir):
            folder.mkdir(mode=0o700 if folder == planned.state_dir else 0o755)
            undo.append(folder.rmdir)
        for file, data in files.items():
            undo.append(_undo(file))
            _replace(file, data)
            if file in planned.policy_files and os.geteuid() == 0:
                owner = planned.state_dir.stat()  # the ResourceManager's user must read it
                os.chown(file.resolve(), owner.st_uid, owner.st_gid)
    except OSError:
        for step in reversed(undo):
            with contextlib.suppress(OSError):  # nothing was written to a read-only disk
                step()
        raise
    for jar in planned.old_jars:
        jar.unlink(missing_ok=True)


def _missing(folder: Path) -> list[Path]:
    """Return the folders to make, outermost first."""
    return [each for each in reversed((folder, *folder.parents)) if not each.exists()]


def _undo(file: Path) -> Callable[[], object]:
    """Return a function that restores a file to its present state."""
    if not file.exists():
        return lambda: file.unlink(missing_ok=True)
    data = file.read_bytes()

    def put_back() -> None:
        if file.read_bytes() != data:
            _replace(file, data)

    return put_back


def restored(conf_dir: Path) -> tuple[bytes, bytes]:
    """Return yarn-site.xml as it is, and as `uninstall` leaves it: without what was installed, and
    with all later changes of the administrator.
    """
    record = read_record(conf_dir)
    if not record:
        raise SiteFileError(
            f"{conf_dir}: no {RECORD}: Loomcard was not installed here",
            "name the folder that `loomcard install` was given",
        )
    site = read_site(conf_dir)
    return (conf_dir / SITE).read_bytes(), site.undone(changes_of(record).values())


def uninstall(conf_dir: Path) -> None:
    """Restore yarn-site.xml and remove the jars. The state folder, with its journal, stays."""
    before, after = restored(conf_dir)
    record = read_record(conf_dir)
    if before != after:
        _replace(conf_dir / SITE, after)
    for jar in record["jars"]:
        Path(jar).unlink(missing_ok=True)
    for name in (SETUP,) if record["setup"] else ():
        (conf_dir / name).unlink(missing_ok=True)
    for name in (BACKUP, RECORD):
        (conf_dir / name).unlink(missing_ok=True)


def read_site(conf_dir: Path) -> SiteFile:
    """Return yarn-site.xml. Raises SiteFileError if there is none."""
    file = conf_dir / SITE
    if not file.is_file():
        raise SiteFileError(f"no {file}", "name Hadoop's configuration folder, HADOOP_CONF_DIR")
    return SiteFile(file.read_bytes(), str(file))


def read_record(conf_dir: Path) -> dict[str, Any]:
    """Return the record of an earlier installation; empty if there was none. Raises SiteFileError
    if it cannot be read.
    """
    file = conf_dir / RECORD
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        changes_of(found)
        jars, named = found["jars"], found["setup"]
        if all(isinstance(each, str) for each in (*jars, found["jar_dir"])) and named in (0, 1):
            return dict(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise SiteFileError(
        f"{file}: not what `loomcard install` wrote",
        f"compare {SITE} with {BACKUP} by hand, remove both {RECORD} and {BACKUP}, install again",
    )


def changes_of(record: dict[str, Any]) -> dict[str, Change]:
    """Return the changes in a record, by name. A record of an older version has only the values."""
    if not record or "changes" in record:
        return {each["name"]: Change(**each) for each in record.get("changes", ())}
    return {
        name: Change(name, None if old is None else f"<value>{escape(old)}</value>", "")
        for name, old in record["previous"].items()
    }


def shim_jars() -> list[Path]:
    """Return the jars that the ResourceManager needs: the scheduler's for `hadoop_line`, and Py4J's
    of this Python. Raises PlaceError if one is missing.
    """
    built = os.environ.get("LOOMCARD_JARS") or checkout() is not None
    folder = paths.jars() if built else shipped("jars")
    if not built and (folder / paths.hadoop_line()).is_dir():  # a line with a jar of its own
        folder /= paths.hadoop_line()
    shim = list(folder.glob("loomcard-yarn-*.jar"))
    py4j = list((Path(sys.prefix) / "share" / "py4j").glob("py4j*.jar"))
    if not shim or not py4j:
        missing = "loomcard-yarn" if not shim else "py4j"
        raise PlaceError(f"no jar of {missing} in this installation", "install loomcard again")
    return [shim[0], py4j[0]]


def same_jar(target: Path) -> bool:
    """Return whether a jar of ours there is the one of this installation."""
    return any(_same(jar, target) for jar in shim_jars())


def _same(source: Path, target: Path) -> bool:
    return target.is_file() and source.read_bytes() == target.read_bytes()


def _replace(file: Path, data: bytes) -> None:
    """Write a file completely or not at all; its mode and owner stay, and so does a link to it."""
    file = file.resolve()
    new = file.with_name(f".{file.name}.new")
    try:
        with new.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if file.exists():
            shutil.copymode(file, new)
            status = file.stat()
            if os.geteuid() == 0:
                os.chown(new, status.st_uid, status.st_gid)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise OSError(error.errno, error.strerror, str(file)) from error
