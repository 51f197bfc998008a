"""One call: masters, then what must start, then what is left over, on the nodes as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loomcard import (
    RULE_MS,
    SHARE,
    Application,
    Ask,
    Entry,
    Plan,
    Shape,
    ShapeLines,
    report_waiting,
    serve_reservations,
    want_first,
)
from loomcard.policies.carbyne.job import Due, Job
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.loans import Guard, reclaim
from loomcard.policies.carbyne.packing import alignment
from loomcard.policies.carbyne.waves import add, fits

LOAN = "LOAN"
"""The reason of an ask that gets nothing of what is left over, since its lenders need it sooner."""


class Serving:
    """The allocations of one call, and what they were for."""

    def __init__(self, plan: Plan, jobs: Jobs) -> None:
        self.plan, self.view = plan, plan.view
        self.jobs, self.open, self.options = jobs, jobs.open, jobs.options
        self.whole = [float(c) for c in plan.view.cluster_capacity]
        self.started: dict[Application, int] = {}  # of what must start
        self.borrowed: dict[Application, int] = {}

    def run(self) -> None:
        """Serve everybody, until nothing fits; reserve room for what must start and does not fit. A
        later turn of the round goes on: how many there are changes nothing in the memory.
        """
        plan, view = self.plan, self.view
        self.open.begin(view)
        if view.reservations and not plan.spent:
            self._serve_reservations()
        if not plan.spent:
            self._serve_masters()
            self._serve_dues()
        if not plan.spent and not self.open.none():
            self._lend()
        if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
            report_waiting(plan, self.jobs.unreported)
            want_first(plan, self._dues_of, self.options.reserve_after_ms)
            if self.options.loan == "preempt":
                reclaim(plan, self.jobs)

    def _serve_reservations(self) -> None:
        reserved = {
            reservation.ask: reservation.ask.count for reservation in self.view.reservations
        }
        serve_reservations(self.plan, lambda queue: queue is self.view.queue)
        for ask, count in reserved.items():
            if ask.count < count and (job := self.jobs.by_app.get(ask.application)) is not None:
                job.allocated(ask)
                if (due := job.dues.get(ask)) is not None:
                    self._started(job, ask, due)

    def _serve_masters(self) -> None:
        masters = self.jobs.masters
        for job in sorted(masters.values(), key=lambda job: (job.app.submitted_ms, job.app.number)):
            for ask in job.app.asks:
                while ask.is_am and ask.count > 0 and self._allocate(ask):
                    job.allocated(ask)

    # What must start

    def _serve_dues(self) -> None:
        """The best first (2.5-11), all its tasks, until nothing fits."""
        dues = self.jobs.due_lines
        shapes = [shape for shape in dues.shapes() if shape in self.open]
        rank = self._due_rank(shapes)
        while not self.plan.spent:
            shape, ask = self._first(dues, shapes, rank)
            if shape is None:
                break
            if not self._start(ask):
                dues.set_aside(shape)
        dues.put_back()

    def _due_rank(self, shapes: list[Shape]) -> Callable[[Shape, Entry], Any]:
        """What has had to start for the longest time; then by ``default_rule``: alignment less the
        price of the remaining work, or the work alone; ties by submission.
        """
        if self.options.default_rule == "srtf":
            return lambda _, entry: entry[:5]
        free, entries = self.view.free, self.jobs.due_lines.entries
        aligned = {shape: alignment(shape[0], free, self.whole) for shape in shapes}
        works = {shape: [entry[1] for entry in entries(shape)] for shape in shapes}
        total = sum(sum(each) for each in works.values())
        price = sum(aligned[s] * len(works[s]) for s in shapes) / total if total else 0.0
        return lambda shape, entry: (entry[0], price * entry[1] - aligned[shape], *entry[2:5])

    def _start(self, ask: Ask) -> bool:
        """As many of its tasks as fit; whether all that must start did."""
        job = self.jobs.by_app[ask.application]
        due = job.dues[ask]
        while ask in job.dues and not self.plan.spent and self._allocate(ask):
            job.allocated(ask)
            self._started(job, ask, due)
        return ask not in job.dues

    def _started(self, job: Job, ask: Ask, due: Due) -> None:
        """One task did that had to."""
        self.started[job.app] = self.started.get(job.app, 0) + 1
        due.tasks -= 1
        if due.tasks == 0 or ask.count == 0:
            job.served(ask)
            self.jobs.due_lines.leave((ask.size, ask.label), ask)

    def _dues_of(self, shape: Shape) -> Iterable[Ask]:
        return [entry[-1] for entry in self.jobs.due_lines.entries(shape)]

    # What is left over

    def _lend(self) -> None:
        """What nobody must have now, one container at a time (2.4)."""
        shapes = [shape for shape in self.jobs.asking_lines.shapes() if shape in self.open]
        rooms = self._rooms() if self.options.loan == "preempt" else {}
        guard = Guard(self.jobs, self.view) if shapes and self.options.loan == "guarded" else None
        lines = self.jobs.asking_lines
        while not self.plan.spent:
            shape, app = self._next_borrower(lines, shapes)
            if shape is None:
                break
            asks = asks_for(app, shape)
            if self.options.loan == "guarded":  # else its early tasks fill its share
                asks.sort(key=self.jobs.by_app[app].latest_ms)
            if not any(self._lend_one(ask, rooms, guard) for ask in asks):
                lines.set_aside(shape)
                shapes = [shape for shape in shapes if shape in self.open]
        lines.put_back()

    def _next_borrower(self, lines: ShapeLines, shapes: list[Shape]) -> tuple[Shape | None, Any]:
        """Of jobs below ``most_borrowed``, if any: of ``srtf`` the one with the least remaining
        work, and the shape of its best aligned task; of ``pack`` the shape of the best aligned
        task, and the job with the least work.
        """
        free = self.view.free
        if self.options.leftover_rule == "pack":
            return self._first(lines, shapes, lambda s, entry: (
                entry[0], -alignment(s[0], free, self.whole), *entry[1:4]
            ))  # fmt: skip
        best, found = None, []
        for shape in shapes:
            entry = lines.top(shape) if shape in self.open else None
            if entry is not None and (best is None or entry[:4] <= best[:4]):
                found = [shape] if best is None or entry[:4] < best[:4] else [*found, shape]
                best = entry
        if best is None:
            return None, None
        return max(found, key=lambda s: alignment(s[0], free, self.whole)), best[-1]

    def _lend_one(self, ask: Ask, rooms: dict[str, list[float]], guard: Guard | None) -> bool:
        room = rooms.get(ask.label)
        if room is not None and not fits(ask.size, room):
            self.plan.wait(ask, SHARE, self.view.now_ms + RULE_MS)
            return False
        job = self.jobs.by_app[ask.application]
        if guard is not None and job.latest_ms(ask) <= self.view.now_ms:
            guard = None  # its room is in what is planned: only its own early tasks keep it waiting
        if guard is not None and not guard.allows(job, ask):
            self.plan.wait(ask, LOAN, self.view.now_ms + RULE_MS)
            return False
        if not self._allocate(ask):
            return False
        job.allocated(ask)
        if room is not None:
            add(room, ask.size, -1)
        if guard is not None:
            guard.lent(job, ask)
        self.borrowed[job.app] = self.borrowed.get(job.app, 0) + 1
        self.jobs.enter_borrower(job)
        return True

    def _rooms(self) -> dict[str, list[float]]:
        """By node label, what may be lent of its partition; all that fits where none is named."""
        rooms: dict[str, list[float]] = {}
        for shape in self.jobs.due_lines.shapes():
            size, label = shape
            if label not in self.view.partitions or shape in self.open:
                continue
            for ask in self._dues_of(shape):
                due = self.jobs.by_app[ask.application].dues[ask]
                if due.planned:
                    if label not in rooms:  # what is free, less what is held
                        nodes = self.view.partitions[label].nodes.values()
                        rooms[label] = [float(sum(r)) for r in zip(*(n.room for n in nodes))]  # noqa: B905
                    add(rooms[label], size, len(ask.reservations) - due.tasks)
        return rooms

    # One container

    def _first(
        self, lines: ShapeLines, shapes: list[Shape], rank: Callable[[Shape, Entry], Any]
    ) -> tuple[Shape | None, Any]:  # fmt: skip
        """Which shape's first entry ranks first, of those that may fit, and whose entry that is."""
        found, whose, best = None, None, None
        for shape in shapes:
            entry = lines.top(shape) if shape in self.open else None
            if entry is not None:
                own = rank(shape, entry)
                if best is None or own < best:
                    found, whose, best = shape, entry[-1], own
        return found, whose

    def _allocate(self, ask: Ask) -> bool:
        """One container for an ask, if nodes, limits and turn let it have one. Why asks of a shape
        that fits nowhere wait is said at the end.
        """
        plan = self.plan
        if self.open.find((ask.size, ask.label)) is None:
            return False
        limit = plan.limited(ask)
        if limit is not None:
            plan.wait(ask, limit)
        if limit is not None or not plan.allows(ask):
            return False
        node = plan.place(ask)
        if node is None:
            plan.wait(ask, "LOCALITY" if not ask.relax_locality else "BLACKLISTED")
            return False
        plan.allocate_checked(ask, node)
        return True


def asks_for(app: Application, shape: Shape) -> list[Ask]:
    """What an application asks for of a shape, but for its AM."""
    return [
        ask for ask in app.asks
        if ask.count > 0 and not ask.is_am and (ask.size, ask.label) == shape
    ]  # fmt: skip
