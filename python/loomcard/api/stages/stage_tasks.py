"""How many tasks of each stage of an application wait, run and are done, kept between calls."""

from __future__ import annotations

from collections.abc import Mapping

from mypy_extensions import mypyc_attr

from loomcard.api.stages.dag_hint import Dag
from loomcard.model.objects import Application, Ask, AskKey, Container
from loomcard.model.renamed import warn_renamed


@mypyc_attr(allow_interpreted_subclasses=True)
class StageTasks:
    """The tasks of one application, by stage if it has a hint.

    ``running``, ``asked``, ``done``, ``waiting``: how many tasks of each stage run, are asked for,
    have finished and have not started. ``tasks``: how many run or are asked for in total, including
    tasks of no stage. ``masters``: the amounts that its AMs use.

    Call ``ended`` for each `ContainerCompleted`, ``allocated`` for each of the policy's own
    allocations, ``forget`` after any other change of its containers, and ``count`` before reading.
    """

    def __init__(self, app: Application, dag: Dag | None) -> None:
        self.app, self.dag = app, dag
        stages = 0 if dag is None else len(dag.stages)
        self.running, self.asked = [0] * stages, [0] * stages
        self.waiting, self.done = [0] * stages, [0] * stages
        self.masters = [0] * len(app.used)
        self.tasks = 0
        self._held = -1  # how many of its containers are counted; -1: count them again

    def stage_of(self, key: AskKey) -> int | None:
        """The stage to which an ask's or a container's key belongs; None: no stage."""
        return None if self.dag is None else self.dag.stage_of(key)

    def forget(self) -> None:
        """Make the next ``count`` count the containers again."""
        self._held = -1

    def ended(self, container: Container) -> None:
        """Note that a container of the application has ended."""
        self._held = -1 if container.is_am else self._held - 1
        stage = self.stage_of(container.ask_key)
        if stage is not None:
            self.running[stage] -= 1

    def allocated(self, ask: Ask) -> None:
        """Note that a container was allocated for an ask of the application."""
        self._held = -1 if ask.is_am else self._held + 1
        stage = self.stage_of(ask.key)
        if stage is not None:
            self.running[stage] += 1
            self.asked[stage] = max(0, self.asked[stage] - 1)
            self._wait(stage)

    def granted(self, ask: Ask) -> None:
        """Deprecated since 0.1: ``allocated``."""
        warn_renamed("StageTasks.granted", "StageTasks.allocated")
        self.allocated(ask)

    def count(self, done: Mapping[int, int]) -> None:
        """Update all counts. ``done``: finished tasks by stage, as `Estimates.done` gives them."""
        if self._held != len(self.app.containers):
            self._count_containers()
        self.tasks = self._held
        if any(self.masters):
            self.tasks -= sum(container.is_am for container in self.app.containers)
        self.asked = [0] * len(self.asked)
        for ask in self.app.asks:
            if not ask.is_am:
                self.tasks += ask.count
                stage = self.stage_of(ask.key)
                if stage is not None:
                    self.asked[stage] += ask.count
        for stage in range(len(self.asked)):
            self.done[stage] = done.get(stage, 0)
            self._wait(stage)

    def _count_containers(self) -> None:
        self._held = len(self.app.containers)
        self.running = [0] * len(self.running)
        self.masters = [0] * len(self.masters)
        for container in self.app.containers:
            stage = self.stage_of(container.ask_key)
            if container.is_am:
                pairs = zip(self.masters, container.size, strict=True)
                self.masters = [used + size for used, size in pairs]
            elif stage is not None:
                self.running[stage] += 1

    def _wait(self, stage: int) -> None:
        assert self.dag is not None
        left = self.dag.stages[stage].tasks - self.done[stage] - self.running[stage]
        self.waiting[stage] = max(0, left, self.asked[stage])
