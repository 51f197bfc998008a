"""Run HiBench's scripts, each in its own folder, and take their times from YARN."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from loomcard.cluster.paths import java_home
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.suite.hibench.children import Children
from loomcard.suite.hibench.configuration import Cluster, RunSettings, write
from loomcard.suite.hibench.installation import Installation
from loomcard.suite.hibench.workloads import Framework, Workload

Step = Literal["prepare", "run"]

_ENDED_S, _LOOK_S = 60.0, 0.5
_ENDED: Final = ("FINISHED", "FAILED", "KILLED")
_COLOUR, _ERROR = re.compile(r"\x1b\[[0-9;]*m"), re.compile(r"(\S+ )?(Error|ERROR|\S+Exception):")
_COLUMNS: Final = ("type", "date", "time", "input_bytes", "duration_s", "throughput", "per_node")


@dataclass(frozen=True)
class Wanted:
    """One script of a workload on a framework, with a tag of its own. `step`: prepare makes the
    input, run measures. `parallelism`: how many maps, reduces or executors it asks for; `after_s`:
    how long after the first script it starts.
    """

    workload: Workload
    framework: Framework
    tag: str
    step: Step = "run"
    parallelism: int = 2
    after_s: float = 0.0

    @property
    def script(self) -> str:
        """The folder of the script, below the workload's."""
        return "prepare/prepare.sh" if self.step == "prepare" else f"{self.framework}/run.sh"


@dataclass
class Ran:
    """The result of a script. `reported`: HiBench's own line; `applications`: YARN's, by
    submission. `wrong`: why it failed, or "".
    """

    wanted: Wanted
    folder: Path
    reported: dict[str, str] = field(default_factory=dict)
    applications: list[dict[str, Any]] = field(default_factory=list)
    wrong: str = ""

    def document(self) -> dict[str, Any]:
        """Return the result as `--json` prints it."""
        return {
            "workload": self.wanted.workload.name,
            "framework": self.wanted.framework,
            "tag": self.wanted.tag,
            "parallelism": self.wanted.parallelism,
            "after_s": self.wanted.after_s,
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
    """Run every script, `at_a_time` at the same time. A failure is part of its result, which `done`
    gets as soon as the script ends. If Ctrl-C or another exception is raised here, end the scripts,
    kill their applications, give `done` what had begun, and raise it again.
    """
    children = Children()
    begun_s = time.monotonic()

    def one(each: Wanted) -> Ran | None:
        start_s = begun_s + each.after_s
        return _drive(each, there, cluster, rest, settings(each), children, start_s)

    def give(future: Future[Ran | None]) -> None:
        if not future.cancelled() and (ran := future.result()):
            done(ran)

    with ThreadPoolExecutor(at_a_time) as pool:
        futures = [pool.submit(one, each) for each in wanted]
        left = set(futures)
        try:
            while left:
                # A signal that another thread receives does not end a wait without a limit.
                ended, _ = wait(left, _LOOK_S, FIRST_COMPLETED)
                for future in ended:
                    left.discard(future)
                    give(future)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            for future in left:
                with suppress(Exception):  # the first exception says more
                    give(future)
            raise
    return [ran for each in futures if (ran := each.result())]


def _drive(
    each: Wanted,
    there: Installation,
    cluster: Cluster,
    rest: ResourceManagerClient,
    settings: RunSettings,
    children: Children,
    start_s: float,
) -> Ran | None:
    """Return None if everything was stopped before it began."""
    ran = Ran(each, settings.folder)
    shutil.rmtree(settings.folder, ignore_errors=True)  # an earlier run's report would be read
    variables = write(settings, there, cluster)
    # A tag may also be an earlier run's.
    before = {app["id"] for app in _tagged(rest, each.tag)}
    script = there.home / "bin" / "workloads" / each.workload.path / each.script
    log = settings.folder / f"{each.step}.log"
    environment = os.environ | {"JAVA_HOME": str(java_home())} | variables
    children.pause(start_s)
    status = children.run(["bash", str(script)], settings.folder, environment, log)
    if status is None:
        return None
    if children.stopped:
        _kill(rest, each.tag, before)
    ran.applications = _ended(rest, each.tag, before)
    ran.reported = _reported(settings.folder / "report" / "hibench.report")
    ran.wrong = "stopped" if children.stopped and status else _wrong(ran, status, log)
    return ran


def _wrong(ran: Ran, status: int, log: Path) -> str:
    """Return why it failed, or ""."""
    if status:
        return f"{ran.wanted.script} ended with status {status}: {_last(log)} (see {log})"
    if ran.wanted.step == "run" and not ran.reported:
        # Some of its scripts do not check the status of their program.
        return f"HiBench reports nothing, although its scripts ended well (see {log})"
    for app in ran.applications:
        if app["final_status"] != "SUCCEEDED":
            return f"{app['id']} {app['final_status']}"
    if ran.wanted.step == "run" and not ran.applications:
        return "no application of it was seen: its jobs did not run on this cluster"
    return ""


def _last(log: Path) -> str:
    """Return the last error that the log names, otherwise its last line. After a job that failed,
    HiBench shows the end of a log that it writes only on terminals.
    """
    text = _COLOUR.sub("", log.read_text(errors="replace"))
    said = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in said if _ERROR.match(line)]
    return (errors or said or ["it said nothing"])[-1][:200]


def _reported(file: Path) -> dict[str, str]:
    """Return the last line of hibench.report, by column; {} if there is none."""
    if not file.exists():
        return {}
    rows = [line.split() for line in file.read_text(errors="replace").splitlines()]
    whole = [row for row in rows if len(row) == len(_COLUMNS) and row[0] != "Type"]
    return dict(zip(_COLUMNS, whole[-1], strict=True)) if whole else {}


def _tagged(rest: ResourceManagerClient, tag: str) -> list[dict[str, Any]]:
    found = [app for app in rest.applications() if tag in str(app["applicationTags"]).split(",")]
    return sorted(found, key=lambda app: (int(app["startedTime"]), str(app["id"])))


def _kill(rest: ResourceManagerClient, tag: str, known: set[str]) -> None:
    """Kill applications with the tag that are not known and have not ended. The client has ended
    but may have submitted at the last moment, so this looks twice.
    """
    for pause_s in (_LOOK_S, 0.0):
        for app in _tagged(rest, tag):
            if app["id"] not in known and app["state"] not in _ENDED:
                rest.kill(app["id"])
        time.sleep(pause_s)


def _ended(rest: ResourceManagerClient, tag: str, known: set[str]) -> list[dict[str, Any]]:
    """Return YARN's times of the applications with the tag that are not known yet, after they have
    ended: a client may end before YARN has recorded that its application did.
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
            "name": app["name"],
            "queue": app["queue"],
            "final_status": app["finalStatus"],
            "submitted_ms": app["startedTime"],
            "launched_ms": app.get("launchTime"),
            "finished_ms": app["finishedTime"],
        }
        for app in found
    ]
