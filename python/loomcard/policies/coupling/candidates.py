"""Wait Scheduling (Algorithm 2) on a queue's jobs: which reduce waits, and for which node."""

from __future__ import annotations

from collections import Counter

from loomcard import Ask, Node, Plan, Shape, fits
from loomcard.advanced import draw
from loomcard.policies.coupling.jobs import Job, Jobs, Memory
from loomcard.policies.coupling.paper import Lists, Tasks, Waiting, mismatch, on_heartbeat, takes
from loomcard.policies.coupling.places import Listed, Places


class Candidates:
    """The jobs as Algorithm 2 needs them (``Reduces``), with one or several candidates."""

    def __init__(self, plan: Plan, jobs: Jobs, places: Places, memory: Memory) -> None:
        self.plan, self.view = plan, plan.view
        self.jobs, self.places, self.memory = jobs, places, memory
        self.options = jobs.options
        self._most = self.options.candidates(self.view.node_count)
        self._waiting = memory.waiting[0]  # the candidate that Algorithm 2 now looks at
        self._listed: dict[tuple[str | None, int], Listed] = {}  # the lists that are known then
        self._here: Node  # and the node with the heartbeat
        self._known: dict[Shape, bool] = {}  # at this heartbeat: is there room for the shape?

    def allowed(self, node: Node, counts: bool) -> list[Waiting]:
        """Return the candidates that may start a reduce on the node, longest wait first.

        At most one new candidate is chosen; none if the heartbeat was already counted
        (``counts`` is False).
        """
        memory, n = self.memory, self.view.node_count
        self._here, self._known = node, {}
        memory.beats += counts
        candidates = memory.candidates(self._most)
        if not self.jobs.eligible:
            for waiting in candidates if counts else ():
                if waiting.candidate is not None:
                    waiting.reset()  # as Algorithm 2 does with each, and then finds no other job
            return []
        chosen, allowed = not counts, []
        full = not any(
            fits(size, node.room) for size, label in self.jobs.reduce_shapes if node.takes(label)
        )
        eligible = self.jobs.eligible
        listed = self._listed = self.places.listed()
        number, beats = node.number, memory.beats
        for waiting in candidates:
            job_id, wait = waiting.candidate, waiting.wait + counts
            lists = listed.get((job_id, beats - wait))
            if lists is not None and wait <= lists.last and self._without(lists, job_id, number):
                waiting.wait = wait  # as Algorithm 2 does if nothing may be launched
                continue
            last = waiting.wait >= 4 * n
            if (job_id is None and chosen) or not (counts or waiting.wait):
                continue
            if full and job_id in eligible and not last:
                waiting.wait = wait
                continue
            self._waiting = waiting
            if (on_heartbeat if counts else takes)(waiting, node, n, self):
                allowed.append(waiting)
            chosen = chosen or not waiting.wait
            if last and waiting.candidate is None and job_id in eligible:
                memory.figures.gave_up += 1
                rounds = self.options.give_up_rounds
                memory.let_others_first(job_id, rounds * n, self._in_vain(job_id))
        return sorted(allowed, key=lambda waiting: -waiting.wait)

    def _in_vain(self, job_id: str) -> bool:
        """Return whether no node has room for the job's reduces, but one has for another job's."""
        known: dict[Shape, bool] = {}
        eligible = self.jobs.eligible
        own = any(self._able(ask, known) for ask in eligible[job_id].reduces)
        asks = (ask for job in eligible.values() for ask in job.reduces)
        return not own and any(self._able(ask, known) for ask in asks)

    def _without(self, lists: Listed, job_id: str | None, number: int) -> bool:
        """Return whether a candidate's lists are still these, and the node is in none of them."""
        if number in lists.nodes or self.places.moved.get(number, 0) > lists.moves:
            return False
        job = self.jobs.eligible.get(job_id or "")
        if job is not lists.job and job is not None and self._facts(job) == lists.facts:
            lists.job = job
        return job is not None and job is lists.job

    def _facts(self, job: Job) -> object:
        """Return what its lists depend on beside the nodes' room; None if on more: of asks of
        several sizes the first that fits is looked at.
        """
        ask, version = job.reduces[0], self.memory.jobs[job.app.id].version
        if len(job.reduces) > 1 or not plain(ask):
            return None
        return ask.size, ask.label, version, self.jobs.reduces_on(job.app)

    def may(self, job_id: str) -> bool:
        """See ``Reduces``."""
        return job_id in self.jobs.eligible

    def select(self) -> str | None:
        """Return the job with the largest mismatch, ties at random, as if the reduces of other
        candidates had been launched. A job that gave up recently, or has no node with room, comes
        after all others (8).
        """
        best: tuple[bool, bool, float] | None = None
        found: list[str] = []
        beats, excluded = self.memory.beats, self.memory.excluded
        able: dict[Shape, bool] = {}
        waiting = Counter(each.candidate for each in self.memory.waiting)
        for job_id, job in self.jobs.eligible.items():
            lag = self._lag(job, waiting[job_id]) if job_id in waiting else job.mismatch
            gave_up = job_id in excluded and excluded[job_id][1] > beats
            if lag <= 0 or (best is not None and (not gave_up, True, lag) < best):
                continue
            rank = (not gave_up, any(self._able(ask, able) for ask in job.reduces), lag)
            if best is not None and rank < best:
                continue
            may = (ask for ask in job.reduces if self.plan.limited(ask) is None)
            if all(self.jobs.maps_first(job, ask) for ask in may):
                continue
            if rank != best:
                best, found = rank, []
            found.append(job_id)
        return max(found, key=lambda each: draw(self.options.seed, each, beats), default=None)

    def _lag(self, job: Job, more: int) -> float:
        """Return the job's mismatch as if ``more`` reduces of it had been launched."""
        t = job.tasks
        assert t is not None  # it is eligible
        launched, pending = t.launched_reduces + more, t.pending_reduces - more
        tasks = Tasks(t.maps, t.reduces, t.finished_maps, t.pending_maps, launched, pending)
        return mismatch(tasks, self.options.threshold)

    def _able(self, ask: Ask, known: dict[Shape, bool]) -> bool:
        """Return whether any node has room for one container of the ask now."""
        if not plain(ask):
            return self.plan.place(ask) is not None
        shape = (ask.size, ask.label)
        if shape not in known:
            known[shape] = self.view.first_fit(*shape) is not None
        return known[shape]

    def lists(self, job_id: str) -> Lists[Node]:
        """See ``Reduces``; ties are drawn once each time the job is chosen."""
        job, waiting, n = self.jobs.eligible[job_id], self._waiting, self.view.node_count
        chosen, round_ = self.memory.beats - waiting.wait, waiting.round(n)
        ask = next((ask for ask in job.reduces if self._able(ask, self._known)), job.reduces[0])
        if self._here.number not in self.places.rooms.of((ask.size, ask.label)):
            return [], [], []  # the node is in none of them
        salt, spread = f"{job_id}/{chosen}", self.options.lists == "open"
        used = self.jobs.reduces_on(job.app) if spread else frozenset[int]()
        facts, kept = self._facts(job), self._listed.get((job_id, chosen))
        output = self.jobs.output(job.app)
        # Lists are found at least once, so that later looks can be spared.
        found = facts is None or (kept is not None and kept.facts == facts)
        if found and self.places.are_taken(self._here, ask, output, salt, used, round_):
            return [], [], []
        lists = self.places.lists(ask, output, salt, used, round_)
        if spread and not lists[0]:  # a reduce of the job runs on every node with room
            waiting.wait = 3 * n
        elif facts is not None:
            near, moves = self.places.found(salt), self.places.moves
            self._listed[job_id, chosen] = Listed(facts, job, round_ * n, moves, near)
        return lists

    def runs(self, job_id: str, v: Node) -> bool:
        """See ``Reduces``."""
        return v.number in self.jobs.reduces_on(self.jobs.by_id[job_id].app)


def plain(ask: Ask) -> bool:
    """Return whether the ask accepts every node with room."""
    return not ask.attempt.blacklist and not ask.racks and ask.relax_locality
