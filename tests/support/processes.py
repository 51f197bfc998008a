"""What tests of clusters look for: processes of this machine, live containers on each side."""

from pathlib import Path

from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.engine.session import Session
from loomcard.player.container_ids import ContainerKey, container_key
from loomcard.wire.journal import read_segment, segments


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


def of_resource_manager(client: ResourceManagerClient) -> set[ContainerKey]:
    """The live containers that the ResourceManager lists. Raises RestError."""
    found: set[ContainerKey] = set()
    for application in client.applications():
        if application["state"] not in ("ACCEPTED", "RUNNING"):
            continue
        for attempt in client.attempts(application["id"]):
            listed = client.containers(application["id"], attempt["appAttemptId"])
            found.update(
                container_key(each["containerId"])
                for each in listed
                if each["containerState"] != "COMPLETE"
            )
    return found


def of_nodes(container_times: Path) -> set[ContainerKey]:
    """The containers whose processes run, by what their NodeManagers wrote down."""
    return {
        container_key(run.container) for run in read_runs(container_times) if run.ended_ms is None
    }


def of_mirror(journal_dir: Path) -> set[ContainerKey]:
    """The live containers of the policy process's mirror, rebuilt from its newest segment.

    Those allocated by its last plan, whose outcome it does not know yet, have no number and are
    left out. Raises JournalError.
    """
    segment = read_segment(segments(journal_dir)[-1])
    session = Session.restored(segment.header)
    for each in segment:
        session.decide(each.batch_text, each.plan.cuts)
    return {
        (container.application.id, container.attempt.ordinal, container.yarn_number)
        for container in session.mirror.state.containers.values()
        if container.yarn_number
    }
