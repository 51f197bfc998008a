"""Whatever a policy raises, and wherever, its own queue is served by its fallback, and the other
queues are not affected.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from compiled import config, queue
from loomcard.engine.session import JOURNAL, NOT_BUILT, Session, replay
from loomcard.testing.cluster import Cluster
from loomcard.wire.journal import read_segment, segments
from scripted import RAISES, Raises


def resource_manager(what: str, where: str) -> Cluster:
    """Return a cluster with drf over root.a, whose policy raises, and root.b under fifo. Its
    session is that of a ResourceManager, so policies are built in the rounds.
    """
    engine = Cluster(
        config(
            queue("root", "drf"),
            queue("root.a", "test-raises", options={"what": what, "where": where}),
            queue("root.b", "fifo"),
        ),
        tolerant=True,
    )
    engine.session.hello.settings["policy_path"] = []
    engine.session = Session(engine.session.hello)
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, queue=app)
    return engine


@pytest.fixture
def cannot_build(monkeypatch) -> set[str]:
    """The exceptions that the constructor raises; without one, the policy can be built."""
    names = set(RAISES)
    monkeypatch.setattr(Raises, "cannot_build", names)
    return names


@pytest.mark.parametrize("where", ["build", "decide", "save"])
@pytest.mark.parametrize("what", RAISES)
def test_what_it_raises_is_a_fault_of_its_queue(what, where, cannot_build):
    """There is one fault, which names the queue; both queues get what they ask for."""
    assert what in cannot_build
    engine = resource_manager(what, where)
    engine.ask(1, 2)
    engine.ask(2, 2)
    plan = engine.exchange(5_000)
    [(instance, message, trace)] = plan.faults
    assert (instance, message.startswith("root.a:test-raises: ")) == (1, True)
    assert type(RAISES[what]).__name__ in message
    assert len(message) < 2_100
    assert len(trace) < 21_000
    engine.commit(plan)
    engine.round()
    assert sorted(allocated.attempt for allocated in engine.containers.values()) == [1, 1, 2, 2]


def test_what_cannot_be_built_is_built_when_it_can(cannot_build):
    """The policy is built again after each rest, and decides as soon as that succeeds."""
    engine = resource_manager("base-exception", "build")
    engine.ask(1, 1)
    first = engine.exchange()
    assert [fault[0] for fault in first.faults] == [1]
    engine.commit(first)
    cannot_build.clear()
    engine.ask(1, 1)
    resting = engine.exchange(500)
    assert resting.faults == []
    assert engine.session.tree.instances[1].policy is None
    engine.commit(resting)
    engine.ask(1, 1)
    engine.round(600)
    [memory] = [i.memory for n, i in engine.session.tree.instances.items() if n == 1]
    assert memory >= 1


def test_elsewhere_it_is_said_at_once(cannot_build):
    """A simulation or a replay ends with the exception of the constructor."""
    assert cannot_build
    engine = Cluster(config(queue("root", "test-raises", options={"where": "build"})))
    with pytest.raises(BaseException, match="on purpose"):
        engine.round()


@pytest.mark.parametrize("where", ["build", "decide", "save"])
def test_an_interrupt_of_its_own_is_a_fault_too(where, cannot_build, monkeypatch):
    """A policy process decides in a thread, which Ctrl-C does not reach."""
    monkeypatch.setitem(RAISES, "interrupt", KeyboardInterrupt("on purpose"))
    cannot_build.add("interrupt")
    engine = resource_manager("interrupt", where)
    engine.ask(1, 2)
    engine.ask(2, 2)
    with ThreadPoolExecutor(1) as thread:
        plan = thread.submit(engine.exchange, 5_000).result()
    [(instance, message, _)] = plan.faults
    assert (instance, "KeyboardInterrupt: on purpose" in message) == (1, True)
    assert {each.attempt for each in plan.decisions} >= {2}


def test_rounds_without_a_policy_are_missed_in_the_journal(tmp_path, cannot_build):
    """The plan reports how many rounds are missing and why, and when rounds are recorded again."""
    engine = resource_manager("base-exception", "build")
    engine.session = Session(engine.session.hello, tmp_path)
    reported = []
    for turn in range(5):
        if turn == 2:
            cannot_build.clear()
        engine.ask(1, 1)
        plan = engine.exchange(600)
        engine.commit(plan)
        reported.append(plan.reports.get(JOURNAL))
    missing = {"trouble": NOT_BUILT, "lost_rounds": 1}
    assert reported == [missing, None, {"trouble": None, "lost_rounds": 3}, None, None]
    engine.session.journal.close()
    assert [len(read_segment(path).rounds) for path in segments(tmp_path)] == [0, 2]
    assert replay(tmp_path) == []
