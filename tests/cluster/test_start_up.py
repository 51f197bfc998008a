"""What embedded clusters leave behind for later ones: an archive of classes, and a key pair."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from loomcard.cluster import paths, start_up
from loomcard.cluster.start_up import ClassData, keep_key, seed_key

PROGRAM = "org.apache.zookeeper.version.VersionInfoMain"
ITS_JARS = ("zookeeper-3*.jar", "slf4j-api-*.jar")
SHARED = f"{PROGRAM} source: shared objects file (top)"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where things are kept, which replaces `build`."""
    folder = tmp_path / "kept"
    monkeypatch.setattr(start_up, "_folder", lambda: folder)
    return folder


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """The jars of a small program."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for pattern in ITS_JARS:
        [jar] = paths.jars().glob(pattern)
        shutil.copy(jar, folder)
    return folder


def class_data(jars: Path) -> ClassData:
    data = ClassData.of(paths.java_home(), jars)
    assert data is not None
    return data


def run(data: ClassData, *options: str) -> str:
    """Return the output of the program and its JVM, from both streams."""
    command = [str(data.java), *options, "-cp", data.class_path, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout + done.stderr


def make(data: ClassData, new: Path) -> str:
    """Let a JVM write an archive, as the first cluster does; return its output."""
    said = run(data, *data.recording(new))
    data.keep(new)
    return said


@pytest.mark.cluster
def test_an_archive_is_made_once_and_used(kept: Path, jars: Path, tmp_path: Path) -> None:
    """The second JVM finds its classes in the first one's archive; neither prints anything about
    it.
    """
    data = class_data(jars)
    assert data.options == []
    said = make(data, tmp_path / "new.jsa")
    assert list(kept.glob("*/*")) == [data.file]
    assert run(data, *data.options) == said
    assert SHARED in run(data, *data.options, "-Xlog:class+load")


@pytest.mark.cluster
def test_an_archive_of_other_jars_is_replaced(kept: Path, jars: Path, tmp_path: Path) -> None:
    """A jar that was built again has another archive, and the old one is deleted."""
    make(class_data(jars), tmp_path / "new.jsa")
    for jar in jars.glob("zoo*"):
        os.utime(jar, (1, 1))
    data = class_data(jars)
    assert data.options == []
    make(data, tmp_path / "new.jsa")
    assert list(kept.glob("*/*")) == [data.file]
    assert SHARED in run(data, *data.options, "-Xlog:class+load")


@pytest.mark.cluster
def test_of_two_first_clusters_one_keeps_its_archive(
    kept: Path, jars: Path, tmp_path: Path
) -> None:
    """A third cluster may be about to use it. That of another Hadoop line stays, too."""
    data = class_data(jars)
    for name in ("one.jsa", "two.jsa"):
        run(data, *data.recording(tmp_path / name))
    make(replace(data, line="other"), tmp_path / "other.jsa")
    data.keep(tmp_path / "one.jsa")
    assert data.file is not None
    first = data.file.stat().st_ino
    data.keep(tmp_path / "two.jsa")
    assert data.file.stat().st_ino == first
    assert len(list(kept.glob("*/*"))) == 2


@pytest.mark.cluster
@pytest.mark.parametrize("size", [0, 1_000, 60_000])
def test_a_broken_archive_stops_nothing(kept: Path, jars: Path, tmp_path: Path, size: int) -> None:
    """Half an archive is not kept; one that was damaged later is not used, and is replaced."""
    data = class_data(jars)
    said = run(data, *data.recording(tmp_path / "part.jsa"))
    (tmp_path / "part.jsa").chmod(0o600)
    os.truncate(tmp_path / "part.jsa", size)
    data.keep(tmp_path / "part.jsa")
    assert data.file is None
    make(data, tmp_path / "new.jsa")
    assert data.file is not None
    data.file.chmod(0o600)
    os.truncate(data.file, size)
    assert data.options == []
    assert make(data, tmp_path / "new.jsa") == said
    assert SHARED in run(data, *data.options, "-Xlog:class+load")


def test_a_java_that_writes_no_archive_gets_no_such_option(jars: Path, tmp_path: Path) -> None:
    """Only a JDK of 13 or later knows the options; others would not start with them."""
    home = tmp_path / "jdk"
    base = home / "lib" / "server" / "classes.jsa"
    assert ClassData.of(home, jars) is None
    base.parent.mkdir(parents=True)
    base.touch()
    (home / "release").write_text('JAVA_VERSION="11.0.2"\n')
    assert ClassData.of(home, jars) is None
    (home / "release").write_text('JAVA_VERSION="17.0.2"\n')
    assert ClassData.of(home, jars) is not None
    base.unlink()
    assert ClassData.of(home, jars) is None


def made_by_yarn(state: Path) -> Path:
    folder = state / "FSRMStateRoot" / "ProxyCARoot"
    folder.mkdir(parents=True)
    (folder / "caCert").write_bytes(b"certificate")
    (folder / "caPrivateKey").write_bytes(b"key")
    return folder


def test_the_next_cluster_gets_the_key_of_the_first(kept: Path, tmp_path: Path) -> None:
    """Only its owner may read the key, both where it is kept and where YARN reads it."""
    made_by_yarn(tmp_path / "first")
    keep_key(tmp_path / "first")
    state = tmp_path / "second"
    seed_key(state)
    seeded = state / "FSRMStateRoot" / "ProxyCARoot"
    assert (seeded / "caPrivateKey").read_bytes() == b"key"
    assert (seeded / "caCert").read_bytes() == b"certificate"
    assert state.stat().st_mode & 0o777 == 0o700
    [file] = kept.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_cluster_that_has_a_key_keeps_it(kept: Path, tmp_path: Path) -> None:
    """A restart with recovery finds the state that it left."""
    made_by_yarn(tmp_path / "first")
    keep_key(tmp_path / "first")
    own = made_by_yarn(tmp_path / "second") / "caPrivateKey"
    own.write_bytes(b"own")
    seed_key(tmp_path / "second")
    keep_key(tmp_path / "second")
    assert own.read_bytes() == b"own"
    seed_key(tmp_path / "third")
    third = tmp_path / "third" / "FSRMStateRoot" / "ProxyCARoot" / "caPrivateKey"
    assert third.read_bytes() == b"key"


@pytest.mark.parametrize("text", ["", "[]", '["zz"]', '{"a": 1}', "7", '["00", "11", "22"]', None])
def test_a_key_that_is_damaged_or_open_to_others_is_left_aside(
    kept: Path, tmp_path: Path, text: str | None
) -> None:
    """The ResourceManager then makes a key of its own, which replaces the damaged one."""
    made_by_yarn(tmp_path / "first")
    keep_key(tmp_path / "first")
    [file] = kept.iterdir()
    if text is None:
        file.chmod(0o640)
    else:
        file.write_text(text)
    state = tmp_path / "second"
    seed_key(state)
    assert list(state.iterdir()) == []
    made_by_yarn(state)
    keep_key(state)
    seed_key(tmp_path / "third")
    assert list((tmp_path / "third").iterdir()) != []
