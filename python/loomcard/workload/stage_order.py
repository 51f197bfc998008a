"""Checks of an application's stages before anything is drawn."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document
from loomcard.workload.schema import Template

Path = tuple[str | int, ...]


def sorted_stages(document: Document, model: Template, path: Path) -> list[int] | None:
    """Return the indexes of an application's stages, parents first, otherwise in the order of the
    file. None, with findings, if there is no such order.
    """
    before = len(document.findings)
    names = [stage.id for stage in model.stages]
    for index, stage in enumerate(model.stages):
        place = (*path, "stages", index)
        if names.index(stage.id) < index:
            message = f"there are two stages called {stage.id!r}"
            document.report((*place, "id"), message, "name one of them otherwise")
        for number, parent in enumerate(stage.after):
            if parent not in names:
                message = f"there is no stage {parent!r}"
                document.report((*place, "after", number), message, nearest(parent, names))
    _check_kind(document, model, path)
    if len(document.findings) > before:
        return None
    return _order(document, model, path)


def _order(document: Document, model: Template, path: Path) -> list[int] | None:
    places = {stage.id: index for index, stage in enumerate(model.stages)}
    graph = {i: {places[name] for name in s.after} for i, s in enumerate(model.stages)}
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = [model.stages[index].id for index in error.args[1]]
        message = "stages wait for each other: " + " after ".join(cycle)
        place = min(places[name] for name in cycle)
        document.report((*path, "stages", place, "after"), message, "remove one of them")
        return None
    order: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()])
        order.append(ready.pop(0))
        sorter.done(order[-1])
    return order


def _check_kind(document: Document, model: Template, path: Path) -> None:
    names = [stage.id for stage in model.stages]
    if model.kind == "mapreduce":
        if names not in (["map"], ["map", "reduce"]):
            message = f"kind mapreduce has the stages map and, if any, reduce, not {names}"
            document.report((*path, "stages"), message, "rename them, or write kind: dag")
        for index, stage in enumerate(model.stages):
            if stage.after != ["map"][:index] and stage.after:
                message = "only the reduce of kind mapreduce follows, and it follows the map"
                document.report((*path, "stages", index, "after"), message, "or write kind: dag")
    if model.kind == "spark" and model.executors is None:
        message = "kind spark needs executors"
        hint = "add executors: {count: 4, memory_mb: 4096, vcores: 2}"
        document.report((*path, "kind"), message, hint)
    if model.kind != "spark" and model.executors is not None:
        message = f"kind {model.kind} has no executors"
        document.report(
            (*path, "executors"), message, "remove them, or write kind: spark", at_key=True
        )
