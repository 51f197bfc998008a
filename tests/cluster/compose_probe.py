"""Runs inside the ResourceManager's container: the containers in RM, NodeManagers and mirror.

Prints one JSON object: `rm`, `nm` and `mirror` are sorted lists of container ids. With --replay,
`rounds` counts the journal's rounds and `differences` those that replay differently.
"""

import json
import socket
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import requests

from loomcard.cluster.paths import hadoop_line
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.engine.session import Session, replay
from loomcard.wire.journal import read_segment, segments

RUNNING = {"RUNNING", "LOCALIZING", "SCHEDULED", "NEW"}


def in_rm(rm: ResourceManagerClient, mirror: list[str]) -> list[str]:
    """Ask the ResourceManager for the live containers of every running attempt. That of Hadoop 2.7
    lists none: where it counts as many as the mirror for each application, those of the mirror.
    """
    running = [app for app in rm.applications() if app["state"] == "RUNNING"]
    if hadoop_line() == "2.7":
        known = Counter(f"application_{'_'.join(name.split('_')[-4:-2])}" for name in mirror)
        counted = {app["id"]: app["runningContainers"] for app in running}
        return mirror if counted == known else []
    return [
        container["containerId"]
        for app in running
        for attempt in rm.attempts(app["id"])
        for container in rm.containers(app["id"], attempt["appAttemptId"])
    ]


def on_nodes(rm: ResourceManagerClient) -> list[str]:
    """Ask every NodeManager for what it runs."""
    found = []
    for node in rm.nodes():
        if node["state"] != "RUNNING":
            continue
        url = f"http://{node['nodeHTTPAddress']}/ws/v1/node/containers"
        answer = requests.get(url, timeout=10, headers={"Accept": "application/json"}).json()
        containers = (answer.get("containers") or {}).get("container") or []
        found += [c["id"] for c in containers if c["state"] in RUNNING]
    return found


def in_mirror(journal: Path) -> list[str]:
    """Rebuild the policy process's mirror from the journal's last segment."""
    segment = read_segment(segments(journal)[-1])
    session = Session.restored(segment.header)
    for batch, _ in segment.rounds:
        session.decide(batch)
    return [_name(c) for c in session.mirror.state.containers.values()]


def _name(container: Any) -> str:
    attempt = container.attempt
    epoch, number = divmod(container.yarn_number, 1 << 40)
    prefix = f"container_e{epoch:02}_" if epoch else "container_"
    application = attempt.application.id.removeprefix("application_")
    return f"{prefix}{application}_{attempt.ordinal:02}_{number:06}"


def main(journal: Path) -> None:
    """Print the three lists and the replay's verdict."""
    rm = ResourceManagerClient(f"http://{socket.gethostname()}:8088", user="hadoop")
    mirror = sorted(in_mirror(journal))
    report: dict[str, Any] = {"rm": sorted(in_rm(rm, mirror)), "nm": sorted(on_nodes(rm))}
    report["mirror"] = mirror
    if "--replay" in sys.argv:
        report["differences"] = len(replay(journal))
        report["rounds"] = sum(len(read_segment(s).rounds) for s in segments(journal))
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path("/data/loomcard/journal"))
