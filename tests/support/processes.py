"""What tests of clusters look at: processes of this machine, and the live containers as each side
sees them.
"""

from contextlib import suppress
from pathlib import Path

from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.paths import hadoop_line
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.engine.session import Session
from loomcard.player.container_ids import ContainerKey, container_key
from loomcard.wire.journal import read_segment, segments


def pids() -> list[int]:
    """Return the ids of all processes of this machine."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def command_line(pid: int) -> str:
    """Return the command line of a process; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def policy_process(cluster: LocalCluster) -> int | None:
    """Return the id of the policy process, a child of the cluster's JVM; None if there is none."""
    for pid in pids():
        if "loomcard.bridge.process" in command_line(pid):
            with suppress(OSError):  # it may end, also that of another cluster
                parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == cluster.pid:
                    return pid
    return None


def resource_manager_has(client: ResourceManagerClient, containers: set[ContainerKey]) -> bool:
    """Return whether the ResourceManager lists exactly these live containers. That of Hadoop 2.7
    lists none: whether it counts as many. Raises RestError.
    """
    found: set[ContainerKey] = set()
    for application in client.applications():
        if application["state"] not in ("ACCEPTED", "RUNNING"):
            continue
        if hadoop_line() == "2.7":
            of_it = {each for each in containers if each[0] == application["id"]}
            if application["runningContainers"] != len(of_it):
                return False
            found |= of_it
            continue
        for attempt in client.attempts(application["id"]):
            listed = client.containers(application["id"], attempt["appAttemptId"])
            found.update(
                container_key(each["containerId"])
                for each in listed
                if each["containerState"] != "COMPLETE"
            )
    return found == containers


def of_nodes(container_times: Path) -> set[ContainerKey]:
    """Return the containers whose processes run, according to the files of their NodeManagers."""
    return {
        container_key(run.container) for run in read_runs(container_times) if run.ended_ms is None
    }


def of_mirror(journal_dir: Path) -> set[ContainerKey] | None:
    """Return the live containers of the policy process's mirror, rebuilt from its newest segment;
    None while the first line of that is being written.

    Containers that its last plan allocated are left out: their outcome is not known yet, so they
    have no number. Raises JournalError.
    """
    newest = segments(journal_dir)[-1]
    if b"\n" not in newest.read_bytes():
        return None
    segment = read_segment(newest)
    session = Session.restored(segment.header)
    for each in segment:
        session.decide(each.batch_text, each.plan.cuts)
    return {
        (container.application.id, container.attempt.ordinal, container.yarn_number)
        for container in session.mirror.state.containers.values()
        if container.yarn_number
    }
