"""The model of an application master: it asks for its stages' tasks, runs them, repeats what
failed.

docs/simulate/workload.md, "What an application master does", is the text that this follows.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from loomcard.api.stages.marked_asks import unmarked
from loomcard.masters.host import Host, Key, Running
from loomcard.masters.stage import StageRun
from loomcard.model.resource import Resource
from loomcard.workload.scenario import ScenarioApplication


@mypyc_attr(allow_interpreted_subclasses=True)
class Master:
    """The AM of kinds plain and dag, and the base class of the other kinds' AMs."""

    def __init__(self, spec: ScenarioApplication, host: Host) -> None:
        self.spec = spec
        self.host = host
        self.stages = [StageRun(stage, host.rack_of) for stage in spec.stages]
        self.children: list[list[int]] = [[] for _ in spec.stages]
        for index, stage in enumerate(spec.stages):
            for parent in stage.after:
                self.children[parent].append(index)
        self.live: dict[int, Running] = {}  # its containers except the AM's, by number
        self.ended = False

    # What the engine calls

    def begin(self) -> None:
        """Begin an attempt: open every stage that waits for no other. The AM may ask from now on.
        A later attempt asks again for what waits.
        """
        for stage in self.stages:
            if stage.opened:
                self.ask(stage, stage.key, stage.size, stage.waiting)
            elif stage.parents_left == 0 and stage.left:
                self.open(stage)
        if not any(stage.left for stage in self.stages):
            self.finish("SUCCEEDED")

    def received(self, running: Running) -> None:
        """Run a task of the container's stage in it, or give it back."""
        self.live[running.number] = running
        running.stage = unmarked(running.key[1]) - 1
        stage = self.stages[running.stage]
        task = stage.take(running.host, running.rack)
        if task is None:
            self.release(running)
            return
        if stage.preferences is not None:
            self.ask(stage, stage.key, stage.size, 0)  # the RM believes that other tasks wait
        running.task = task
        running.attempt = stage.failures.get(task, 0) + 1
        self.run(running, stage)

    def gone(self, number: int) -> Running | None:
        """Forget a container that has ended, and return it; None: the AM did not know it. The AM
        may hear of the end later: ``completed``, or ``dropped``.
        """
        return self.live.pop(number, None)

    def completed(self, running: Running, kind: str) -> None:
        """Handle a container's end: its task has succeeded, has failed, or must be repeated."""
        if running.task < 0 or running.given_up:
            return
        stage = self.stages[running.stage]
        if kind == "completed":
            self.task_ended(running.stage)
            return
        if kind == "failed":
            failures = stage.failures[running.task] = stage.failures.get(running.task, 0) + 1
            if failures >= self.spec.max_attempts:
                self.finish("FAILED")
                return
        self.repeat(stage, running.task)

    def dropped(self, running: Running) -> None:
        """Let a container's task wait for the next attempt, since this attempt ends."""
        if running.task >= 0:
            self.stages[running.stage].add(running.task)

    def ask_again(self, key: Key) -> None:
        """Ask for one more container, since one was lost before the AM received it."""
        stage = self.stages[unmarked(key[1]) - 1]
        self.ask(stage, stage.key, stage.size, 1)

    def headroom_changed(self) -> None:
        """React to another headroom from the policy; the AM receives it with its heartbeat."""

    def on_heartbeat(self) -> None:
        """Act after a heartbeat was received whole; kinds that plan ahead plan here."""

    def on_send(self) -> None:
        """Act before a heartbeat is sent; kinds that state total numbers state them here."""

    def ends_ms(self) -> int | None:
        """Return when the application ends without a further container, if that is known."""
        return None

    # What it does with its stages

    def ask(self, stage: StageRun | None, key: Key, size: Resource, change: int) -> None:
        """Ask for ``change`` more containers; sent with the next heartbeat."""
        self.host.ask(stage, key, size, change)

    def release(self, running: Running) -> None:
        """Give a container back; sent with the next heartbeat."""
        running.given_up = True
        self.host.release(running)

    def finish(self, state: str, diagnostics: str = "") -> None:
        """End the application with this final state; containers that still run end."""
        self.ended = True
        self.host.finish(state, diagnostics)

    def open(self, stage: StageRun) -> None:
        """Open a stage: its tasks can run now."""
        stage.opened = True
        for task in range(len(stage.spec.durations_ms)):
            stage.add(task)
        self.ask(stage, stage.key, stage.size, stage.left)

    def run(self, running: Running, stage: StageRun) -> None:
        """Launch a container with its task."""
        length, running.status = stage.attempt_length(running.task, running.host)
        self.host.launch(running, length)

    def task_ended(self, index: int) -> None:
        """Count a task as ended; after a stage's last task its child stages may open."""
        stage = self.stages[index]
        stage.left -= 1
        if stage.left:
            return
        for child in self.children[index]:
            self.stages[child].parents_left -= 1
            if self.stages[child].parents_left == 0:
                self.open(self.stages[child])
        if not any(other.left for other in self.stages):
            self.finish("SUCCEEDED")

    def repeat(self, stage: StageRun, task: int) -> None:
        """Ask for a task again."""
        stage.add(task)
        self.ask(stage, stage.key, stage.size, 1)
