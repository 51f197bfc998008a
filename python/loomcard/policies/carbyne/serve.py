"""One round: masters, then what must start, then what is left over, on the nodes as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from loomcard import (
    SHAPES_KEPT,
    SHARE,
    Application,
    Ask,
    ExhaustedShapes,
    Plan,
    Shape,
    no_room,
    serve_holds,
    want_first,
)
from loomcard.policies.carbyne.asks import is_altruistic, is_default, note_excess
from loomcard.policies.carbyne.jobs import Job, Jobs, stage_of
from loomcard.policies.carbyne.loans import Guard, reclaim
from loomcard.policies.carbyne.paper import alignment
from loomcard.policies.carbyne.waves import add, holds

LOAN = "LOAN"
"""The reason of an ask that gets nothing of what is left over, since its lenders need it sooner."""


@dataclass
class Due:
    """``tasks`` of an ask that must start now; ``deadline``: they are in the job's schedule."""

    job: Job
    ask: Ask
    tasks: int
    deadline: bool


class Serving:
    """The grants of one call, and what they were for."""

    def __init__(self, plan: Plan, jobs: Jobs) -> None:
        self.plan, self.view = plan, plan.view
        self.jobs, self.options = jobs, jobs.options
        self.full = ExhaustedShapes(plan.view)
        self.due: list[Due] = []
        self.waiting: list[Due] = []
        self.must: dict[Application, int] = {}
        self.borrowed: dict[Application, int] = {}

    def run(self) -> None:
        """Serve everybody, until nothing fits; hold room for what must start and does not fit."""
        plan, view = self.plan, self.view
        if view.holds and not plan.spent:
            serve_holds(plan, lambda queue: queue is view.queue)
        for shape in view.shapes if len(view.shapes) <= SHAPES_KEPT else ():
            if view.first_fit(*shape) is None:
                self.full.add(shape)
        if self.full.everything() and self.options.loan != "preempt":
            return
        asking = [job for job in self.jobs.by_app.values() if job.app.pending_count > 0]
        self._masters(asking)
        self.due = [due for job in asking for due in self._due_of(job)]
        for due in sorted(self.due, key=self._rank()):
            self._start(due)
        if not plan.spent:
            self._lend(sorted(asking, key=_by_work))
        if not plan.spent:
            self._hold()

    def _masters(self, asking: list[Job]) -> None:
        for job in sorted(asking, key=lambda job: (job.app.submitted_ms, job.app.number)):
            for ask in job.app.asks:
                while ask.is_am and ask.count > 0 and self._grant(ask):
                    pass

    def _due_of(self, job: Job) -> Iterator[Due]:
        """What of a job must start now, no more than its share has room for; of what is in no
        schedule, all that it has room for. Of a job whose AM marks its asks, those that are not
        ALTRUISTIC.
        """
        planned = job.plan is not None or job.marked
        altruist = not planned or self.jobs.altruist(job, self.view.now_ms)
        must = job.must(self.view.now_ms, altruist=altruist)
        used = [float(amount) for amount in job.app.used]
        excess = 0
        for ask in job.app.asks:
            if ask.is_am or ask.count <= 0 or (altruist and is_altruistic(ask)):
                continue
            stage = stage_of(job, ask)
            tasks = ask.count if stage is None else min(ask.count, must[stage])
            if tasks > 0:
                most = [max(a, u) for a, u in zip(job.share, ams_and(job, ask), strict=True)]
                tasks = min(
                    tasks, holds(ask.size, [m - u for m, u in zip(most, used, strict=True)])
                )
            if tasks > 0:
                if stage is not None:
                    must[stage] -= tasks
                add(used, ask.size, tasks)
                self.must[job.app] = self.must.get(job.app, 0) + tasks
                yield Due(job, ask, tasks, stage is not None or is_default(ask))
            excess += ask.count - tasks if is_default(ask) else 0
        if job.marked:
            note_excess(self.jobs.memory, job.app, excess)

    def _rank(self) -> Callable[[Due], Any]:
        """Who has waited first; then by ``default_rule``, ties by submission (2.5-11)."""
        view, waited = self.view, self._waited()
        whole = [float(c) for c in view.cluster_capacity]
        aligned = {d.ask.size: alignment(d.ask.size, view.free, whole) for d in self.due}
        total = sum(due.job.work for due in self.due)
        price = sum(aligned[due.ask.size] for due in self.due) / total if total else 0.0
        packs = self.options.default_rule == "tetris"

        def rank(due: Due) -> tuple[Any, ...]:
            app = due.job.app
            score = price * due.job.work - aligned[due.ask.size] if packs else due.job.work
            since = waited.get(due.ask.key, view.now_ms)
            return since, score, app.submitted_ms, app.number, due.ask.key

        return rank

    def _waited(self) -> dict[tuple[int, ...], int]:
        """Since when asks have had to start and fitted nowhere."""
        return {tuple(key): since_ms for *key, since_ms in self.jobs.memory["waited"]}

    def _start(self, due: Due) -> None:
        while due.tasks > 0 and due.ask.count > 0 and self._grant(due.ask):
            due.tasks -= 1
        due.tasks = min(due.tasks, due.ask.count)
        if due.tasks > 0 and self.plan.limited(due.ask) is None and self.plan.allows(due.ask):
            self.waiting.append(due)

    def _lend(self, jobs: list[Job]) -> None:
        """What is left over, less the room of what must start and waits (2.4)."""
        self.rooms = self._rooms() if self.options.keep_back else {}
        guard = Guard(self.jobs, self.view) if self.options.loan == "guarded" else None
        if self.options.leftover_rule == "srtf":
            for job in jobs:
                if self.full.everything():
                    break
                self._pack([(job, ask) for ask in job.app.asks], guard)
        else:
            self._pack([(job, ask) for job in jobs for ask in job.app.asks], guard)

    def _rooms(self) -> dict[str, list[float]]:
        """By node label, what may be lent of its partition; all that fits where none is named."""
        rooms: dict[str, list[float]] = {}
        for due in self.waiting:
            label = due.ask.label
            partition = self.view.partitions.get(label)
            full = (due.ask.size, label) in self.full
            if partition is None or not (due.deadline and full):
                continue
            if label not in rooms:
                free = [float(amount) for amount in partition.free]
                for hold in self.view.holds:
                    if hold.node.label == label:
                        kept = zip(hold.node.free, hold.node.room, strict=True)
                        add(free, [max(0, f - room) for f, room in kept], -1)
                rooms[label] = free
            add(rooms[label], due.ask.size, len(due.ask.holds) - due.tasks)
        return rooms

    def _pack(self, asks: Iterable[tuple[Job, Ask]], guard: Guard | None) -> None:
        """The best aligned ask first, one container at a time, until none fits."""
        lines: dict[Shape, list[tuple[Job, Ask]]] = {}
        for job, ask in asks:
            if ask.count > 0:
                lines.setdefault((ask.size, ask.label), []).append((job, ask))
        for line in lines.values():
            line.reverse()
        whole = self.view.cluster_capacity
        while lines and not self.plan.spent:
            shape = next(iter(lines))
            if 1 < len(lines) <= SHAPES_KEPT:
                free = self.view.free
                shape = max(lines, key=lambda shape: alignment(shape[0], free, whole))
            job, ask = lines[shape][-1]
            if not self._lend_one(job, ask, guard) or not ask.count:
                lines[shape].pop()
            if not lines[shape]:
                del lines[shape]

    def _lend_one(self, job: Job, ask: Ask, guard: Guard | None) -> bool:
        room = self.rooms.get(ask.label)
        if room is not None and not holds(ask.size, room):
            self.plan.wait(ask, SHARE)
            return False
        if guard is not None and not guard.allows(job, ask):
            self.plan.wait(ask, LOAN)
            return False
        if not self._grant(ask):
            return False
        if room is not None:
            add(room, ask.size, -1)
        if guard is not None:
            guard.lent(job, ask)
        self.borrowed[job.app] = self.borrowed.get(job.app, 0) + 1
        return True

    def _grant(self, ask: Ask) -> bool:
        """One container for an ask, if limits, turn and nodes let it have one."""
        plan, shape = self.plan, (ask.size, ask.label)
        if shape in self.full:
            plan.wait(ask, no_room(self.view, ask))
            return False
        limit = plan.limited(ask)
        if limit is not None:
            plan.wait(ask, limit)
        if limit is not None or not plan.allows(ask):
            return False
        node = plan.place(ask)
        if node is None:
            if self.view.first_fit(*shape) is None:
                self.full.add(shape)
                plan.wait(ask, no_room(self.view, ask))
            else:
                plan.wait(ask, "LOCALITY" if not ask.relax_locality else "BLACKLISTED")
            return False
        plan.grant(ask, node)
        return True

    def _hold(self) -> None:
        """Room for what must start and fits nowhere; remember who waits."""
        by_shape: dict[Shape, list[Ask]] = {}
        for due in self.waiting:
            by_shape.setdefault((due.ask.size, due.ask.label), []).append(due.ask)
        waited, now_ms = self._waited(), self.view.now_ms
        rows = (due.ask.key for due in self.waiting)
        self.jobs.memory["waited"] = sorted([*key, waited.get(key, now_ms)] for key in rows)
        want_first(self.plan, lambda s: by_shape.get(s, ()), self.options.hold_after_ms)
        if self.options.loan == "preempt":
            reclaim(self.plan, self.jobs, self.waiting)


def _by_work(job: Job) -> tuple[float, int, int]:
    return job.work, job.app.submitted_ms, job.app.number


def ams_and(job: Job, ask: Ask) -> list[int]:
    """What a job holds that has its masters and one such task: so much anybody may have."""
    held = [0] * len(job.app.used)
    for container in job.app.containers:
        if not container.is_am:
            break
        held = [h + s for h, s in zip(held, container.size, strict=True)]
    return [h + s for h, s in zip(held, ask.size, strict=True)]
