"""Tests of what is observed of a run, on clusters of a few slots of which every moment is known."""

from loomcard.stress.parts import app, nodes, stage, workload
from loomcard.stress.predicates import Consistent, Ends, Guarantee, NoIdleRoom
from loomcard.stress.run import observe
from loomcard.stress.scenario import Candidate, StressScenario

HALVES = {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}}


def scenario(*applications, count=1, queues=None, requires=(), **keys):
    """Return a scenario with nodes of eight slots. Everything is observed at once, and tasks take
    the times of their list.
    """
    played = workload("small", nodes(count), applications, 100, heartbeat_ms=0, am_heartbeat_ms=0)
    return StressScenario(
        "small", "", played, requires or (Consistent(), Ends()), queues or {}, **keys
    )


def exactly(name, durations, at_ms=0, queue="root.default", size=(1024, 1)):
    return app(name, 0, at_ms, queue, stages=[_stage(durations, size)])


def _stage(durations, size):
    one = stage("x", 1, size=size)
    return type(one)(one.id, size, one.priority, one.request_id, durations)


def test_waiting_is_the_longest_time_without_a_task():
    """The second application gets all slots after the first, which takes 4 s."""
    seen = observe(
        scenario(exactly("one", [4000] * 8), exactly("two", [1000] * 8)), Candidate("fifo")
    )
    assert seen.waited["two"].ms == 4000
    assert "one" not in seen.waited
    assert seen.overtaken == {}
    assert seen.states == {"one": "SUCCEEDED", "two": "SUCCEEDED"}


def test_overtaken_is_who_waits_while_later_ones_get_what_it_could_use():
    """A whole node is asked for first. Slots become free one by one, and later applications take
    them.
    """
    first = exactly("first", [2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000])
    large = exactly("large", [1000], 100, size=(8192, 8))
    later = [exactly(f"s{i}", [5000], 200 + i) for i in range(3)]
    off = {"reserve_after_ms": 0}
    seen = observe(scenario(first, large, *later), Candidate("fifo", off))
    assert seen.overtaken["large"][:2] == (2000, 4000)
    assert set(seen.overtaken) == {"large"}


def test_idle_room_is_what_a_waiting_task_would_fit_into():
    """strict gives each of two applications a half. The one that wants little lends nothing for ten
    seconds.
    """
    many, few = exactly("many", [10_000] * 8), exactly("few", [10_000])
    seen = observe(scenario(many, few), Candidate("strict"))
    assert (seen.idle.from_ms, seen.idle.to_ms) == (0, 10_000)
    assert "a task of many" in seen.idle.about
    assert NoIdleRoom().broken(seen) is not None
    assert observe(scenario(many, few), Candidate("drf")).idle.ms == 0


def test_a_guarantee_counts_once_all_have_wanted_for_a_turnover():
    """a has all slots when b comes. Three seconds later its tasks end, and both have a half."""
    a = exactly("a", [4000] * 40, queue="root.a")
    b = exactly("b", [4000] * 40, 1000, "root.b")
    for turnover_ms, reservations in ((0, False), (999, False), (1000, True), (3000, True)):
        promise = Guarantee({"root.a": 0.5, "root.b": 0.5}, turnover_ms)
        tried = scenario(a, b, queues=HALVES, requires=(promise,))
        said = promise.broken(observe(tried, Candidate("drf")))
        assert (said is None) == reservations, said


def test_a_guarantee_that_never_counts_is_not_kept():
    """A scenario in which the queues never want room at the same time would prove nothing."""
    promise = Guarantee({"root.a": 0.5, "root.b": 0.5}, 0)
    tried = scenario(
        exactly("a", [1000], queue="root.a"), exactly("b", [1000], 5000, "root.b"),
        queues=HALVES, requires=(promise,),
    )  # fmt: skip
    assert "never wanted at once" in (promise.broken(observe(tried, Candidate("drf"))) or "")


def test_a_swap_takes_place_while_everything_runs():
    """Under drf both share; under strict, from five seconds on, each has its hard half."""
    many, few = exactly("many", [2000] * 60), exactly("few", [2000] * 2, 9000)
    tried = scenario(many, few, begins_under="drf", swaps=((5000, None),))
    seen = observe(tried, Candidate("strict"))
    assert seen.changes_ms == (5000,)
    assert seen.fault is None
    assert seen.idle.from_ms == 10_000
    assert set(seen.states.values()) == {"SUCCEEDED"}
