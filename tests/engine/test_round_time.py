"""A round ends before its plan would be late, continues in the next round, and replays the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from compiled import config, flat, queue
from loomcard import ClusterView, Plan, register
from loomcard.api.registry import built_in
from loomcard.engine.session import Session, replay
from loomcard.testing.cluster import Cluster

DEADLINE_MS = 1000


class Clock:
    """A clock for tests, in ms; each reading takes ``look_ms``."""

    def __init__(self, look_ms: float = 0) -> None:
        self.ms, self.look_ms = 0.0, look_ms

    def __call__(self) -> float:
        self.ms += self.look_ms
        return self.ms / 1000


CLOCK = Clock()


@register("test-slow")
@dataclass(frozen=True)
class Slow:
    """Serves first come, first served, as the guide does, but needs ``think_ms`` for each ask."""

    think_ms: int = 10

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending():
            CLOCK.ms += self.think_ms
            while ask.count > 0 and (node := plan.place(ask)) is not None:
                plan.allocate(ask, node)
        return plan


def timed(compiled: dict, clock: Clock, journal: Path, nodes: int = 1) -> Cluster:
    """Return a cluster whose rounds are late after DEADLINE_MS of the clock."""
    made = Cluster(compiled, journal=journal, segment_rounds=3)
    made.session.hello.settings["round_deadline_ms"] = DEADLINE_MS
    made.session = Session(made.session.hello, journal, clock=clock)
    for node in range(1, nodes + 1):
        made.add_node(node, 1024 * 400, 400)
    return made


def exchanged(made: Cluster) -> tuple[int, bool]:
    """Run a round; return the number of allocated containers and whether its time ran out."""
    before = CLOCK.ms
    plan = made.exchange(1)
    assert plan.faults == []
    assert CLOCK.ms - before < DEADLINE_MS
    made.commit(plan)
    return sum(d.count for d in plan.decisions), bool(plan.cuts)


def test_a_slow_policy_ends_with_what_it_has_and_goes_on_at_once(tmp_path):
    """The decisions so far are carried out, the root is woken in the next ms, and the next rounds
    serve the rest. A replay has no clock and ends the turns at the same places.
    """
    made = timed(flat("test-slow"), CLOCK, tmp_path)
    made.add_app(1)
    for request_id in range(200):
        made.ask(1, 1, request_id=request_id)
    allocated, cut = exchanged(made)
    assert cut
    assert 25 <= allocated <= 40  # 250 ms, half of the root's 500, and half as much again
    assert made.timers[0] == made.now + 1
    rounds = [exchanged(made) for _ in range(8)]
    assert sum(each for each, _ in rounds) + allocated == 200
    assert not rounds[-1][1]
    assert made.session.journal is not None
    made.session.journal.close()
    assert replay(tmp_path) == []


def test_who_comes_late_in_the_order_is_served_though_the_first_fit_nowhere(tmp_path):
    """The next round skips what fits nowhere. If that round allocates nothing either, the root is
    called again after a second, not at once.
    """
    made = timed(flat("test-slow"), CLOCK, tmp_path)
    for app, size in ((1, (1024 * 500, 1)), (2, (1024, 1))):
        made.add_app(app)
        for request_id in range(200 if app == 1 else 1):
            made.ask(app, 1, size, request_id=request_id)
    assert exchanged(made) == (0, True)
    assert made.timers[0] == made.now + 1
    assert exchanged(made) == (1, False)
    assert exchanged(made) == (0, True)
    assert made.timers[0] == made.now + 1


@register("test-hesitates")
@dataclass(frozen=True)
class Hesitates:
    """Thinks until its time has ended, and allocates nothing."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        while not plan.spent:
            CLOCK.ms += 10
        return plan


def test_after_a_second_round_in_vain_the_next_follows_a_second_later(tmp_path):
    """The first one is followed at once."""
    made = timed(flat("test-hesitates"), CLOCK, tmp_path)
    made.add_app(1)
    made.ask(1, 1)
    waits = []
    for _ in range(3):
        assert exchanged(made) == (0, True)
        waits.append(made.timers[0] - made.now)
    assert waits == [1, 1_000, 1_000]


def test_a_slow_queue_leaves_time_to_the_others(tmp_path):
    """A turn gets half of the time that is left, so the next queue is always served in the same
    round.
    """
    compiled = config(
        queue("root", "drf"), queue("root.a", "test-slow"), queue("root.b", "test-slow")
    )
    made = timed(compiled, CLOCK, tmp_path)
    made.add_app(1, queue=1)
    for request_id in range(300):
        made.ask(1, 1, (1024 * 500, 1), request_id=request_id)
    made.add_app(2, queue=2)
    for _ in range(4):
        made.ask(2, 1)
        assert exchanged(made)[0] == 1
    assert made.session.journal is not None
    made.session.journal.close()
    assert replay(tmp_path) == []


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_policy_goes_on_where_its_time_was_over(name, tmp_path):
    """However early the turns of a policy end, it raises nothing, serves everything in some round,
    and replays the same. It must not remember that nothing fitted if its time ran out.
    """
    clock = Clock(look_ms=25)
    compiled = config(queue("root", "drf"), queue("root.a", name), queue("root.b", "fifo"))
    made = timed(compiled, clock, tmp_path, nodes=0)
    for node in range(1, 5):
        made.add_node(node, 4096, 4, rack=f"/r{node % 2}")
    for app, count in ((1, 9), (2, 2), (3, 9)):
        made.add_app(app, queue=1 + app % 2)
        made.ask(app, count, (1024, 1) if app < 3 else (512, 1), hosts={"n2": 1})
    cuts = 0
    for _ in range(80):
        made.heartbeat()
        plan = made.exchange(1000)
        assert plan.faults == []
        cuts += len(plan.cuts)
        made.commit(plan)
        for number in list(made.containers)[:2]:
            made.complete(number)
    assert cuts
    assert made.asks == {}
    assert made.session.journal is not None
    made.session.journal.close()
    assert replay(tmp_path) == []
