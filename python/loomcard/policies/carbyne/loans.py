"""Loans that harm no lender: guarded, so that they end in time, or taken back by force (2.8)."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from loomcard import Ask, ClusterView, Container, Node, Plan
from loomcard.advanced import AskKey, why_never
from loomcard.policies.carbyne.estimates import HEARTBEAT_MS
from loomcard.policies.carbyne.job import Job, left_ms
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.waves import EPS, Profile, Vector, add, fits, parts

ASKING_MS = 2 * HEARTBEAT_MS
"""How long after its planned start a stage is asked for at the latest, if its hint is right."""

Loan = tuple[float, int, int, Job, Container]
"""When it was planned to start, when it was allocated, its number, its job, and the container."""

REASON = "carbyne-loan"
"""Why a container is taken back."""


class Guard:
    """What is free over time, without all that runs, is planned or was lent; up to the time at
    which the longest task would end that may be lent now.
    """

    def __init__(self, jobs: Jobs, view: ClusterView) -> None:
        self._jobs, self._now_ms, self._whole = jobs, view.now_ms, view.cluster_capacity
        self._profile = Profile([1.0 if c else 0.0 for c in self._whole], EPS)
        self._parts: dict[tuple[float, ...], list[float]] = {}  # of the cluster, by size
        mean_ms = jobs.learnt.estimates.mean_ms
        self._until_ms = self._now_ms + max(
            [max([mean_ms(job.app), *job.durations]) for job in jobs.by_app.values()], default=0.0
        )
        self._profile.fill([use for job in jobs.by_app.values() for use in self._uses(job)])

    def _part(self, size: tuple[float, ...]) -> list[float]:
        found = self._parts.get(size)
        if found is None:
            found = self._parts[size] = parts([size], self._whole)[0]
        return found

    def _uses(self, job: Job) -> Iterator[tuple[float, float, Vector, int]]:
        """Yield when a job's tasks run (start and end in ms from now), the part of the cluster that
        each needs, and their number.

        A stage that should have been asked for by now and was not holds no room, nor do those
        after it: its hint may be wrong.
        """
        for container in job.app.containers:
            expected = self._expected(job, container.ask_key)
            left = inf if container.is_am else left_ms(container, expected, self._now_ms)
            yield 0.0, left, self._part(tuple(container.size)), 1
        if job.plan is None or job.dag is None:
            return
        started = [b - w for b, w in zip(job.plan["waiting"], job.waiting, strict=True)]
        missed = set[int]()
        for start, stage, tasks in zip(*job.plan["late"], strict=True):
            if start > self._until_ms:  # they are in the order of their starts
                return
            left_over = max(0, tasks - max(0, started[stage]))
            started[stage] -= tasks - left_over
            overdue = start + ASKING_MS < self._now_ms and not job.asked[stage]
            if overdue or not missed.isdisjoint(job.dag.stages[stage].after):
                missed.add(stage)
            if left_over and stage not in missed:
                begin = max(0.0, start - self._now_ms)
                size = self._part(tuple(job.dag.sizes[stage]))
                yield begin, begin + job.durations[stage], size, left_over

    def _expected(self, job: Job, key: AskKey) -> float:
        stage = job.stage_of(key)
        mean_ms = self._jobs.learnt.estimates.mean_ms
        return mean_ms(job.app) if stage is None else job.durations[stage]

    def allows(self, job: Job, ask: Ask) -> bool:
        """Return whether one more task, from now to its end, leaves room for all planned tasks."""
        size, end = self._part(tuple(ask.size)), self._expected(job, ask.key)
        rows = zip(self._profile.at, self._profile.free, strict=True)
        return all(fits(size, free) for at, free in rows if at < end - EPS)

    def lent(self, job: Job, ask: Ask) -> None:
        """Count one started task of the ask."""
        end = self._expected(job, ask.key)
        self._profile.take(0.0, end, self._part(tuple(ask.size)), 1)


def reclaim(plan: Plan, jobs: Jobs) -> None:
    """Take back what jobs use beyond their shares, for one task that then fits.

    It is the task that has had to start for the longest time and fits nowhere. What goes first was
    planned for the latest time, the youngest of these. One at a time: while a container is being
    taken back, nothing else is.
    """
    every = [c for job in jobs.by_app.values() for c in job.app.containers]
    if any(c.preempting_since is not None for c in every):
        return
    lines = jobs.due_lines
    rows = [(entry, shape[0]) for shape in lines.shapes() for entry in lines.entries(shape)]
    for entry, size in sorted(rows, key=lambda row: row[0][:5]):
        ask = entry[-1]
        owner = jobs.by_app[ask.application]
        if not owner.dues[ask].planned or plan.limited(ask) is not None:
            continue
        if plan.place(ask) is not None:  # it fits: a turn, or a rule of placement, keeps it waiting
            continue
        others = (job for job in jobs.by_app.values() if job is not owner)
        lent = [row for job in others for row in loans(job, plan.view.now_ms)]
        lent.sort(key=lambda row: row[:3], reverse=True)
        taken = _making_room(lent, ask, size)
        for container in taken:
            plan.preempt(container, 0, REASON)
        if taken:
            return


def loans(job: Job, now_ms: int) -> list[Loan]:
    """Return its containers that were allocated before now and are beyond its share. Tasks that
    started sooner than planned are so first.

    What is taken back must not be due at once, or two jobs would take it from each other for ever.
    """
    found, used = list[Loan](), job.app.used
    due = [u - e for u, e in zip(used, job.early(now_ms), strict=True)]
    for c in job.app.containers:
        if c.number and not c.is_am and c.allocated_ms < now_ms:
            planned_ms = job.planned_ms(c.ask_key)
            if _beyond(job, due if -inf < planned_ms <= now_ms else used, c):
                found.append((planned_ms, c.allocated_ms, c.number, job, c))
    return found


def _beyond(job: Job, used: Vector, container: Container) -> bool:
    """Return whether ``used`` is beyond the share in a type that the container uses; masters plus
    one such container never are.
    """
    rows = zip(used, job.share, job.masters, container.size, strict=True)
    return any(use > max(most, held + size) for use, most, held, size in rows if size)


def _making_room(lent: list[Loan], ask: Ask, size: tuple[int, ...]) -> list[Container]:
    """Return the first container that alone makes room for an ask; if there is none, the fewest on
    one node that do together.
    """
    found: list[Container] = []
    rooms: dict[Node, tuple[list[float], dict[Job, list[float]], list[Container]]] = {}
    for *_, job, container in lent:
        node = container.node
        if why_never(ask, node) is not None:
            continue
        alone = [float(amount) for amount in node.room]
        room, uses, taken = rooms.setdefault(node, (list(alone), {}, []))
        add(alone, container.size, 1)
        if fits(size, alone):
            return [container]
        used = uses.setdefault(job, [float(amount) for amount in job.app.used])
        if _beyond(job, used, container):
            add(room, container.size, 1)
            add(used, container.size, -1)
            taken.append(container)
            if fits(size, room) and (not found or len(taken) < len(found)):
                found = list(taken)
    return found
