"""Run a benchmark without a cluster, in processes of this machine: does it run, is its result
right?
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from loomcard.cluster import paths
from loomcard.cluster.submit import SubmissionError
from loomcard.suite.commands import Submitted, Where, mapreduce, spark
from loomcard.suite.environment import PROGRAMS, SparkEnvironment
from loomcard.suite.inputs import Job, made


def run(job: Job, folder: Path, environment: SparkEnvironment | None) -> None:
    """Generate the input below `folder`, run the program with Spark's or MapReduce's local runner,
    and check the result. Raises SubmissionError if the program fails (its log is kept), and
    WrongResultError if its result is wrong.
    """
    folder = folder.absolute()
    data = made(job, folder / "data")
    output = folder / f"{job.input_name}-{job.benchmark.name}"
    shutil.rmtree(output, ignore_errors=True)
    where = Where(f"file://{data}", f"file://{output}")
    submitted = Submitted(job.benchmark.name)
    if job.benchmark.framework == "spark":
        assert environment is not None, "only MapReduce jobs run without it"
        local = {"spark.master": "local[2]", "spark.driver.memory": "512m"}
        words = spark(job, where, submitted, PROGRAMS, local)
        command, variables = [str(environment.submit), *words], environment.variables
    else:
        java = str(paths.java_home() / "bin" / "java")
        scratch = {"mapreduce.framework.name": "local", "hadoop.tmp.dir": str(folder / "tmp")}
        words = mapreduce(job, where, Submitted(submitted.name, definitions=scratch))
        command, variables = [java, "-Xmx512m", "-cp", f"{paths.jars().absolute()}/*", *words], {}
    _run(job, command, variables, output.with_suffix(".log"))
    job.benchmark.check(data, output, job.benchmark.numbers(job.size))


def _run(job: Job, command: list[str], variables: dict[str, str], log: Path) -> None:
    environment = os.environ | {"JAVA_HOME": str(paths.java_home())} | variables
    with log.open("wb") as out:
        done = subprocess.run(  # noqa: S603 - our own command line
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=log.parent,  # the folder that Grep's two jobs share
            check=False,
        )
    if done.returncode:
        raise SubmissionError(
            f"{job.benchmark.name} ended with status {done.returncode}", f"its log is {log}"
        )
