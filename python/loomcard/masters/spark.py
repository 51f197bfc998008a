"""Spark's AM: it keeps executors from the start to the end, and tasks run inside them."""

from __future__ import annotations

from functools import partial

from loomcard.masters.host import Host, Key, Running
from loomcard.masters.master import Master
from loomcard.masters.stage import StageRun
from loomcard.model.resource import Resource
from loomcard.workload.scenario import ScenarioApplication

EXECUTOR_KEY = (20, 0)


class Executor:
    """A container that runs tasks of any stage."""

    __slots__ = ("free_vcores", "lost", "running", "tasks")

    def __init__(self, running: Running, vcores: int) -> None:
        self.running = running
        self.free_vcores = vcores
        self.tasks: dict[tuple[int, int], int] = {}  # (stage, task) that run in it: when each ends
        self.lost = False


class SparkMaster(Master):
    """The AM of kind spark; its driver sends messages to executors at once, not in heartbeats."""

    def __init__(self, spec: ScenarioApplication, host: Host) -> None:
        super().__init__(spec, host)
        assert spec.executors is not None
        self._size = Resource(spec.executors.size)
        self._executors: dict[Running, Executor] = {}
        self._missing = 0  # executors that were asked for and have not come

    def begin(self) -> None:
        """Ask for all executors, and open the stages that wait for no other."""
        assert self.spec.executors is not None
        self._missing = 0
        self._ask_executors(self.spec.executors.count)
        for stage in self.stages:
            if stage.parents_left == 0 and not stage.opened:
                self.open(stage)

    def open(self, stage: StageRun) -> None:
        """Open a stage: its tasks wait for a slot, not for a container."""
        stage.opened = True
        for task in range(len(stage.spec.durations_ms)):
            stage.add(task)

    def _ask_executors(self, count: int) -> None:
        self._missing += count
        self.ask(None, EXECUTOR_KEY, self._size, count)

    def received(self, running: Running) -> None:
        """Turn a container into an executor once it runs; give back one that is too many."""
        self.live[running.number] = running
        if not self._missing:
            self.release(running)
            return
        self._missing -= 1
        executor = self._executors[running] = Executor(running, self._size.vcores)
        self.host.launch(running, None, partial(self._work, executor))

    def _work(self, executor: Executor) -> None:
        """Give an executor's free slots to waiting tasks, in the order of stages."""
        if executor.lost or self.ended:
            return
        running = executor.running
        for index, stage in enumerate(self.stages):
            need = max(1, stage.size.vcores)
            while stage.waiting and executor.free_vcores >= need:
                task = stage.take(running.host, running.rack)
                if task is None:
                    break
                executor.free_vcores -= need
                length, status = stage.attempt_length(task, running.host)
                at = executor.tasks[index, task] = self.host.now + length
                self.host.at(at, self._task_over, executor, index, task, status)

    def _task_over(self, executor: Executor, index: int, task: int, status: int) -> None:
        dead = not self.host.is_live(executor.running)  # its AM may not know yet
        if executor.lost or dead or self.ended:
            return
        stage = self.stages[index]
        del executor.tasks[index, task]
        executor.free_vcores += max(1, stage.size.vcores)
        if status:
            failures = stage.failures[task] = stage.failures.get(task, 0) + 1
            if failures >= self.spec.max_attempts:
                self.finish("FAILED")
                return
            stage.add(task)
        else:
            self.task_ended(index)
        if status or self.stages[index].left == 0:  # other stages may have waited for that
            for other in list(self._executors.values()):
                self._work(other)
        else:
            self._work(executor)

    def completed(self, running: Running, kind: str) -> None:
        """Replace a lost executor: ask for another, and let its tasks wait again. Any ``kind`` of
        end is a loss, since no executor ends of its own accord.
        """
        assert kind
        if running.given_up:
            return
        self.dropped(running)
        self._ask_executors(1)
        for executor in list(self._executors.values()):
            self._work(executor)

    def dropped(self, running: Running) -> None:
        """Let its tasks wait for another executor."""
        executor = self._executors.pop(running, None)
        if executor is None:
            return
        executor.lost = True
        for index, task in executor.tasks:
            self.stages[index].add(task)

    def ask_again(self, key: Key) -> None:
        """Ask for one more container, since one was lost before it was an executor."""
        assert key == EXECUTOR_KEY
        self.ask(None, EXECUTOR_KEY, self._size, 1)

    def ends_ms(self) -> int | None:
        """Return when the last task ends, if every task that is left runs."""
        ends = [end for executor in self._executors.values() for end in executor.tasks.values()]
        return max(ends) if ends and len(ends) == sum(s.left for s in self.stages) else None
