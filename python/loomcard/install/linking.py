"""Whether the scheduler's jar finds in this Hadoop every class, method and field that it needs. The
jar's own program `LinkCheck` says so, on the ResourceManager's class path. Versions are not
compared: vendors bring methods of later releases back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from loomcard.cluster import paths
from loomcard.config.shipped import PlaceError
from loomcard.install.installation import shim_jars
from loomcard.install.site_file import SiteFileError
from loomcard.install.startup import Check

_MAIN: Final = "org.loomcard.yarn.hadoop.LinkCheck"
_PATIENCE_S: Final = 60.0


def class_path(conf_dir: Path, jar_dir: Path) -> str:
    """Return the daemons' class path: from `yarn classpath` of `HADOOP_HOME` or of the Hadoop
    around `jar_dir`, otherwise all jars in `jar_dir`, otherwise from the `yarn` on the path. Raises
    SiteFileError if none of them is there.
    """
    homes = [os.environ.get("HADOOP_HOME"), *(str(each) for each in list(jar_dir.parents)[3:4])]
    programs = [Path(home) / "bin" / "yarn" for home in homes if home]
    beside = any(jar_dir.glob("hadoop-yarn-server-resourcemanager-*.jar"))
    if not beside and (found := shutil.which("yarn")) is not None:
        programs.append(Path(found))
    for yarn in programs:
        said = _said(str(yarn), "--config", str(conf_dir), "classpath") if yarn.is_file() else ""
        if said:
            return f"{conf_dir}{os.pathsep}{said.splitlines()[-1]}"
    if not beside:
        raise SiteFileError(
            f"neither `yarn` nor Hadoop's jars are found by {jar_dir}",
            "set HADOOP_HOME, or name by --jar-dir the folder of Hadoop's jars",
        )
    return f"{conf_dir}{os.pathsep}{jar_dir}/*"


def link_check(conf_dir: Path, jar_dir: Path) -> Check:
    """Check that nothing is missing. Where Hadoop's jars are not found, this is not known, which is
    a warning.
    """
    try:
        java = paths.java_home() / "bin" / "java"
        hadoop = class_path(conf_dir, jar_dir)
        own = os.pathsep.join(str(each) for each in shim_jars())
    except (PlaceError, SiteFileError) as error:
        return Check("links", f"not checked: {error}: {error.hint}")
    try:
        done = subprocess.run(  # noqa: S603 (the Java of this Hadoop)
            [str(java), "-Xshare:auto", "-XX:TieredStopAtLevel=1",
             "-Dhadoop.root.logger=ERROR,console", _MAIN],
            env=os.environ | {"CLASSPATH": f"{own}{os.pathsep}{hadoop}"},
            capture_output=True, text=True, check=False, cwd="/", timeout=_PATIENCE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Check("links", f"{java} has said nothing for {_PATIENCE_S:.0f} s", "set JAVA_HOME")
    said = (done.stdout.strip().splitlines() or [""])[-1]
    if done.returncode == 0:
        return Check("links", f"{said} has every class and method that the scheduler calls")
    if said:
        lacks, _, remedy = said.rpartition(": ")
        return Check("links", lacks, remedy)
    why = (done.stderr.strip().splitlines() or [f"{java} fails"])[0]
    return Check("links", why, "is this the ResourceManager's class path? set HADOOP_HOME")


def _said(*command: str) -> str:
    """Return what a program prints; nothing if it fails or does not end."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(  # noqa: S603 (Hadoop's own)
            command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S
        ).stdout.strip()
    return ""
