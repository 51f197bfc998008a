"""Read, check and draw a workload file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from loomcard.validation.findings import Finding, FindingsError, nearest
from loomcard.validation.reading import Document, Limits, read
from loomcard.workload.generate import generated
from loomcard.workload.nodes import Layout
from loomcard.workload.readers.source import Source, Traced
from loomcard.workload.sampling import Sampler, sample_hosts
from loomcard.workload.scenario import Network, Scenario, ScenarioApplication
from loomcard.workload.schema import Cluster, Workload
from loomcard.workload.structure import check_structure

LIMITS: Final = Limits(characters=16_000_000, values=400_000, what="a workload")
_SHIPPED: Final = Path(str(files("loomcard.workload"))) / "shipped"


def load(file: Path, *, seed: int, vary: Mapping[str, Any] | None = None) -> Scenario:
    """Return the workload in ``file`` with all random values drawn by ``seed``. ``file`` may be the
    bare name of a shipped workload. ``vary`` replaces values: by the name of a parameter, or by the
    dotted place in the document (``cluster.heartbeat_ms``). Raises FindingsError with all errors.
    """
    found = find(file)
    return build(_text(found), found.stem, found.parent, seed=seed, vary=vary, file=str(found))


def build(
    text: str,
    name: str,
    folder: Path,
    *,
    seed: int,
    vary: Mapping[str, Any] | None = None,
    file: str = "",
) -> Scenario:
    """Return the workload in a text; ``folder`` is what its trace's path is relative to, ``file``
    the name that findings have. Raises FindingsError.
    """
    document = read(text, LIMITS)
    scenario = None
    if document.data is not None:
        model = check_structure(document, vary or {})
        if model is not None:
            scenario = _drawn(document, model, name, folder, seed)
    if document.findings:
        raise FindingsError(document.findings).named(file)
    assert scenario is not None
    return scenario


def find(file: Path | str) -> Path:
    """Return the path of the file, or of the shipped workload of that bare name. Raises
    FindingsError.
    """
    path = Path(file)
    if path.is_file():
        return path
    shipped = _SHIPPED / f"{path}.yml"
    if path.name == str(path) and not path.suffix and shipped.is_file():
        return shipped
    known = nearest(path.name, shipped_names())
    message = "is a folder, not a workload" if path.is_dir() else "there is no such file"
    raise FindingsError([Finding(1, 1, "", message, f"shipped workloads: {known}", str(path))])


def shipped_names() -> list[str]:
    """Return the workloads that ship with Loomcard, by name."""
    return sorted(path.stem for path in _SHIPPED.glob("*.yml"))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise FindingsError([Finding(1, 1, "", message, "save it as UTF-8", str(path))]) from error


def _drawn(
    document: Document, model: Workload, name: str, folder: Path, seed: int
) -> Scenario | None:
    traced = None if model.trace is None else _traced(document, model.trace, folder, seed)
    if model.trace is not None and traced is None:
        return None
    layout = Layout(model.cluster, document, traced)
    sampler = Sampler(document, layout, seed)
    made: list[ScenarioApplication] = []
    for index, given in enumerate(model.applications):
        path = ("applications", index)
        at = round(sampler.number(given.submit_ms, (*path, "submit_ms"), sampler.rng(given.id)))
        drawn = sampler.application(given, path, given.id, at)
        if drawn is not None:
            made.append(drawn)
    if model.generate is not None:
        made += generated(document, sampler, model.generate)
    if traced is not None and model.trace is not None:
        made += _placed(document, sampler, layout, traced, model.trace)
    _check_ids(document, model, made)
    made.sort(key=lambda application: application.submit_ms)
    cluster = model.cluster
    return Scenario(
        name=name,
        seed=seed,
        resource_types=layout.types,
        nodes=layout.nodes,
        applications=made,
        heartbeat_ms=cluster.heartbeat_ms,
        am_heartbeat_ms=cluster.am_heartbeat_ms,
        launch_delay_ms=cluster.launch_delay_ms,
        am_start_ms=cluster.am_start_ms,
        minimum=layout.minimum,
        faults=layout.faults,
        thrashing=cluster.thrashing,
        stop_ms=model.stop_ms,
        network=network_of(cluster),
    )


def network_of(cluster: Cluster) -> Network | None:
    """Return the network of a cluster, or None if it has none."""
    given = cluster.network
    return None if given is None else Network(given.node_mb_s, given.rack_mb_s)


def _check_ids(document: Document, model: Workload, made: list[ScenarioApplication]) -> None:
    if model.generate is None and model.trace is None and not model.applications:
        message = "the workload has no applications"
        document.report((), message, "add applications, generate or trace")
    seen: set[str] = set()
    given = {application.id: index for index, application in enumerate(model.applications)}
    for application in made:
        if application.id in seen:
            message = f"there are two applications called {application.id!r}"
            index = given.get(application.id)
            path = ("generate",) if index is None else ("applications", index, "id")
            document.report(path, message, "name one of them otherwise")
        seen.add(application.id)


def _traced(document: Document, source: Source, folder: Path, seed: int) -> Traced | None:
    head, _, tail = source.file.partition("/")
    place = ("trace", "file")
    if head.startswith("$"):
        root = os.environ.get(head[1:])
        if not root:
            message = f"the environment variable {head[1:]} is not set"
            document.report(place, message, f"export {head[1:]}=/path/to/traces")
            return None
        file = Path(root) / tail
    else:
        file = folder / source.file
    try:
        return source.read(file, seed)
    except FindingsError as error:
        document.findings.extend(error.findings)
    except OSError as error:
        message = f"{file}: cannot be read: {error.strerror}"
        document.report(place, message, "docs/simulate/workload.md says where traces come from")
    except UnicodeDecodeError as error:
        document.report(place, f"{file}: not UTF-8 at byte {error.start}", "is it the trace?")
    except ValueError as error:  # of a distribution among the options
        document.report(("trace",), f"cannot be drawn: {error}")
    return None


def _placed(
    document: Document, sampler: Sampler, layout: Layout, traced: Traced, source: Source
) -> list[ScenarioApplication]:
    """Return a trace's applications on this layout: sizes in its types, wishes for nodes that it
    has.
    """
    path = ("trace",)
    names = sorted(layout.names)
    if source.replicas > len(names) > 0:
        message = f"{source.replicas} replicas of {len(names)} nodes"
        document.report((*path, "replicas"), message, "draw fewer")
        return []
    start = traced.applications[0].submit_ms if traced.applications else 0
    placed = []
    sizes: dict[tuple[int, ...], tuple[int, ...]] = {}

    def sized(raw: tuple[int, ...]) -> tuple[int, ...]:
        if raw not in sizes:
            sizes[raw] = layout.size(dict(zip(traced.types, raw, strict=True)))
            if layout.nodes and not layout.fits_somewhere(sizes[raw]):
                sizes_text = ", ".join(
                    f"{t}: {a}" for t, a in zip(layout.types, sizes[raw], strict=True)
                )
                document.report(
                    path, f"no node can hold a container of {{{sizes_text}}}", "enlarge one"
                )
        return sizes[raw]

    for one in traced.applications[: source.first]:
        stages = []
        for stage in one.stages:
            nodes = [[host for host in hosts if host in layout.names] for hosts in stage.nodes]
            if source.replicas and not stage.after and not nodes:
                rng = sampler.rng(one.id, stage.id, "nodes")
                nodes = sample_hosts(names, source.replicas, len(stage.durations_ms), rng)
            label = stage.label if stage.label in layout.labels else ""
            nodes = nodes if any(nodes) else []
            stages.append(replace(stage, size=sized(stage.size), nodes=nodes, label=label))
        placed.append(
            replace(
                one,
                submit_ms=round((one.submit_ms - start) * source.stretch),
                queue=source.queue or one.queue,
                stages=stages,
                am=None if one.am is None else sized(one.am),
                executors=one.executors and replace(one.executors, size=sized(one.executors.size)),
            )
        )
    return placed
