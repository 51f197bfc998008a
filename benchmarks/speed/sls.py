"""YARN's own Scheduler Load Simulator (hadoop-sls) on a trace, and the same trace for ours.

SLS runs the production ResourceManager in real time, with simulated NodeManagers and AMs in the
same JVM. It takes a trace of kind SYNTH; all its jobs are alike here, so that both simulators play
exactly the same trace.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

MODULE = Path(__file__).resolve().parents[2] / "jvm-bridge" / "sls"
MAIN = "org.apache.hadoop.yarn.sls.SLSRunner"
YARN = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"
SCHEDULERS = {
    "capacity": f"{YARN}.capacity.CapacityScheduler",
    "fair": f"{YARN}.fair.FairScheduler",
}
SUBMITTED = "AMSimulator: Submit a new application"
OVER = "is shutting down."
BROKEN = 'Exception in thread "main"'
SUBMITTED_WITHIN_S = 10
LIMIT_S = 900


class Trace(msgspec.Struct, frozen=True):
    """Equal jobs on equal nodes; each has maps and then reduces."""

    nodes: int = 100
    node: tuple[int, int] = (32_768, 16)
    jobs: int = 50
    maps: int = 80
    reduces: int = 20
    map_ms: int = 30_000
    reduce_ms: int = 30_000
    map_size: tuple[int, int] = (1_024, 1)
    reduce_size: tuple[int, int] = (2_048, 1)
    am_size: tuple[int, int] = (1_024, 1)

    @property
    def containers(self) -> int:
        """Return the containers of all jobs, AMs included."""
        return self.jobs * (self.maps + self.reduces + 1)


class SlsRun(msgspec.Struct, frozen=True):
    """The cost of one run: wall time from the first submission to the end of the last job; wall
    time, CPU and peak memory of the whole JVM. ``submitted_ms``: when each job came, from the first
    on.
    """

    scheduler: str
    seconds: float
    process_seconds: float
    cpu_seconds: float
    peak_mb: int
    submitted_ms: list[int]


class SlsError(Exception):
    """SLS could not be run, or did not finish its trace."""


def resolve() -> None:
    """Let Maven fetch SLS and its dependencies. Raises SlsError."""
    goal = [
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        "-DoutputDirectory=target/lib",
    ]
    command = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(MODULE), *goal]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SlsError(f"Maven could not bring hadoop-sls:\n{done.stdout[-2000:]}")


def run(scheduler: str, trace: Trace) -> SlsRun:
    """Play the trace under one of YARN's schedulers. Raises SlsError."""
    with tempfile.TemporaryDirectory(prefix="loomcard-sls-") as name:
        folder = Path(name)
        write_folder(folder, scheduler, trace)
        began = perf_counter()
        times, wall, usage = _watch(_command(folder), folder, trace)
        whole = perf_counter() - began
    cpu = usage.ru_utime + usage.ru_stime
    first = min(times)
    submitted = [round(1000 * (t - first).total_seconds()) for t in sorted(times)]
    return SlsRun(
        scheduler, round(wall, 2), round(whole, 2), round(cpu, 2), usage.ru_maxrss // 1024,
        submitted,
    )  # fmt: skip


def write_folder(folder: Path, scheduler: str, trace: Trace) -> None:
    """Write the configuration, host names and trace for one run."""
    yarn = {
        "yarn.resourcemanager.scheduler.class": SCHEDULERS[scheduler],
        "yarn.scheduler.minimum-allocation-mb": 1024,
        "yarn.scheduler.maximum-allocation-mb": trace.node[0],
        "yarn.scheduler.maximum-allocation-vcores": trace.node[1],
        **{f"yarn.resourcemanager.{part}address": "127.0.0.1:0"
           for part in ("", "scheduler.", "admin.", "resource-tracker.", "webapp.")},
    }  # fmt: skip
    runner = {
        "yarn.sls.runner.pool.size": 16,
        "yarn.sls.nm.memory.mb": trace.node[0],
        "yarn.sls.nm.vcores": trace.node[1],
        "yarn.sls.am.container.memory": trace.am_size[0],
        "yarn.sls.am.container.vcores": trace.am_size[1],
        "yarn.sls.am.type.mapreduce": "org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator",
        "yarn.sls.metrics.switch": "false",
    }
    capacity = {
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": 100,
        "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
        "yarn.scheduler.capacity.resource-calculator":
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    }  # fmt: skip
    files = {
        "core-site.xml": configuration({"fs.defaultFS": "file:///"}),
        "yarn-site.xml": configuration(yarn),
        # SLS starts its ResourceManager from this file only.
        "sls-runner.xml": configuration(yarn | runner),
        "capacity-scheduler.xml": configuration(capacity),
        "fair-scheduler.xml": '<allocations><queue name="default"/></allocations>\n',
        "log4j.properties": LOG4J,
        "trace.json": msgspec.json.encode(synth(trace)).decode(),
        # Each NodeManager's name is looked up, and a name server would take long for it.
        "hosts": "".join(f"127.0.0.1 {n}\n" for n in ["localhost", *_node_names(trace)]),
    }
    for name, text in files.items():
        (folder / name).write_text(text)


LOG4J = """\
log4j.rootLogger=ERROR,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %c{1}: %m%n
log4j.logger.org.apache.hadoop.yarn.sls.appmaster=INFO
"""


def _node_names(trace: Trace) -> list[str]:
    return [os.uname().nodename, *(f"node{i}" for i in range(trace.nodes + 1))]


def configuration(settings: dict[str, Any]) -> str:
    """Return a Hadoop configuration file."""
    line = "<property><name>{}</name><value>{}</value></property>\n"
    lines = "".join(line.format(key, value) for key, value in settings.items())
    return f"<configuration>\n{lines}</configuration>\n"


def synth(trace: Trace) -> dict[str, Any]:
    """Return the trace as SLS reads it; SLS itself chooses random times within the first seconds
    for the jobs.
    """
    stages = [
        ("map", 20, trace.maps, trace.map_ms, trace.map_size),
        ("reduce", 10, trace.reduces, trace.reduce_ms, trace.reduce_size),
    ]
    tasks = [
        {
            "type": kind, "priority": priority, "count": {"val": count}, "time": {"val": length_ms},
            "max_memory": {"val": size[0]}, "max_vcores": {"val": size[1]},
        }
        for kind, priority, count, length_ms, size in stages
    ]  # fmt: skip
    job = {
        "class_name": "job", "user_name": "bench", "class_weight": 1.0, "type": "mapreduce",
        "deadline_factor": {"val": 10}, "duration": {"val": 60}, "reservation": {"val": 0},
        "tasks": tasks,
    }  # fmt: skip
    workload = {
        "workload_name": "bench", "workload_weight": 1, "queue_name": "default",
        "job_classes": [job],
        "time_distribution": [
            {"time": 1, "weight": 100}, {"time": SUBMITTED_WITHIN_S, "weight": 0},
        ],
    }  # fmt: skip
    return {
        "description": "bench", "num_nodes": trace.nodes, "nodes_per_rack": 10,
        "num_jobs": trace.jobs, "rand_seed": 1, "workloads": [workload],
    }  # fmt: skip


def scenario(trace: Trace, submitted_ms: list[int]) -> Scenario:
    """Return the same trace for our simulator: the same nodes, tasks, heartbeats and arrivals."""
    nodes = [
        ScenarioNode(f"node{i}", f"/rack{i // 10}", trace.node) for i in range(1, trace.nodes + 1)
    ]
    stages = [
        Stage("map", trace.map_size, 20, 1, [trace.map_ms] * trace.maps),
        Stage("reduce", trace.reduce_size, 10, 2, [trace.reduce_ms] * trace.reduces, [0]),
    ]
    jobs = [
        ScenarioApplication(
            f"job{i}", at_ms, "root.default", "bench", "dag", stages, am=trace.am_size
        )
        for i, at_ms in enumerate(submitted_ms)
    ]
    return Scenario("sls", 1, ["memory_mb", "vcores"], nodes, jobs)


def _command(folder: Path) -> list[str]:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    return [
        str(java), "-Xmx2g", f"-Djdk.net.hosts.file={folder / 'hosts'}",
        "--add-opens", "java.base/java.lang=ALL-UNNAMED",
        "-cp", os.pathsep.join([str(folder), str(MODULE / "target" / "lib" / "*")]), MAIN,
        "-tracetype", "SYNTH", "-tracelocation", str(folder / "trace.json"),
        "-output", str(folder / "out"),
    ]  # fmt: skip


def _watch(
    command: list[str], folder: Path, trace: Trace
) -> tuple[list[datetime], float, resource.struct_rusage]:
    """Return when each job was submitted, the seconds from the first one until all have ended, and
    the cost of the JVM; the JVM does not end by itself.
    """
    jvm = subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    alarm = threading.Timer(LIMIT_S, jvm.kill)
    alarm.start()
    try:
        assert jvm.stdout is not None
        submitted, wall = follow(jvm.stdout, trace)
    finally:
        alarm.cancel()
        jvm.kill()
        _, jvm.returncode, usage = os.wait4(jvm.pid, 0)
    return submitted, wall, usage


def follow(log: Iterable[str], trace: Trace) -> tuple[list[datetime], float]:
    """Return when each job was submitted, and the seconds from the first line that says so to the
    line that says that all have ended. Raises SlsError if there is no such line.
    """
    submitted: list[datetime] = []
    ended, began, last = 0, 0.0, ""
    for line in log:
        last = line
        if BROKEN in line:  # otherwise its other threads would live for ever
            break
        if SUBMITTED in line:
            began = began or perf_counter()
            submitted.append(_time_of(line))
        ended += OVER in line
        if ended == trace.jobs:
            return submitted, perf_counter() - began
    raise SlsError(f"SLS ended {ended} of {trace.jobs} jobs; its last line: {last.strip()}")


def _time_of(line: str) -> datetime:
    found = re.match(r"(\S+ \S+),(\d{3}) ", line)
    if found is None:
        raise SlsError(f"a line without its time: {line.strip()}")
    return datetime.fromisoformat(f"{found[1]}.{found[2]}")
