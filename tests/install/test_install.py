"""Loomcard is installed into an existing Hadoop's configuration folder, and removed again."""

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.install import installation
from loomcard.install.site_file import SiteFile, SiteFileError

pytestmark = pytest.mark.usefixtures("no_jars")

SITE = """<?xml version="1.0"?>
<!-- Ours since 2019. <property><name>loomcard.python</name><value>no</value></property> -->
<configuration>
  <property>
    <name>yarn.resourcemanager.scheduler.class</name>
    <value>org.example.Stock</value>
    <final>true</final>
  </property>
  <property><name>yarn.acl.enable</name><value>a &amp; b</value></property>
  <property><name>yarn.resourcemanager.webapp.address</name><value>127.0.0.1:1</value></property>
</configuration>
"""
KEY = installation.SCHEDULER_KEY


@pytest.fixture
def hadoop(tmp_path: Path) -> list[str]:
    """Make a Hadoop's folders; return the options that name them."""
    for name in ("conf", "lib"):
        (tmp_path / name).mkdir()
    (tmp_path / "conf" / "yarn-site.xml").write_text(SITE)
    jars, state = tmp_path / "lib", tmp_path / "state"
    conf = tmp_path / "conf"
    return ["--hadoop-conf", str(conf), "--jar-dir", str(jars), "--state-dir", str(state)]


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below the folder, with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def properties(data: bytes) -> dict[str, str]:
    """Return name to value in a site file's text."""
    return SiteFile(data, "f").properties()


def edited(text: str) -> str:
    """Return the text after an administrator has added a property."""
    row = "  <property><name>yarn.admin.acl</name><value>yarn</value></property>\n"
    return text.replace("</configuration>", f"{row}</configuration>")


def edit(file: Path) -> None:
    """Edit a file in this way."""
    file.write_text(edited(file.read_text()))


def test_values_change_in_their_place_and_the_rest_stays() -> None:
    """Comments, order, `final` and the property in a comment are unchanged."""
    wanted = {KEY: "x<y", "new.key": "1"}
    after, _ = SiteFile(SITE.encode(), "f").changed(wanted)
    assert properties(after) == properties(SITE.encode()) | wanted
    assert b"<final>true</final>" in after
    assert after.startswith(SITE[: SITE.index("<configuration>")].encode())
    assert SiteFile(after, "f").changed(wanted) == (after, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<configuration>", r"f:1:16: not XML"),
        ("<queues/>", r"f: its root is <queues>, not <configuration>"),
        ("<configuration/>", r"f: no </configuration>"),
        ("<?xml version='1.0' encoding='ascii'?><configuration>\u00e9</configuration>", "as ascii"),
        ("<!DOCTYPE c [<!ENTITY e SYSTEM 'e'>]><configuration>&e;</configuration>", "external"),
    ],
)
def test_what_is_no_site_file_is_named(text: str, said: str) -> None:
    with pytest.raises(SiteFileError, match=said):
        SiteFile(text.encode(), "f").changed({"a": "b"})


def test_a_dry_run_shows_the_change_alone(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(tmp_path)
    assert run(["install", *hadoop, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "-    <value>org.example.Stock</value>\n+    <value>org.loomcard.yarn." in said
    assert "dry run: nothing was changed" in said
    assert files(tmp_path) == before


def test_installed_twice_and_uninstalled_all_is_as_before(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time changes nothing; uninstall restores the earlier bytes. In the state folder,
    which stays, is the policy's text.
    """
    before = files(tmp_path)
    assert run(["install", *hadoop, "--policy", "drf"]) == 0
    text = (tmp_path / "state" / "policy.yml").read_bytes()
    assert b"policy: drf" in text
    site = properties((tmp_path / "conf" / "yarn-site.xml").read_bytes())
    assert site[KEY] == "org.loomcard.yarn.LoomcardScheduler"
    assert json.loads(Path(site["loomcard.setup.path"]).read_text())["hash"]
    assert len(list((tmp_path / "lib").glob("*.jar"))) == 2
    installed = files(tmp_path)
    capsys.readouterr()
    assert run(["install", *hadoop]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert files(tmp_path) == installed
    assert run(["install", *hadoop, "--policy", "drf"]) == 0
    assert "nothing to change" in capsys.readouterr().out
    assert run(["doctor", *hadoop[:2]]) == 0, capsys.readouterr().out
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert files(tmp_path) == before | {"state/policy.yml": text}
    assert run(["uninstall", *hadoop[:2]]) == 2
    assert "was not installed here" in capsys.readouterr().err


def test_another_policy_to_begin_with_replaces_the_first(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy that is named is compiled, also where an earlier installation compiled one; the
    text before is kept.
    """
    before = files(tmp_path)
    assert run(["install", *hadoop]) == 0
    policy = tmp_path / "state" / "policy.yml"
    first = policy.read_bytes()
    capsys.readouterr()
    assert run(["install", *hadoop, "--policy", "drf"]) == 0
    setup = tmp_path / "conf" / "loomcard-setup.json"
    assert f"write {setup}: drf" in capsys.readouterr().out
    assert '"policy":"drf"' in setup.read_text()
    second, former = policy.read_bytes(), policy.with_name("policy.yml.previous")
    assert b"policy: drf" in second
    assert former.read_bytes() == first
    assert run(["uninstall", *hadoop[:2]]) == 0
    kept = {"state/policy.yml": second, "state/policy.yml.previous": first}
    assert files(tmp_path) == before | kept


def test_the_text_of_an_applied_policy_stays(hadoop: list[str], tmp_path: Path) -> None:
    """Otherwise a refresh of the queues would go back to the policy of the installation."""
    assert run(["install", *hadoop]) == 0
    policy = tmp_path / "state" / "policy.yml"
    policy.write_text("version: 1\nkind: policy\npolicy: fair\n")
    assert run(["install", *hadoop, "--policy", "drf", "--force"]) == 0
    assert "policy: fair" in policy.read_text()  # somebody edited it
    policy.write_text("version: 1\nkind: policy\npolicy: drf\n")
    (tmp_path / "state" / "applied.json").write_text("{}")
    assert run(["install", *hadoop, "--policy", "fifo", "--force"]) == 0
    assert "policy: drf" in policy.read_text()


def test_an_older_installation_gets_the_policys_text(hadoop: list[str], tmp_path: Path) -> None:
    """It is written where the same policy is named again, for the user of the state folder."""
    assert run(["install", *hadoop]) == 0
    policy = tmp_path / "state" / "policy.yml"
    text = policy.read_text()
    policy.unlink()
    if os.geteuid() == 0:
        os.chown(tmp_path / "state", 12345, 12345)
    assert run(["install", *hadoop, "--policy", "fifo"]) == 0
    assert policy.read_text() == text
    assert policy.stat().st_uid == (tmp_path / "state").stat().st_uid


def test_uninstall_keeps_what_was_changed_since(hadoop: list[str], tmp_path: Path) -> None:
    """A property that the administrator added after the installation stays."""
    assert run(["install", *hadoop]) == 0
    file = tmp_path / "conf" / "yarn-site.xml"
    edit(file)
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert file.read_text() == edited(SITE)


def test_what_was_edited_before_an_upgrade_is_kept(hadoop: list[str], tmp_path: Path) -> None:
    """The copy of the first installation does not contain the edit."""
    assert run(["install", *hadoop]) == 0
    edit(tmp_path / "conf" / "yarn-site.xml")
    for jar in (tmp_path / "lib").glob("*.jar"):
        jar.write_bytes(b"of another version")
    assert run(["install", *hadoop]) == 0
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert (tmp_path / "conf" / "yarn-site.xml").read_text() == edited(SITE)


def test_a_scheduler_that_was_chosen_since_stays(hadoop: list[str], tmp_path: Path) -> None:
    """Uninstall removes only what is Loomcard's."""
    assert run(["install", *hadoop]) == 0
    file = tmp_path / "conf" / "yarn-site.xml"
    file.write_text(file.read_text().replace("org.loomcard.yarn.LoomcardScheduler", "org.x.Other"))
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert file.read_text() == SITE.replace("org.example.Stock", "org.x.Other")


def test_a_record_of_an_older_version_is_undone(hadoop: list[str], tmp_path: Path) -> None:
    """Such a record has only the earlier values, and such a version left Prometheus off."""
    assert run(["install", *hadoop]) == 0
    site = tmp_path / "conf" / "yarn-site.xml"
    lines = site.read_text().splitlines(keepends=True)
    site.write_text("".join(line for line in lines if "prometheus" not in line))
    file = tmp_path / "conf" / "loomcard-install.json"
    record = json.loads(file.read_text())
    names = [each["name"] for each in record.pop("changes") if "prom" not in each["name"]]
    record["previous"] = {name: properties(SITE.encode()).get(name) for name in names}
    file.write_text(json.dumps(record))
    assert run(["install", *hadoop]) == 0
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert (tmp_path / "conf" / "yarn-site.xml").read_text() == SITE


def test_a_link_stays_a_link(hadoop: list[str], tmp_path: Path) -> None:
    """Configuration management often links site files to a shared place."""
    file = tmp_path / "conf" / "yarn-site.xml"
    shared = file.rename(tmp_path / "shared.xml")
    file.symlink_to(shared)
    assert run(["install", *hadoop]) == 0
    assert file.is_symlink()
    assert b"LoomcardScheduler" in shared.read_bytes()
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert file.is_symlink()
    assert shared.read_text() == SITE


@pytest.mark.parametrize("text", ['{"prev', "[]", '{"changes": [], "jars": 1}', "{}x"])
def test_a_torn_record_is_named(
    text: str, hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is one line, exit status 2, and nothing changes; the doctor reports it, too."""
    assert run(["install", *hadoop]) == 0
    (tmp_path / "conf" / "loomcard-install.json").write_text(text)
    before = files(tmp_path)
    capsys.readouterr()
    assert run(["install", *hadoop]) == 2
    assert run(["uninstall", *hadoop[:2]]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all("loomcard-install.json: not what `loomcard install` wrote" in each for each in said)
    assert files(tmp_path) == before
    assert run(["doctor", *hadoop[:2]]) == 1
    assert "not what `loomcard install` wrote" in capsys.readouterr().out


@pytest.mark.parametrize("at", range(7))
def test_a_disk_that_fills_up_leaves_nothing_behind(
    at: int,
    hadoop: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """This is true whichever of the files finds no room."""
    before, synced = files(tmp_path), []

    def fsync(_: int) -> None:
        synced.append(1)
        if len(synced) == at + 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    assert run(["install", *hadoop]) == 1
    assert "No space left on device (free some space)" in capsys.readouterr().err
    assert files(tmp_path) == before
    assert not (tmp_path / "state").exists()
    monkeypatch.undo()
    assert run(["install", *hadoop]) == 0


def test_a_disk_that_is_full_leaves_nothing_behind(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """This is tested on a real full disk, and on a read-only one."""
    conf = tmp_path / "conf"
    small = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(conf)]
    if os.geteuid() != 0 or subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("nobody but root mounts a file system")
    try:
        (conf / "yarn-site.xml").write_text(SITE)
        (conf / "filler").write_bytes(bytes(57344))
        before = files(tmp_path)
        assert run(["install", *hadoop]) == 1
        assert "No space left on device" in capsys.readouterr().err
        assert files(tmp_path) == before
        subprocess.run(["mount", "-o", "remount,ro", str(conf)], check=True)
        assert run(["install", *hadoop]) == 2
        assert "Read-only file system" in capsys.readouterr().err
        assert files(tmp_path) == before
    finally:
        subprocess.run(["umount", str(conf)], check=True)


def test_another_py4j_is_not_overwritten(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise uninstall would remove it."""
    name = next(each.name for each in installation.shim_jars() if each.name.startswith("py4j"))
    (tmp_path / "lib" / name).write_bytes(b"theirs")
    before = files(tmp_path)
    assert run(["install", *hadoop]) == 2
    assert f"{name}: another file of this name is there" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_an_older_jar_gives_way(hadoop: list[str], tmp_path: Path) -> None:
    """With two versions on one class path it would be chance which one is used."""
    old = tmp_path / "lib" / "loomcard-yarn-0.0.1.jar"
    old.write_bytes(b"old")
    assert run(["install", *hadoop]) == 0
    assert not old.exists()


def test_an_upgrade_needs_no_folders(
    hadoop: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Jars and state stay where they are. If the jars go to another folder, those in the one before
    are named, and stay until all is uninstalled. A folder may have several names.
    """
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    assert run(["install", *hadoop]) == 0
    installed = files(tmp_path)
    (tmp_path / "lib" / "loomcard-yarn-0.0.1.jar").write_bytes(b"old")
    assert run(["install", *hadoop[:2]]) == 0
    assert files(tmp_path) == installed
    (tmp_path / "link").symlink_to(tmp_path / "lib")
    assert run(["install", *hadoop[:2], "--jar-dir", str(tmp_path / "link")]) == 0
    assert files(tmp_path / "lib") == {
        name[4:]: data for name, data in installed.items() if name.startswith("lib/")
    }
    home = tmp_path / "share" / "hadoop" / "yarn" / "lib"
    home.mkdir(parents=True)
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    capsys.readouterr()
    assert run(["install", *hadoop[:2]]) == 0
    assert capsys.readouterr().err.count(" stays; remove it if ") == 2
    assert len(list(home.iterdir())) == 2
    assert len(list((tmp_path / "lib").iterdir())) == 2
    assert run(["uninstall", *hadoop[:2]]) == 0
    assert not [*home.iterdir(), *(tmp_path / "lib").iterdir()]


def test_the_doctor_names_what_is_missing(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is one line for each with its remedy, exit status 1."""
    assert run(["install", *hadoop]) == 0
    for jar in (tmp_path / "lib").glob("*.jar"):
        jar.unlink()
    (tmp_path / "state").chmod(0o777)
    (tmp_path / "conf" / "loomcard-setup.json").write_text("{")
    capsys.readouterr()
    assert run(["doctor", *hadoop[:2], "--rm", "http://127.0.0.1:1"]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert [line.split()[1] for line in wrong] == ["jar:", "policy:", "secret:", "ResourceManager:"]
    assert all(line.endswith(")") for line in wrong)


def test_places_that_are_none(hadoop: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line, exit status 2."""
    assert run(["install", "--hadoop-conf", "/nowhere", *hadoop[2:]]) == 2
    assert run(["install", *hadoop[:2], "--jar-dir", "/nowhere"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in said] == [
        "error: no /nowhere/yarn-site.xml",
        "error: /nowhere: no such folder",
    ]


def test_a_policy_is_compiled(tmp_path: Path) -> None:
    assert run(["policy", "compile", "drf", "--out", str(tmp_path / "setup.json")]) == 0
    assert json.loads((tmp_path / "setup.json").read_text())["hash"]


def test_a_python_without_loomcard_gets_it_from_the_wheel(
    hadoop: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not installed by its name alone, because an index may give that name to anyone."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho No module named loomcard >&2\nexit 1\n")
    python.chmod(0o755)
    assert run(["install", *hadoop, "--python", str(python)]) == 0
    capsys.readouterr()
    assert run(["doctor", *hadoop[:2]]) == 1
    said = f"WRONG python: {python}: No module named loomcard"
    assert f"{said} ({python} -m pip install loomcard-*.whl)\n" in capsys.readouterr().out


def test_the_doctor_before_an_installation(
    hadoop: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing key does not count as a file that cannot be read."""
    assert run(["doctor", *hadoop[:2]]) == 1
    said = capsys.readouterr().out
    assert (
        f"policy: loomcard.setup.path is not set (loomcard install {' '.join(hadoop[:2])})" in said
    )


def test_a_wrong_folder_is_named_before_where_jars_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The jars are not the problem yet."""
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    assert run(["install", "--hadoop-conf", "/nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: no /nowhere/yarn-site.xml (")
