"""A setting that would cause an outage after the restart is refused before anything is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loomcard.cli.app import run
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.install import hadoop_conf, queues
from loomcard.install.startup import obstacles

pytestmark = pytest.mark.usefixtures("no_jars")

RM = "yarn.resourcemanager"
CAPACITY = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
NOBODY = {f"{RM}.webapp.address": "127.0.0.1:1"}
QUEUES = "version: 1\npolicy: drf\nqueues:\n  a: {}\n  b: {queues: {c: {}}}\n"


class Hadoop:
    """A Hadoop's folders, with the options that name them."""

    def __init__(self, root: Path) -> None:
        self.conf, self.store = root / "conf", root / "rmstore"
        for name in ("conf", "lib"):
            (root / name).mkdir()
        (root / "queues.yml").write_text(QUEUES)
        self.with_queues = ["--policy", str(root / "queues.yml")]
        self.where = ["--hadoop-conf", str(self.conf)]
        self.options = [*self.where, "--jar-dir", str(root / "lib")]
        self.options += ["--state-dir", str(root / "state")]
        self.write()

    def write(self, properties: dict[str, str] | None = None, name: str = "yarn-site.xml") -> None:
        """Write a site file, in addition to the common properties of these tests."""
        always = NOBODY | {f"{RM}.fs.state-store.uri": f"file://{self.store}"}
        rows = (
            f"<property><name>{name}</name><value>{value}</value></property>\n"
            for name, value in (always | (properties or {})).items()
        )
        (self.conf / name).write_text(f"<configuration>\n{''.join(rows)}</configuration>\n")

    def store_application(self, number: int, queue: str, *, ended: bool = False) -> None:
        """Store an application as a FileSystemRMStateStore does."""
        name = f"application_1700000000000_{number:04}"
        folder = self.store / "FSRMStateRoot" / "RMAppRoot" / name
        folder.mkdir(parents=True)
        context = text(2, b"name" * 50) + text(3, queue.encode())
        data = b"\x08\xff\xff\x03" + text(2, context) + text(3, b"alice") + b"\x20\x01"
        (folder / name).write_bytes(data + (b"\x28\x07" if ended else b""))


def text(number: int, data: bytes) -> bytes:
    """Return a field of a protobuf message."""
    size = len(data)
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return bytes([number << 3 | 2]) + length + data


@pytest.fixture
def hadoop(tmp_path: Path) -> Hadoop:
    return Hadoop(tmp_path)


@pytest.fixture
def refused(hadoop: Hadoop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Install, and return the command's error; nothing may have changed."""

    def install(*words: str) -> str:
        before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
        capsys.readouterr()
        assert run(["install", *hadoop.options, *words]) == 2
        assert {e: e.read_bytes() for e in tmp_path.rglob("*") if e.is_file()} == before
        return capsys.readouterr().err

    return install


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({f"{RM}.scheduler.monitor.enable": "true"}, "end the ResourceManager at its start"),
        ({f"{RM}.scheduler.monitor.enable": "${m}", "m": " TRUE "}, "scheduler.monitor.enable"),
        (
            {f"{RM}.reservation-system.enable": "true", f"{RM}.reservation-system.class": "x.Y"},
            "reservation-system.enable: true: Y is for another scheduler",
        ),
        (
            {f"{RM}.configuration.provider-class": "o.a.FileSystemBasedConfigurationProvider"},
            "the ResourceManager reads its files from a file system",
        ),
        ({"yarn.scheduler.minimum-allocation-mb": "9000"}, "not above the maximum"),
        ({"yarn.scheduler.minimum-allocation-mb": "0"}, "above 0 MB"),
        ({"yarn.scheduler.maximum-allocation-vcores": "0"}, "minimum-allocation-vcores"),
        ({"loomcard.setup.path": "/nowhere/s.json"}, "loomcard.setup.path: no /nowhere/s.json"),
        ({f"{RM}.ha.enabled": "true"}, "state store on this machine alone"),
    ],
)
def test_settings_that_keep_it_from_starting(
    properties: dict[str, str], said: str, hadoop: Hadoop, refused: Any
) -> None:
    """Each was tried: the ResourceManager does not start with it, or not with these files."""
    hadoop.write(properties)
    assert said in refused()
    assert said in refused("--dry-run")
    assert run(["install", *hadoop.options, "--force"]) == 0


@pytest.mark.parametrize(
    "properties",
    [
        {f"{RM}.scheduler.monitor.enable": "no"},
        {f"{RM}.reservation-system.enable": "true"},
        {
            f"{RM}.ha.enabled": "true",
            f"{RM}.recovery.enabled": "true",
            f"{RM}.store.class": "o.a.ZKRMStateStore",
        },
        {f"{RM}.ha.enabled": "true", "loomcard.state.shared": "true"},
    ],
)
def test_settings_that_do_not(properties: dict[str, str], hadoop: Hadoop) -> None:
    hadoop.write(properties)
    assert list(obstacles(hadoop_conf.read(hadoop.conf), {}, None)) == []


@pytest.mark.parametrize("name", ["core-site.xml", "common.xml"])
def test_a_scheduler_that_stays_is_named_with_its_file(
    name: str, hadoop: Hadoop, refused: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scheduler is final in a file that Hadoop reads before ours."""
    (hadoop.conf / name).write_text(
        f"<configuration><property><name>{RM}.scheduler.class</name><value>{FAIR}</value>"
        "<final>true</final></property></configuration>"
    )
    (hadoop.conf / "yarn-site.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n'
        f'<xi:include href="{name}"/>\n</configuration>\n'
    )
    said = refused()
    assert f"{RM}.scheduler.class: stays '{FAIR}', which {hadoop.conf / name} sets" in said
    assert run(["install", *hadoop.options, "--force"]) == 0
    capsys.readouterr()
    assert run(["doctor", *hadoop.where]) == 1
    place = hadoop.conf / name
    assert f"WRONG scheduler: {FAIR}, set by {place} (remove it from {place})" in (
        capsys.readouterr().out
    )


def test_a_key_that_is_included_is_not_written_again(hadoop: Hadoop) -> None:
    """What the administrator has set stays, in whatever file it is."""
    hadoop.write({"loomcard.state.dir": "/their/state"}, "common.xml")
    (hadoop.conf / "yarn-site.xml").write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude">\n'
        '<xi:include href="common.xml"/>\n</configuration>\n'
    )
    assert run(["install", *hadoop.options]) == 0
    assert "loomcard.state.dir" not in (hadoop.conf / "yarn-site.xml").read_text()


def test_applications_whose_queue_would_be_missing(
    hadoop: Hadoop, refused: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no ResourceManager answers, the state store shows them: a restart would kill them."""
    hadoop.write({f"{RM}.recovery.enabled": "true"})
    for number, queue in enumerate(["root.a", "b", "b.c", "default"]):
        hadoop.store_application(number, queue)
    hadoop.store_application(9, "gone", ended=True)
    said = refused(*hadoop.with_queues)
    assert "has no queue for 2 running applications, which a restart would kill" in said
    assert "application_1700000000000_0001 in b, application_1700000000000_0003 in default" in said
    assert run(["install", *hadoop.options, *hadoop.with_queues, "--force"]) == 0
    capsys.readouterr()
    assert run(["doctor", *hadoop.where]) == 1
    assert "WRONG queues: " in capsys.readouterr().out


def test_the_resourcemanager_is_asked_first(
    hadoop: Hadoop, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows the present ones; those that have ended do not count."""
    hadoop.write({f"{RM}.recovery.enabled": "true"})
    hadoop.store_application(1, "gone")
    apps = [
        {"id": "application_1_1", "user": "u", "queue": "root.prod", "state": "RUNNING"},
        {"id": "application_1_2", "user": "u", "queue": "root.x", "state": "FINISHED"},
    ]
    monkeypatch.setattr(ResourceManagerClient, "applications", lambda _: apps)
    said = refused("--rm", "http://rm.example.org:8088")
    assert "for 1 running applications" in said
    assert "application_1_1 in root.prod (by http://rm.example.org:8088)" in said
    apps[0]["queue"] = "root.default"
    assert run(["install", *hadoop.options]) == 0


def test_without_recovery_no_queue_saves_an_application(
    hadoop: Hadoop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This is true under every scheduler, so it is reported and not refused."""
    apps = [{"id": "application_1_1", "user": "u", "queue": "root.prod", "state": "RUNNING"}]
    monkeypatch.setattr(ResourceManagerClient, "applications", lambda _: apps)
    assert run(["install", *hadoop.options]) == 0
    assert "a restart ends the 1 applications that run" in capsys.readouterr().err


def test_queues_of_the_stock_scheduler(hadoop: Hadoop, refused: Any) -> None:
    """If it is unknown whether applications run in them, they count as used."""
    hadoop.write({f"{RM}.recovery.enabled": "true", f"{RM}.scheduler.class": CAPACITY})
    key = "yarn.scheduler.capacity.root"
    hadoop.write({f"{key}.queues": "a,b", f"{key}.b.queues": "c, d"}, "capacity-scheduler.xml")
    said = refused(*hadoop.with_queues)
    assert f"has no root.b.d, queues of {hadoop.conf}/capacity-scheduler.xml; no Res" in said
    hadoop.store_application(1, "a")
    assert run(["install", *hadoop.options, *hadoop.with_queues]) == 0


def test_queues_of_an_allocation_file(hadoop: Hadoop) -> None:
    """Queues may be nested, have the old name, and have a root of their own."""
    (hadoop.conf / "fair-scheduler.xml").write_text(
        "<allocations><queue name='root'><queue name='a'><queue name='b'><weight>1</weight></queue>"
        "</queue><pool name='c'/></queue><queue name='d' type='parent'/></allocations>"
    )
    _, found = queues.stock(hadoop_conf.read(hadoop.conf), FAIR)
    assert found == ["root.a.b", "root.c", "root.d"]
