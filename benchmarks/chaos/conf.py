"""The files of a chaos cluster: Hadoop's and the policies' configuration, the interpreter."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.chaos.jvm import ROOT
from loomcard.cluster.embedded_config import free_ports
from loomcard.config import canonical_json, compile_config

NODES = 24
NODE_MB = 8192
NODE_VCORES = 16
DISK_MB = 24
EXPIRY_MS = 6000
RM_IDS = ("rm1", "rm2")
"""The ids of the two ResourceManagers of a pair."""
SESSION_MS = 6000
"""The active one counts as gone this long after its last message; the machine may stand still,
too.
"""
FIRST = "good-drf.yml"
GROUPS_DELAY = "groups-delay"
"""Name of a file that contains how many milliseconds the directory of users takes to answer."""
WATCHDOG = "no-watchdog"
"""The break that needs no broken scheduler: silent policies are not watched."""

_QUEUES = """\
version: 1
kind: policy
policy: {root}
queues:
  load:
    policy: {load}
    maximum: 55%
    submit: ["group:chaos"]
    queues:
      a: {{policy: {a}}}
      b: {{policy: {b}}}
  greedy: {{policy: fifo, maximum: 10%}}
  probe: {{policy: fifo}}
"""

GOOD = {
    FIRST: _QUEUES.format(root="drf", load="drf", a="drf", b="fifo"),
    "good-fifo.yml": _QUEUES.format(root="fifo", load="fifo", a="fifo", b="fifo"),
    "good-fair.yml": _QUEUES.format(root="fair", load="fair", a="fair", b="drf"),
    "good-mixed.yml": _QUEUES.format(root="drf", load="fifo", a="fair", b="drf"),
}
"""Policy configurations that work; their names begin with ``good``."""

BROKEN = {
    "no-yaml.yml": "version: 1\n  kind: [policy\n",
    "no-policy.yml": "version: 1\nkind: policy\npolicy: nobody_knows_it\n",
    "no-queue.yml": "version: 1\nkind: policy\npolicy: drf\n",
    "no-number.yml": _QUEUES.format(root="drf", load="drf", a="drf", b="fifo") + "  x: {weight: y}",
}
DEADLINE_MS = 3000
"""Deadline of the watchdog for progress; shorter than a fault lasts."""
LONGEST_WAIT_MS = 2000
"""A policy's rule that keeps an application without containers waiting is believed this long."""
SILENT_POLICIES = "silent.py"
_SILENT = """\
version: 1
kind: policy
policy: silent.py:Silent
options: {options}
queues:
  load: {{maximum: 55%, submit: ["group:chaos"], queues: {{a: {{}}, b: {{}}}}}}
  greedy: {{maximum: 10%}}
  probe: {{}}
"""


def silent_config(kind: str, whom: str) -> str:
    """Return a configuration whose policy leaves out what ``kind`` names, for all queues."""
    return _SILENT.format(options=json.dumps({"kind": kind, "whom": whom}))


RAISING = _QUEUES.format(root="raising.py:Raising", load="drf", a="drf", b="fifo")


def slow_config(policy_file: str) -> str:
    """Return a configuration that works as soon as its policy has been imported from that file."""
    return _QUEUES.format(root=f"{policy_file}:Slow", load="drf", a="drf", b="fifo")


_POLICY = """\
import time
from dataclasses import dataclass

from loomcard import ClusterView, Plan, fill

{before}

@dataclass(frozen=True)
class {name}:
    def decide(self, view: ClusterView) -> Plan:
        {body}
        plan = Plan(view)
        return fill(plan, order=plan.dominant_share)
"""


def raising_policy() -> str:
    """Return the source of a policy that raises whenever it is called."""
    return _POLICY.format(
        name="Raising", before="", body='raise RuntimeError("a fault of make chaos")'
    )


def slow_policy(seconds: float) -> str:
    """Return the source of a policy whose module takes that long to import."""
    return _POLICY.format(name="Slow", before=f"time.sleep({seconds})", body="")


@dataclass(frozen=True)
class Files:
    """The places of all files of a run."""

    out: Path
    disk: Path
    """The place of the bridge's state and journal; if possible a small file system of its own."""
    switch: Path
    policies: Path
    conf: Path
    mounted: bool

    @property
    def state(self) -> Path:
        """The bridge's state folder."""
        return self.disk / "state"

    @property
    def groups_delay(self) -> Path:
        """The file with the milliseconds that the directory of users takes; the file need not
        exist.
        """
        return self.conf.parents[1] / GROUPS_DELAY

    @property
    def journal(self) -> Path:
        """The policy process's journal."""
        return self.disk / "journal"

    def conf_of(self, rm_id: str) -> Path:
        """Return the configuration of one ResourceManager of a pair."""
        return self.conf.parent / rm_id / self.conf.name


def prepare(out: Path, broken: str = "", pair: bool = False) -> Files:
    """Makes the files of a run with one ResourceManager, or with a pair of them; ``broken`` names
    what the scheduler shall do wrong.
    """
    cluster = out / "cluster"
    unmount(cluster / "disk")
    shutil.rmtree(cluster, ignore_errors=True)
    files = Files(
        out, cluster / "disk", cluster / "switch", cluster / "policies",
        cluster / "conf" / "yarn-site.xml",
        _mount(cluster / "disk"),
    )  # fmt: skip
    for folder in (files.switch, files.policies, files.journal, files.state, files.conf.parent):
        folder.mkdir(parents=True, exist_ok=True)
    files.state.chmod(0o700)
    _write_policies(files.policies)
    (cluster / "exclude").write_text("")
    config = cluster / "setup.json"
    config.write_text(canonical_json(compile_config(GOOD[FIRST], FIRST)))
    python = cluster / "python"
    python.write_text(
        f"#!/bin/sh\nexport LOOMCARD_CHAOS='{files.switch}'\n"
        f"export PYTHONPATH='{ROOT}'\n"
        f"exec '{sys.executable}' -P -m benchmarks.chaos.process \"$@\"\n"
    )
    python.chmod(0o755)
    settings = (
        _hadoop(cluster)
        | (_pair(cluster) if pair else _addresses())
        | {
            "loomcard.setup.path": str(config),
            "loomcard.state.dir": str(files.state),
            "loomcard.journal.dir": str(files.journal),
            # Thousands of rounds must fit on the small disk, for one ResourceManager and for two.
            "loomcard.journal.max-mb": str(DISK_MB // 4),
            "loomcard.journal.segment-rounds": "100",
            "loomcard.policy.path": str(files.policies),
            "loomcard.policy.file": str(cluster / "policy.yml"),
            "loomcard.python": str(python),
            # Faults come every few seconds: the process must be back before the next one.
            "loomcard.restart.backoff-ms": "200",
            "loomcard.restart.backoff-max-ms": "1000",
            "loomcard.start.grace-ms": "1000",
            "loomcard.progress.deadline-ms": str(0 if WATCHDOG in broken else DEADLINE_MS),
            "loomcard.progress.longest-wait-ms": str(LONGEST_WAIT_MS),
        }
    )
    if broken:
        settings["yarn.resourcemanager.scheduler.class"] = "org.loomcard.yarn.chaos.BrokenScheduler"
        settings["loomcard.chaos.break"] = broken
    files.conf.write_text(_xml(settings))
    for rm_id in RM_IDS if pair else ():
        conf = files.conf_of(rm_id)
        conf.parent.mkdir()
        conf.write_text(_xml(settings | _own(files, rm_id)))
    return files


def _write_policies(folder: Path) -> None:
    (folder / "raising.py").write_text(raising_policy())
    silent = ROOT / "benchmarks" / "silent_policies" / SILENT_POLICIES
    shutil.copy(silent, folder / SILENT_POLICIES)


def _own(files: Files, rm_id: str) -> dict[str, str]:
    """Return what differs between the two: they share ZooKeeper, node labels and the exclude
    file.
    """
    folder = files.conf.parents[1] / rm_id
    state, journal = files.state / rm_id, files.journal / rm_id
    for each in (folder, journal, state):
        each.mkdir()
    state.chmod(0o700)
    return {
        "yarn.resourcemanager.ha.id": rm_id,
        "hadoop.tmp.dir": str(folder / "tmp"),
        "yarn.node-attribute.fs-store.root-dir": f"file://{folder}/attributes",
        "loomcard.state.dir": str(state),
        "loomcard.journal.dir": str(journal),
        "loomcard.policy.file": str(folder / "policy.yml"),
    }


def _hadoop(cluster: Path) -> dict[str, str]:
    rm = "yarn.resourcemanager."
    return {
        "hadoop.tmp.dir": str(cluster / "tmp"),
        "hadoop.security.group.mapping": "org.loomcard.yarn.chaos.SlowGroups",
        "hadoop.security.groups.cache.secs": "1",
        "loomcard.chaos.groups.delay-file": str(cluster / GROUPS_DELAY),
        "yarn.node-attribute.fs-store.root-dir": f"file://{cluster}/attributes",
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{cluster}/labels",
        "ipc.client.connect.max.retries": "0",
        "ipc.client.connect.retry.interval": "100",
        rm + "scheduler.class": "org.loomcard.yarn.LoomcardScheduler",
        rm + "recovery.enabled": "true",
        rm + "work-preserving-recovery.scheduling-wait-ms": "500",
        rm + "store.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
        ),
        rm + "fs.state-store.uri": f"file://{cluster}/store",
        rm + "nodes.exclude-path": str(cluster / "exclude"),
        rm + "max-completed-applications": "60",
        rm + "connect.retry-interval.ms": "200",
        rm + "am.max-attempts": "100",
        "yarn.nm.liveness-monitor.expiry-interval-ms": str(EXPIRY_MS),
        "yarn.scheduler.minimum-allocation-mb": "64",
        "yarn.scheduler.maximum-allocation-mb": "65536",
    }


def _addresses(suffix: str = "") -> dict[str, str]:
    names = (
        "address", "scheduler.address", "admin.address", "resource-tracker.address",
        "webapp.address",
    )  # fmt: skip
    ports = free_ports(len(names))
    return {
        f"yarn.resourcemanager.{name}{suffix}": f"127.0.0.1:{port}"
        for name, port in zip(names, ports, strict=True)
    }


def _pair(cluster: Path) -> dict[str, str]:
    rm = "yarn.resourcemanager."
    zookeeper = f"127.0.0.1:{free_ports(1)[0]}"
    settings = {
        rm + "ha.enabled": "true",
        rm + "cluster-id": "chaos",
        rm + "ha.rm-ids": ",".join(RM_IDS),
        rm + "store.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore"
        ),
        # Nodes and masters turn to the other one though a connection to a stopped one stays.
        "ipc.client.rpc-timeout.ms": str(SESSION_MS),
        rm + "zk-timeout-ms": str(SESSION_MS),
        "hadoop.zk.timeout-ms": str(SESSION_MS),
        "hadoop.zk.address": zookeeper,
        rm + "zk-address": zookeeper,  # the elector of Hadoop 3.5 reads only this name
        "loomcard.chaos.zookeeper.dir": str(cluster / "zookeeper"),
    }
    for rm_id in RM_IDS:
        settings |= _addresses(f".{rm_id}")
    return settings


def _xml(settings: Mapping[str, str]) -> str:
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    return f"<configuration>\n{''.join(lines)}</configuration>\n"


def _mount(folder: Path) -> bool:
    """Mounts a small file system there, if possible one that can hang; False if this user may not
    mount.
    """
    folder.mkdir(parents=True)
    image = folder.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(DISK_MB << 20)
    if _run("mkfs.ext4", "-q", "-m", "0", str(image)) and _run(
        "mount", "-o", "loop", str(image), str(folder)
    ):
        return True
    image.unlink()
    return _run("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder))


def remount(folder: Path, *, writable: bool) -> bool:
    """Makes the small file system read-only or writable again; False if that did not work."""
    return _run("mount", "-o", f"remount,{'rw' if writable else 'ro'}", str(folder))


def freeze(folder: Path, for_s: float) -> bool:
    """Lets every write to the small file system hang until ``thaw``, and no longer than the given
    time, whatever happens to this process. False if that is not possible.
    """
    if not _run("fsfreeze", "-f", str(folder)):
        return False
    # A process that writes there cannot even be killed, and this process may be one that writes.
    later = f'sleep {for_s:.2f}; fsfreeze -u "$0"'
    subprocess.Popen(["/bin/sh", "-c", later, str(folder)], start_new_session=True)  # noqa: S603
    return True


def thaw(folder: Path) -> None:
    """Lets the writes continue; does nothing if none hangs."""
    _run("fsfreeze", "-u", str(folder))


def unmount(folder: Path) -> None:
    """Unmounts the small file system, if there is one."""
    if folder.is_mount():
        thaw(folder)
        _run("umount", "-l", str(folder))


def _run(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603
