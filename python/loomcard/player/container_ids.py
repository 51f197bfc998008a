"""The live containers as each side has them: ResourceManager, NodeManagers, mirror.

A container is the triple (application id, attempt's number, container's number with the epoch in
its upper bits), whatever way it is written where it comes from.
"""

import re
from pathlib import Path

from loomcard.cluster.container_times import read_runs
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.engine.session import Session
from loomcard.wire.journal import read_segment, segments

ContainerKey = tuple[str, int, int]

_ID = re.compile(r"container_(?:e(\d+)_)?(\d+)_(\d+)_(\d+)_(\d+)")
_EPOCH_BITS = 40


def container_key(container: str) -> ContainerKey:
    """A container's key from its YARN id. Raises ValueError for a text that is none."""
    found = _ID.fullmatch(container)
    if found is None:
        raise ValueError(f"{container!r} is not an id like container_1700000000000_0001_01_000001")
    epoch, cluster, application, attempt, number = found.groups()
    return (
        f"application_{cluster}_{application}",
        int(attempt),
        (int(epoch or 0) << _EPOCH_BITS) + int(number),
    )


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

    Those granted by its last plan, whose outcome it does not know yet, have no number and are left
    out. Raises JournalError.
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
