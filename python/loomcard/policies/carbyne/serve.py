"""One call: masters, then what must start, then what is left over, on the nodes as they are now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from loomcard import RULE_MS, SHARE, Application, Ask, Chooser, ExhaustedShapes, Plan, Reason, Shape
from loomcard.advanced import Entry, ShapeLines, report_waiting, want_first
from loomcard.policies.carbyne.job import Due, Job
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.loans import Guard, reclaim
from loomcard.policies.carbyne.packing import alignment
from loomcard.policies.carbyne.waves import add, fits

LOAN = "LOAN"
"""The reason of an ask that gets nothing of what is left over: its lenders need it sooner."""


class Serving(Chooser):
    """Offer masters, then what must start, then what is left over; count what was allocated.

    Each turn of the round begins again, and the number of turns changes nothing in the memory.
    """

    def __init__(self, plan: Plan, jobs: Jobs) -> None:
        super().__init__(plan.view.queue)
        self.plan, self.view = plan, plan.view
        self.jobs, self.open, self.options = jobs, jobs.open, jobs.options
        self.whole = [float(c) for c in plan.view.cluster_capacity]
        self.started: dict[Application, int] = {}  # tasks that had to start
        self.borrowed: dict[Application, int] = {}
        self._offers: Iterator[Ask] = iter(())
        self._got = False  # whether the last offer was taken
        self._loan: tuple[list[float] | None, Guard | None] | None = None  # if the offer is a loan

    def update(self) -> None:
        """Begin the turn."""
        self.open.begin(self.view)
        self._offers = self._offered()

    def next(self, full: ExhaustedShapes) -> Ask | None:  # noqa: ARG002 - ``open`` knows them
        """Return the next offer."""
        return next(self._offers, None)

    def allocated(self, chosen: Ask, ask: Ask) -> None:  # noqa: ARG002
        """Count one more started task of its job."""
        self._got = True
        job = self.jobs.by_app[ask.application]
        job.allocated(ask)
        self.jobs.users[job.app] = job
        if self._loan is not None:
            self._lent(job, ask, *self._loan)
        elif (due := job.dues.get(ask)) is not None:
            self._started(job, ask, due)

    def passed(self, chosen: Ask, *, forbidden: bool) -> None:  # noqa: ARG002
        """Note that the offer was not taken."""
        self._got = False

    def filled(self, ask: Ask) -> None:
        """Count a task that started in the room that was reserved for it."""
        if (job := self.jobs.by_app.get(ask.application)) is not None:
            job.allocated(ask)
            self.jobs.users[job.app] = job
            if (due := job.dues.get(ask)) is not None:
                self._started(job, ask, due)

    def end(self) -> None:
        """Let asks and jobs that were set aside try again in the next call."""
        self.jobs.due_lines.put_back()
        self.jobs.asking_lines.put_back()

    def report(self, plan: Plan) -> None:
        """Report that jobs that changed wait for room."""
        report_waiting(plan, self.jobs.unreported)

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Reserve for tasks that must start and do not fit, or take loans back for them."""
        want_first(plan, self._dues_of, after_ms)
        if self.options.loan == "preempt":
            reclaim(plan, self.jobs)

    def _offered(self) -> Iterator[Ask]:
        """Yield each ask in its order."""
        self._loan = None
        masters = self.jobs.masters.values()
        closed = set[Shape]()  # what the queue's limit for AMs forbids to all
        for job in sorted(masters, key=lambda job: (job.app.submitted_ms, job.app.number)):
            for ask in job.app.asks:
                shape = ask.size, ask.label
                while ask.is_am and ask.count > 0 and shape not in closed and self._fits(ask):
                    yield ask
                    if not self._got:
                        if self.plan.limited(ask) == Reason.AM_LIMIT:
                            closed.add(shape)
                        break
        yield from self._dues()
        if not self.open.none():
            yield from self._loans()

    def _fits(self, ask: Ask) -> bool:
        """Return whether some node has room; ``report`` says why other asks wait."""
        return self.open.find((ask.size, ask.label)) is not None

    # What must start

    def _dues(self) -> Iterator[Ask]:
        """Yield the best ask first (2.5-11), all its tasks, until nothing fits."""
        dues = self.jobs.due_lines
        shapes = [shape for shape in dues.shapes() if shape in self.open]
        rank = self._due_rank(shapes)
        while True:
            shape, ask = self._first(dues, shapes, rank)
            if shape is None:
                return
            job = self.jobs.by_app[ask.application]
            while ask in job.dues and self._fits(ask):
                yield ask
                if not self._got:
                    break
            if ask in job.dues:
                dues.set_aside(shape)

    def _due_rank(self, shapes: list[Shape]) -> Callable[[Shape, Entry], Any]:
        """Return a rank: first what has had to start for the longest time; then by
        ``default_rule``: alignment minus the price of the remaining work, or the work alone; ties
        by submission.
        """
        if self.options.default_rule == "srtf" or len(shapes) == 1:  # nothing to compare
            return lambda _, entry: entry[:5]
        free, lines = self.view.free, self.jobs.due_lines
        aligned = {shape: alignment(shape[0], free, self.whole) for shape in shapes}
        total = sum(lines.sum_of(shape) for shape in shapes)
        price = sum(aligned[s] * lines.count(s) for s in shapes) / total if total else 0.0
        return lambda shape, entry: (entry[0], price * entry[1] - aligned[shape], *entry[2:5])

    def _started(self, job: Job, ask: Ask, due: Due) -> None:
        """Count a started task that had to start."""
        self.started[job.app] = self.started.get(job.app, 0) + 1
        left = 0 if ask.count == 0 else due.tasks - 1
        job.must_start -= due.tasks - left
        self.jobs.must -= due.tasks - left
        due.tasks = left
        if left == 0:
            job.served(ask)
            self.jobs.due_lines.leave((ask.size, ask.label), ask)

    def _dues_of(self, shape: Shape) -> Iterable[Ask]:
        return [entry[-1] for entry in self.jobs.due_lines.entries(shape)]

    # What is left over

    def _loans(self) -> Iterator[Ask]:
        """Yield loans of room that no job must have now, one container at a time (2.4)."""
        shapes = [shape for shape in self.jobs.asking_lines.shapes() if shape in self.open]
        rooms = self._rooms() if self.options.loan == "preempt" else {}
        guard = Guard(self.jobs, self.view) if shapes and self.options.loan == "guarded" else None
        lines = self.jobs.asking_lines
        while True:
            shape, app = self._next_borrower(lines, shapes)
            if shape is None:
                return
            asks = asks_for(app, shape)
            if self.options.loan != "free":  # otherwise its early tasks fill its share
                asks.sort(key=self.jobs.by_app[app].latest_ms)
            for ask in asks:
                if self._may_borrow(ask, rooms.get(ask.label), guard) and self._fits(ask):
                    yield ask
                    if self._got:
                        break
            else:
                lines.set_aside(shape)
                shapes = [shape for shape in shapes if shape in self.open]

    def _next_borrower(self, lines: ShapeLines, shapes: list[Shape]) -> tuple[Shape | None, Any]:
        """Return the shape and the job of the next loan; jobs below ``most_borrowed`` go first.

        ``srtf``: the job with the least remaining work, and the shape of its best aligned task;
        ``pack``: the shape of the best aligned task, and its job with the least work.
        """
        free = self.view.free
        if self.options.leftover_rule == "pack":
            return self._first(lines, shapes, lambda s, entry: (
                entry[0], -alignment(s[0], free, self.whole), *entry[1:4], s
            ))  # fmt: skip
        best, found = None, []
        for shape in shapes:
            entry = lines.top(shape) if shape in self.open else None
            if entry is not None and (best is None or entry[:4] <= best[:4]):
                found = [shape] if best is None or entry[:4] < best[:4] else [*found, shape]
                best = entry
        if best is None:
            return None, None
        # Lines are in no certain order after a restart, so that of two alike the shape decides.
        return max(found, key=lambda s: (alignment(s[0], free, self.whole), s)), best[-1]

    def _may_borrow(self, ask: Ask, room: list[float] | None, guard: Guard | None) -> bool:
        """Return whether ``room``, and what ``guard`` leaves, allow a loan for one task."""
        if room is not None and not fits(ask.size, room):
            self.plan.wait(ask, SHARE, self.view.now_ms + RULE_MS)
            return False
        job = self.jobs.by_app[ask.application]
        if guard is not None and job.latest_ms(ask) <= self.view.now_ms:
            guard = None  # its room is planned: only its own early tasks keep it waiting
        if guard is not None and not guard.allows(job, ask):
            self.plan.wait(ask, LOAN, self.view.now_ms + RULE_MS)
            return False
        self._loan = room, guard
        return True

    def _lent(self, job: Job, ask: Ask, room: list[float] | None, guard: Guard | None) -> None:
        if room is not None:
            add(room, ask.size, -1)
        if guard is not None:
            guard.lent(job, ask)
        self.borrowed[job.app] = self.borrowed.get(job.app, 0) + 1
        self.jobs.enter_borrower(job)

    def _rooms(self) -> dict[str, list[float]]:
        """Return, by node label, what its partition may lend; a label not in it lends all."""
        rooms: dict[str, list[float]] = {}
        now_ms = self.view.now_ms
        for shape in self.jobs.due_lines.shapes():
            size, label = shape
            if label not in self.view.partitions or shape in self.open:
                continue
            for ask in self._dues_of(shape):
                due = self.jobs.by_app[ask.application].dues[ask]
                if due.planned and now_ms - due.since_ms < self.options.reserve_after_ms:
                    if label not in rooms:  # what is free and not reserved
                        nodes = self.view.partitions[label].nodes.values()
                        rooms[label] = [float(sum(r)) for r in zip(*(n.room for n in nodes))]  # noqa: B905
                    add(rooms[label], size, len(ask.reservations) - due.tasks)
        return rooms

    # One container

    def _first(
        self, lines: ShapeLines, shapes: list[Shape], rank: Callable[[Shape, Entry], Any]
    ) -> tuple[Shape | None, Any]:  # fmt: skip
        """Return the shape that may fit with the best first entry, and what that entry is for."""
        found, whose, best = None, None, None
        for shape in shapes:
            entry = lines.top(shape) if shape in self.open else None
            if entry is not None:
                own = rank(shape, entry)
                if best is None or own < best:
                    found, whose, best = shape, entry[-1], own
        return found, whose


def asks_for(app: Application, shape: Shape) -> list[Ask]:
    """Return the asks of an application for a shape, without its AM's."""
    size: Sequence[int] = shape[0]  # mypyc compares two of type Resource by identity
    return [
        ask for ask in app.asks
        if ask.count > 0 and not ask.is_am and ask.label == shape[1] and ask.size == size
    ]  # fmt: skip
