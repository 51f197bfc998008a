"""DRESS's books of a leaf queue: who is small, and what each category holds and asks for.

Amounts are read from the cluster's own books, for applications that changed, so that a refusal, a
lost node or a snapshot needs no care of its own; the memory keeps what those books do not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loomcard.model.cluster import Application, Ask, Member
from loomcard.model.resource import fits
from loomcard.model.room import Shape
from loomcard.model.view import ClusterView
from loomcard.policies.dress.classify import (
    CATEGORIES,
    LD,
    SD,
    Vector,
    classify_vector,
    predicted_work,
)
from loomcard.policies.dress.jobs import Jobs, am_of, tasks_held
from loomcard.policies.dress.lines import Line
from loomcard.policies.dress.memory import Durations, Job, Memory, Scale
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.quotas import (
    containers_of,
    filled,
    quotas,
    split_vectors,
    times,
    within,
    worth,
)
from loomcard.policies.dress.reserve import Outlook


class Books:
    """``used``: what either category holds, AMs too, by resource type; see ``Books.of``."""

    def __init__(self, view: ClusterView, options: Options, memory: Memory) -> None:
        self.memory = memory
        self.jobs = Jobs(memory, options, view.queue.applications)
        nothing = [0] * len(view.resource_types)
        self.used: dict[str, list[int]] = dict.fromkeys(CATEGORIES, nothing)
        self.lines = {kind: Line(view.queue, kind, self.jobs.kind_of) for kind in CATEGORIES}
        self.divided = False
        """There are two containers at least, and so there are quotas."""
        self._quotas: dict[str, Vector] = {}
        self._view = view
        self._options = options
        self._apps = view.queue.applications
        self._charged: dict[Application, tuple[str, list[int]]] = {}
        self._pending: dict[Application, list[int]] = {}
        self._stale: dict[Member, None] = dict.fromkeys(self._apps.values())
        self._possible: dict[Shape, bool] = {}  # shapes that some node could hold if it were empty
        self._capacity_version = view._ledger.capacity_version
        view.queue.watchers.append(self._stale)

    @staticmethod
    def of(view: ClusterView, options: Options, memory: Memory) -> Books:
        """Those of an instance, brought up to date; new ones for a new memory."""
        found: Books | None = view._indexes.get("books")
        if found is None or found.memory is not memory:
            if found is not None:
                found._close()
            found = view._indexes["books"] = Books(view, options, memory)
        changes = view.changes
        if changes:
            memory.settled = False
        found.jobs.follow(changes)
        seen = memory.scale.seen
        if memory.scale.tot == 0 or not seen or seen[0] != view.cluster_capacity:
            found.measure()
        found._update()
        return found

    def _close(self) -> None:
        watchers = self._view.queue.watchers
        for mine in (self._stale, *(line.stale for line in self.lines.values())):
            watchers[:] = [watcher for watcher in watchers if watcher is not mine]

    # Who holds and asks for what

    def _update(self) -> None:
        version = self._view._ledger.capacity_version
        if version != self._capacity_version:  # other nodes: other asks may be in vain
            self._capacity_version = version
            self._possible.clear()
            self._stale.update(dict.fromkeys(self._apps.values()))
        for app in list(self._stale):
            if isinstance(app, Application):
                self._recount(app)
        self._stale.clear()

    def _recount(self, app: Application) -> None:
        """Read anew what an application holds and asks for, and whether that is much."""
        self._pending.pop(app, None)
        if self._apps.get(app.number) is not app:
            self._uncharge(app)
            return
        width = len(app.used)
        tasks = _asked((ask for ask in app.asks if not ask.is_am), width)
        every = _asked((ask for ask in app.asks if self._is_possible(ask)), width)
        if any(every):
            self._pending[app] = every
        job = self.jobs.get(app)
        am = am_of(app)
        rows = zip(tasks, app.used, [0] * len(tasks) if am is None else am.size, strict=True)
        demand = [asked + used - ams for asked, used, ams in rows]
        if any(demand):
            job.peak = tuple(map(max, demand, job.peak or demand))
            if not job.known or self._options.classifier == "demand":
                self._classify(app, job)
            job.known = True
        self.charge(app)

    def _is_possible(self, ask: Ask) -> bool:
        """Whether some node could hold such a container, were it empty."""
        shape = ask.size, ask.label
        found = self._possible.get(shape)
        if found is None:
            nodes = (n for n in self._view.nodes if n.takes(ask.label))
            found = self._possible[shape] = any(fits(ask.size, node.capacity) for node in nodes)
        return found

    def charge(self, app: Application) -> None:
        """What the application holds counts to its category. Whatever LD holds more by it, by a
        grant or since the application has become large, counts in ``memory.held`` too.
        """
        before = self._charged.get(app)
        self._uncharge(app)
        kind, held = self.jobs.kind_of(app), list(app.used)
        self._charged[app] = kind, held
        self.used[kind] = [a + b for a, b in zip(self.used[kind], held, strict=True)]
        if kind == LD and self.memory.held:
            was = before[1] if before is not None and before[0] == LD else [0] * len(held)
            rows = zip(self.memory.held, held, was, strict=True)
            self.memory.held = [h + max(0, now - old) for h, now, old in rows]

    def _uncharge(self, app: Application) -> None:
        kind, held = self._charged.pop(app, (SD, []))
        if held:
            self.used[kind] = [a - b for a, b in zip(self.used[kind], held, strict=True)]

    def asks(self) -> tuple[list[list[int]], list[list[int]]]:
        """The pending demand of each job, of SD and of LD, in order of submission; of those alone
        that limits of the queue tree let have something, and without what no node could hold.
        """
        found: dict[str, list[list[int]]] = {kind: [] for kind in CATEGORIES}
        limited = self._view._ledger.limited
        for app in sorted(self._pending, key=lambda app: (app.submitted_ms, app.number)):
            if any(limited(ask) is None for ask in app.asks):
                found[self.jobs.kind_of(app)].append(self._pending[app])
        return found[SD], found[LD]

    def starved(self, now_ms: int, age_ms: int) -> bool:
        """Some large job has waited so long, and has not got its first task yet."""
        for app in self._pending:
            job = self.memory.jobs[app.number]
            since_ms = now_ms if job.asked_ms is None else job.asked_ms
            if job.kind == LD and now_ms - since_ms >= age_ms and not tasks_held(app):
                return True
        return False

    def application(self, number: int) -> Application:
        """The application of a job."""
        return self._apps[number]

    def containers(self, amounts: Vector) -> float:
        """Amounts counted in containers, by the resource of which they take most."""
        scale = self.memory.scale
        return round(filled(amounts, scale.each), 3) if amounts and scale.tot else 0.0

    # Who is small

    def _classify(self, app: Application, job: Job) -> None:
        """A job may become large, and is never small again: its tail would hide there."""
        if job.kind == LD or not self.memory.scale.total:
            return
        demand: Vector = job.peak
        if self._options.classifier == "work":
            names = self.memory.names
            known = job.done if job.done[0] else names.get(app.name, [0, 0])
            demand = predicted_work(demand, _mean(known), _mean(names.get("", [0, 0])))
        job.kind = classify_vector(demand, self.memory.scale.total, self._options.theta)
        if job.kind == LD:
            self.memory.large[app.id] = None
            for line in self.lines.values():
                line.stale[app] = None
            self.charge(app)

    def classify_all(self) -> None:
        """Look again at who is small, where more than a job's own demand decides."""
        for number, job in self.memory.jobs.items():
            if job.peak and number in self._apps:
                self._classify(self._apps[number], job)

    def measure(self) -> None:
        """Count the cluster in containers; who is small by that may be large now."""
        view, m = self._view, self.memory
        unit = self._unit()
        seen = [tuple(view.cluster_capacity), tuple(view.capacity)]
        if (unit, seen) != (m.scale.unit, m.scale.seen):
            m.settled = False
            m.scale = Scale(unit=unit, seen=seen)
            if any(unit):
                nodes = (node.capacity for node in view.nodes)
                m.scale.tot = containers_of(unit, nodes, view.capacity)
                m.scale.each = worth(unit, view.capacity)
                m.scale.total = times(m.scale.each, m.scale.tot)
            self.classify_all()

    def _unit(self) -> tuple[int, ...]:
        given = tuple(self._options.unit.get(name, 0) for name in self._view.resource_types)
        if any(given):  # one of resource types that the cluster does not have says nothing
            return given
        sizes = self.memory.sizes
        if not sizes:  # a memory made in mid-run: what is there stands for what was asked for
            for app in self._apps.values():
                for ask in app.asks:
                    sizes[tuple(ask.size)] = sizes.get(tuple(ask.size), 0) + ask.count
                for container in app.containers:
                    sizes[tuple(container.size)] = sizes.get(tuple(container.size), 0) + 1
            if len(self.memory.unit) == len(self._view.resource_types):
                sizes[self.memory.unit] = 1 + max(sizes.values(), default=0)
        return max(sizes, key=lambda size: (sizes[size], [-r for r in size]), default=())

    # The border

    def outlook(self, releases: tuple[Vector, Vector]) -> Outlook:
        """What Algorithm 3 looks at, behind the border that was in force until now."""
        scale, small, large = self.memory.scale, self.used[SD], self.used[LD]
        rows = zip(scale.total, small, large, strict=True)
        ac = [max(0.0, whole - one - two) for whole, one, two in rows]
        q1, _ = quotas(self.memory.delta, scale.tot)
        free = split_vectors(ac, times(scale.each, q1), small)
        return Outlook(scale.total, free, releases, self.asks(), small)

    def divide(self) -> None:
        """Put the border where delta says."""
        scale = self.memory.scale
        self.divided = scale.tot >= 2
        if self.divided:
            counts = zip(CATEGORIES, quotas(self.memory.delta, scale.tot), strict=True)
            self._quotas = {kind: times(scale.each, count) for kind, count in counts}

    def may(self, kind: str, size: Sequence[int]) -> bool:
        """Whether a category's quota lets it have a container of ``size``. While small jobs wait,
        what large ones released since the last tick counts as held by them still: Algorithm 3 has
        not seen it yet.
        """
        held: Vector = self.used[kind]
        if kind == LD and self._options.defer_releases and self.lines[SD].entries:
            held = self.memory.held
        return not self.divided or within(size, held, self._quotas[kind])

    def filled(self, kind: str) -> float:
        """How much of its quota a category holds."""
        return filled(self.used[kind], self._quotas[kind]) if self.divided else 0.0

    def left(self, kind: str) -> list[float] | None:
        """What a category's quota leaves it, by resource type; None where nothing is divided."""
        if not self.divided:
            return None
        return [q - u for q, u in zip(self._quotas[kind], self.used[kind], strict=True)]

    def granted(self, app: Application) -> None:
        """The application got a container."""
        self.charge(app)
        self.memory.settled = False


def _asked(asks: Iterable[Ask], width: int) -> list[int]:
    """What asks come to."""
    total = [0] * width
    for ask in asks:
        for r in range(width):
            total[r] += ask.count * ask.size[r]
    return total


def _mean(known: Durations) -> float | None:
    return known[1] / known[0] if known[0] else None
