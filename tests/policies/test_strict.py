"""Tests of strict shares: hard caps by weight, never lent."""

from collections import Counter

import pytest

import scenarios
from compiled import config, flat, queue
from loomcard import RULE_MS
from loomcard.policies.strict import hard_share
from loomcard.testing.cluster import Cluster


def held(engine: Cluster) -> list[int]:
    """Return the number of containers of each application."""
    counts = Counter(g.attempt for g in engine.containers.values())
    return [counts[app] for app in sorted(engine.applications)]


def greedy(engine: Cluster, *apps: tuple[int, tuple[int, int]]) -> None:
    """Add one application for each (containers wanted, size) to the first queue."""
    for app, (count, size) in enumerate(apps, 1):
        engine.add_app(app)
        engine.ask(app, count, size)


def test_nobody_gets_more_than_its_part_though_room_is_left():
    """Two applications that ask get half each; the one that wants little lends nothing."""
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (20, (1024, 1)), (1, (1024, 1)))
    engine.round()
    assert held(engine) == [4, 1]


def test_shares_grow_when_an_application_ends():
    """The application that is left may have everything, and gets it in the round that learns of the
    end.
    """
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (20, (1024, 1)), (1, (1024, 1)))
    engine.round()
    engine.complete(next(n for n, g in engine.containers.items() if g.attempt == 2))
    engine.round()
    assert held(engine) == [8, 0]


def test_the_share_binds_in_every_resource():
    """Half of 8 vcores is two containers of 2, however little memory they need."""
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (20, (256, 2)), (20, (1024, 1)))
    engine.round()
    assert held(engine) == [2, 4]


def test_a_container_larger_than_the_share_runs_alone():
    """Each of three has 3 of 9 GB, and a container of 4 GB is more. Such containers run one at a
    time, so that all of them end.
    """
    engine = Cluster(flat("strict"))
    engine.add_node(1, 9216, 9)
    greedy(engine, (5, (4096, 1)), (5, (1024, 1)), (1, (1024, 1)))
    engine.round()
    assert held(engine) == [1, 3, 1]


@pytest.mark.parametrize(("over", "want"), [("demanding", [8]), ("all", [4])])
def test_an_idle_queue_counts_only_where_all_do(over, want):
    """One of two queues is empty; under ``all`` its half idles."""
    engine = Cluster(
        config(
            queue("root", "strict", options={"over": over}),
            queue("root.a", "drf"),
            queue("root.b", "fifo"),
        )
    )
    engine.add_node(1, 8192, 8)
    greedy(engine, (20, (1024, 1)))
    engine.round()
    assert held(engine) == want


def test_queues_have_their_part_by_weight():
    """The queues share 3 to 1; the policy below decides which application gets it."""
    engine = Cluster(
        config(
            queue("root", "strict"), queue("root.a", "fifo", weight=3.0), queue("root.b", "fifo")
        )
    )
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, queue=app)
        engine.ask(app, 20)
    engine.round()
    assert held(engine) == [6, 2]
    assert hard_share((8192, 8), 3.0, 4.0) == (6144, 6)


def test_below_another_policy_a_scope_shares_out_what_it_is_entitled_to():
    """drf gives half of the cluster to a, and strict divides that between a's two applications."""
    engine = Cluster(
        config(queue("root", "drf"), queue("root.a", "strict"), queue("root.b", "fifo"))
    )
    engine.add_node(1, 8192, 8)
    for app, leaf in ((1, 1), (2, 1), (3, 2)):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 20 if app != 2 else 1)
    engine.round()
    assert held(engine)[:2] == [2, 1]


def test_what_another_queue_gives_back_is_shared_out_at_once():
    """When b wants nothing more, a is entitled to everything, although nothing changed in it."""
    engine = Cluster(
        config(queue("root", "drf"), queue("root.a", "strict"), queue("root.b", "fifo"))
    )
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, leaf=app)
        engine.ask(app, 4 if app == 2 else 20)
    engine.round()
    engine.round()
    assert held(engine) == [4, 4]
    for number in [n for n, g in engine.containers.items() if g.attempt == 2]:
        engine.complete(number)
    engine.round()
    assert held(engine) == [8, 0]


def test_the_reason_for_waiting_is_the_share():
    """So `loomcard status` can show why nothing is allocated although the cluster has room."""
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (20, (1024, 1)), (1, (1024, 1)))
    assert engine.exchange().waits == [(1, 20, 0, "SHARE", engine.now + RULE_MS)]


def test_headroom_is_what_the_share_leaves():
    """Each application has a half, less what it has taken; after the other ends it has all the
    rest.
    """
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (2, (1024, 1)), (1, (1024, 1)))
    plan = engine.exchange()
    assert plan.headroom == [(1, (2048, 2)), (2, (3072, 3))]
    engine.commit(plan)
    assert engine.exchange().headroom == []
    engine.complete(next(n for n, g in engine.containers.items() if g.attempt == 2))
    engine.end_app(2)
    assert engine.exchange().headroom == [(1, (6144, 6))]


@pytest.mark.parametrize(("others", "limit_ppm", "got"), [(14, 1_000_000, 2), (2, 187_500, 3)])
def test_headroom_is_no_more_than_cluster_and_user_limit_leave(others, limit_ppm, got):
    """The application is entitled to 8 of 16, but another queue uses 14 of them, or its user may
    have 3.
    """
    leaf = queue("root.a", "strict", user_limit_ppm=limit_ppm)
    engine = Cluster(config(queue("root", "drf"), leaf, queue("root.b", "fifo")))
    engine.add_node(1, 16384, 16)
    for app, count in ((2, others), (1, 8)):
        engine.add_app(app, queue=app)
        engine.ask(app, count)
        plan = engine.exchange()
        engine.commit(plan)
    assert sum(g.attempt == 1 for g in engine.containers.values()) == got
    assert plan.headroom == [(1, (0, 0))]


def test_mapreduce_goes_on_where_a_share_is_one_container():
    """Two jobs share two slots. If the AM learned of a free slot, its one container would be a
    reduce that waits for its maps, five minutes for each.
    """
    maps, reduces = scenarios.stage([1000] * 6), scenarios.stage([1000] * 2, 2, priority=10)
    jobs = [scenarios.app(name, maps, reduces, kind="mapreduce", slowstart=0.1) for name in "jk"]
    record = scenarios.run(scenarios.scenario(*jobs, slots=3), "strict")
    assert record.ended_ms == 8000


def test_a_queue_has_what_it_is_guaranteed_whatever_its_weight():
    """The queues have 60 % and 20 % of ten containers, and by weight a third of the rest each."""
    root = queue("root", "strict")
    shares = {"a": 600_000, "b": 200_000, "c": None}
    leaves = [
        queue(f"root.{name}", "strict", **({"guaranteed": {"ppm": ppm}} if ppm else {}))
        for name, ppm in shares.items()
    ]
    engine = Cluster(config(root, *leaves))
    engine.add_node(1, 15_360, 15)
    for app, name in enumerate(shares, 1):
        engine.add_app(app, f"root.{name}")
        engine.ask(app, 20)
    engine.round()
    assert held(engine) == [10, 4, 1]


def test_who_has_its_share_is_kept_once_however_often_a_task_of_it_ends():
    """Shares never change while tasks come and go, and nothing is kept of a task that ended."""
    engine = Cluster(flat("strict"))
    engine.add_node(1, 8192, 8)
    greedy(engine, (10_000, (1024, 1)), (10_000, (1024, 1)))
    for _ in range(400):
        engine.round()
        engine.complete(min(engine.containers))
    tree = engine.session.tree
    assert tree is not None
    [level] = tree.instances[1].view._cache.values["fill_tree"].values()
    assert len(level._held) < 100
