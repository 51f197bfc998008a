"""Checks before anything runs: queues that a policy lacks, users that a cluster lacks, and jobs for
which no node ever has room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.stock_queues import stock_options
from loomcard.experiments.grid import Cell
from loomcard.experiments.inputs import InputError
from loomcard.player.play_compose import running
from loomcard.suite.benchmarks import BENCHMARKS
from loomcard.suite.commands import DRIVER_MB, MAPREDUCE_AM_MB, TASK_MB
from loomcard.suite.study import Study
from loomcard.validation.reading import Path as Place
from loomcard.validation.reading import read

DEFAULT_QUEUE = "root.default"
Node = tuple[int, int]
"""The capacity of a node: MB and vcores."""


EMBEDDED_HINT = "give `cluster` of the mix more nodes, or more of node_memory_mb or node_vcores"
COMPOSE_HINT = "bring the cluster up again with more --nodes, --node-memory-mb or --node-vcores"


@dataclass(frozen=True)
class _Wrong:
    """An error in a mix, and its place in the file."""

    mix: str
    place: Place
    message: str
    hint: str


def check_queues(study: Study) -> None:
    """Raise InputError for queues of jobs that a policy of the study does not have."""
    _refuse(study, _strange_queues(study))


def check_users(study: Study) -> None:
    """Raise InputError for jobs of other users on the embedded cluster, which runs all jobs as
    you.
    """
    hint = "leave `user` out, or run the mix --on docker"
    _refuse(
        study,
        [
            _Wrong(
                name,
                ("jobs", index, "user"),
                f"{job.benchmark} is {job.user}'s, and the embedded cluster has one user",
                hint,
            )
            for name, mix in study.mixes.items()
            for index, job in enumerate(mix.jobs)
            if job.user and study.engine == "local"
        ],
    )


def check_room(study: Study, nodes: Sequence[Node], hint: str) -> None:
    """Raise InputError for jobs that `nodes` can never run: such a job would wait until the limit.
    `hint`: how to have more room.
    """
    by_vcores = any(map(_counts_vcores, study.cells))
    _refuse(study, _without_room(study, nodes, hint, by_vcores=by_vcores))


def embedded_nodes(study: Study) -> list[Node]:
    """Return the nodes of the embedded cluster that the study will start."""
    size = next(iter(study.mixes.values())).cluster
    return [(size.node_memory_mb, size.node_vcores)] * size.nodes


def compose_nodes() -> list[Node]:
    """Return the nodes of the compose cluster that runs. Raises ComposeError if none runs."""
    _, rest = running(ComposeCluster.here())
    return [
        (
            int(each["usedMemoryMB"]) + int(each["availMemoryMB"]),
            int(each["usedVirtualCores"]) + int(each["availableVirtualCores"]),
        )
        for each in rest.nodes()
        if each["state"] == "RUNNING"
    ]


def _strange_queues(study: Study) -> Iterator[_Wrong]:
    seen: set[tuple[str, str]] = set()
    for cell in study.cells:
        if (cell.source, cell.workload) in seen:
            continue
        seen.add((cell.source, cell.workload))
        leaves = _leaves(cell.config or cell.queues)
        hint = f"its leaf queues are {', '.join(sorted(leaves))}"
        for index, job in enumerate(study.mixes[cell.workload].jobs):
            queue = job.queue or DEFAULT_QUEUE
            if queue not in leaves:
                message = f"{cell.source} has no leaf queue {queue!r}"
                yield _Wrong(cell.workload, ("jobs", index, "queue"), message, hint)


def _leaves(config: dict[str, Any] | None) -> set[str]:
    queues = (config or {"queues": []})["queues"]
    return {queue["path"] for queue in queues if queue["leaf"]} or {DEFAULT_QUEUE}


def _counts_vcores(cell: Cell) -> bool:
    if cell.source == "stock:capacity":
        options = stock_options(cell.queues) if cell.queues else {}
        return options.get("calculator") != "memory"
    return cell.source != "stock:fifo"  # which considers only memory


def _without_room(
    study: Study, nodes: Sequence[Node], hint: str, *, by_vcores: bool
) -> Iterator[_Wrong]:
    for name, mix in study.mixes.items():
        jobs: list[tuple[Place, str]] = [
            (("jobs", index, "benchmark"), job.benchmark) for index, job in enumerate(mix.jobs)
        ]
        jobs += [(("warm_up", index), warm_up) for index, warm_up in enumerate(mix.warm_up)]
        for place, benchmark in jobs:
            is_spark = BENCHMARKS[benchmark].framework == "spark"
            first, second = (DRIVER_MB, DRIVER_MB) if is_spark else (MAPREDUCE_AM_MB, TASK_MB)
            if _fit(first, second, nodes, by_vcores=by_vcores):
                continue
            called = ("a driver", "an executor") if is_spark else ("an AM", "a task")
            needs = f"{called[0]} of {first} MB and {called[1]} of {second} MB at a time"
            each = ", a vcore each" if by_vcores else ""
            message = f"{benchmark} needs {needs}{each}; the cluster has {_said(nodes)}"
            yield _Wrong(name, place, message, hint)


def _fit(first: int, second: int, nodes: Sequence[Node], *, by_vcores: bool) -> bool:
    """Return whether both fit at the same time, on one node or on two."""
    for index, (memory, vcores) in enumerate(nodes):
        if memory < first or (by_vcores and vcores < 1):
            continue
        left = [*nodes]
        left[index] = memory - first, vcores - 1
        if any(m >= second and (v >= 1 or not by_vcores) for m, v in left):
            return True
    return False


def _said(nodes: Sequence[Node]) -> str:
    said = [
        f"{count} {'node' if count == 1 else 'nodes'} of {memory} MB and"
        f" {vcores} {'vcore' if vcores == 1 else 'vcores'}"
        for (memory, vcores), count in Counter(nodes).items()
    ]
    return ", ".join(said) or "no node"


def _refuse(study: Study, found: Iterable[_Wrong]) -> None:
    """Raise InputError with all errors, each with its line if the mix has a file."""
    lines: list[str] = []
    wrong = list(found)
    for name in study.mixes:
        here = [each for each in wrong if each.mix == name]
        file = study.files.get(name)
        if here and file is not None:
            document = read(file.read_bytes().decode("utf-8-sig"))
            for each in here:
                document.report(each.place, each.message, each.hint)
            lines += [f"{file}, {said}" for said in document.findings]
        else:
            lines += [f"{each.message} ({each.hint})" for each in here]
    if lines:
        raise InputError(list(dict.fromkeys(lines)))
