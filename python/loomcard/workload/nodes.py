"""The machines of a workload, and sizes as integers in the order of its resource types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from pydantic import BaseModel

from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document
from loomcard.workload.readers.source import TYPES, Traced
from loomcard.workload.scenario import Amounts, Fault, ScenarioNode
from loomcard.workload.schema import Cluster


class Layout:
    """Return nodes, resource types and the minimum. Findings about the cluster are added to
    ``document``.
    """

    def __init__(self, cluster: Cluster, document: Document, traced: Traced | None) -> None:
        self._document = document
        self._checked: set[tuple[str | int, ...]] = set()
        recorded = traced.types if traced else []
        self.types = list(dict.fromkeys([*TYPES, *cluster.resources, *recorded]))
        self.minimum: Amounts = (
            cluster.minimum.memory_mb,
            cluster.minimum.vcores,
            *[0] * (len(self.types) - 2),
        )
        self.nodes = self._nodes(cluster)
        if not self.nodes and traced:
            self.nodes = [self._as_recorded(node, recorded) for node in traced.nodes]
        if not self.nodes:
            document.report(
                ("cluster", "nodes"),
                "the cluster has no nodes",
                "for example nodes: [{count: 5, memory_mb: 20480, vcores: 20}]",
            )
        self.ordered = [node.name for node in self.nodes]
        self.names = set(self.ordered)
        self.labels = {node.label for node in self.nodes} - {""}
        self.faults = self._faults(cluster)
        for index, label in enumerate(cluster.shared_labels):
            self.check_label(("cluster", "shared_labels", index), label)

    def size(self, amounts: Mapping[str, int]) -> Amounts:
        """Return amounts by type, rounded up to multiples of the minimum."""
        return tuple(
            -(-amounts.get(name, 0) // least) * least if least else amounts.get(name, 0)
            for name, least in zip(self.types, self.minimum, strict=True)
        )

    def fits_somewhere(self, size: Sequence[int]) -> bool:
        """Return whether an empty node can run a container of ``size``."""
        return any(
            all(need <= has for need, has in zip(size, node.capacity, strict=True))
            for node in self.nodes
        )

    def check_names(self, path: tuple[str | int, ...], names: Iterable[str]) -> None:
        """Report hosts that the cluster does not have: once per place, however many are drawn."""
        if path in self._checked:
            return
        self._checked.add(path)
        for index, name in enumerate(names):
            if name not in self.names:
                hint = nearest(name, sorted(self.names)[:20])
                self._document.report((*path, index), f"there is no node {name!r}", hint)

    def check_label(self, path: tuple[str | int, ...], label: str | None) -> None:
        """Report a label that no node has."""
        if label is not None and label not in self.labels:
            message, known = f"no node has the label {label!r}", sorted(self.labels)
            hint = nearest(label, known) if known else "give some entry of cluster.nodes a label"
            self._document.report(path, message, hint)

    def check_types(self, path: tuple[str | int, ...], part: BaseModel) -> None:
        """Report keys that are not a resource type of the cluster."""
        for name in part.__pydantic_extra__ or {}:
            if name not in self.types:
                hint = nearest(name, [*type(part).model_fields, *self.types])
                hint += "; a resource is named in cluster.resources"
                self._document.report((*path, name), f"unknown key {name!r}", hint, at_key=True)

    def _nodes(self, cluster: Cluster) -> list[ScenarioNode]:
        found: dict[str, ScenarioNode] = {}
        numbers: dict[str, int] = {}
        for index, entry in enumerate(cluster.nodes):
            path = ("cluster", "nodes", index)
            self.check_types(path, entry)
            rack = "/" + entry.rack.strip("/")
            capacity = tuple(_amounts(entry).get(name, 0) for name in self.types)
            for _ in range(entry.count or 1):
                name = entry.name
                if entry.count is not None:
                    numbers[name] = numbers.get(name, 0) + 1
                    name = f"{name}{numbers[name]}"
                if name in found:
                    message = f"there are two nodes called {name!r}"
                    self._document.report((*path, "name"), message, "name one of them otherwise")
                label, shared = entry.label or "", entry.label in cluster.shared_labels
                found[name] = ScenarioNode(
                    name, rack, capacity, entry.physical_memory_mb, label, shared
                )
        return list(found.values())

    def _as_recorded(self, node: ScenarioNode, recorded: Sequence[str]) -> ScenarioNode:
        amounts = dict(zip(recorded, node.capacity, strict=True))
        return replace(node, capacity=tuple(amounts.get(t, 0) for t in self.types))

    def _faults(self, cluster: Cluster) -> list[Fault]:
        for index, fault in enumerate(cluster.faults):
            if fault.node not in self.names:
                hint = nearest(fault.node, sorted(self.names)[:20])
                path = ("cluster", "faults", index, "node")
                self._document.report(path, f"there is no node {fault.node!r}", hint)
        made = [Fault(fault.at_ms, fault.node, fault.down_ms) for fault in cluster.faults]
        return sorted(made, key=lambda fault: (fault.at_ms, fault.node))


def _amounts(entry: object) -> dict[str, int]:
    extra: dict[str, int] = getattr(entry, "__pydantic_extra__", None) or {}
    return {name: getattr(entry, name) for name in TYPES} | extra
