"""MapReduce's AM: reduces are asked for as maps end, and copy the maps' output before they run."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, trunc
from struct import pack, unpack

from loomcard.masters.copying import Copying
from loomcard.masters.host import Host, Running
from loomcard.masters.master import Master
from loomcard.masters.stage import StageRun
from loomcard.workload.scenario import ScenarioApplication

RAMPUP_LIMIT = 0.5
"""yarn.app.mapreduce.am.job.reduce.rampup.limit"""
PREEMPTION_LIMIT = 0.5
"""yarn.app.mapreduce.am.job.reduce.preemption.limit"""
UNCONDITIONAL_MS = 300_000
"""mapreduce.job.reducer.unconditional-preempt.delay.sec"""
LOOK_AGAIN_MS = 1000
"""How often a starving AM without a heartbeat checks whether there is room."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the AM knows when it decides about reduces: how many maps and reduces are asked for
    (scheduled) or have a container (assigned).
    """

    maps: int
    maps_completed: int
    maps_scheduled: int
    maps_assigned: int
    reduces_scheduled: int
    reduces_assigned: int
    reduces_pending: int  # not asked for


def slow_start_over(progress: Progress, slowstart: float) -> bool:
    """Whether enough maps have completed for reduces to be asked for."""
    return progress.maps_completed >= ceil(_single(_single(slowstart) * progress.maps))


def _single(number: float) -> float:
    """Return the nearest number of single precision; Hadoop multiplies in it here."""
    return float(unpack("f", pack("f", number))[0])


def reduces_to_ask(
    progress: Progress, map_size: Sequence[int], reduce_size: Sequence[int], headroom: Sequence[int]
) -> int:
    """Return how many more reduces to ask for after slow start; negative: so many fewer.

    As RMContainerAllocator.scheduleReduces: all of them when every map has a container. Otherwise
    as many as fit into two parts: the reduces' part of the resource limit, which grows with
    completed maps up to the ramp-up limit, and what the maps leave of their part. Each amount is
    one resource vector.
    """
    p = progress
    if p.maps_scheduled == 0:
        return p.reduces_pending
    done = p.maps_completed / p.maps if p.maps else 1.0
    part = min(done, RAMPUP_LIMIT)
    maps, reduces = p.maps_scheduled + p.maps_assigned, p.reduces_scheduled + p.reduces_assigned
    counts = []
    limit = [
        free + p.maps_assigned * m + p.reduces_assigned * r
        for free, m, r in zip(headroom, map_size, reduce_size, strict=True)
    ]
    ideal_reduce = [int(whole * part) for whole in limit]
    ideal_map = [whole - own for whole, own in zip(limit, ideal_reduce, strict=True)]
    enough = _containers(ideal_map, map_size) >= maps
    for i, size in enumerate(reduce_size):
        most = ideal_reduce[i]
        if enough:
            most += ideal_map[i] - maps * map_size[i]
        if size > 0:
            counts.append(trunc((most - reduces * size) / size))
    more = min(counts, default=0)
    return min(more, p.reduces_pending) if more > 0 else max(more, -p.reduces_scheduled)


def starving(progress: Progress) -> bool:
    """Whether maps wait and no map has a container, while reduces have some."""
    p = progress
    return p.maps_scheduled > 0 and p.maps_assigned == 0 and p.reduces_assigned > 0


def reduces_to_preempt(
    progress: Progress,
    map_size: Sequence[int],
    reduce_size: Sequence[int],
    headroom: Sequence[int],
    may_wait: bool = True,
) -> int:
    """Return how many running reduces to give up for maps that could not run otherwise.

    As RMContainerAllocator.preemptReducesIfNeeded: none while a map has a container or, as long as
    ``may_wait``, fits into the headroom. Otherwise as many as all waiting maps need, but no more
    than use the preemption limit's part of what the application uses, or one map.
    """
    p = progress
    if not starving(p) or (may_wait and _containers(headroom, map_size) > 0):
        return 0
    limit = [free + p.reduces_assigned * r for free, r in zip(headroom, reduce_size, strict=True)]
    part = [PREEMPTION_LIMIT * whole for whole in limit]
    least = max(_ceiled(map_size, reduce_size), _ceiled(part, reduce_size))
    most = _ceiled([size * p.maps_scheduled for size in map_size], reduce_size)
    return min(least, most, p.reduces_assigned)


def _ceiled(need: Sequence[float], size: Sequence[int]) -> int:
    return max((ceil(n / s) for n, s in zip(need, size, strict=True) if s > 0), default=0)


def _containers(room: Sequence[int], size: Sequence[int]) -> int:
    return min((floor(have / need) for have, need in zip(room, size, strict=True) if need > 0),
               default=0)  # fmt: skip


def copied_ms(map_ends: Sequence[int], ms_per_map: int) -> int:
    """Return when a reduce that runs from the first map's start has copied every map's output. It
    copies one output after another, each in ``ms_per_map`` and after its map has ended; a reduce
    that starts late has also run for ``ms_per_map`` for each map. ``map_ends`` are in order.
    """
    count = len(map_ends)
    return max((end + (count - k) * ms_per_map for k, end in enumerate(map_ends)), default=0)


class MapReduceMaster(Master):
    """The AM of kind mapreduce: stage 0 contains the maps, stage 1 (if present) the reduces."""

    def __init__(self, spec: ScenarioApplication, host: Host) -> None:
        super().__init__(spec, host)
        self.maps = self.stages[0]
        self.reduces = self.stages[1] if len(self.stages) > 1 else None
        if self.reduces is not None:
            self.reduces.parents_left = -1  # they begin after slow start, not after the maps' end
        self._pending: list[int] = []  # reduces not asked for
        self._copying: list[Running] = []
        self._map_ends: list[int] = []
        self._assigned = [0, 0]  # maps and reduces that have a container, without those given up
        self._slow = True
        self._starved_ms = 0  # maps did not starve until this time
        self._gave_up_ms = -1  # when reduces were last given up
        self._network = host.network if spec.map_output_mb > 0 else None
        self._outputs: dict[str, float] = {}  # MB for each reduce, by host
        self._copies: dict[int, Copying] = {}  # by the container's number

    def begin(self) -> None:
        """Ask for the maps; reduces wait for slow start."""
        stage = self.reduces
        if stage is not None and not stage.opened:
            stage.opened = True
            self._pending = list(range(stage.left))
        while stage is not None and stage.waiting:  # an attempt before this one asked for them
            self._put_back(stage)
        super().begin()
        self.on_heartbeat()

    def received(self, running: Running) -> None:
        """Receive a container, and count it if it has a task."""
        super().received(running)
        self._count(running, 1)

    def release(self, running: Running) -> None:
        """Stop counting the container, though it runs until the ResourceManager is informed."""
        self._count(running, -1)
        self._stop_copying(running.number)
        super().release(running)

    def gone(self, number: int) -> Running | None:
        """Stop counting the container as soon as it has ended; the AM is not informed yet."""
        running = super().gone(number)
        if running is not None:
            self._count(running, -1)
        self._stop_copying(number)
        return running

    def _count(self, running: Running, change: int) -> None:
        if running.task >= 0 and not running.given_up:
            self._assigned[running.stage] += change

    def run(self, running: Running, stage: StageRun) -> None:
        """Run a task; a reduce ends after all maps have ended, their output is copied and its own
        work is done.
        """
        if stage is self.maps or self._fails(running, stage):
            super().run(running, stage)
            return
        if self._network is not None:
            self._copy(running, stage)
            return
        self.host.launch(running, None)
        if self.maps.left:
            self._copying.append(running)
        else:
            self._let_run(running, stage)

    def _fails(self, running: Running, stage: StageRun) -> bool:
        return stage.attempt_length(running.task, running.host)[1] != 0

    def _copy(self, running: Running, stage: StageRun) -> None:
        """Let a reduce copy map output over the network: what exists, and what is added later."""
        assert self._network is not None
        length = stage.spec.durations_ms[running.task]

        def copied() -> None:
            del self._copies[running.number]
            self.host.ends(running, 0, self.host.now + length)

        copying = Copying(self._network, running.host, self.spec.copies, copied)
        self._copies[running.number] = copying
        for host, mb in self._outputs.items():
            copying.add(host, mb)
        if not self.maps.left:
            copying.close()
        self.host.launch(running, None, copying.begin)

    def _stop_copying(self, number: int) -> None:
        copying = self._copies.pop(number, None)
        if copying is not None:
            copying.cancel()

    def _add_output(self, host: str) -> None:
        """Note one map's output; each reduce copies its part of it."""
        if self._network is None or self.reduces is None:
            return
        part = self.spec.map_output_mb / len(self.reduces.spec.durations_ms)
        self._outputs[host] = self._outputs.get(host, 0.0) + part
        for copying in list(self._copies.values()):
            copying.add(host, part)
            if not self.maps.left:
                copying.close()

    def _let_run(self, running: Running, stage: StageRun) -> None:
        """Let a reduce end: all maps have ended."""
        length = stage.spec.durations_ms[running.task]
        copies_ms = len(self._map_ends) * self.spec.ms_per_map
        copied = copied_ms(self._map_ends, self.spec.ms_per_map)
        self.host.ends(running, copies_ms + length, max(copied, self.host.now) + length)

    def completed(self, running: Running, kind: str) -> None:
        """Handle a container's end; after the last map, copying reduces know when they end."""
        is_map = running.stage == 0 and running.task >= 0
        if is_map and kind == "completed":
            assert running.ends_ms is not None
            self._map_ends.append(running.ends_ms)
        elif running in self._copying:
            self._copying.remove(running)
        super().completed(running, kind)
        if is_map and kind == "completed" and not self.ended:
            self._add_output(running.host)
        if is_map and not self.maps.left and not self.ended and self.reduces is not None:
            self._map_ends.sort()
            copying, self._copying = self._copying, []
            for reduce in copying:
                self._let_run(reduce, self.reduces)

    def repeat(self, stage: StageRun, task: int) -> None:
        """Ask again: for a map at once, for a reduce by the rule."""
        if stage is self.maps:
            super().repeat(stage, task)
        else:
            insort(self._pending, task)

    def dropped(self, running: Running) -> None:
        """Let the task wait for the next attempt, which asks for reduces by the rule again."""
        if running.stage == 1 and running.task >= 0:
            insort(self._pending, running.task)
        else:
            super().dropped(running)

    def on_heartbeat(self) -> None:
        """Ask for more or fewer reduces, or give some up, as MapReduce's AM does after each
        heartbeat.
        """
        stage = self.reduces
        if stage is None or self.ended:
            return
        if self.maps.waiting == 0 and not self._pending:
            return
        progress = self._progress(stage)
        self._slow = self._slow and not slow_start_over(progress, self.spec.slowstart)
        if self._slow:
            return
        if self.spec.reduce_asks == "all":
            self._ask_reduces(stage, len(self._pending))
            return
        sizes = self.host.counted(self.maps.size), self.host.counted(stage.size)
        headroom = self.host.headroom()
        count = reduces_to_preempt(progress, *sizes, headroom, self._may_wait(progress))
        self._give_up(stage, progress, count)
        if self._pending and self.host.now > self._gave_up_ms:
            # The room given up is for maps: as in Hadoop, this heartbeat asks for no reduce.
            self._ask_reduces(stage, reduces_to_ask(progress, *sizes, headroom))

    def _may_wait(self, progress: Progress) -> bool:
        """Whether maps have starved too briefly for reduces to be given up unconditionally."""
        now = self.host.now
        if not starving(progress):
            self._starved_ms = now
        return now - self._starved_ms < UNCONDITIONAL_MS

    def _give_up(self, stage: StageRun, progress: Progress, count: int) -> None:
        """Release the reduces that began last, and check again while maps starve."""
        if count:
            self._gave_up_ms = self.host.now
            self._ask_reduces(stage, -stage.waiting)
            held = [
                one
                for one in self.live.values()
                if one.task >= 0 and one.stage == 1 and not one.given_up
            ]
            for running in held[-count:]:
                insort(self._pending, running.task)
                if running in self._copying:
                    self._copying.remove(running)
                self.release(running)
        if starving(progress):
            wait = self.host.beat_ms or LOOK_AGAIN_MS
            self.host.look_again(self.host.now + wait, self._recheck)

    def _recheck(self) -> None:
        if not self.ended and self.maps.waiting:
            self.host.listen()

    def _ask_reduces(self, stage: StageRun, more: int) -> None:
        for _ in range(more):
            stage.add(self._pending.pop(0))
        for _ in range(-more):
            self._put_back(stage)
        if more:
            self.ask(stage, stage.key, stage.size, more)

    def _put_back(self, stage: StageRun) -> None:
        """Let one reduce that waits for a container wait for the rule instead."""
        task = stage.drop()
        if task is not None:
            insort(self._pending, task)

    def _progress(self, stage: StageRun) -> Progress:
        count = len(self.maps.spec.durations_ms)
        return Progress(
            maps=count,
            maps_completed=count - self.maps.left,
            maps_scheduled=self.maps.waiting,
            maps_assigned=self._assigned[0],
            reduces_scheduled=stage.waiting,
            reduces_assigned=self._assigned[1],
            reduces_pending=len(self._pending),
        )
