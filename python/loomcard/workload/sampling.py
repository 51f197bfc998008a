"""A workload's applications with all random values drawn.

A value is seeded by (seed, application, stage, purpose), and the n-th value belongs to the n-th
task. So neither another application nor another stage nor more tasks change what a task draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from loomcard.validation.reading import Document
from loomcard.workload.distributions import Distribution, put_numbers, quantile, resolve
from loomcard.workload.drawn_dag import with_stages
from loomcard.workload.nodes import Layout
from loomcard.workload.readers.source import TYPES
from loomcard.workload.scenario import Amounts, Executors, ScenarioApplication, Stage
from loomcard.workload.schema import Template
from loomcard.workload.stage_order import sorted_stages
from loomcard.workload.stage_schema import Replicas, Size, Stragglers
from loomcard.workload.stage_schema import Stage as StageModel

Path = tuple[str | int, ...]

TASKS_AT_MOST: Final = 20_000_000
"""The most tasks of one stage. A larger number is taken for a mistake: it would fill the memory."""
LONGEST_MS: Final = 10 * 365 * 24 * 3600 * 1000
"""Ten years."""


class Sampler:
    """Draws applications for a layout; errors are reported in the document."""

    def __init__(self, document: Document, layout: Layout, seed: int) -> None:
        self._document = document
        self._layout = layout
        self._seed = seed

    def application(
        self, model: Template, path: Path, name: str, submit_ms: int
    ) -> ScenarioApplication | None:
        """Return one application; None if a finding leaves nothing to draw."""
        model = self._with_numbers(model, path, name)
        own = with_stages(self._document, model, path, lambda *key: self.rng(name, *key))
        order = None if own is None else sorted_stages(self._document, own, path)
        if own is None or order is None:
            return None
        model, rng = own, self.rng(name)
        stages = []
        for place, index in enumerate(order):
            stage = self._stage(model, index, (*path, "stages", index), name, place)
            if stage is not None:
                after = [order.index(parent) for parent in _parents(model, index)]
                stages.append(_with(stage, after))
        am = None if model.am is None else self._size(model.am, (*path, "am"), rng)
        executors = None
        if model.executors is not None:
            size = self._size(model.executors, (*path, "executors"), rng)
            count = self._count(model.executors.count, (*path, "executors", "count"), rng)
            executors = Executors(max(1, count), size)
            self._check_executors(executors, stages, path, order)
        return ScenarioApplication(
            id=name,
            submit_ms=submit_ms,
            queue=self._one(model.queue, name, "queue"),
            user=self._one(model.user, name, "user"),
            kind=model.kind,
            stages=stages,
            tags=list(model.tags),
            am=am,
            slowstart=self._part(model.slowstart, (*path, "slowstart"), rng),
            ms_per_map=self._count(model.shuffle.ms_per_map, (*path, "shuffle"), rng),
            max_attempts=model.max_attempts,
            executors=executors,
            asks=self._asks(model, path),
            map_output_mb=self.number(model.shuffle.map_output_mb, (*path, "shuffle"), rng),
            copies=model.shuffle.copies,
            reduce_asks=model.reduce_asks,
            am_start_ms=model.am_start_ms,
        )

    def rng(self, *key: object) -> Random:
        """Return a random stream that belongs only to the thing with this name."""
        text = "/".join(str(part) for part in (self._seed, *key))
        return Random(text)  # noqa: S311 - not secrets

    def _asks(self, model: Template, path: Path) -> str:
        if model.asks != "unmarked" and model.kind not in ("plain", "dag"):
            message = f"the AM of kind {model.kind} marks no asks"
            self._document.report((*path, "asks"), message, "kind: dag, or leave asks out")
        return model.asks

    def _with_numbers(self, model: Template, path: Path, name: str) -> Template:
        """Return the application with its ``numbers`` drawn and replaced; each may use those before
        it.
        """
        if not model.numbers:
            return model
        rng = self.rng(name, "numbers")
        numbers: dict[str, float] = {}
        for key, value in model.numbers.items():
            value = put_numbers(value, numbers, rng)
            numbers[key] = self.number(value, (*path, "numbers", key), rng)
        put: Template = put_numbers(model, numbers, rng)
        return put

    def _one(self, given: str | list[str], *key: str) -> str:
        return given if isinstance(given, str) else self.rng(*key).choice(given)

    def _stage(
        self, model: Template, index: int, path: Path, name: str, place: int
    ) -> Stage | None:
        given = model.stages[index]
        rng = self.rng(name, given.id)
        size = self._size(given, path, rng)
        listed = given.duration_ms if isinstance(given.duration_ms, list) else None
        count = self._tasks(given, path, rng, listed)
        if count is None:
            return None
        durations = self._durations(given, path, name, count)
        fails = {int(task): list(runs) for task, runs in given.fails_ms.items() if task.isdigit()}
        if len(fails) < len(given.fails_ms) or any(task >= count for task in fails):
            message = f"expected the numbers of tasks, 0 to {count - 1}"
            self._document.report((*path, "fails_ms"), message, 'for example {"0": [1500]}')
        chance = self._part(given.failures, (*path, "failures"), rng)
        if chance > 0 and not fails:
            fails = self._failures(chance, durations, model.max_attempts, (name, given.id))
        self._layout.check_label((*path, "label"), given.label)
        second = model.kind == "mapreduce" and index > 0
        return Stage(
            id=given.id,
            size=size,
            priority=given.priority if given.priority is not None else 10 if second else 20,
            request_id=place + 1,
            durations_ms=durations,
            nodes=self._preferred_hosts(given, (*path, "nodes"), (name, given.id), count),
            fails_ms=fails,
            label=given.label or "",
            remote_factor=given.remote_factor,
        )

    def _tasks(
        self, given: StageModel, path: Path, rng: Random, listed: list[int] | None
    ) -> int | None:
        count = None if given.tasks is None else self._count(given.tasks, (*path, "tasks"), rng)
        if count is None and listed is None:
            self._document.report(path, "the stage does not say how many tasks", "add tasks: 20")
        elif listed is not None and count is not None and len(listed) != count:
            message = f"{len(listed)} durations for {count} tasks"
            self._document.report((*path, "duration_ms"), message, "write one a task")
        elif (count or 0) > TASKS_AT_MOST:
            message = f"{count} tasks, where a stage has at most {TASKS_AT_MOST:,}"
            self._document.report((*path, "tasks"), message, "split it, or take fewer")
        elif count == 0 and not isinstance(given.tasks, Distribution):
            self._document.report((*path, "tasks"), "a stage has at least one task", "tasks: 1")
        else:
            return max(1, len(listed) if listed is not None else count or 0)
        return None

    def _durations(self, given: StageModel, path: Path, name: str, count: int) -> list[int]:
        path = (*path, "duration_ms")
        if isinstance(given.duration_ms, list):
            durations = list(given.duration_ms)
        elif isinstance(given.duration_ms, Distribution):
            rng = self.rng(name, given.id, "duration")
            try:
                become = quantile(given.duration_ms, rng)
                durations = [max(1, round(become(rng.random()))) for _ in range(count)]
            except (ValueError, OverflowError) as error:
                self._document.report(path, f"cannot be drawn: {error}")
                durations = [1] * count
        else:
            durations = [round(given.duration_ms)] * count
        if max(durations) > LONGEST_MS:
            message = f"a task of {max(durations):.3g} ms, where {LONGEST_MS:.3g} is the longest"
            self._document.report(path, message, "durations are in ms; bound one with at_most")
            durations = [min(LONGEST_MS, ms) for ms in durations]
        place = (*path[:-1], "stragglers")
        rng = self.rng(name, given.id, "stragglers")
        if isinstance(given.stragglers, Stragglers):
            return self._straggling(given.stragglers, place, durations, rng)
        for index, each in enumerate(given.stragglers or ()):
            rng = self.rng(name, given.id, "stragglers", index)
            durations = self._straggling(each, (*place, index), durations, rng)
        return durations

    def _straggling(
        self, given: Stragglers, path: Path, durations: list[int], rng: Random
    ) -> list[int]:
        share = self._part(given.share, (*path, "share"), rng)
        factor = self.number(given.factor, (*path, "factor"), rng)
        return [max(1, round(ms * factor)) if rng.random() < share else ms for ms in durations]

    def _failures(
        self, chance: float, durations: list[int], most: int, key: tuple[str, str]
    ) -> dict[int, list[int]]:
        """Return which attempts fail, and when: at a uniform point of the task's run."""
        rng = self.rng(*key, "failures")
        fails: dict[int, list[int]] = {}
        for task, ms in enumerate(durations):
            first = rng.random()
            if first >= chance:
                continue
            stream = Random(first)  # noqa: S311 - a task's own: as many values as it needs
            fails[task] = [int(stream.random() * ms)]
            while len(fails[task]) < most and stream.random() < chance:
                fails[task].append(int(stream.random() * ms))
        return fails

    def _preferred_hosts(
        self, given: StageModel, path: Path, key: tuple[str, str], count: int
    ) -> list[list[str]]:
        wishes = given.nodes
        if isinstance(wishes, Replicas):
            names = self._layout.ordered if wishes.of is None else wishes.of
            self._layout.check_names((*path, "of"), wishes.of or [])
            if wishes.replicas > len(names):
                message = f"{wishes.replicas} replicas of {len(names)} nodes"
                self._document.report(path, message, "draw from more, or draw fewer")
                return []
            return sample_hosts(names, wishes.replicas, count, self.rng(*key, "nodes"))
        if not wishes:
            return []
        if isinstance(wishes[0], list):
            for task, hosts in enumerate(wishes):
                self._layout.check_names((*path, task), hosts)
            if len(wishes) != count:
                message = f"{len(wishes)} lists of nodes for {count} tasks"
                self._document.report(path, message, "write one a task")
            return [list(hosts) for hosts in wishes]
        names = [str(name) for name in wishes]
        self._layout.check_names(path, names)
        return [names] * count

    def _size(self, given: Size, path: Path, rng: Random) -> Amounts:
        extra: dict[str, Any] = given.__pydantic_extra__ or {}
        self._layout.check_types(path, given)
        amounts = {
            name: self._count(value, (*path, name), rng)
            for name, value in {**{t: getattr(given, t) for t in TYPES}, **extra}.items()
        }
        size = self._layout.size(amounts)
        if not any(size):
            self._document.report(path, "a container needs some of a resource", "memory_mb: 1024")
        elif self._layout.nodes and not self._layout.fits_somewhere(size):
            sizes_text = ", ".join(
                f"{n}: {a}" for n, a in zip(self._layout.types, size, strict=True)
            )
            message = f"no node can hold a container of {{{sizes_text}}}"
            self._document.report(path, message, "make it smaller, or a node larger")
        return size

    def _check_executors(
        self, executors: Executors, stages: Sequence[Stage], path: Path, order: Sequence[int]
    ) -> None:
        if executors.size[1] < 1:
            message = "an executor without vcores runs no task"
            self._document.report((*path, "executors", "vcores"), message, "vcores: 1")
        for stage, index in zip(stages, order, strict=False):
            if any(need > has for need, has in zip(stage.size, executors.size, strict=True)):
                message = "a task is larger than an executor"
                self._document.report((*path, "stages", index), message, "enlarge the executors")

    def number(self, value: float | Distribution, path: Path, rng: Random) -> float:
        """Return a number unchanged, or one draw; negative or impossible values are reported."""
        try:
            number = resolve(value, rng)
        except (ValueError, OverflowError) as error:
            self._document.report(path, f"cannot be drawn: {error}")
            return 0
        if number < 0:
            sizes_text = f"expected a number that is not negative, found {number:g}"
            self._document.report(path, sizes_text)
        return max(0, number)

    def _count(self, value: float | Distribution, path: Path, rng: Random) -> int:
        return round(self.number(value, path, rng))

    def _part(self, value: float | Distribution, path: Path, rng: Random) -> float:
        number = self.number(value, path, rng)
        if number > 1:
            message = f"expected a number from 0 to 1, found {number:g}"
            self._document.report(path, message, "for example 0.05")
        return min(1.0, number)


def sample_hosts(names: Sequence[str], replicas: int, count: int, rng: Random) -> list[list[str]]:
    """Return ``replicas`` different names for each of ``count`` tasks."""
    return [sorted(rng.sample(names, replicas)) for _ in range(count)]


def _parents(model: Template, index: int) -> list[int]:
    places = {stage.id: i for i, stage in enumerate(model.stages)}
    if model.kind == "mapreduce":
        return [0] if index else []
    return list(dict.fromkeys(places[name] for name in model.stages[index].after))


def _with(stage: Stage, after: list[int]) -> Stage:
    stage.after.extend(sorted(after))
    return stage
