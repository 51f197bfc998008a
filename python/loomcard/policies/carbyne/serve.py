"""One call: masters, then what must start, then what is left over, on the nodes as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomcard import (
    SHARE,
    Application,
    Ask,
    ExhaustedShapes,
    Plan,
    Shape,
    report_waiting,
    serve_holds,
    want_first,
)
from loomcard.policies.carbyne.job import Due, Job
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.line import Entry, Group
from loomcard.policies.carbyne.loans import Guard, reclaim
from loomcard.policies.carbyne.packing import alignment
from loomcard.policies.carbyne.waves import add, holds

LOAN = "LOAN"
"""The reason of an ask that gets nothing of what is left over, since its lenders need it sooner."""


class Serving:
    """The grants of one call, and what they were for."""

    def __init__(self, plan: Plan, jobs: Jobs) -> None:
        self.plan, self.view = plan, plan.view
        self.jobs, self.line, self.options = jobs, jobs.line, jobs.options
        self.full = ExhaustedShapes(plan.view)
        self.lending = plan.view.lending
        self.whole = [float(c) for c in plan.view.cluster_capacity]
        self.started: dict[Application, int] = {}  # of what must start
        self.borrowed: dict[Application, int] = {}

    def run(self) -> None:
        """Serve everybody, until nothing fits; hold room for what must start and does not fit. A
        later turn of the round goes on: how many there are changes nothing in the memory.
        """
        plan, view = self.plan, self.view
        self.lending = view.lending
        self.line.see_nodes()
        if view.holds and not plan.spent:
            self._serve_holds()
        if not plan.spent:
            self._serve_masters()
            self._serve_dues()
        if not plan.spent and not self.full.everything():
            self._lend()
        if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
            report_waiting(plan, self.jobs.unreported)
            want_first(plan, self.line.dues_of, self.options.hold_after_ms)
            if self.options.loan == "preempt":
                reclaim(plan, self.jobs)

    def _serve_holds(self) -> None:
        held = {hold.ask: hold.ask.count for hold in self.view.holds}
        serve_holds(self.plan, lambda queue: queue is self.view.queue)
        for ask, count in held.items():
            if ask.count < count and (job := self.jobs.by_app.get(ask.application)) is not None:
                job.granted(ask)
                if (due := job.dues.get(ask)) is not None:
                    self._started(job, ask, due)

    def _serve_masters(self) -> None:
        masters = self.jobs.masters
        for job in sorted(masters.values(), key=lambda job: (job.app.submitted_ms, job.app.number)):
            for ask in job.app.asks:
                while ask.is_am and ask.count > 0 and self._grant(ask):
                    job.granted(ask)

    # What must start

    def _serve_dues(self) -> None:
        """The best first (2.5-11), all its tasks, until nothing fits."""
        groups = [group for group in self._open_groups() if group.due]
        rank, aside = self._due_rank(groups), []
        while not self.plan.spent:
            group, ask = self._first(groups, lambda g: g.due_order.top(), rank)
            if group is None:
                break
            if not self._start(ask):
                aside.append((group, group.due_order.pop()))
        for group, entry in aside:
            if group.due.get(entry[-1]) is entry:
                group.due_order.push(entry)

    def _due_rank(self, groups: list[Group]) -> Callable[[Group, Entry], Any]:
        """What has had to start for the longest time; then by ``default_rule``: alignment less the
        price of the remaining work, or the work alone; ties by submission.
        """
        if self.options.default_rule == "srtf":
            return lambda _, entry: entry[:5]
        free = self.view.free
        aligned = {g.shape: alignment(g.size, free, self.whole) for g in groups}
        total = sum(group.work for group in groups)
        price = sum(aligned[g.shape] * len(g.due) for g in groups) / total if total else 0.0

        def rank(group: Group, entry: Entry) -> tuple[Any, ...]:
            return (entry[0], price * entry[1] - aligned[group.shape], *entry[2:5])

        return rank

    def _start(self, ask: Ask) -> bool:
        """As many of its tasks as fit; whether all that must start did."""
        job = self.jobs.by_app[ask.application]
        due = job.dues[ask]
        while ask in job.dues and not self.plan.spent and self._grant(ask):
            job.granted(ask)
            self._started(job, ask, due)
        return ask not in job.dues

    def _started(self, job: Job, ask: Ask, due: Due) -> None:
        """One task did that had to."""
        self.started[job.app] = self.started.get(job.app, 0) + 1
        due.tasks -= 1
        if due.tasks == 0 or ask.count == 0:
            job.served(ask)
            self.line.groups[ask.size, ask.label].leave_due(ask)

    # What is left over

    def _lend(self) -> None:
        """What nobody must have now, one container at a time (2.4)."""
        groups = [group for group in self._open_groups() if group.asking]
        rooms = self._rooms() if self.options.keep_back else {}
        guard = Guard(self.jobs, self.view) if groups and self.options.loan == "guarded" else None
        first = self._least_work if self.options.leftover_rule == "srtf" else self._best_aligned
        aside: list[tuple[Group, Entry]] = []
        while not self.plan.spent:
            group, app = first(groups)
            if group is None:
                break
            if not any(self._lend_one(ask, rooms, guard) for ask in asks_for(app, group)):
                aside.append((group, group.asking_order.pop()))
                groups = [group for group in groups if not self._closed(group.shape)]
        for group, entry in aside:
            if group.asking.get(entry[-1]) is entry:
                group.asking_order.push(entry)

    def _open_groups(self) -> list[Group]:
        """Those whose shape may fit somewhere."""
        nowhere = () if self.lending else self.line.nowhere
        rows = self.line.groups.items()
        return [g for shape, g in rows if shape not in nowhere and not self._closed(shape)]

    def _closed(self, shape: Shape) -> bool:
        """It fits nowhere; while partitions lend, other nodes are asked for than else."""
        return shape in self.full or (not self.lending and self.line.fits_nowhere(shape))

    def _least_work(self, groups: list[Group]) -> tuple[Group | None, Any]:
        """The job with the least remaining work, and the shape of its best aligned task."""
        best, found = None, []
        for group in groups:
            entry = None if self._closed(group.shape) else group.asking_order.top()
            if entry is not None and (best is None or entry[:3] <= best[:3]):
                found = [group] if best is None or entry[:3] < best[:3] else [*found, group]
                best = entry
        if best is None:
            return None, None
        free = self.view.free
        return max(found, key=lambda g: alignment(g.size, free, self.whole)), best[-1]

    def _best_aligned(self, groups: list[Group]) -> tuple[Group | None, Any]:
        """The shape of the best aligned task of all, and the job with the least work."""
        free = self.view.free

        def rank(group: Group, entry: Entry) -> Any:
            return -alignment(group.size, free, self.whole), *entry[:3]

        return self._first(groups, lambda group: group.asking_order.top(), rank)

    def _lend_one(self, ask: Ask, rooms: dict[str, list[float]], guard: Guard | None) -> bool:
        room = rooms.get(ask.label)
        if room is not None and not holds(ask.size, room):
            self.plan.wait(ask, SHARE)
            return False
        job = self.jobs.by_app[ask.application]
        if guard is not None and not guard.allows(job, ask):
            self.plan.wait(ask, LOAN)
            return False
        if not self._grant(ask):
            return False
        job.granted(ask)
        if room is not None:
            add(room, ask.size, -1)
        if guard is not None:
            guard.lent(job, ask)
        self.borrowed[job.app] = self.borrowed.get(job.app, 0) + 1
        return True

    def _rooms(self) -> dict[str, list[float]]:
        """By node label, what may be lent of its partition; all that fits where none is named."""
        rooms: dict[str, list[float]] = {}
        for group in self.line.groups.values():
            partition = self.view.partitions.get(group.label)
            if partition is None or not self._closed(group.shape):
                continue
            for ask in group.due:
                due = self.jobs.by_app[ask.application].dues[ask]
                if due.planned:
                    room = rooms.setdefault(group.label, self._unheld(group.label))
                    add(room, group.size, len(ask.holds) - due.tasks)
        return rooms

    def _unheld(self, label: str) -> list[float]:
        """What is free in a partition, less the room that is held."""
        free = [float(amount) for amount in self.view.partitions[label].free]
        for hold in self.view.holds:
            if hold.node.label == label:
                kept = zip(hold.node.free, hold.node.room, strict=True)
                add(free, [max(0, f - room) for f, room in kept], -1)
        return free

    # One container

    def _first(
        self, groups: list[Group], top: Callable[[Group], Entry | None],
        rank: Callable[[Group, Entry], Any],
    ) -> tuple[Group | None, Any]:  # fmt: skip
        """The group whose first entry ranks first, of the shapes that fit somewhere, and whose
        entry that is.
        """
        found, whose, best = None, None, None
        for group in groups:
            entry = None if self._closed(group.shape) else top(group)
            if entry is not None:
                own = rank(group, entry)
                if best is None or own < best:
                    found, whose, best = group, entry[-1], own
        return found, whose

    def _grant(self, ask: Ask) -> bool:
        """One container for an ask, if nodes, limits and turn let it have one. Why asks of a shape
        that fits nowhere wait is said at the end.
        """
        plan, shape = self.plan, (ask.size, ask.label)
        if self._closed(shape):
            return False
        if self.view.first_fit(*shape) is None:
            self.full.add(shape)
            if not self.lending:
                self.line.close(shape)
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
        plan.grant(ask, node)
        return True


def asks_for(app: Application, group: Group) -> list[Ask]:
    """What an application asks for of a shape, but for its AM."""
    return [
        ask for ask in app.asks
        if ask.count > 0 and not ask.is_am and (ask.size, ask.label) == group.shape
    ]  # fmt: skip
