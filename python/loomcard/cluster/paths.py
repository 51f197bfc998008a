"""Where jars and the folders of running clusters lie, in a checkout or an installation."""

import os
import shutil
from pathlib import Path

from loomcard.config.shipped import PlaceError, checkout


def jars() -> Path:
    """The folder of Hadoop's jars and ours: a checkout's, an installation's (whose first use
    fetches Hadoop's), or what `LOOMCARD_JARS` names. Raises PlaceError when it holds no scheduler
    of ours.
    """
    named = os.environ.get("LOOMCARD_JARS")
    root = checkout()
    if named:
        folder = Path(named)
    elif root is not None:
        folder = root / "jvm-bridge" / "dist" / "target" / "lib"
    else:
        from loomcard.cluster import hadoop_jars  # an HTTP client, for this case alone

        folder = hadoop_jars.class_path_folder()
    if not any(folder.glob("loomcard-yarn-*.jar")):
        raise PlaceError(f"no Loomcard jar in {folder}", "run `make setup`, which builds it")
    return folder


def java_home() -> Path:
    """The Java installation to run Hadoop with: `JAVA_HOME`, or the one of `java` on the path."""
    named = os.environ.get("JAVA_HOME")
    if named and (Path(named) / "bin" / "java").exists():
        return Path(named)
    found = shutil.which("java")
    if found is None:
        raise PlaceError("no java found", "install a JDK 17 or set JAVA_HOME")
    return Path(found).resolve().parents[1]


def run_folder(kind: str) -> Path:
    """Where a cluster that was left running keeps its state: `run/<kind>`, relative."""
    return Path.cwd() / "run" / kind
