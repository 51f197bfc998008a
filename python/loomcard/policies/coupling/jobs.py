"""What Coupling knows of a queue's applications: which asks are maps and reduces, the progress, and
where finished maps have left their output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from loomcard import (
    EVERYBODY,
    Application,
    ApplicationRemoved,
    Ask,
    ClusterView,
    Container,
    ContainerAdded,
    ContainerCompleted,
    ContainerResized,
    ContainerStarted,
    Event,
    NodeRemoved,
    Refused,
    Resource,
    Shape,
    add_all,
    share,
    subtract_all,
)
from loomcard.advanced import AskKey, read_dag
from loomcard.policies.coupling.early import EarlyReduces, Held
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.output import Output, sizes_of
from loomcard.policies.coupling.paper import Tasks, Waiting, mismatch

MAP_PRIORITIES = frozenset({5, 19, 20})
"""Priorities of MapReduce's AM: failed maps, opportunistic maps, maps."""
REDUCE_PRIORITY = 10
MOST_DOUBLED = 8
"""How often at most the time doubles in which others go before a job that gave up."""


Demand = tuple[Resource, str, str]
"""Size, node label and user of an ask."""
Move = Callable[[list[list[int]], Sequence[int]], None]
"""``add_all`` or ``subtract_all``."""
S = TypeVar("S")


@dataclass(slots=True)
class JobMemory:
    """What has happened to one application, by its id."""

    maps: int = 0
    """The most maps so far: finished, running and asked for together."""
    finished: dict[str, int] = field(default_factory=dict)
    """Maps finished, by host."""
    version: int = 0
    """Changes whenever ``finished`` does."""
    reduces: int = 0
    """Reduces finished."""
    local_ms: int | None = None
    """When it last started a map at its input, or first had to wait for that."""
    p: float | None = None
    """The last probability of a map to start on the node of a heartbeat."""
    stuck_ms: int | None = None
    """Since when none of its maps runs or finds room, while its reduces run."""
    done: int = 0
    """How many maps finished: always the sum of ``finished``."""

    def __post_init__(self) -> None:
        self.done = sum(self.finished.values())

    def finish(self, host: str) -> None:
        """Count a map that finished on the host."""
        self.finished[host] = self.finished.get(host, 0) + 1
        self.done += 1
        self.version += 1

    def lose(self, host: str) -> None:
        """Forget the maps that finished on the host: their output is lost, the AM reruns them."""
        if count := self.finished.pop(host, 0):
            self.done -= count
            self.version += 1  # so that its output is built again

    def row(self, hosts: Mapping[str, int]) -> dict[str, Any]:
        """Return it by field; ``finished``, which is long, as the numbers of the hosts and how many
        maps finished on each. ``hosts`` gives each host its number.
        """
        # Without a loop of Python's: fifty jobs with a thousand hosts each are saved in one round.
        finished = [list(map(hosts.__getitem__, self.finished)), list(self.finished.values())]
        return {name: getattr(self, name) for name in FIELDS} | {"finished": finished}


FIELDS = [each.name for each in fields(JobMemory) if each.name != "done"]
"""What is saved."""


def job_of(row: Mapping[str, Any], hosts: Sequence[str]) -> JobMemory:
    """Return what ``row`` was made from; an older row has ``finished`` by host."""
    known = {name: row[name] for name in FIELDS if name in row}
    if isinstance(row.get("finished"), list):
        numbers, counts = row["finished"]
        known["finished"] = dict(zip(map(hosts.__getitem__, numbers), counts, strict=True))
    return JobMemory(**known)


@dataclass(slots=True)
class Figures:
    """The counts since the policy began."""

    by_round: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    """Reduces launched, by the round of Wait Scheduling."""
    gave_up: int = 0
    local: int = 0
    remote: int = 0
    passed: int = 0
    """Maps that Random Peeking kept for another heartbeat."""


@dataclass(slots=True)
class Memory:
    """Plain data; applications by their id."""

    waiting: list[Waiting] = field(default_factory=lambda: [Waiting()])
    """Algorithm 2's state for each candidate."""
    beats: int = 0
    """Heartbeats so far."""
    version: int = -1
    """The view's version in the last round."""
    beating: list[int] = field(default_factory=list)
    """The nodes with heartbeats in that round; each stage of a round looks at them."""
    excluded: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Jobs that gave up: how often in vain since a reduce of it started, and the value of ``beats``
    until which others go first.
    """
    jobs: dict[str, JobMemory] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)

    def candidates(self, count: int) -> list[Waiting]:
        """Return the candidates' states; there are ``count`` from now on, at least one."""
        if len(self.waiting) != count:
            self.waiting = [*self.waiting, *(Waiting() for _ in range(count))][:count]
        return self.waiting

    def job(self, job_id: str) -> JobMemory:
        """Return what has happened to the job so far."""
        found = self.jobs.get(job_id)
        if found is None:
            found = self.jobs[job_id] = JobMemory()
        return found

    def let_others_first(self, job_id: str, heartbeats: int, vainly: bool) -> None:
        """Let others go before the job for so many heartbeats.

        If it waited ``vainly`` (others could have been served), the time doubles with each such
        wait. Otherwise a few jobs that cannot be served would take all the turns.
        """
        often = self.excluded.get(job_id, (0, 0))[0]
        longer = 2 ** min(often, MOST_DOUBLED) if vainly else 1
        self.excluded[job_id] = often + vainly, self.beats + heartbeats * longer


class Job:
    """One application in its current state."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.maps: list[Ask] = []
        """Outstanding asks for maps that Random Peeking places."""
        self.reduces: list[Ask] = []
        """Outstanding asks for reduces that wait for their maps and a place."""
        self.others: list[Ask] = []
        """Outstanding asks that are served at once, in fair order."""
        self.shapes: list[Demand] = []
        """The demands of the maps and the others when this was built."""
        self.reduce_shapes: list[Shape] = []
        """The shapes of the reduces."""
        self.tasks: Tasks | None = None
        """The counts of Algorithm 1; None: its type is not MAPREDUCE."""
        self.mismatch = 0.0
        self.inputs: dict[AskKey, int] = {}
        """How many nodes have input of a map ask, if counted."""
        nothing = [0] * (1 + len(app.used))
        self.held: Held = nothing, nothing
        """What its maps and its early reduces used when this was built; never changed."""


def is_map(key: AskKey) -> bool:
    """Return whether an ask is for maps, by the priorities of MapReduce's AM."""
    return key.priority in MAP_PRIORITIES


def is_reduce(container: Container) -> bool:
    """Return whether a container is a reduce of a MapReduce job."""
    priority, kind = container.ask_key.priority, container.application.type
    return priority == REDUCE_PRIORITY and kind == "MAPREDUCE" and not container.is_am


class Jobs:
    """The applications of a queue; each call looks at those that changed."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self.view, self.options = view, options
        self.by_id: dict[str, Job] = {}
        self.eligible: dict[str, Job] = {}
        """Jobs with pending reduces and a mismatch above 0."""
        self.without_map: dict[str, Job] = {}
        """Jobs that ask for maps and run none."""
        self.entries: dict[str, tuple[float, int, int, str]] = {}
        """Jobs that ask for maps or others: use by weight, submission, number, id."""
        self.shapes: dict[Demand, int] = {}
        """The shapes of these asks, and how many ask for each."""
        self.reduce_shapes: dict[Shape, int] = {}
        """The same for reduces."""
        self._changed = view.watch(view.queue)
        self._running: dict[str, Held] = {}  # maps, reduces and others
        self._reduces_on: dict[str, set[int]] = {}
        self._early = EarlyReduces(view, options.early_share)
        self._stated: dict[str, tuple[int, int]] = {}
        self._outputs: dict[str, Output] = {}
        self._capacity_version = -1
        self._memory: Memory | None = None

    def note(self, memory: Memory, changes: Iterable[Event]) -> bool:
        """Note the events since the last call, mainly what has ended. Return whether the memory is
        another one, as after a plan that came too late.
        """
        self._early.free.clear()
        if anew := memory is not self._memory:
            self._memory = memory
            self._outputs.clear()
            self._changed.update(dict.fromkeys(self.view.queue.applications.values()))
        for change in changes:
            if isinstance(change, ContainerCompleted):
                self._completed(memory, change)
            elif isinstance(change, NodeRemoved):
                for job in memory.jobs.values():
                    job.lose(change.node.host)
            elif isinstance(change, ApplicationRemoved):
                self._forget(memory, change.application.id)
            elif isinstance(change, ContainerStarted):
                if is_reduce(change.container):
                    memory.excluded.pop(change.container.application.id, None)
            elif isinstance(change, ContainerAdded | ContainerResized):
                self._count_again(change.container.application.id)
            elif isinstance(change, Refused) and change.ask is not None:
                self._count_again(change.ask.application.id)
        return anew

    def _count_again(self, job_id: str) -> None:
        self._running.pop(job_id, None)
        self._reduces_on.pop(job_id, None)

    def _completed(self, memory: Memory, change: ContainerCompleted) -> None:
        container, app = change.container, change.container.application
        self._count(app.id, container.ask_key, container.size, subtract_all, container.is_am)
        well = change.kind == "completed" and change.exit_status == 0
        if app.type != "MAPREDUCE" or container.is_am or not well:
            return
        job = memory.job(app.id)
        if is_map(container.ask_key):
            job.finish(container.node.host)
            if app.id in self._outputs:
                self._outputs[app.id].finish(container.node.host)
        elif container.ask_key.priority == REDUCE_PRIORITY:
            job.reduces += 1

    def _forget(self, memory: Memory, job_id: str) -> None:
        known: tuple[dict[str, Any], ...] = (memory.jobs, memory.excluded, self._stated)
        known += self._outputs, self._running, self._reduces_on
        for each in known:
            each.pop(job_id, None)
        if (job := self._take_out(job_id)) is not None:
            self._total(Job(job.app), job)

    def _count(self, job_id: str, key: AskKey, size: Resource, move: Move, is_am: bool) -> None:
        """Count one container more or less of a MapReduce job."""
        kind = 2 if is_am else 0 if is_map(key) else 1 if key.priority == REDUCE_PRIORITY else 2
        if kind == 1:
            self._reduces_on.pop(job_id, None)
        if job_id in self._running:
            move([self._running[job_id][kind]], (1, *size))

    def allocated(self, ask: Ask) -> None:
        """Count an allocated container; ``update`` then looks at the application again."""
        self._count(ask.application.id, ask.key, ask.size, add_all, ask.is_am)

    def update(self, memory: Memory) -> list[Job]:
        """Look at the applications that changed, and return their jobs."""
        if self._capacity_version != self.view.capacity_version:
            self._capacity_version = self.view.capacity_version
            self._changed.update(dict.fromkeys(self.view.queue.applications.values()))
        found = []
        for app in self._changed:
            assert isinstance(app, Application)
            before = self._take_out(app.id)
            job = Job(app)
            if app.number in self.view.queue.applications:
                self._look(job, memory)
                found.append(job)
            self._total(job, before or Job(app))
        self._changed.clear()
        return found

    def _take_out(self, job_id: str) -> Job | None:
        for known in (self.eligible, self.without_map, self.entries):
            known.pop(job_id, None)
        return self.by_id.pop(job_id, None)

    def _total(self, now: Job, before: Job) -> None:
        """Count what all jobs ask for and hold, with a job as it is now instead of ``before``."""
        if now.shapes != before.shapes:
            tally(self.shapes, before.shapes, -1)
            tally(self.shapes, now.shapes, 1)
        if now.reduce_shapes != before.reduce_shapes:
            tally(self.reduce_shapes, before.reduce_shapes, -1)
            tally(self.reduce_shapes, now.reduce_shapes, 1)
        self._early.replace(now.app.user, before.held, now.held)

    def _look(self, job: Job, memory: Memory) -> None:
        app, options = job.app, self.options
        if app.type == "MAPREDUCE":
            job.tasks = self._tasks(app, memory)
            job.mismatch = mismatch(job.tasks, options.threshold)
            maps, reduces, _ = self._running[app.id]
            job.held = [*maps], [each * (job.tasks.pending_maps > 0) for each in reduces]
            if job.tasks.pending_maps and not maps[0]:
                self.without_map[app.id] = job
            else:
                memory.jobs[app.id].stuck_ms = None
        known = job.tasks is not None and (job.tasks.reduces or options.unknown_reduces == "hold")
        for ask in app.asks:
            kind = job.others
            if job.tasks is not None and not ask.is_am:
                if is_map(ask.key) and options.maps != "any":
                    kind = job.maps
                elif ask.priority == REDUCE_PRIORITY and options.reduces == "coupled" and known:
                    kind = job.reduces
            kind += [ask] * (ask.count > 0)
        self.by_id[app.id] = job
        if job.reduces and job.mismatch > 0:
            self.eligible[app.id] = job
        if job.maps or job.others:
            self.entries[app.id] = self.entry(app)
            job.shapes = [demand_of(ask) for ask in (*job.maps, *job.others)]
        job.reduce_shapes = [(ask.size, ask.label) for ask in job.reduces]

    def reduces_on(self, app: Application) -> set[int]:
        """Return the numbers of the nodes on which its reduces run: the same set, unchanged, until
        one starts or ends.
        """
        found = self._reduces_on.get(app.id)
        if found is None:
            found = {c.node.number for c in app.containers if is_reduce(c)}
            self._reduces_on[app.id] = found
        return found

    def maps_first(self, job: Job, ask: Ask) -> bool:
        """Return whether the reduce waits for maps, of its job or of all jobs."""
        return job.mismatch <= 0 or self._early.beyond(ask, maps_of(job))

    def entry(self, app: Application, more: int = 0) -> tuple[float, int, int, str]:
        """Return its place in fair order, with ``more`` memory than it uses."""
        used = float(app.used[0] + more)
        if self.options.fairness == "dominant":
            used = share([app.used[0] + more, *app.used[1:]], self.view.cluster_capacity)
        if self.options.fairness == "maps" and app.id in self._running:
            used -= self._running[app.id][1][1]
        return used / app.weight, app.submitted_ms, app.number, app.id

    def _tasks(self, app: Application, memory: Memory) -> Tasks:
        running = self._running.get(app.id)
        counted = 0 if running is None else running[0][0] + running[1][0] + running[2][0]
        if running is None or counted != len(app.containers):
            running = self._running[app.id] = tuple([0, *self.view.zero] for _ in range(3))
            for each in app.containers:
                self._count(app.id, each.ask_key, each.size, add_all, each.is_am)
        own = memory.job(app.id)
        stated_maps, reduces = self._stated_of(app)
        pending = waiting = 0
        for ask in app.asks:
            if not ask.is_am and is_map(ask.key):
                pending += ask.count
            elif not ask.is_am and ask.priority == REDUCE_PRIORITY:
                waiting += ask.count
        open_maps = pending + running[0][0]
        own.maps = max(own.maps, own.done + open_maps)
        maps = max(stated_maps, open_maps) if stated_maps else own.maps
        launched = own.reduces + running[1][0]
        return Tasks(maps, reduces, min(own.done, maps - open_maps), pending, launched, waiting)

    def _stated_of(self, app: Application) -> tuple[int, int]:
        """Return M and R from tags (maps=427, reduces=8) or the hint of stages; 0: not known."""
        stated = self._stated.get(app.id)
        if stated is None:
            named = dict(numbers_of(app.tags))
            dag = read_dag(app.hints)
            for stage in dag.stages if dag is not None and not named else ():
                is_reduce_stage = stage.priority == REDUCE_PRIORITY
                if is_reduce_stage or stage.priority in MAP_PRIORITIES:
                    name = "reduces" if is_reduce_stage else "maps"
                    named[name] = named.get(name, 0) + stage.tasks
            stated = self._stated[app.id] = named.get("maps", 0), named.get("reduces", 0)
        return stated

    def output(self, app: Application) -> Output:
        """Return w_i(u), where the job's finished maps have left their output."""
        assert self._memory is not None
        own, found = self._memory.jobs[app.id], self._outputs.get(app.id)
        now = own.version, self.view.capacity_version
        if found is None or (found.version, found.capacity_version) != now:
            sizes = sizes_of(app) if found is None else found.sizes
            found = Output(self.view, sizes, own.finished, own.version)
            self._outputs[app.id] = found
        return found


def maps_of(job: Job) -> list[Ask]:
    """Return its outstanding asks for maps, however they are served."""
    return [ask for ask in (*job.maps, *job.others) if is_map(ask.key) and not ask.is_am]


def demand_of(ask: Ask) -> Demand:
    """Return what limits look at; the user counts only if users are limited."""
    app = ask.application
    user = EVERYBODY if app.queue.user_limit is None else app.user
    return ask.size, ask.label, user


def tally(counts: dict[S, int], shapes: Iterable[S], change: int) -> None:
    """Add ``change`` to the count of each shape; remove counts of 0."""
    for shape in shapes:
        counts[shape] = counts.get(shape, 0) + change
        if not counts[shape]:
            del counts[shape]


def numbers_of(tags: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the tags maps=N and reduces=N; skip any that is not such a number."""
    for tag in tags:
        name, _, text = tag.partition("=")
        if name in ("maps", "reduces") and text.isdecimal() and len(text) < 10:
            yield name, int(text)
