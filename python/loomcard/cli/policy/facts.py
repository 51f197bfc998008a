"""The cluster that ``loomcard policy check`` compares with: a running one, or a workload's."""

from collections import Counter
from pathlib import Path

from loomcard.cluster.rm_client import Document, ResourceManagerClient
from loomcard.config.fit import ClusterFacts

_ENDED = ("FINISHED", "FAILED", "KILLED")


def of_workload(named: str) -> ClusterFacts:
    """Return the cluster of a workload's file or shipped workload. Raises FindingsError."""
    from loomcard.workload.loading import find, load  # and with it every generator

    file: Path = find(named)
    scenario = load(file, seed=1)
    types, nodes = scenario.resource_types, scenario.nodes
    capacity = {name: sum(node.capacity[i] for node in nodes) for i, name in enumerate(types)}
    smallest = dict(zip(types, scenario.minimum, strict=True)) if scenario.minimum else {}
    return ClusterFacts(capacity, smallest)


def of_resource_manager(client: ResourceManagerClient) -> ClusterFacts:
    """Return the running cluster, with the contents of its queues. Raises RestError."""
    about = client.scheduler()["schedulerInfo"]
    ours = about.get("cluster", {})
    capacity, smallest = ours.get("capacity"), ours.get("minimum_allocation", {})
    if capacity is None:  # another scheduler, whose document says other things
        metrics = client.metrics()
        names = {"memory_mb": "totalMB", "vcores": "totalVirtualCores"}
        capacity = {name: int(metrics.get(key, 0)) for name, key in names.items()}
    living = [app for app in client.applications() if app["state"] not in _ENDED]
    return ClusterFacts(
        _amounts(capacity) if any(capacity.values()) else {},
        _amounts(smallest),
        Counter(_full_path(str(app["queue"]), about) for app in living),
    )


def _amounts(document: Document) -> dict[str, int]:
    return {str(name): int(amount) for name, amount in document.items()}


def _full_path(queue: str, about: Document) -> str:
    """Return a queue's path: YARN may report only the last name."""
    paths = [str(each["path"]) for each in about.get("queues", ()) if isinstance(each, dict)]
    if queue in paths or queue.startswith("root"):
        return queue
    return next((path for path in paths if path.rpartition(".")[2] == queue), f"root.{queue}")
