"""The rehearsal of a restart: a ResourceManager of the same jars and configuration, separate from
the cluster, recovers a copy of the state. `org.loomcard.yarn.rehearsal` is its Java side. It
listens on other ports of the loopback interface, publishes nothing, starts and ends no AM, and
writes into its own folder, which is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loomcard.cluster import paths
from loomcard.install.applications import Running
from loomcard.install.hadoop_conf import SITE
from loomcard.install.installation import SETUP, Plan, shim_jars
from loomcard.install.linking import class_path
from loomcard.install.site_file import SiteFileError

DEADLINE_S: Final = 300.0
_MARGIN_S: Final = 30.0
_MAIN: Final = "org.loomcard.yarn.rehearsal.Rehearsal"
_LOG4J: Final = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""
# These are read from the class path: our empty ones hide those that send metrics somewhere.
_NO_SINKS: Final = ("hadoop-metrics2.properties", "hadoop-metrics2-resourcemanager.properties")
_LOST: Final = ("KILLED", "KILLING", "FAILED", "LOST")


@dataclass(frozen=True)
class Rehearsal:
    """The result of a rehearsal."""

    report: dict[str, Any]
    log: Path

    @property
    def well(self) -> bool:
        """Whether the ResourceManager started and lost nothing of its stored state."""
        return bool(self.report) and not any(self.problems(None))

    def lines(self) -> Iterator[str]:
        """Return what happened, one line each."""
        yield f"scheduler: {self.report.get('scheduler', '')}"
        yield f"state store: {self.report.get('store', '')}"
        for each in self._applications():
            said = "recovered" if each["state"] not in _LOST else "LOST"
            yield f"{said} {each['id']} of {each['user']} in {each['queue']}: {each['state']}"
        if "ended" in self.report:
            yield f"{self.report['ended']} applications had ended before"
        if "policy" in self.report:
            yield f"policy process up: {self.report['policy']}"

    def problems(self, known: Running | None) -> Iterator[str]:
        """Return what would be an outage, one line each; `known`: the running applications from
        another source.
        """
        if "failed" in self.report:
            yield f"the ResourceManager could not {self.report['failed']}: {self.report['why']}"
            return
        for each in self._applications():
            if each["state"] in _LOST:
                yield f"{each['id']} would be lost: {each['why'] or each['state']}"
        recovered = {each["id"] for each in self._applications()}
        if known is not None and not self.report["store"].startswith("none"):
            for one in known.applications:
                if one.id not in recovered:
                    yield f"{one.id} runs (by {known.source}) and is not in the state store"

    def _applications(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.report.get("applications", [])
        return found


def rehearse(planned: Plan) -> Rehearsal:
    """Restart as planned, in a separate process. Raises SiteFileError if that is impossible here,
    and PlaceError without a Java.
    """
    java = paths.java_home() / "bin" / "java"
    try:
        hadoop = class_path(planned.wishes.conf_dir, planned.wishes.jar_dir)
    except SiteFileError as error:
        raise SiteFileError(f"no rehearsal: {error}", error.hint) from None
    folder = Path(tempfile.mkdtemp(prefix="loomcard-rehearsal-"))
    result = Rehearsal({}, folder / "rehearsal.log")
    try:
        _lay_out(planned, folder)
        result = Rehearsal(_report(java, hadoop, folder, result.log), result.log)
    finally:
        _remove(folder, None if result.well else result.log)
    if result.report.get("failed") == "copy the state":
        raise SiteFileError(
            f"no rehearsal: {result.report['why']}",
            f"run it as the ResourceManager's user; log: {result.log}",
        )
    return result


def _report(java: Path, hadoop: str, folder: Path, log: Path) -> dict[str, Any]:
    command = [
        str(java),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dlog4j.configuration=file:{folder / 'conf' / 'log4j.properties'}",
        _MAIN,
        str(folder),
        str(int(DEADLINE_S * 1000)),
    ]
    own = os.pathsep.join(str(each) for each in (folder / "conf", *shim_jars()))
    environment = os.environ | {
        "CLASSPATH": f"{own}{os.pathsep}{hadoop}",
        # For Java 9 and newer; Java 8 knows neither the option nor this variable.
        "JDK_JAVA_OPTIONS": "--add-opens=java.base/java.lang=ALL-UNNAMED",
    }
    try:
        with log.open("wb") as out, _running(command, environment, folder, out) as process:
            process.wait(DEADLINE_S + _MARGIN_S)
    except subprocess.TimeoutExpired:
        return {"failed": "start", "why": f"it has not ended within {DEADLINE_S:.0f} s"}
    written = folder / "report.json"
    if not written.exists():
        return {"failed": "start", "why": _last_line(log)}
    report: dict[str, Any] = json.loads(written.read_text("utf-8"))
    return report


def _remove(folder: Path, kept: Path | None) -> None:
    """Remove the folder, or everything in it but one file: the copy of the state contains
    secrets.
    """
    for each in folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each != kept:
            each.unlink()
    if kept is None or not kept.exists():
        folder.rmdir()


@contextmanager
def _running(
    command: list[str], environment: dict[str, str], folder: Path, out: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process, and end it afterwards with its children."""
    process = subprocess.Popen(  # noqa: S603 (the Java that runs Hadoop)
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lay_out(planned: Plan, folder: Path) -> None:
    """Write the files that replace Hadoop's own, and a copy of our state."""
    conf = folder / "conf"
    for each in (conf, folder / "tmp", folder / "state"):
        each.mkdir()
    (conf / SITE).write_bytes(planned.after)
    (conf / "log4j.properties").write_text(_LOG4J)
    for name in _NO_SINKS:
        (conf / name).touch()
    state = planned.state_dir
    for found in (*state.glob("*.json"), *state.glob("policy.yml"), state / "applied-policies"):
        if found.is_dir():
            shutil.copytree(found, folder / "state" / found.name)
        elif found.is_file():
            shutil.copy(found, folder / "state" / found.name)
    written = Path(planned.conf.get("loomcard.setup.path"))
    if planned.setup is not None and written == planned.wishes.conf_dir / SETUP:
        (folder / "setup.json").write_text(planned.setup, encoding="utf-8")


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return next((each for each in reversed(lines) if each.strip()), "it has said nothing")
