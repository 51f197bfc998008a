"""What a run of HiBench needs of this machine, and what of it is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.workloads import SCALES, Framework, Workload

PROGRAMS: Final = {
    "python2": "none runs, and HiBench's scripts are Python 2: build 2.7, take it from an older"
    " distribution, or choose it in your version manager",
    "bc": "install the package bc: HiBench computes its report with it",
    "java": "install a JDK 17, or the one of your cluster",
    "bash": "install bash",
}


@dataclass(frozen=True)
class Check:
    """One thing that is needed: whether and where it exists, and what to do if it does not."""

    what: str
    found: str
    remedy: str = ""

    @property
    def missing(self) -> bool:
        """Whether it is missing."""
        return not self.found


@dataclass(frozen=True)
class Installation:
    """The paths of the tools. `hadoop_home`: None for our launchers over Loomcard's jars; `jars`:
    the folder of these jars.
    """

    home: Path
    jars: Path
    spark_home: Path | None = None
    hadoop_home: Path | None = None

    @property
    def examples_jar(self) -> Path | None:
        """Hadoop's own examples."""
        return _newest(self._hadoop_jars(), "hadoop-mapreduce-examples-*.jar")

    @property
    def examples_test_jar(self) -> Path | None:
        """Hadoop's tests of its job client, which HiBench needs by name."""
        return _newest(self._hadoop_jars(), "hadoop-mapreduce-client-jobclient-*tests.jar")

    @property
    def sparkbench_jar(self) -> Path | None:
        """HiBench's Spark programs, if they were built."""
        return _newest(
            self.home / "sparkbench" / "assembly" / "target", "sparkbench-assembly-*-dist.jar"
        )

    def _hadoop_jars(self) -> Path:
        if self.hadoop_home is None:
            return self.jars
        return self.hadoop_home / "share" / "hadoop" / "mapreduce"

    def part(self, name: str) -> Path | None:
        """Return the path of a part of HiBench, by the name in a workload's `needs`."""
        home = self.home
        found: dict[str, Callable[[], Path | None]] = {
            "sparkbench": lambda: self.sparkbench_jar,
            "autogen": lambda: _newest(home / "autogen" / "target", "autogen-*-dependencies.jar"),
            "mahout": lambda: _newest(home, "hadoopbench/mahout/target/*mahout*/bin/mahout"),
            "hive": lambda: _newest(home, "hadoopbench/sql/target/*hive*/bin/hive"),
            "pegasus": lambda: _newest(home, "hadoopbench/pegasus/target/*.jar"),
            "features": lambda: _newest(
                home, "sparkbench/graph/src/main/resources/nweight-user-features"
            ),
        }
        return found[name]()


def check_scale(home: Path, scale: str) -> None:
    """Raise SuiteError if HiBench has no such scale and no file of the user defines it."""
    files = (home / "conf").rglob("*.conf")
    if scale in SCALES or any(f".{scale}." in each.read_text(errors="replace") for each in files):
        return
    hint = f"there are {', '.join(SCALES)}, and what {home / 'conf' / 'workloads'} defines"
    raise SuiteError(f"--scale {scale}: no such scale", hint)


_BUILD: Final = {
    "sparkbench": "build it: mvn -Psparkbench package in HIBENCH_HOME with a JDK 8, not 17",
    "autogen": "build it: mvn -pl autogen -am package in HIBENCH_HOME with a JDK 8",
    "mahout": "build it: mvn -Phadoopbench package in HIBENCH_HOME with a JDK 8",
    "hive": "build it: mvn -Phadoopbench package in HIBENCH_HOME with a JDK 8",
    "pegasus": "build it: mvn -Phadoopbench package in HIBENCH_HOME with a JDK 8",
    "features": "fetch the file from HiBench's repository: some checkouts leave it out",
}


def checks(there: Installation, chosen: Iterable[tuple[Workload, Framework]]) -> list[Check]:
    """Return everything that the workloads need on their frameworks, in the order in which to
    install it; without the parts of HiBench if HiBench is missing.
    """
    pairs = list(chosen)
    config = there.home / "bin" / "functions" / "load_config.py"
    remedy = (
        f"{there.home} is not HiBench, since it has no bin/functions/load_config.py; name the"
        " folder of a checkout with --home or HIBENCH_HOME"
    )
    found = [Check("HIBENCH_HOME", _shown(config, there.home), remedy)]
    found += [Check(name, _program(name), remedy) for name, remedy in PROGRAMS.items()]
    launcher = None if there.hadoop_home is None else there.hadoop_home / "bin" / "hadoop"
    said = "ours, over Loomcard's jars" if launcher is None else _shown(launcher, launcher)
    found.append(Check("hadoop", said, "name a Hadoop with --hadoop-home, or none for ours"))
    remedy = "run `make setup`, which fetches Hadoop's jars, or name a whole --hadoop-home"
    found.append(Check("Hadoop's examples", str(there.examples_jar or ""), remedy))
    found.append(Check("Hadoop's job client tests", str(there.examples_test_jar or ""), remedy))
    if any(framework == "spark" for _, framework in pairs):
        submit = there.spark_home / "bin" / "spark-submit" if there.spark_home else None
        remedy = "name a Spark with --spark-home; `loomcard suite setup` makes one"
        found.append(Check("spark-submit", _shown(submit, submit), remedy))
    if found[0].missing:  # without HiBench there are no parts to find
        return found
    needed = dict.fromkeys(name for each, on in pairs for name in each.needs(on))
    found += [Check(name, str(there.part(name) or ""), _BUILD[name]) for name in needed]
    for each, framework in pairs:
        script = there.home / "bin" / "workloads" / each.path / framework / "run.sh"
        remedy = "this HiBench does not have it"
        found.append(Check(f"{each.name} on {framework}", _shown(script, script), remedy))
    return found


def _program(name: str) -> str:
    """Return the path of a command; "" if there is none or it does not run. A version manager may
    provide a python2 that is not selected: it is found, but ends with an error.
    """
    found = shutil.which(name)
    if found is None or name != "python2":
        return found or ""
    try:
        command = [found, "-c", "print(2)"]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found if done.returncode == 0 else ""


def _shown(file: Path | None, shown: Path | None) -> str:
    return str(shown) if file is not None and file.exists() else ""


def _newest(folder: Path, pattern: str) -> Path | None:
    return next(iter(sorted(folder.glob(pattern), reverse=True)), None)
