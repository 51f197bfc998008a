"""Where jars and the folders of running clusters are, in a checkout or an installation."""

import os
import re
import shutil
from pathlib import Path

from loomcard.config.shipped import PlaceError, checkout, shipped

BUILT_WITH = "3.4"
"""The Hadoop line whose jars a checkout's build has."""


def hadoop_lines() -> list[str]:
    """Return the Hadoop lines that Loomcard serves, the oldest first."""
    lines = {BUILT_WITH, *(file.stem for file in shipped("hadoop-jars").glob("*.txt"))}
    return sorted(lines, key=lambda line: [int(number) for number in line.split(".")])


def hadoop_line() -> str:
    """Return the Hadoop line of the embedded cluster and its clients: `LOOMCARD_HADOOP`, or 3.4."""
    return os.environ.get("LOOMCARD_HADOOP") or BUILT_WITH


def use_hadoop(line: str) -> None:
    """Make this process and those that it starts use another Hadoop line."""
    os.environ["LOOMCARD_HADOOP"] = line


def jars() -> Path:
    """Return the folder of the jars of `hadoop_line` and ours: of a checkout's build, or fetched on
    the first use, or `LOOMCARD_JARS`. Raises PlaceError when our scheduler is not in it.
    """
    named = os.environ.get("LOOMCARD_JARS")
    root = checkout()
    if named:
        folder = Path(named)
    elif root is not None and hadoop_line() == BUILT_WITH:
        folder = root / "jvm-bridge" / "dist" / "target" / "lib"
    else:
        from loomcard.cluster import hadoop_jars  # needs an HTTP client, only here

        folder = hadoop_jars.class_path_folder(hadoop_line())
    if not any(folder.glob("loomcard-yarn-*.jar")):
        raise PlaceError(f"no Loomcard jar in {folder}", "run `make setup`, which builds it")
    return folder


def java_home() -> Path:
    """Return the Java installation for Hadoop: `JAVA_HOME`, or that of `java` on the path. Raises
    `PlaceError` if there is none, and for a `JAVA_HOME` that is not one.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        if not (Path(named) / "bin" / "java").exists():
            raise PlaceError(
                f"JAVA_HOME is {named}, which has no bin/java", "name a JDK 17, or unset it"
            )
        return Path(named)
    found = shutil.which("java")
    if found is None:
        raise PlaceError("no java found", "install a JDK 17 or set JAVA_HOME")
    return Path(found).resolve().parents[1]


def java_version(home: Path) -> int | None:
    """Return the version of the Java installation in `home`, such as 17; None if it says none."""
    try:
        found = re.search(
            r'^JAVA_VERSION="(?:1\.)?(\d+)', (home / "release").read_text(), re.MULTILINE
        )
    except OSError:
        return None
    return None if found is None else int(found[1])


def run_folder(kind: str) -> Path:
    """Return the relative folder of the state of a cluster left running: `run/<kind>`."""
    return Path.cwd() / "run" / kind
