"""What each kind of fault does to a chaos cluster, and how it is taken back."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.chaos.cluster import Cluster, now_ms, wait_until
from benchmarks.chaos.compare import net_wait_ms
from benchmarks.chaos.conf import (
    BROKEN,
    EXPIRY_MS,
    FIRST,
    GOOD,
    NODE_MB,
    NODE_VCORES,
    NODES,
    RAISING,
    freeze,
    remount,
    silent_config,
    slow_config,
    slow_policy,
    thaw,
)
from benchmarks.chaos.jvm import ChaosError, is_policy
from benchmarks.chaos.schedule import Fault

Undo = Callable[[], None]
Done = tuple[str, Undo | None]
"""A text that says what was done, and the function that takes it back."""
Kind = Callable[[Cluster, Fault], Done]

POLICY_MODES = (
    "slow", "hang", "garbage", "huge-reply", "prints", "raises", "memory", "overcommit", "gone",
    "exit", "leaks",
)  # fmt: skip
SILENT_KINDS = (
    "always", "user", "one-node", "rounds", "false-reason", "lies-for-ever", "lies-now-and-then",
)  # fmt: skip
GREEDY_KINDS = ("keys", "strict", "resize", "oversized", "storm")
SILENT_S = 90.0
KEYS = 20_000
CROWD = 10
CROWD_KEYS = 4_000
RELABELS = 40
MAX_GONE = 4
MAX_SPECIAL = 2
LABEL = "special"


def _ignore(*_: object) -> None:
    return None


def _policy_pid(cluster: Cluster) -> int:
    pids = [pid for pid in cluster.policy_pids() if is_policy(pid)]
    if not pids:
        raise ChaosError("there is no policy process")
    return pids[-1]


def _kill(cluster: Cluster, _: Fault) -> Done:
    pid = _policy_pid(cluster)
    os.kill(pid, signal.SIGKILL)
    return f"killed {pid}", None


def _stop(cluster: Cluster, _: Fault) -> Done:
    pid = _policy_pid(cluster)
    os.kill(pid, signal.SIGSTOP)
    return f"stopped {pid} for good", None


def _pause(cluster: Cluster, _: Fault) -> Done:
    pid = _policy_pid(cluster)
    os.kill(pid, signal.SIGSTOP)

    def go_on() -> None:
        if pid in cluster.policy_pids():
            os.kill(pid, signal.SIGCONT)

    return f"stopped {pid} for a while", go_on


def _mode(name: str) -> Kind:
    def begin(cluster: Cluster, fault: Fault) -> Done:
        cluster.set_mode(name, fault.strength, fault.lasts_s)
        return f"strength {fault.strength}", cluster.clear_mode

    return begin


def _version(cluster: Cluster, fault: Fault) -> Done:
    cluster.set_mode("version", fault.strength, fault.lasts_s)
    os.kill(_policy_pid(cluster), signal.SIGKILL)
    return "the next processes speak another version", cluster.clear_mode


def _disk_full(cluster: Cluster, _: Fault) -> Done:
    if not cluster.files.mounted:
        return _limit_files(cluster)
    ballast = cluster.files.disk / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return "filled the disk", lambda: ballast.unlink(missing_ok=True)


def _limit_files(cluster: Cluster) -> Done:
    """Limit the size of the process's files, if it has no disk of its own: they fail like a full
    disk.
    """
    pid = _policy_pid(cluster)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def lift() -> None:
        if pid in cluster.policy_pids():
            most = resource.RLIM_INFINITY
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))

    return f"{pid} may write no file", lift


def _disk_read_only(cluster: Cluster, fault: Fault) -> Done:
    if cluster.files.mounted and remount(cluster.files.disk, writable=False):
        return "read-only", lambda: _ignore(remount(cluster.files.disk, writable=True))
    return _no_folder(cluster, fault)


def _disk_hang(cluster: Cluster, fault: Fault) -> Done:
    """Let every write hang; a process that waits for one cannot even be killed."""
    if cluster.files.mounted and freeze(cluster.files.disk, fault.lasts_s):
        return f"hangs for {fault.lasts_s} s", lambda: thaw(cluster.files.disk)
    return _no_folder(cluster, fault)


def _no_folder(cluster: Cluster, _: Fault) -> Done:
    """Replace the journal's folder by something that is not a folder."""
    journal, aside = cluster.files.journal, cluster.files.disk / "journal.aside"
    journal.rename(aside)
    journal.touch()  # needs no room: a full disk at the same time does not stop it

    def put_back() -> None:
        if aside.is_dir():
            if journal.is_dir():  # recreated in the meantime
                shutil.rmtree(journal)
            journal.unlink(missing_ok=True)
            aside.rename(journal)

    return "a file in the journal folder's place", put_back


def _node(fault: Fault, least: int, count: int) -> int:
    """Return a node of the range that belongs to this kind of fault, so that each kind keeps its
    limits.
    """
    return least + fault.target % count


def _leave(politely: bool) -> Kind:
    def begin(cluster: Cluster, fault: Fault) -> Done:
        node = _node(fault, 1 if politely else 1 + MAX_GONE // 2, MAX_GONE // 2)
        cluster.load.ask("leave", node=node, politely=politely)
        return f"node {node}", lambda: _ignore(cluster.load.ask("return", node=node))

    return begin


def _silence(cluster: Cluster, fault: Fault) -> Done:
    node = _node(fault, 8, 8)
    ms = int(EXPIRY_MS * 1.5 * fault.strength)
    cluster.load.ask("silence", node=node, ms=ms)
    return f"node {node} for {ms} ms", None


def _resize(cluster: Cluster, fault: Fault) -> Done:
    name = cluster.load.ask("name", node=_node(fault, 16, 2))
    size = int(NODE_MB * (0.3 + fault.strength))
    cluster.ask_rm("resize", node=name, memory_mb=size, vcores=NODE_VCORES)

    def put_back() -> None:
        cluster.ask_rm("resize", node=name, memory_mb=NODE_MB, vcores=NODE_VCORES)

    return f"{name} to {size} MB", put_back


def _relabel(cluster: Cluster, fault: Fault) -> Done:
    name = cluster.load.ask("name", node=_node(fault, 18, MAX_SPECIAL))
    cluster.ask_rm("relabel", node=name, label=LABEL)
    return name, lambda: _ignore(cluster.ask_rm("relabel", node=name, label=""))


def _relabel_storm(cluster: Cluster, fault: Fault) -> Done:
    name = cluster.load.ask("name", node=_node(fault, 18, MAX_SPECIAL))
    for turn in range(RELABELS):
        cluster.ask_rm("relabel", node=name, label=LABEL if turn % 2 == 0 else "")
    return f"{name} {RELABELS} times", None


def _slow_directory(cluster: Cluster, fault: Fault) -> Done:
    """Look up every user who submits to the load's queues, which takes seconds."""
    ms = int(500 + 4000 * fault.strength)
    delay = cluster.files.groups_delay
    delay.write_text(str(ms))
    return f"{ms} ms a look", lambda: delay.unlink(missing_ok=True)


def _end_silence(cluster: Cluster, fault: Fault, since_ms: int) -> None:
    """Replace the silent policy of this fault by a configuration that works. The policy is silent
    until then, whatever other faults do; a silent policy that came later is ended by its own fault.
    The machine's part does not count: on a busy machine a silence lasts longer.
    """

    def ended() -> bool:
        if cluster.silent_fault != fault.index:
            return True
        cluster.collect_pauses()
        silent_ms = net_wait_ms(since_ms, now_ms(), cluster.down, cluster.pauses)
        if silent_ms < fault.lasts_s * 1000:
            return False
        if str(cluster.ask_rm("figures")["config"]).startswith("silent"):
            _swap(cluster, GOOD[FIRST], FIRST)
            return False
        return True

    wait_until("the silent policy to be gone", ended, SILENT_S)


def _silent(kind: str) -> Kind:
    def begin(cluster: Cluster, fault: Fault) -> Done:
        whom = {"user": "probe", "one-node": cluster.load.ask("name", node=7).split(":")[0]}
        done = _swap(cluster, silent_config(kind, whom.get(kind, "")), f"silent-{kind}.yml")[0]
        cluster.silent_fault = fault.index
        return done, partial(_end_silence, cluster, fault, now_ms())

    return begin


def _decommission(cluster: Cluster, fault: Fault) -> Done:
    node = _node(fault, 20, 2)
    name = cluster.load.ask("name", node=node)
    cluster.ask_rm("exclude", hosts=name.split(":")[0] + "\n")

    def take_back() -> None:
        cluster.ask_rm("exclude", hosts="")
        for each in (20, 21):
            cluster.load.ask("return", node=each)

    return name, take_back


def _kill_rm(cluster: Cluster, _: Fault) -> Done:
    cluster.kill_rm()
    begin, end = cluster.down[-1]
    return f"back after {end - begin} ms", None


def _fail_over(cluster: Cluster, _: Fault) -> Done:
    cluster.kill_rm()
    begin, end = cluster.down[-1]
    return f"the other one serves after {end - begin} ms", cluster.make_whole


def _fence(cluster: Cluster, _: Fault) -> Done:
    cluster.stop_rm()
    begin, end = cluster.down[-1]
    return f"the other one serves after {end - begin} ms; the stopped one is standby", None


def _swap(cluster: Cluster, yaml: str, name: str) -> Done:
    outcome, message = cluster.ask_rm("swap", timeout_s=90, yaml=yaml, name=name)
    return f"{name}: {outcome}: {message[:160]}", None


def _swap_good(cluster: Cluster, fault: Fault) -> Done:
    name = sorted(GOOD)[fault.target % len(GOOD)]
    return _swap(cluster, GOOD[name], name)


def _swap_broken(cluster: Cluster, fault: Fault) -> Done:
    name = sorted(BROKEN)[fault.target % len(BROKEN)]
    return _swap(cluster, BROKEN[name], name)


def _swap_raising(cluster: Cluster, _: Fault) -> Done:
    return _swap(cluster, RAISING, "raising.yml")


def _swap_slow(cluster: Cluster, fault: Fault) -> Done:
    path: Path = cluster.files.policies / f"slow_{fault.index}.py"
    path.write_text(slow_policy(round(2 + 10 * fault.strength, 1)))
    return _swap(cluster, slow_config(path.name), f"good-slow-{fault.index}.yml")


def _greedy(kind: str) -> Kind:
    def begin(cluster: Cluster, fault: Fault) -> Done:
        count = KEYS if kind == "keys" else 10
        lasts_ms = int(1000 * fault.lasts_s)
        cluster.load.ask("greedy", timeout_s=60, kind=kind, count=count, lasts_ms=lasts_ms)
        return f"for {lasts_ms} ms", None

    return begin


def _crowd(cluster: Cluster, fault: Fault) -> Done:
    """Submit many applications of one user at a time, each as greedy as possible."""
    lasts_ms = int(1000 * fault.lasts_s)
    for number in range(CROWD):
        kind = GREEDY_KINDS[number % len(GREEDY_KINDS)]
        count = CROWD_KEYS if kind == "keys" else 10
        cluster.load.ask("greedy", timeout_s=60, kind=kind, count=count, lasts_ms=lasts_ms)
    return f"{CROWD} for {lasts_ms} ms", None


KINDS: dict[str, Kind] = {
    "policy.kill": _kill,
    "policy.stop": _stop,
    "policy.pause": _pause,
    "policy.version": _version,
    **{f"policy.{name}": _mode(name) for name in POLICY_MODES},
    "disk.full": _disk_full,
    "disk.hang": _disk_hang,
    "disk.no-folder": _no_folder,
    "disk.read-only": _disk_read_only,
    "nodes.leave": _leave(politely=True),
    "nodes.vanish": _leave(politely=False),
    "nodes.silence": _silence,
    "nodes.resize": _resize,
    "nodes.relabel": _relabel,
    "nodes.relabel-storm": _relabel_storm,
    "nodes.decommission": _decommission,
    "directory.slow": _slow_directory,
    **{f"silent.{kind}": _silent(kind) for kind in SILENT_KINDS},
    "rm.kill": _kill_rm,
    "rm.failover": _fail_over,
    "rm.fence": _fence,
    "swap.good": _swap_good,
    "swap.broken": _swap_broken,
    "swap.raising": _swap_raising,
    "swap.slow-import": _swap_slow,
    **{f"greedy.{kind}": _greedy(kind) for kind in GREEDY_KINDS},
    "greedy.crowd": _crowd,
}
"""How each kind of fault is done. A new kind is one more entry here and in the schedule."""

assert NODES > 22, "each kind of fault on nodes has nodes of its own"
