"""A Hadoop that lacks what the scheduler calls is refused by `install` and `doctor`, and its
ResourceManager does not start; each says in one sentence what is missing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from loomcard.cluster import paths
from loomcard.install.linking import class_path
from loomcard.install.site_file import SiteFileError
from tests.install.test_by_hand import DEADLINE_S, RESOURCE_MANAGER, Hadoop, loomcard

SCHEDULER = "org/apache/hadoop/yarn/server/resourcemanager/scheduler"
GONE = f"{SCHEDULER}/event/ContainerPreemptEvent"
NODE, METHOD = f"{SCHEDULER}/SchedulerNode", b"getUnallocatedResource"
LACKS = f"whose YARN has no SchedulerNode.{METHOD.decode()}(), no {GONE.replace('/', '.')}"
REMEDY = "use Hadoop 2.10 or 3.1 to 3.5, or another scheduler"


def rewrite(hadoop: Hadoop, change: Callable[[str, bytes], bytes | None]) -> None:
    """Put another jar of the ResourceManager in place of its own: each file as `change` has it."""
    (jar,) = hadoop.lib.glob("hadoop-yarn-server-resourcemanager-*.jar")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(jar.with_suffix(".new"), "w") as new:
        for name in old.namelist():
            if (data := change(name, old.read(name))) is not None:
                new.writestr(name, data)
    jar.unlink()  # a link to the jar of this checkout
    jar.with_suffix(".new").rename(jar)


def lacking(name: str, data: bytes) -> bytes | None:
    """Remove one class, and rename one method."""
    if name == f"{GONE}.class":
        return None
    return data.replace(METHOD, METHOD[:-1] + b"X") if name == f"{NODE}.class" else data


@pytest.fixture
def hadoop(tmp_path: Path) -> Hadoop:
    """A Hadoop without two symbols, in which Loomcard is not installed."""
    laid_out = Hadoop(tmp_path)
    rewrite(laid_out, lacking)
    return laid_out


def options(hadoop: Hadoop) -> list[str]:
    """Return the options that name this Hadoop's folders."""
    places = {"--hadoop-conf": hadoop.conf, "--jar-dir": hadoop.lib, "--state-dir": hadoop.state}
    return [word for name, folder in places.items() for word in (name, str(folder))]


@pytest.mark.cluster
def test_install_names_what_is_missing_and_changes_nothing(hadoop: Hadoop) -> None:
    """The sentence has symbols, release and remedy, and the exit status is 2."""
    before = {file: file.read_bytes() for file in hadoop.conf.iterdir()}, [*hadoop.lib.iterdir()]
    said = loomcard(hadoop, "install", *options(hadoop), status=2)
    (sentence,) = [line for line in said.splitlines() if line.startswith("error: links: ")]
    assert sentence.startswith("error: links: Loomcard cannot schedule for Hadoop ")
    assert sentence.endswith(f", {LACKS} ({REMEDY})")
    after = {file: file.read_bytes() for file in hadoop.conf.iterdir()}, [*hadoop.lib.iterdir()]
    assert after == before


@pytest.mark.cluster
@pytest.mark.slow
def test_the_doctor_names_what_is_missing(hadoop: Hadoop) -> None:
    """It also says so of a Hadoop that has all, before and after an upgrade of Hadoop."""
    loomcard(hadoop, "install", *options(hadoop), "--force")
    said = loomcard(hadoop, "doctor", *options(hadoop)[:2], status=1)
    (wrong,) = [line for line in said.splitlines() if line.startswith("WRONG")]
    assert f", {LACKS} ({REMEDY})" in wrong
    (jar,) = hadoop.lib.glob("hadoop-yarn-server-resourcemanager-*.jar")
    jar.write_bytes((paths.jars() / jar.name).read_bytes())
    said = loomcard(hadoop, "doctor", *options(hadoop)[:2])
    assert " has every class and method that the scheduler calls" in said


@pytest.mark.cluster
@pytest.mark.slow
def test_the_resource_manager_does_not_start(hadoop: Hadoop) -> None:
    """It ends at its start, before it serves, and its log has the sentence."""
    loomcard(hadoop, "install", *options(hadoop), "--force")
    assert hadoop.java("ResourceManager", RESOURCE_MANAGER).wait(DEADLINE_S) != 0
    log = (hadoop.root / "ResourceManager.log").read_text()
    assert f", {LACKS}: {REMEDY}\n" in log
    assert "NoClassDefFoundError" not in log
    assert "NoSuchMethodError" not in log


def test_the_class_path_is_that_of_the_nearest_yarn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`HADOOP_HOME` comes first; the path is for a folder without Hadoop's jars alone."""
    conf, jars = tmp_path / "conf", tmp_path / "jars"
    jars.mkdir()
    for name in ("home", "path"):
        yarn = tmp_path / name / "bin" / "yarn"
        yarn.parent.mkdir(parents=True)
        yarn.write_text(f"#!/bin/sh\necho a warning >&2\necho {name}:$2:$3\n")
        yarn.chmod(0o755)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(SiteFileError, match="neither `yarn` nor Hadoop's jars are found by"):
        class_path(conf, jars)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}:/usr/bin:/bin")
    assert class_path(conf, jars) == f"{conf}:path:{conf}:classpath"
    (jars / "hadoop-yarn-server-resourcemanager-3.4.2.jar").touch()
    assert class_path(conf, jars) == f"{conf}:{jars}/*"
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path / "home"))
    assert class_path(conf, jars) == f"{conf}:home:{conf}:classpath"
