"""One round: at each heartbeat maps in fair order and at most one reduce; then all other asks, on
the nodes in their current state.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from heapq import heapify, heappop, heappush

from loomcard import (
    RULE_MS,
    Ask,
    Chooser,
    Event,
    ExhaustedShapes,
    Node,
    NodeHeartbeat,
    Plan,
    Reason,
    Refused,
    Resource,
    fits,
    no_room,
)
from loomcard.advanced import ByShape, draw, want_first
from loomcard.policies.coupling.candidates import Candidates
from loomcard.policies.coupling.jobs import Demand, Job, JobMemory, Jobs, Memory, demand_of, maps_of
from loomcard.policies.coupling.paper import Waiting, attempted, beta, peek, probability
from loomcard.policies.coupling.places import Places

COUPLED = "MAPS_FIRST"
"""The reason of a reduce that waits until more maps have finished."""
PLACE = "PLACE"
"""The reason of a reduce that waits for its turn, or for a place near its data."""
PEEK = "LOCALITY_LIKELY"
"""The reason of a map that waits for a heartbeat of a node that has its input."""
REDUCE = "reduce"
"""The first part of a reduce container's tag; the number of heartbeats that it waited follows."""
Entry = tuple[float, int, int, str]


class Visit:
    """What has been done at one heartbeat so far."""

    def __init__(self, node: Node, counts: bool, zero: Resource) -> None:
        self.node = node
        self.counts = counts  # in the first stage of a round
        self.reserved = [*zero]  # room of maps that were chosen and not launched
        self.more: dict[str, int] = {}  # their memory
        self.heap: list[Entry] | None = None
        self.draws = 0


class Serving(Chooser):
    """Offer, in one round, maps in fair order and at most one reduce at each heartbeat; then all
    other asks. A later turn of the round continues where the previous one ended.
    """

    def __init__(self, plan: Plan, jobs: Jobs, places: Places, memory: Memory) -> None:
        super().__init__(plan.view.queue)
        self.plan, self.view = plan, plan.view
        self.jobs, self.places, self.memory = jobs, places, memory
        self.options = jobs.options
        self.visits: list[Visit] = []
        self._changed: dict[str, Job] = {}
        self._limited: set[Demand] = set()
        self._candidates = Candidates(plan, jobs, places, memory)
        self._offers, self._all_offered = self._offered(), False
        self._full = ExhaustedShapes(plan.view)
        self._got = False  # whether the last offer was taken
        self._node: Node | None = None  # of the last offer; None: anywhere
        self._waiting: Waiting | None = None  # of a reduce, its candidate
        self._map: tuple[int, JobMemory] | None = None  # of a map, how far its input is

    def note(self, changes: Iterable[Event]) -> None:
        """Note what happened since the last call, and visit the nodes with heartbeats."""
        beats, others = list[int](), list[Event]()
        for change in changes:
            if isinstance(change, NodeHeartbeat):
                beats.append(change.node.number)
            else:
                others.append(change)
        memory, view = self.memory, self.view
        if self.jobs.note(memory, others):
            self.places.forget()
        for change in others:
            if isinstance(change, Refused):
                self._refused(change)
        if first := memory.version != view.version:
            memory.version, memory.beating = view.version, beats
        for number in memory.beating:
            node = view.node(number)
            if node is not None and (not view.lending or view.offers(node, "")):
                self.visits.append(Visit(node, first, view.zero))

    def _refused(self, change: Refused) -> None:
        """Handle a refused reduce: its job continues to wait, in the next round (Algorithm 2).

        If another job has been chosen meanwhile, the job comes after the others, as if it gave up.
        """
        tag, memory, n = change.tag, self.memory, self.view.node_count
        if not isinstance(tag, list) or tag[:1] != [REDUCE] or change.ask is None:
            return
        app = change.ask.application
        waiting = next((each for each in memory.waiting if each.candidate is None), None)
        if waiting is not None:
            waiting.candidate, waiting.wait = app.id, tag[1]
            attempted(waiting, max(1, n), launched=False)
        elif app.number in self.view.queue.applications:
            memory.let_others_first(app.id, self.options.give_up_rounds * n, vainly=True)

    def update(self) -> None:
        """Look at what changed, as a turn begins or a reservation was served."""
        self._refresh()
        if self._all_offered:
            self._offers, self._all_offered = self._offered(), False
        self.end()

    def end(self) -> None:
        """Count the heartbeats, whether or not this turn may allocate something at them."""
        if self.plan.spent:
            self._next()

    def _refresh(self) -> None:
        for job in self.jobs.update(self.memory):
            self._changed[job.app.id] = job

    def next(self, full: ExhaustedShapes) -> Ask | None:
        """Return the next offer."""
        self._full = full
        return self._next()

    def _next(self) -> Ask | None:
        self._node, self._waiting, self._map = None, None, None
        return next(self._offers, None)

    def _offered(self) -> Iterator[Ask | None]:
        """Yield each ask in its order, with its node in ``_node``; None if the turn is used up."""
        while self.visits:
            yield from self._visit(self.visits[0])
            del self.visits[0]
        yield from self._others()
        self._all_offered = True

    def allocated(self, chosen: Ask, ask: Ask) -> None:  # noqa: ARG002
        """Update its job's place in fair order; a reduce ends its candidate's wait."""
        self._got = True
        if (waiting := self._waiting) is not None:
            n = self.view.node_count
            self.memory.figures.by_round[min(waiting.round(n), 4) - 1] += 1
            attempted(waiting, n, launched=True)
        elif self._map is not None:
            reach, own = self._map
            self.memory.figures.local += reach == 0 and bool(ask.hosts)
            self.memory.figures.remote += reach != 0
            if reach == 0:
                own.local_ms = self.view.now_ms
        self.jobs.allocated(ask)
        self._refresh()

    def passed(self, chosen: Ask, *, forbidden: bool) -> None:  # noqa: ARG002
        """Note that the offer was not taken."""
        self._got = False

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Return the node of the offer, or any node."""
        return self._node or plan.place(ask)

    def tag(self, ask: Ask) -> list[object] | None:  # noqa: ARG002
        """Return the tag of a reduce: how many heartbeats it waited."""
        return None if self._waiting is None else [REDUCE, self._waiting.wait]

    def forbids(self, ask: Ask) -> str | None:
        """Return the reason if a reduce waits for its maps: no room is reserved for it either."""
        job = self.jobs.by_id.get(ask.application.id)
        waits = job is not None and ask in job.reduces and self.jobs.maps_first(job, ask)
        return COUPLED if waits else None

    def nowhere(self, plan: Plan, ask: Ask, full: ExhaustedShapes) -> None:
        """Do nothing: ``report`` gives the reason."""

    # A heartbeat

    def _visit(self, visit: Visit) -> Iterator[Ask | None]:
        """Yield maps and a reduce for one node, in fair order."""
        node = visit.node
        for waiting in self._candidates.allowed(node, visit.counts):
            job = self.jobs.eligible.get(waiting.candidate or "")
            if job is None:
                continue
            yield from self._maps(visit, job)
            ask = self._reduce_of(job, node)
            while ask is not None and (self.plan.spent or not self.plan.allows(ask)):
                yield None
                yield from self._maps(visit, job)
                ask = self._reduce_of(job, node)
            if ask is not None:
                self._node, self._waiting = node, waiting
                yield ask
                if self._got:
                    break  # one reduce per heartbeat
        yield from self._maps(visit, None)

    def _reduce_of(self, job: Job, node: Node) -> Ask | None:
        """Return the job's first reduce that may go to the node now; None if a map needs it."""
        if self._needs_for_map(job, node):
            return None
        open_ = (a for a in job.reduces if self.plan.why_not(a, node) is None)
        return next((ask for ask in open_ if not self.jobs.maps_first(job, ask)), None)

    def _needs_for_map(self, job: Job, node: Node) -> bool:
        """Return whether none of the job's maps runs, and one could use the room: otherwise its
        reduces may wait for ever.
        """
        return job.app.id in self.jobs.without_map and any(
            fits(ask.size, node.room) and self.plan.why_not(ask, node) is None
            for ask in maps_of(job)
        )

    # Maps

    def _maps(self, visit: Visit, until: Job | None) -> Iterator[Ask | None]:
        """Yield asks of jobs before ``until`` (None: all) in fair order, until the node is full."""
        node = visit.node
        if visit.heap is None:
            if not self._open(node):
                return
            visit.heap = list(self.jobs.entries.values())
            heapify(visit.heap)
        before = None if until is None else self.jobs.entry(until.app)
        while visit.heap and (before is None or visit.heap[0] < before) and self._open(node):
            if self.plan.spent:
                yield None
                before = None if until is None else self.jobs.entry(until.app)
                continue
            job = self.jobs.by_id.get(heappop(visit.heap)[3])
            if job is not None:
                came_to_something = yield from self._candidate(visit, job)
                app_id = job.app.id
                if came_to_something and app_id in self.jobs.entries:
                    more = visit.more.get(app_id, 0)
                    heappush(visit.heap, self.jobs.entry(job.app, more))

    def _open(self, node: Node) -> bool:
        """Return whether a map, or one of the others, may fit on the node."""
        room, limited = node.room, self._limited
        for demand in self.jobs.shapes:
            if fits(demand[0], room) and node.takes(demand[1]) and demand not in limited:
                return True
        return False

    def _forbidden(self, ask: Ask, node: Node) -> bool:
        """Return whether a map may not go to the node; a limit applies until the round ends."""
        limit = demand_of(ask) in self._limited
        why = Reason.QUEUE_MAX if limit else self.plan.why_not(ask, node)
        if why in (Reason.QUEUE_MAX, Reason.USER_LIMIT):
            self._limited.add(demand_of(ask))
        return why is not None

    def _candidate(self, visit: Visit, job: Job) -> Generator[Ask | None, None, bool]:
        """Yield one container of the job: one of the others, wherever it fits, or a map on the
        current node, if Random Peeking launches it. Return False if nothing of the job fits.
        """
        for ask in job.others:
            if self._may(ask):
                yield ask
                if self._got:
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
        reach, ask = best if best[1].hosts else (0, best[1])  # without input every node is local
        own = self.memory.job(job.app.id)
        if self.options.maps == "delay" and not self._waited(own, reach):
            return False
        if self.options.maps == "delay" or self._starts(visit, job, ask, reach, own):
            self._node, self._map = node, (reach, own)
            yield ask
            return True
        self.memory.figures.passed += 1
        visit.more[job.app.id] = visit.more.get(job.app.id, 0) + ask.size[0]
        visit.reserved = [
            reserved + size for reserved, size in zip(visit.reserved, ask.size, strict=True)
        ]
        return True

    def _starts(self, visit: Visit, job: Job, ask: Ask, reach: int, own: JobMemory) -> bool:
        """Return whether the map starts, by a draw with p_j (Algorithm 3)."""
        node, options = visit.node, self.options
        visit.draws += 1
        if reach == 0:
            own.p = 1.0
            return True
        salt = f"{job.app.id}/{node.id}/{visit.draws}/{self.view.now_ms}"
        pm, nm = peek(*self.places.peeked(ask, node, salt, job.inputs), self.view.node_count)
        alpha = options.alpha_remote
        if reach == 1:
            near = node.number in self.jobs.reduces_on(job.app)
            alpha = options.alpha_rack_reduce if near else options.alpha_rack
        pending = sum(each.count for each in job.maps)
        exponent = options.beta_fixed or beta(pending, nm, options.beta_least)
        own.p = probability(False, pm, nm, alpha, exponent)
        return draw(options.seed, salt, self.memory.beats) < own.p

    def _waited(self, own: JobMemory, reach: int) -> bool:
        """Return whether the job has waited long enough for a node that far (delay scheduling)."""
        now_ms, options = self.view.now_ms, self.options
        own.local_ms = now_ms if own.local_ms is None else own.local_ms
        waits = (0, options.delay_node_ms, options.delay_node_ms + options.delay_rack_ms)
        return now_ms - own.local_ms >= waits[reach]

    # All other asks

    def _may(self, ask: Ask) -> bool:
        """Return whether some node may have room for one container, and no limit forbids it."""
        some = self.view.first_fit(ask.size, ask.label) is not None or bool(ask.reservations)
        return some and ask.count > 0 and self.plan.limited(ask) is None and self.plan.allows(ask)

    def _others(self) -> Iterator[Ask | None]:
        """Yield asks that are neither map nor reduce, at once and in fair order."""
        full, by_id = self._full, self.jobs.by_id
        left = ((entry, by_id[job_id].others) for job_id, entry in self.jobs.entries.items())
        heap = [e for e, others in left if any((a.size, a.label) not in full for a in others)]
        heapify(heap)
        while heap and not self._full.everything():
            while self.plan.spent:
                yield None
            job = by_id.get(heappop(heap)[3])
            for ask in job.others if job is not None else ():
                if (ask.size, ask.label) in self._full or not self._may(ask):
                    continue
                yield ask
                if self._got:
                    if ask.application.id in self.jobs.entries:
                        heappush(heap, self.jobs.entries[ask.application.id])
                    break

    def _reservable(self) -> Iterable[Ask]:
        """Yield the asks for which room may be reserved."""
        for job in self.jobs.by_id.values():
            ready = (ask for ask in job.reduces if not self.jobs.maps_first(job, ask))
            yield from (*job.others, *job.maps, *ready)

    def report(self, plan: Plan) -> None:
        """Report why asks wait: new ones at once, all as often as the policy reports."""
        if not self._all_offered:
            return
        due = plan.report_due
        for job in self.jobs.by_id.values() if due else self._changed.values():
            known = self.jobs.by_id.get(job.app.id) is job
            for ask in (*job.others, *job.maps, *job.reduces) if known else ():
                if ask.count > 0 and (due or ask.reported_reason is None):
                    reason = self.plan.limited(ask) or self._reason(job, ask)
                    rule = reason in (COUPLED, PLACE, PEEK)
                    plan.wait(ask, reason, self.view.now_ms + RULE_MS if rule else None)
        self._changed.clear()

    def reserve(self, plan: Plan, after_ms: int) -> None:
        """Reserve for the ask that has waited longest, except reduces that wait for maps."""
        if self._all_offered:
            want_first(plan, ByShape(self._reservable).of, after_ms)

    def _reason(self, job: Job, ask: Ask) -> Reason | str:
        if ask in job.reduces and self.jobs.maps_first(job, ask):
            return COUPLED
        if self.view.first_fit(ask.size, ask.label) is None:
            return no_room(self.view, ask)
        return PLACE if ask in job.reduces else PEEK if ask in job.maps else Reason.LOCALITY
