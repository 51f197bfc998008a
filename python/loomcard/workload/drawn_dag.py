"""A distribution of DAGs: the stages that an application's ``dag`` draws.

The shape first: one stage on each level of the longest path, the others anywhere before its last
level, each with a parent on the level before its own. Barriers then take more parents, those first
that nobody follows yet, so that the paths of a job come together. Tasks, sizes and times follow,
drawn for each stage from a random stream for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from random import Random
from typing import Any, Final

from loomcard.validation.reading import Document
from loomcard.workload.distributions import Distribution, Value, quantile
from loomcard.workload.schema import Template
from loomcard.workload.stage_schema import DrawnDag, Stage

Path = tuple[str | int, ...]
Draws = Callable[[Any, str, int], list[float]]

STAGES_AT_MOST: Final = 2_000
"""The most stages of one application; a larger number is taken for a mistake."""


def with_stages(
    document: Document, model: Template, path: Path, rng: Callable[..., Random]
) -> Template | None:
    """Return the application with drawn stages if it has a ``dag``; None, with findings, if it has
    neither or both. ``rng`` gives it a random stream for each key.
    """
    before = len(document.findings)
    if model.dag is None and not model.stages:
        document.report(path, "it has no stages", "add stages, or dag")
    elif model.dag is not None and model.stages:
        document.report((*path, "dag"), "it has stages, too", "remove one of them", at_key=True)
    elif model.dag is not None and model.kind == "mapreduce":
        hint = "write kind: dag"
        document.report((*path, "dag"), "kind mapreduce has maps and reduces", hint, at_key=True)
    if len(document.findings) > before:
        return None
    if model.dag is None:
        return model

    def draws(value: Value, key: str, count: int) -> list[float]:
        """Return ``count`` numbers of the value at a key."""
        found = _several(document, value, (*path, "dag", key), count, rng("dag", key))
        return found or [0.0] * count

    stages = _stages(model.dag, draws, rng("dag", "shape"))
    if stages is None:
        message = f"more than {STAGES_AT_MOST:,} stages"
        document.report((*path, "dag", "stages"), message, "bound it with at_most")
    if stages is None or len(document.findings) > before:
        return None
    return model.model_copy(update={"stages": stages})


def _stages(dag: DrawnDag, draws: Draws, rng: Random) -> list[Stage] | None:
    """Return its stages, parents first; None if there are too many."""
    count, levels, barriers = (
        round(draws(getattr(dag, key), key, 1)[0])
        for key in ("stages", "critical_path", "barriers")
    )
    if count > STAGES_AT_MOST:
        return None
    count = max(1, count)
    after = shape(count, max(1, min(count, levels)), barriers, rng)
    sizes = {
        key: [round(number) for number in draws(value, key, count)]
        for key, value in (("memory_mb", dag.memory_mb), ("vcores", dag.vcores),
                           *(dag.__pydantic_extra__ or {}).items())
    }  # fmt: skip
    tasks = [max(1.0, number) for number in draws(dag.tasks, "tasks", count)]
    times = [max(1, round(number)) for number in draws(dag.duration_ms, "duration_ms", count)]
    if dag.input_work is not None:
        part = draws(dag.input_work, "input_work", 1)[0]
        tasks = scaled(tasks, times, [not parents for parents in after], part)
    noise = draws(dag.noise, "noise", 1)[0]
    return [
        Stage.model_validate({
            "id": f"s{i + 1}",
            "tasks": max(1, round(tasks[i])),
            "duration_ms": {"lognormal": {"median": ms, "sigma": noise}} if noise else ms,
            "after": [f"s{parent + 1}" for parent in after[i]],
            **{key: amounts[i] for key, amounts in sizes.items()},
        })
        for i, ms in enumerate(times)
    ]  # fmt: skip


def shape(count: int, levels: int, barriers: int, rng: Random) -> list[list[int]]:
    """Return the parents of each of ``count`` stages, parents first. The longest path has
    ``levels`` stages, and ``barriers`` stages have two parents or more, or as many as possible.
    """
    extra = [rng.randrange(max(1, levels - 1)) for _ in range(count - levels)]
    level = sorted([*range(levels), *extra])
    able = [i for i in range(count) if level[i] and level.index(level[i]) > 1]
    chosen = set(rng.sample(able, min(barriers, len(able))))
    childless: set[int] = set()
    after: list[list[int]] = []
    for i, own in enumerate(level):
        parents: set[int] = set()
        if own:
            above = [j for j in range(i) if level[j] == own - 1]
            parents.add(rng.choice([j for j in above if j in childless] or above))
        if i in chosen:
            left = sum(j >= i for j in chosen)
            pool = [j for j in sorted(childless - parents) if level[j] < own]
            pool = rng.sample(pool, ceil(len(pool) / left))
            others = [j for j in range(i) if level[j] < own and j not in parents]
            parents.update(pool or [rng.choice(others)])
        after.append(sorted(parents))
        childless = childless - parents | {i}
    return after


def scaled(
    tasks: Sequence[float], times: Sequence[float], first: Sequence[bool], part: float
) -> list[float]:
    """Return task counts with which the ``first`` stages have this part of the total task time,
    which does not change.
    """
    rows = list(zip(tasks, times, first, strict=True))
    of_first = sum(n * ms for n, ms, is_first in rows if is_first)
    of_others = sum(n * ms for n, ms, is_first in rows if not is_first)
    if not of_first or not of_others:
        return list(tasks)
    total = of_first + of_others
    up, down = part * total / of_first, (1 - part) * total / of_others
    return [n * (up if is_first else down) for n, _, is_first in rows]


def _several(document: Document, value: Value, path: Path, count: int, rng: Random) -> list[float]:
    """Return ``count`` draws that are not negative; none, with a finding, if that is impossible."""
    try:
        become = quantile(value, rng) if isinstance(value, Distribution) else lambda _: value
        found = [float(become(rng.random())) for _ in range(count)]
    except (ValueError, OverflowError) as error:
        document.report(path, f"cannot be drawn: {error}")
        return []
    most = 1 if path[-1] == "input_work" else 2.0**53 - 1
    wrong = next((number for number in found if not 0 <= number <= most), None)
    if wrong is not None:
        message = f"expected a number from 0 to {most:.3g}, found {wrong:g}"
        document.report(path, message, "bound it with at_most" if wrong > most else "")
        return []
    return found
