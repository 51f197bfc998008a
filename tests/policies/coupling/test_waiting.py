"""Algorithm 2, Wait Scheduling, as a state machine: rounds, refusals, lost nodes, swaps."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loomcard.policies.coupling.paper import Waiting, attempted, cost, on_heartbeat, ranked


class Jobs:
    """Jobs with reduces to place, and nodes with room for two reduces each."""

    def __init__(self, nodes, pending):
        self.room = dict.fromkeys(nodes, 2)
        self.pending = dict(pending)
        self.running = {job: [] for job in pending}
        self.data = {job: {min(nodes): 1.0} for job in pending}

    def may(self, job):
        return self.pending.get(job, 0) > 0

    def select(self):
        return min((job for job in self.pending if self.may(job)), default=None)

    def lists(self, job):
        able = [v for v, room in self.room.items() if room]
        costs = ((cost(self.data[job], lambda u, v: abs(u - v), v), v, v) for v in able)
        return ranked(costs)

    def runs(self, job, v):
        return v in self.running[job]

    def launch(self, job, v):
        self.room[v] -= 1
        self.pending[job] -= 1
        self.running[job].append(v)


def beat(state, jobs, v, refuse=False):
    """Send one heartbeat; return the job that was launched, if any."""
    if not on_heartbeat(state, v, len(jobs.room), jobs):
        return None
    job = state.candidate
    launched = jobs.room[v] > 0 and not refuse
    attempted(state, len(jobs.room), launched)
    if launched:
        jobs.launch(job, v)
    return job if launched else None


def test_the_first_heartbeat_selects_and_the_next_may_launch():
    """Each reduce needs at least two heartbeats."""
    jobs, state = Jobs(range(4), {"a": 2}), Waiting()
    assert beat(state, jobs, 0) is None
    assert (state.candidate, state.wait) == ("a", 0)
    assert beat(state, jobs, 0) == "a"
    assert (state.candidate, state.wait) == (None, 0)


def test_a_node_of_another_rank_waits_for_its_round():
    """In the first round only node 0 may be used; node 3, of rank 4, in the third."""
    jobs, state = Jobs(range(4), {"a": 1}), Waiting()
    waits = []
    beat(state, jobs, 3)
    while (found := beat(state, jobs, 3)) is None:
        waits.append(state.wait)
    assert found == "a"
    assert waits == list(range(1, 9))


def test_a_second_reduce_comes_to_a_node_in_the_fourth_round():
    jobs, state = Jobs(range(2), {"a": 2}), Waiting()
    launched = []
    for turn in range(20):
        before = state.wait
        if beat(state, jobs, 0):
            launched.append((turn, before + 1))
    assert launched == [(1, 1), (9, 7)]


def test_a_refusal_leads_to_the_next_round():
    jobs, state = Jobs(range(5), {"a": 1}), Waiting()
    beat(state, jobs, 0)
    beat(state, jobs, 0, refuse=True)
    assert state.wait == 6
    assert beat(state, jobs, 1) == "a"


def test_who_finds_no_place_gives_up_after_four_rounds():
    """Another job is chosen 4N + 1 heartbeats after the first one was."""
    jobs, state = Jobs(range(3), {"a": 1, "b": 1}), Waiting()
    jobs.room = dict.fromkeys(range(3), 0)
    beat(state, jobs, 0)
    for turn in range(12):
        assert beat(state, jobs, turn % 3) is None
        assert state.candidate == "a"
    beat(state, jobs, 0)
    assert state.candidate is None


def test_a_candidate_that_is_gone_is_replaced():
    jobs, state = Jobs(range(3), {"a": 1, "b": 1}), Waiting()
    beat(state, jobs, 0)
    del jobs.pending["a"]
    assert beat(state, jobs, 0) is None
    assert (state.candidate, state.wait) == ("b", 0)


class Machine(RuleBasedStateMachine):
    """Heartbeats in any order, refusals, nodes that leave and return, jobs that come, leave and
    end.
    """

    @initialize(nodes=st.integers(1, 8), jobs=st.integers(1, 4))
    def start(self, nodes, jobs):
        self.jobs = Jobs(range(nodes), dict.fromkeys(range(jobs), 3))
        self.state, self.next = Waiting(), nodes

    @rule(pick=st.integers(0, 99), refuse=st.booleans())
    def heartbeat(self, pick, refuse):
        jobs, state = self.jobs, self.state
        v = sorted(jobs.room)[pick % len(jobs.room)]
        candidate, wait, n = state.candidate, state.wait, len(jobs.room)
        before = {job: list(where) for job, where in jobs.running.items()}
        lists = jobs.lists(candidate) if candidate is not None else ()
        job = beat(state, jobs, v, refuse)
        if job is None:
            assert jobs.running == before
            return
        assert job == candidate
        assert jobs.running[job] == [*before[job], v]
        assert state == Waiting()
        number = wait // n  # within the round, from 0
        assert number <= 3
        if number < 3:
            assert v in lists[number]
            assert v not in before[job]

    @rule(pick=st.integers(0, 99))
    def node_is_lost(self, pick):
        if len(self.jobs.room) > 1:
            gone = sorted(self.jobs.room)[pick % len(self.jobs.room)]
            del self.jobs.room[gone]
            for job, where in self.jobs.running.items():
                while gone in where:
                    where.remove(gone)
                    if job in self.jobs.pending:
                        self.jobs.pending[job] += 1
                self.jobs.data[job].pop(gone, None)

    @rule()
    def node_joins(self):
        self.jobs.room[self.next] = 2
        self.next += 1

    @rule(job=st.integers(0, 3))
    def job_ends(self, job):
        self.jobs.pending.pop(job, None)

    @rule(job=st.integers(0, 3))
    def reduce_ends(self, job):
        if self.jobs.running.get(job):
            v = self.jobs.running[job].pop()
            self.jobs.room[v] += 1

    @rule()
    def swap(self):
        """Begin with a new memory, because another policy governed for a while."""
        self.state = Waiting()

    @rule()
    def everybody_beats(self):
        """After 4N + 2 heartbeats of all nodes the candidate has launched or was replaced."""
        jobs, state = self.jobs, self.state
        first, pending = state.candidate, dict(jobs.pending)
        seen = set()
        for i in range(4 * len(jobs.room) + 2):
            beat(state, jobs, sorted(jobs.room)[i % len(jobs.room)])
            seen.add((state.candidate, state.wait == 0))
        assert first is None or jobs.pending != pending or (None, True) in seen

    @invariant()
    def never_waits_longer(self):
        if hasattr(self, "state"):
            assert self.state.wait >= 0
            assert self.state.candidate is not None or self.state.wait == 0


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
