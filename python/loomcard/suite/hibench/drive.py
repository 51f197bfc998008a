"""Runs HiBench's scripts, each run in a folder of its own, and takes its times from YARN."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loomcard.cluster.paths import java_home
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.suite.hibench.configuration import Cluster, RunSettings, write
from loomcard.suite.hibench.installation import Installation
from loomcard.suite.hibench.workloads import Framework, Workload

_ENDED_S, _LOOK_S = 60.0, 0.5
_ENDED: Final = ("FINISHED", "FAILED", "KILLED")
_COLOUR, _ERROR = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r"(\S+ )?(Error|ERROR|\S+Exception):")
_COLUMNS: Final = ("type", "date", "time", "input_bytes", "duration_s", "throughput", "per_node")


@dataclass(frozen=True)
class Wanted:
    """A workload on a framework, under a tag that no other run has. `prepared`: its input is there,
    an earlier run's with the same data.
    """

    workload: Workload
    framework: Framework
    tag: str
    prepared: bool = False


@dataclass
class Ran:
    """What became of it. `reported`: HiBench's own line; `applications`: YARN's, submission first,
    each with its `step`, prepare or run. `wrong`: why it failed, or "".
    """

    wanted: Wanted
    folder: Path
    reported: dict[str, str] = field(default_factory=dict)
    applications: list[dict[str, Any]] = field(default_factory=list)
    wrong: str = ""

    def document(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "workload": self.wanted.workload.name,
            "framework": self.wanted.framework,
            "tag": self.wanted.tag,
            "folder": str(self.folder),
            "hibench": self.reported,
            "applications": self.applications,
            "wrong": self.wrong,
        }


def drive(
    wanted: Sequence[Wanted],
    there: Installation,
    cluster: Cluster,
    rest: ResourceManagerClient,
    settings: Callable[[Wanted], RunSettings],
    *,
    at_a_time: int = 1,
    done: Callable[[Ran], None] = lambda _: None,
) -> list[Ran]:
    """Prepares and runs every workload, so many at a time; a failure is part of its result."""

    def one(each: Wanted) -> Ran:
        ran = _drive(each, there, cluster, rest, settings(each))
        failed = [app for app in ran.applications if app["final_status"] != "SUCCEEDED"]
        if failed and not ran.wrong:
            ran.wrong = f"{failed[0]['id']} {failed[0]['final_status']}"
        seen = {app["step"] for app in ran.applications}
        if not ran.wrong and "run" not in seen:
            ran.wrong = "no application of it was seen: its jobs did not run on this cluster"
        done(ran)
        return ran

    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(one, wanted))


def _drive(
    each: Wanted,
    there: Installation,
    cluster: Cluster,
    rest: ResourceManagerClient,
    settings: RunSettings,
) -> Ran:
    ran = Ran(each, settings.folder)
    shutil.rmtree(settings.folder, ignore_errors=True)  # an earlier run's report would be taken
    variables = write(settings, there, cluster)
    scripts = there.home / "bin" / "workloads" / each.workload.path
    # A tag may be an earlier run's too.
    before = {app["id"] for app in _tagged(rest, each.tag)}
    steps = ("prepare/prepare.sh", f"{each.framework}/run.sh")
    for step in steps[each.prepared :]:
        kind = "prepare" if step.startswith("prepare") else "run"
        log = settings.folder / f"{kind}.log"
        with log.open("wb") as out:
            done = subprocess.run(  # noqa: S603 - the user's own HiBench
                ["bash", str(scripts / step)],  # noqa: S607 - theirs is on the path
                cwd=settings.folder,
                env=os.environ | {"JAVA_HOME": str(java_home())} | variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        known = before | {app["id"] for app in ran.applications}
        ran.applications += _ended(rest, each.tag, known, kind)
        if done.returncode:
            ran.wrong = f"{step} ended with status {done.returncode}: {_last(log)} (see {log})"
            return ran
    ran.reported = _reported(settings.folder / "report" / "hibench.report")
    if not ran.reported:  # some of its scripts do not look at what their program's status was
        ran.wrong = f"HiBench reports nothing, although its scripts ended well (see {log})"
    return ran


def _last(log: Path) -> str:
    """The last error that it names, else its last line: after a job that failed, HiBench shows the
    end of a log that is written on terminals alone.
    """
    text = _COLOUR.sub("", log.read_text(errors="replace"))
    said = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in said if _ERROR.match(line)]
    return (errors or said or ["it said nothing"])[-1][:200]


def _reported(file: Path) -> dict[str, str]:
    """The last line of hibench.report, by column; {} where there is none."""
    if not file.exists():
        return {}
    rows = [line.split() for line in file.read_text(errors="replace").splitlines()]
    whole = [row for row in rows if len(row) == len(_COLUMNS) and row[0] != "Type"]
    return dict(zip(_COLUMNS, whole[-1], strict=True)) if whole else {}


def _tagged(rest: ResourceManagerClient, tag: str) -> list[dict[str, Any]]:
    found = [app for app in rest.applications() if tag in str(app["applicationTags"]).split(",")]
    return sorted(found, key=lambda app: (int(app["startedTime"]), str(app["id"])))


def _ended(
    rest: ResourceManagerClient, tag: str, known: set[str], step: str
) -> list[dict[str, Any]]:
    """YARN's times of what carries the tag and is not known yet, when it has ended: a client may
    end before YARN has written down that its application did.
    """
    deadline = time.monotonic() + _ENDED_S
    while True:
        found = [app for app in _tagged(rest, tag) if app["id"] not in known]
        if all(app["state"] in _ENDED for app in found) or time.monotonic() > deadline:
            break
        time.sleep(_LOOK_S)
    return [
        {
            "id": app["id"],
            "step": step,
            "name": app["name"],
            "queue": app["queue"],
            "final_status": app["finalStatus"],
            "submitted_ms": app["startedTime"],
            "launched_ms": app.get("launchTime"),
            "finished_ms": app["finishedTime"],
        }
        for app in found
    ]
