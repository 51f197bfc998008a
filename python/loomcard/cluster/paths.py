"""Where jars and the folders of running clusters are, in a checkout or an installation."""

import os
import shutil
from pathlib import Path

from loomcard.config.shipped import PlaceError, checkout


def jars() -> Path:
    """Return the folder of Hadoop's jars and ours: of a checkout, of an installation (the first use
    fetches Hadoop's jars), or `LOOMCARD_JARS`. Raises PlaceError when our scheduler is not in it.
    """
    named = os.environ.get("LOOMCARD_JARS")
    root = checkout()
    if named:
        folder = Path(named)
    elif root is not None:
        folder = root / "jvm-bridge" / "dist" / "target" / "lib"
    else:
        from loomcard.cluster import hadoop_jars  # needs an HTTP client, only here

        folder = hadoop_jars.class_path_folder()
    if not any(folder.glob("loomcard-yarn-*.jar")):
        raise PlaceError(f"no Loomcard jar in {folder}", "run `make setup`, which builds it")
    return folder


def java_home() -> Path:
    """Return the Java installation for Hadoop: `JAVA_HOME`, or that of `java` on the path."""
    named = os.environ.get("JAVA_HOME")
    if named and (Path(named) / "bin" / "java").exists():
        return Path(named)
    found = shutil.which("java")
    if found is None:
        raise PlaceError("no java found", "install a JDK 17 or set JAVA_HOME")
    return Path(found).resolve().parents[1]


def run_folder(kind: str) -> Path:
    """Return the relative folder of the state of a cluster left running: `run/<kind>`."""
    return Path.cwd() / "run" / kind
