"""The command lines of jobs: Hadoop's own examples, or spark-submit with one of our programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from loomcard.suite.inputs import Job

_EXAMPLES: Final = {
    "wordcount": "org.apache.hadoop.examples.WordCount",
    "sort": "org.apache.hadoop.examples.Sort",
    "terasort": "org.apache.hadoop.examples.terasort.TeraSort",
    "grep": "org.apache.hadoop.examples.Grep",
}
EXECUTOR_MB, EXECUTOR_OVERHEAD_MB, EXECUTORS = 512, 128, 2
DRIVER_MB: Final = EXECUTOR_MB + EXECUTOR_OVERHEAD_MB
"""The memory of a container with its overhead, for driver and executors alike."""
MAPREDUCE_AM_MB, TASK_MB = 384, 256
SMALL_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of every JVM: jobs are short, and many start at the same time on few cores."""


@dataclass(frozen=True)
class Where:
    """The paths from which a job reads and to which it writes, as its program gets them."""

    source: str
    target: str


@dataclass(frozen=True)
class Submitted:
    """The user, the queue and the name with which a job is submitted; the hint is for policies."""

    name: str
    queue: str = ""
    definitions: Mapping[str, str] = field(default_factory=dict)


def mapreduce(job: Job, where: Where, submitted: Submitted) -> list[str]:
    """Return the main class and the arguments of a MapReduce job."""
    numbers = job.benchmark.numbers(job.size)
    properties = {
        "mapreduce.job.reduces": str(numbers["reduces"]),
        "mapreduce.job.name": submitted.name,
        **({"mapreduce.job.queuename": submitted.queue} if submitted.queue else {}),
        **submitted.definitions,
    }
    defined = [f"-D{name}={value}" for name, value in properties.items()]
    # Sort takes the number of reduces from the cluster, unless -r gives it.
    own = ["-r", str(numbers["reduces"])] if job.benchmark.name == "sort" else []
    places, more = [where.source, where.target], job.benchmark.arguments(numbers)
    behind = job.benchmark.name == "grep"  # its pattern follows input and output
    arguments = [*own, *places, *more] if behind else [*own, *more, *places]
    return [_EXAMPLES[job.benchmark.name], *defined, *arguments]


def spark(
    job: Job, where: Where, submitted: Submitted, programs: PurePath, properties: Mapping[str, str]
) -> list[str]:
    """Return the arguments of spark-submit. `properties`: Spark's, for the cluster that runs it."""
    numbers = job.benchmark.numbers(job.size)
    settings = {
        "spark.app.name": submitted.name,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(2 * numbers["reduces"]),
        "spark.driver.defaultJavaOptions": SMALL_JVM,
        "spark.executor.defaultJavaOptions": SMALL_JVM,
        **properties,
        **submitted.definitions,
    }
    said = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    program = str(programs / f"{job.benchmark.name}.py")
    return [*said, program, where.source, where.target, *job.benchmark.arguments(numbers)]


def on_yarn(
    home: PurePath, python: PurePath, queue: str = "", executors: int = EXECUTORS
) -> dict[str, str]:
    """Return Spark's properties for a cluster on which YARN runs driver and executors, both from an
    environment that every node has.
    """
    return {
        "spark.master": "yarn",
        "spark.submit.deployMode": "cluster",
        "spark.yarn.maxAppAttempts": "1",
        # Only `*` is accepted here; `*.jar` is not.
        "spark.yarn.jars": f"local:{home}/jars/*",
        "spark.driver.memory": f"{EXECUTOR_MB}m",
        "spark.driver.memoryOverhead": f"{EXECUTOR_OVERHEAD_MB}m",
        "spark.executor.memory": f"{EXECUTOR_MB}m",
        "spark.executor.memoryOverhead": f"{EXECUTOR_OVERHEAD_MB}m",
        "spark.executor.instances": str(executors),
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": str(python),
        "spark.executorEnv.PYSPARK_PYTHON": str(python),
        "spark.yarn.submit.waitAppCompletion": "true",
        "spark.yarn.report.interval": "500",
        **({"spark.yarn.queue": queue} if queue else {}),
    }
