"""Wait Scheduling in random runs of a cluster: lost nodes, refusals, swaps and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from coupled import MAP, REDUCE, SLOT
from loomcard.policies.coupling.candidates import Candidates
from loomcard.policies.coupling.jobs import MAP_PRIORITIES
from loomcard.policies.coupling.output import Output
from loomcard.policies.coupling.paper import unit
from loomcard.policies.coupling.places import Listed, Places
from loomcard.policies.coupling.policy import Coupling
from loomcard.testing import PolicyMachine
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r

OUTCOMES = st.sampled_from([("completed", 0), ("completed", 1), ("killed", 137)])
TRUTH, NOTHING, LIE = 0, 1, 2


@pytest.fixture(autouse=True)
def _looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a candidate's lists is spared only where it finds the node in none of them."""
    spared = Candidates._without

    def checked(self: Candidates, lists: Listed, job_id: str, number: int) -> bool:
        if not spared(self, lists, job_id, number):
            return False
        job, memory = self.jobs.eligible[job_id], self.memory
        ask = next((ask for ask in job.reduces if self._able(ask, {})), job.reduces[0])
        chosen = next(key[1] for key, each in self.places.listed().items() if each is lists)
        used = self.jobs.reduces_on(job.app) if self.options.lists == "open" else frozenset()
        assert used <= {c.node.number for c in job.app.containers}
        places, own = Places(self.view, self.options), memory.jobs[job_id]
        output = Output(self.view, {}, own.finished, own.version)
        kept = self.jobs.output(job.app)
        assert (kept.by_host, kept.by_rack, kept.most) == (
            output.by_host, output.by_rack, output.most
        )  # fmt: skip
        upto = lists.last // self.view.node_count
        found = places.lists(ask, output, f"{job_id}/{chosen}", used, upto)
        self.view.unwatch(places.rooms._changed)
        assert number not in {node.number for each in found for node in each}
        assert sum(map(len, found)) or self.options.lists == "all"
        return True

    monkeypatch.setattr(Candidates, "_without", checked)


class Life(PolicyMachine):
    """MapReduce jobs beside the applications of the machine for every policy. Each launch is judged
    by what the machine itself has seen: it counts no more maps, and no more reduces, than the
    policy can know of. In the end every ask is served, and the journal replays (PolicyMachine).
    """

    a_round = a_round_with_refusals = None  # replaced by single heartbeats, each of which is judged
    application_comes = container_ends = None
    lists = "all"

    @classmethod
    def compiled(cls, draw: Any) -> dict[str, Any]:
        """Return a configuration with one queue, in which a peek sees all nodes or two. No room is
        reserved, so only Wait Scheduling launches reduces.
        """
        peeked = draw(st.sampled_from([0, 2]))
        return compiled(Coupling(peeked_nodes=peeked, reserve_after_ms=0, lists=cls.lists))

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """Begin with a few nodes, and a job with three reduces."""
        super().begin(data=data)
        self.honest: dict[int, tuple[int, int]] = {}  # maps and reduces of jobs whose tags are true
        self.finished: dict[tuple[int, str], int] = {}  # finished maps, by application and host
        self.version = 1
        self.undone = False  # whether the last launch of a reduce was refused
        self.refused: tuple[str, int, int] | None = None  # by whom, its wait, number of nodes
        for count in data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)):
            self.node_joins(1024 * count, count, "/a")
        self.job_comes(data.draw(st.integers(3, 9)), 3, TRUTH)

    def end(self, number: int, kind: str, status: int) -> None:
        """End a container."""
        container = self.cluster.state.containers[number]
        if (kind, status) == ("completed", 0) and container.ask_key.priority in MAP_PRIORITIES:
            key = container.application.number, container.node.host
            self.finished[key] = self.finished.get(key, 0) + 1
        self.cluster.send(r.ContainerCompletedRecord(self.cluster.now, number, kind, status))

    @precondition(lambda self: self.cluster.nodes)
    @rule(pick=st.integers(0))
    def node_is_lost(self, pick: int) -> None:
        """Lose a node with all that runs on it and all output of maps there."""
        host, _, _ = self.cluster.place(number := nth(self.cluster.nodes, pick))
        self.finished = {key: n for key, n in self.finished.items() if key[1] != host}
        self.cluster.lose_node(number)

    @rule(maps=st.integers(0, 6), reduces=st.integers(0, 4), tags=st.integers(TRUTH, LIE))
    def job_comes(self, maps: int, reduces: int, tags: int) -> None:
        """Add a job that asks for all its tasks. Its tags state the true numbers, nothing, or false
        ones.
        """
        self.apps += 1
        said = [[f"maps={maps}", f"reduces={reduces}"], [], ["maps=2", "reduces=9"]][tags]
        self.cluster.add_app(self.apps, 1, type="MAPREDUCE", tags=said)
        if tags == TRUTH:
            self.honest[self.apps] = maps, reduces
        for count, priority in ((maps, MAP), (reduces, REDUCE)):
            if count:
                self.cluster.ask(self.apps, count, SLOT, priority)

    @precondition(lambda self: self.cluster.applications)
    @rule(app=st.integers(0), count=st.integers(0, 4), priority=st.sampled_from([5, 10, 20]))
    def job_asks(self, app: int, count: int, priority: int) -> None:
        """Let a job ask for more tasks, for fewer, or for failed maps; from then on its true size
        is unknown.
        """
        number = nth(self.cluster.applications, app)
        if count or (number, priority, 0) in self.cluster.asks:
            self.honest.pop(number, None)
            self.cluster.ask(number, count, SLOT, priority)

    @precondition(lambda self: self.cluster.containers)
    @rule(pick=st.integers(0), outcome=OUTCOMES)
    def container_exits(self, pick: int, outcome: tuple[str, int]) -> None:
        """Let a container succeed, fail, or be killed."""
        self.end(nth(self.cluster.containers, pick), *outcome)

    @precondition(lambda self: self.cluster.nodes)
    @rule(picks=st.lists(st.integers(0, 9), min_size=3, max_size=12), ends=st.integers(0, 3))
    def nodes_beat(self, picks: list[int], ends: int) -> None:
        """Let this many containers succeed, then let nodes send heartbeats, each in its own
        round.
        """
        for number in sorted(self.cluster.containers)[:ends]:
            self.end(number, "completed", 0)
        for pick in picks:
            self.a_node_beats(pick, refuse=False, late=False)

    @precondition(lambda self: self.cluster.nodes)
    @rule(picks=st.lists(st.integers(0, 9), min_size=3, max_size=12))
    def nodes_beat_after_a_map(self, picks: list[int]) -> None:
        """Let the oldest container succeed before each heartbeat, again and again."""
        for pick in picks:
            if self.cluster.containers:
                self.end(min(self.cluster.containers), "completed", 0)
            self.a_node_beats(pick, refuse=False, late=False)

    @precondition(lambda self: self.cluster.nodes)
    @rule(pick=st.integers(0), refuse=st.booleans(), late=st.booleans())
    def a_node_beats(self, pick: int, refuse: bool, late: bool) -> None:
        """Let a node send a heartbeat; a reduce may be refused, or the whole plan may be late."""
        made, node = self.cluster, nth(self.cluster.nodes, pick)
        waiting = made.memory().waiting[0] if self.governs() else None
        before = None if waiting is None or self.undone else (waiting.candidate, waiting.wait)
        rounds = None if before is None else list(made.memory().figures.by_round)
        made.send(r.NodeHeartbeatRecord(made.now, node))
        plan = made.exchange()
        assert not plan.faults
        self.judge(plan.decisions, before, node)
        launched = [each for each in plan.decisions if getattr(each, "priority", None) == REDUCE]
        if before is not None and rounds is not None:
            self.counted(before, rounds, bool(launched))
        elif self.refused is not None and self.governs():
            self.next_round(*self.refused, bool(launched))
        made.refuse = lambda one: "NODE_FULL" if refuse and one.priority == REDUCE else None
        made.commit(plan, late)
        made.refuse = lambda _: None
        self.undone = late or (bool(launched) and refuse)
        known = self.undone and not late and before is not None
        self.refused = (*before, len(made.nodes)) if known and before else None

    def judge(self, decisions: Any, before: tuple[str | None, int] | None, node: int) -> None:
        """Judge the plan of one heartbeat before it is carried out."""
        made, launched = self.cluster, []
        maps: dict[int, int] = {}
        for each in decisions:
            app = made.state.attempts[each.attempt].application
            if app.type != "MAPREDUCE":
                continue
            if each.priority in MAP_PRIORITIES:
                maps[app.number] = maps.get(app.number, 0) + each.count
            if each.priority == REDUCE:
                launched += [app] * each.count
                waits = sum(a.count for a in app.asks if a.priority in MAP_PRIORITIES)
                if app.number in self.honest and waits > maps.get(app.number, 0):
                    self.earned(app)
        assert len(launched) <= 1
        if not launched or before is None:
            return
        (app,), (candidate, wait), n = launched, before, len(made.nodes)
        assert app.id == candidate
        assert wait < 4 * n
        if wait < 3 * n:
            beside = made.state.nodes[node].containers
            assert not any(c.application is app and c.ask_key.priority == REDUCE for c in beside)

    def counted(self, before: tuple[str | None, int], rounds: list[int], launched: bool) -> None:
        """Check the counts after a heartbeat. A job that waits has counted it, in four rounds at
        most. A launch is counted in its round, and then no job waits. A candidate that was just
        chosen has not waited.
        """
        (candidate, wait), n, memory = before, len(self.cluster.nodes), self.cluster.memory()
        after = memory.waiting[0]
        if launched:
            rounds[wait // n] += 1
            assert (after.candidate, after.wait) == (None, 0)
        elif candidate is not None and after.candidate == candidate:
            assert after.wait <= 4 * n
            assert after.wait == wait + 1 or self.skipped(after.wait, wait, n)
        else:
            assert after.wait == 0
        assert memory.figures.by_round == rounds

    def next_round(self, candidate: str, wait: int, n: int, launched: bool) -> None:
        """After a refusal the job continues in the next round, whose first heartbeat has passed."""
        after, number = self.cluster.memory().waiting[0], wait // n + 1
        if n == len(self.cluster.nodes) and after.candidate == candidate and not launched:
            next_wait = number * n + 2 if number < 4 else wait + 2
            assert after.wait == next_wait or self.skipped(after.wait, wait, n)

    def skipped(self, after: int, before: int, n: int) -> bool:
        """The fourth round begins early if no other node may take the reduce."""
        return self.lists == "open" and before < 3 * n == after

    def earned(self, app: Any) -> None:
        """Check that, while maps wait, as many have finished as one more reduce needs."""
        finished = sum(n for (number, _), n in self.finished.items() if number == app.number)
        running = sum(c.ask_key.priority == REDUCE for c in app.containers)
        assert finished > (running + 1) * unit(*self.honest[app.number])

    @rule()
    def a_snapshot(self) -> None:
        """The next round rebuilds the memories and chooses the waiting job again."""
        super().a_snapshot()
        self.undone, self.refused = True, None

    @rule()
    def a_swap(self) -> None:
        """Let another policy govern, and allocate what it likes, for one round."""
        self.refused = None
        made, ours = self.cluster, self.cluster.compiled
        for governs in (compiled("fifo"), ours):
            self.version += 1
            made.compiled = governs
            made.send(r.ConfigRecord(made.now, self.version, governs))
            made.round()

    def governs(self) -> bool:
        """Return whether coupling has decided something."""
        tree = self.cluster.session.tree
        return tree is not None and any(
            i.queue.leaf and i.queue.policy != "fifo" and i.has_memory
            for i in tree.instances.values()
        )

    @invariant()
    def nobody_waits_longer_than_four_rounds(self) -> None:
        """No job waits longer than four rounds of as many nodes as ever existed; it gives up at the
        next heartbeat.
        """
        if hasattr(self, "honest") and self.governs():
            waiting = self.cluster.memory().waiting[0]
            assert 0 <= waiting.wait <= 4 * max(1, self.node_number)
            assert waiting.candidate is not None or waiting.wait == 0


def nth(numbers: Any, pick: int) -> int:
    """Return one of the numbers."""
    found = sorted(numbers)
    return int(found[pick % len(found)])


class OpenLife(Life):
    """The same with lists that leave out nodes that run a reduce of the job."""

    lists = "open"


TestLife, TestOpenLife = pytest.mark.slow(Life.TestCase), pytest.mark.slow(OpenLife.TestCase)
TestLife.settings = TestOpenLife.settings = settings(  # shrinking takes minutes
    max_examples=25, stateful_step_count=40, deadline=None, phases=[Phase.generate]
)
