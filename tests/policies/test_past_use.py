"""Tests of past use: an integral over time that halves with every half-life, for queues of `fair`
and `drf`.
"""

from collections import Counter
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import config, queue
from loomcard.testing.cluster import Cluster

HOUR_MS = 3_600_000
TWO_QUEUES = {"a": {}, "b": {}}


def cluster(
    policy: str, hours: float, saved: dict | None = None, epoch: int = 0, **queues
) -> Cluster:
    """Return a cluster with twelve places and these leaves under a policy with a half-life."""
    inside = [
        queue(f"root.{name}", "fifo", **keys) for name, keys in (queues or TWO_QUEUES).items()
    ]
    options = {"half_life_hours": hours}
    engine = Cluster(config(queue("root", policy, options=options), *inside), saved=saved)
    engine.session.mirror.epoch_ms = epoch
    engine.add_node(1, 12 * 1024, 12)
    return engine


def asked(engine: Cluster, app: int, leaf: int, count: int) -> None:
    """Add an application that asks for containers of one place."""
    engine.add_app(app, queue=leaf)
    engine.ask(app, count)


def end_all(engine: Cluster) -> None:
    """End every container."""
    for number in list(engine.containers):
        engine.complete(number)


def allocated(engine: Cluster) -> Counter:
    """Return how many containers of each application the next round allocates."""
    return Counter(grant.attempt for grant in engine.round())


def past_of(engine: Cluster, path: str) -> float:
    """Return what a queue has used, in MB x minutes, as the policy saved it last."""
    return engine.saved["root:" + engine.compiled["queues"][0]["policy"]]["past"][path][0]


@pytest.mark.parametrize("policy", ["fair", "drf"])
def test_who_was_idle_is_preferred_until_it_has_caught_up(policy):
    """a uses all for an hour; then b, which comes with as much to do, gets all that ends."""
    engine = cluster(policy, 24)
    asked(engine, 1, 1, 100)
    assert allocated(engine) == {1: 12}
    engine.now += HOUR_MS
    end_all(engine)
    asked(engine, 2, 2, 100)
    assert allocated(engine) == {2: 12}
    engine.now += HOUR_MS // 2
    end_all(engine)
    assert allocated(engine) == {2: 12}  # half an hour is still lacking
    engine.now += 40 * 60_000
    end_all(engine)
    assert allocated(engine) == {1: 12}  # b is now some minutes ahead


@pytest.mark.parametrize("policy", ["fair", "drf"])
def test_without_a_half_life_only_present_use_counts(policy):
    """After an hour in which a used all, both get half."""
    engine = cluster(policy, 0)
    asked(engine, 1, 1, 100)
    engine.round()
    engine.now += HOUR_MS
    end_all(engine)
    asked(engine, 2, 2, 100)
    assert allocated(engine) == {1: 6, 2: 6}


def test_use_is_integrated_exactly_and_halves_with_the_half_life():
    """One GB for 90 minutes: 1024 * h / ln 2 * (1 - 2^(-90 / h)), then halved once an hour, where h
    is 60 minutes. Rounds in between change nothing.
    """
    engine = cluster("fair", 1)
    asked(engine, 1, 1, 1)
    engine.round()
    for _ in range(9):
        engine.now += 10 * 60_000
        engine.heartbeat()
        engine.round()
    engine.complete(next(iter(engine.containers)))
    engine.round()
    want = 1024 * 60 / log(2) * (1 - 2**-1.5)
    assert past_of(engine, "root.a") == pytest.approx(want, rel=1e-4)
    engine.now += HOUR_MS
    asked(engine, 2, 2, 1)
    engine.round()
    assert past_of(engine, "root.a") == pytest.approx(want / 2, rel=1e-4)


def test_a_weight_divides_past_use():
    """a has twice b's weight and has used twice as much: then neither is preferred."""
    engine = cluster("drf", 24, a={"weight": 2.0}, b={})
    for app, leaf in ((1, 1), (2, 2)):
        asked(engine, app, leaf, 100)
    assert allocated(engine) == {1: 8, 2: 4}
    engine.now += HOUR_MS
    end_all(engine)
    assert allocated(engine) == {1: 8, 2: 4}


def test_a_guarantee_goes_before_past_use():
    """a has used all for a day, and still gets its guaranteed quarter at once."""
    engine = cluster("drf", 24, a={"guaranteed": {"ppm": 250_000}}, b={})
    asked(engine, 1, 1, 100)
    engine.round()
    engine.now += 24 * HOUR_MS
    end_all(engine)
    asked(engine, 2, 2, 100)
    assert allocated(engine) == {1: 3, 2: 9}


def test_past_use_outlives_the_resourcemanager():
    """A ResourceManager that starts an hour later, with a clock of its own, goes on with what was
    saved, half of it.
    """
    first = cluster("fair", 1, epoch=1_000_000)
    asked(first, 1, 1, 12)
    first.round()
    first.now += HOUR_MS
    end_all(first)
    first.round()
    before, then_ms = past_of(first, "root.a"), 1_000_000 + first.now
    second = cluster("fair", 1, first.saved, epoch=then_ms + HOUR_MS)
    asked(second, 1, 1, 100)
    asked(second, 2, 2, 100)
    assert allocated(second) == {2: 12}
    second.now += 1000
    second.round()
    assert past_of(second, "root.a") == pytest.approx(before / 2, rel=1e-2)


@pytest.mark.slow
@given(
    idle_h=st.integers(1, 6), task_min=st.integers(1, 30), policy=st.sampled_from(["fair", "drf"])
)
def test_over_a_long_time_both_have_used_the_same(idle_h, task_min, policy):
    """Two queues of one weight, of which the second comes hours later: with a long half-life the
    hours of both differ by less than one round of tasks at the end.
    """
    engine = cluster(policy, 24 * 365)
    used = Counter()
    asked(engine, 1, 1, 1_000_000)
    rounds = 2 * idle_h * 60 // task_min + 2
    for number in range(rounds + 4):
        if number == idle_h * 60 // task_min:
            asked(engine, 2, 2, 1_000_000)
        end_all(engine)
        engine.round()
        engine.now += task_min * 60_000
        used.update(c.attempt for c in engine.containers.values())
    assert abs(used[1] - used[2]) <= 24
