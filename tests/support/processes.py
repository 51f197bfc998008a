"""The processes of this machine, as tests of clusters look for theirs."""

from pathlib import Path

from loomcard.cluster.embedded import LocalCluster


def pids() -> list[int]:
    """All of them."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line(pid: int) -> str:
    """What one was started with; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def policy_process(cluster: LocalCluster) -> int | None:
    """The policy process, a child of the cluster's JVM."""
    for pid in pids():
        if "loomcard.bridge.process" in command_line(pid):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == cluster.pid:
                return pid
    return None
