"""One round: at each heartbeat maps in fair order and at most one reduce; then all that is neither,
on the nodes as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from loomcard import (
    RULE_MS,
    Ask,
    ByShape,
    ExhaustedShapes,
    Node,
    Plan,
    Reason,
    ReservationRules,
    draw,
    fits,
    no_room,
    serve_reservations,
    want_first,
)  # fmt: skip
from loomcard.policies.coupling.candidates import Candidates
from loomcard.policies.coupling.jobs import Demand, Job, JobMemory, Jobs, Memory, demand_of, maps_of
from loomcard.policies.coupling.paper import Waiting, attempted, beta, peek, probability
from loomcard.policies.coupling.places import Places

COUPLED = "MAPS_FIRST"
"""The reason of a reduce that waits till more maps have finished."""
PLACE = "PLACE"
"""The reason of a reduce that waits for its turn, or for a place near its data."""
PEEK = "LOCALITY_LIKELY"
"""The reason of a map that waits for a heartbeat of a node that has its input."""
REDUCE = "reduce"
"""Begins the tag of a reduce's container; the heartbeats that it waited follow."""
Entry = tuple[float, int, int, str]


@dataclass(slots=True)
class Visit:
    """What has been done at one heartbeat so far."""

    node: Node
    counts: bool  # in the first stage of a round
    reserved: list[int]  # the room of the maps that were chosen and not launched
    more: dict[str, int] = field(default_factory=dict)  # their memory
    allowed: list[Waiting[str]] | None = None  # candidates whose reduce may start here
    heap: list[Entry] | None = None
    draws: int = 0


class MapsFirst(ReservationRules):
    """No room is reserved for a reduce whose maps have not made it worth starting."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def forbids(self, ask: Ask) -> str | None:
        """The reason of a reduce that waits for its maps."""
        job = self._jobs.by_id.get(ask.application.id)
        waits = job is not None and ask in job.reduces and self._jobs.maps_first(job, ask)
        return COUPLED if waits else None


class Serving:
    """The allocations of one round, in one turn or several."""

    def __init__(self, plan: Plan, jobs: Jobs, places: Places, memory: Memory) -> None:
        self.plan, self.view = plan, plan.view
        self.jobs, self.places, self.memory = jobs, places, memory
        self.options = jobs.options
        self.visits: list[Visit] = []
        self._next = 0
        self._changed: dict[str, Job] = {}
        self._limited: set[Demand] = set()
        self._candidates = Candidates(plan, jobs, places, memory)

    def run(self) -> None:
        """Serve until nothing more may be served; a later turn goes on where this one ends."""
        plan, view = self.plan, self.view
        self._refresh()
        if view.reservations and not plan.spent:
            serve_reservations(plan, lambda queue: queue is view.queue, MapsFirst(self.jobs))
            self._refresh()
        while self._next < len(self.visits):
            if not self._visit(self.visits[self._next]):
                return
            self._next += 1
        self._others()
        if not plan.spent:
            self._report_reasons()
            if self.options.reserve_after_ms:
                want_first(plan, ByShape(self._reservable).of, self.options.reserve_after_ms)

    def _refresh(self) -> None:
        for job in self.jobs.update(self.memory):
            self._changed[job.app.id] = job

    def _allocate(self, ask: Ask, node: Node, tag: list[object] | None = None) -> None:
        self.plan.allocate_checked(ask, node, tag)
        self.jobs.allocated(ask)
        self._refresh()

    # A heartbeat

    def _visit(self, visit: Visit) -> bool:
        """Maps and a reduce at one node, in fair order; False: the turn ended before that."""
        node = visit.node
        if visit.allowed is None:
            visit.allowed = self._candidates.allowed(node, visit.counts)
        while visit.allowed:
            waiting = visit.allowed[0]
            job = self.jobs.eligible.get(waiting.candidate or "")
            if job is not None:
                if not self._maps(visit, self.jobs.entry(job.app)):
                    return False
                ask = self._reduce_of(job, node)
                if ask is not None and not self.plan.allows(ask):
                    return False
                if ask is not None:
                    self._launch(waiting, ask, node)
                    visit.allowed = [waiting]  # one reduce a heartbeat
            visit.allowed.pop(0)
        return self._maps(visit, None)

    def _launch(self, waiting: Waiting[str], ask: Ask, node: Node) -> None:
        n = self.view.node_count
        self.memory.figures.by_round[min(waiting.round(n), 4) - 1] += 1
        tag: list[object] = [REDUCE, waiting.wait]
        attempted(waiting, n, launched=True)
        self._allocate(ask, node, tag)

    def _reduce_of(self, job: Job, node: Node) -> Ask | None:
        """The first of the job's reduces that may go to the node now; None if a map needs it."""
        if self._needs_for_map(job, node):
            return None
        open_ = (a for a in job.reduces if self.plan.why_not(a, node) is None)
        return next((ask for ask in open_ if not self.jobs.maps_first(job, ask)), None)

    def _needs_for_map(self, job: Job, node: Node) -> bool:
        """Whether none of the job's maps runs, and one could have the room: without it its reduces
        may wait for ever.
        """
        return job.app.id in self.jobs.without_map and any(
            fits(ask.size, node.room) and self.plan.why_not(ask, node) is None
            for ask in maps_of(job)
        )

    # Maps

    def _maps(self, visit: Visit, before: Entry | None) -> bool:
        """Serve who is ``before`` an entry (None: all) in fair order, till the node is full; False:
        the turn ended before that.
        """
        node, plan = visit.node, self.plan
        if visit.heap is None:
            if not self._open(node):
                return True
            visit.heap = list(self.jobs.entries.values())
            heapify(visit.heap)
        while visit.heap and (before is None or visit.heap[0] < before) and self._open(node):
            if plan.spent:
                return False
            job = self.jobs.by_id.get(visit.heap[0][3])
            heappop(visit.heap)
            if job is not None and self._candidate(visit, job):
                app_id = job.app.id
                if app_id in self.jobs.entries:
                    more = visit.more.get(app_id, 0)
                    heappush(visit.heap, self.jobs.entry(job.app, more))
        return True

    def _open(self, node: Node) -> bool:
        """A map, or one of the others, may have room there."""
        left = (each for each in self.jobs.shapes if each not in self._limited)
        return any(fits(size, node.room) and node.takes(label) for size, label, _ in left)

    def _forbidden(self, ask: Ask, node: Node) -> bool:
        """A map may not go to the node; a limit that it meets holds till the round is over."""
        limit = demand_of(ask) in self._limited
        why = Reason.QUEUE_MAX if limit else self.plan.why_not(ask, node)
        if why in (Reason.QUEUE_MAX, Reason.USER_LIMIT):
            self._limited.add(demand_of(ask))
        return why is not None

    def _candidate(self, visit: Visit, job: Job) -> bool:
        """One container of the job: one of the others, wherever it fits, or a map on the node at
        hand, if Random Peeking launches it; False if nothing of it fits.
        """
        for ask in job.others:
            if self._serve(ask):
                return True
        node, left = visit.node, visit.node.room
        if visit.more:
            left = [room - reserved for room, reserved in zip(left, visit.reserved, strict=True)]
        best: tuple[int, Ask] | None = None
        for ask in job.maps:
            if not fits(ask.size, left) or self._forbidden(ask, node):
                continue
            reach = ask.reach(node)
            if reach is not None and self.plan.allows(ask) and (best is None or reach < best[0]):
                best = reach, ask
        if best is None:
            return False
        reach, ask = best if best[1].hosts else (0, best[1])  # without input anywhere is local
        own = self.memory.jobs.setdefault(job.app.id, JobMemory())
        if self.options.maps == "delay" and not self._waited(own, reach):
            return False
        figures = self.memory.figures
        if self.options.maps == "delay" or self._starts(visit, job, ask, reach, own):
            figures.local += reach == 0 and bool(ask.hosts)
            figures.remote += reach != 0
            if reach == 0:
                own.local_ms = self.view.now_ms
            self._allocate(ask, node)
            return True
        figures.passed += 1
        visit.more[job.app.id] = visit.more.get(job.app.id, 0) + ask.size[0]
        visit.reserved = [
            reserved + size for reserved, size in zip(visit.reserved, ask.size, strict=True)
        ]
        return True

    def _starts(self, visit: Visit, job: Job, ask: Ask, reach: int, own: JobMemory) -> bool:
        """Algorithm 3: by a draw of p_j."""
        node, options = visit.node, self.options
        visit.draws += 1
        if reach == 0:
            own.p = 1.0
            return True
        salt = f"{job.app.id}/{node.id}/{visit.draws}/{self.view.now_ms}"
        pm, nm = peek(*self.places.peeked(ask, node, salt, job.inputs), self.view.node_count)
        alpha = options.alpha_remote
        if reach == 1:
            near = self._candidates.runs(job.app.id, node)
            alpha = options.alpha_rack_reduce if near else options.alpha_rack
        pending = sum(each.count for each in job.maps)
        exponent = options.beta_fixed or beta(pending, nm, options.beta_least)
        own.p = probability(False, pm, nm, alpha, exponent)
        return draw(options.seed, salt, self.memory.beats) < own.p

    def _waited(self, own: JobMemory, reach: int) -> bool:
        """Delay scheduling: whether the job has waited long enough for a node as far as that."""
        now_ms, options = self.view.now_ms, self.options
        own.local_ms = now_ms if own.local_ms is None else own.local_ms
        waits = (0, options.delay_node_ms, options.delay_node_ms + options.delay_rack_ms)
        return now_ms - own.local_ms >= waits[reach]

    # All that is neither

    def _serve(self, ask: Ask) -> bool:
        """One container, wherever it fits."""
        plan, some = (
            self.plan,
            self.view.first_fit(ask.size, ask.label) is not None or ask.reservations,
        )
        if not some or ask.count <= 0 or plan.limited(ask) is not None or not plan.allows(ask):
            return False
        if (node := plan.place(ask)) is not None:
            self._allocate(ask, node)
        return node is not None

    def _others(self) -> None:
        """What is neither map nor reduce is served at once, in fair order."""
        full, by_id = ExhaustedShapes(self.view), self.jobs.by_id
        left = ((entry, by_id[job_id].others) for job_id, entry in self.jobs.entries.items())
        heap = [e for e, others in left if any((a.size, a.label) not in full for a in others)]
        heapify(heap)
        while heap and not self.plan.spent and not full.everything():
            job = by_id[heappop(heap)[3]]
            for ask in job.others:
                shape = (ask.size, ask.label)
                if shape in full:
                    continue
                if self._serve(ask):
                    if job.app.id in self.jobs.entries:
                        heappush(heap, self.jobs.entries[job.app.id])
                    break
                if self.view.first_fit(*shape) is None:
                    full.add(shape)

    def _reservable(self) -> Iterable[Ask]:
        """The asks for which room may be reserved."""
        for job in self.jobs.by_id.values():
            ready = (ask for ask in job.reduces if not self.jobs.maps_first(job, ask))
            yield from (*job.others, *job.maps, *ready)

    def _report_reasons(self) -> None:
        """Why asks wait: of new ones at once, of all as often as the policy reports."""
        due = self.plan.report_due
        for job in self.jobs.by_id.values() if due else self._changed.values():
            known = self.jobs.by_id.get(job.app.id) is job
            for ask in (*job.others, *job.maps, *job.reduces) if known else ():
                if ask.count > 0 and (due or ask.reported_reason is None):
                    reason = self.plan.limited(ask) or self._reason(job, ask)
                    rule = reason in (COUPLED, PLACE, PEEK)
                    self.plan.wait(ask, reason, self.view.now_ms + RULE_MS if rule else None)
        self._changed.clear()

    def _reason(self, job: Job, ask: Ask) -> Reason | str:
        if ask in job.reduces and self.jobs.maps_first(job, ask):
            return COUPLED
        if self.view.first_fit(ask.size, ask.label) is None:
            return no_room(self.view, ask)
        return PLACE if ask in job.reduces else PEEK if ask in job.maps else Reason.LOCALITY
