"""Runs HiBench's scripts, each run in a folder of its own, and takes its times from YARN."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.cluster.paths import java_home
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.suite.hibench.configuration import Cluster, RunSettings, write
from loomcard.suite.hibench.installation import Installation
from loomcard.suite.hibench.workloads import Framework, Workload

_COLUMNS = ("type", "date", "time", "input_bytes", "duration_s", "throughput", "per_node")


@dataclass(frozen=True)
class Wanted:
    """A workload on a framework, under a tag that no other run has."""

    workload: Workload
    framework: Framework
    tag: str


@dataclass
class Ran:
    """What became of it. `reported`: HiBench's own line; `applications`: YARN's, submission first.
    `wrong`: why it failed, or "".
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
        ran = _drive(each, there, cluster, settings(each))
        ran.applications = _applications(rest, each.tag)
        failed = [app for app in ran.applications if app["final_status"] != "SUCCEEDED"]
        if failed and not ran.wrong:
            ran.wrong = f"{failed[0]['id']} {failed[0]['final_status']}"
        if not ran.applications and not ran.wrong:
            ran.wrong = "no application of it was seen: its jobs did not run on this cluster"
        done(ran)
        return ran

    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(one, wanted))


def _drive(each: Wanted, there: Installation, cluster: Cluster, settings: RunSettings) -> Ran:
    ran = Ran(each, settings.folder)
    variables = write(settings, there, cluster)
    scripts = there.home / "bin" / "workloads" / each.workload.path
    for step in ("prepare/prepare.sh", f"{each.framework}/run.sh"):
        log = settings.folder / f"{step.partition('/')[0]}.log"
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
        if done.returncode:
            ran.wrong = f"{step} ended with status {done.returncode}: {_last(log)} (see {log})"
            return ran
    ran.reported = _reported(settings.folder / "report" / "hibench.report")
    if not ran.reported:  # some of its scripts do not look at what their program's status was
        ran.wrong = f"HiBench reports nothing, although its scripts ended well (see {log})"
    return ran


def _last(log: Path) -> str:
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return (said or ["it said nothing"])[-1][:200]


def _reported(file: Path) -> dict[str, str]:
    """The last line of hibench.report, by column; {} where there is none."""
    if not file.exists():
        return {}
    rows = [line.split() for line in file.read_text(errors="replace").splitlines()]
    whole = [row for row in rows if len(row) == len(_COLUMNS) and row[0] != "Type"]
    return dict(zip(_COLUMNS, whole[-1], strict=True)) if whole else {}


def _applications(rest: ResourceManagerClient, tag: str) -> list[dict[str, Any]]:
    """YARN's times of what carries the tag: HiBench's own duration counts its client too."""
    found = [app for app in rest.applications() if tag in str(app["applicationTags"]).split(",")]
    return [
        {
            "id": app["id"],
            "name": app["name"],
            "queue": app["queue"],
            "final_status": app["finalStatus"],
            "submitted_ms": app["startedTime"],
            "launched_ms": app.get("launchTime"),
            "finished_ms": app["finishedTime"],
        }
        for app in found
    ]
