"""The policy: who is small, what each category gets, ticks, and what happens to a cluster."""

from typing import Any

import pytest

from compiled import queue, setup
from dressed import HUNDRED, SECOND, begin, come, dress, full, memory, of, shown, used
from loomcard.model import records as r
from loomcard.policies.dress.jobs import SIZES_KEPT
from loomcard.policies.dress.memory import Memory
from loomcard.policies.dress.policy import LARGE_KEPT, Dress
from loomcard.testing.cluster import Cluster


def test_an_unknown_jobs_am_is_small_until_its_tasks_are_known():
    """It is in P1 and charged to SD; with a large demand its charge moves to LD."""
    cluster = dress()
    cluster.add_app(1)
    cluster.ask(1, 1, is_am=True, priority=0)
    cluster.round()
    assert used(cluster) == (1, 0)
    assert memory(cluster).jobs[1].known is False
    cluster.ask(1, 30)
    cluster.round()
    assert used(cluster) == (0, 31)
    assert memory(cluster).jobs[1].peak == (30 * 1024, 30)


def test_a_job_grows_large_and_never_small_again():
    """Its demand is what it holds and asks for, at its peak."""
    cluster = dress()
    come(cluster, a1=8)
    first = cluster.round()
    assert used(cluster) == (8, 0)
    cluster.ask(1, 5, priority=10)
    cluster.round()
    assert used(cluster)[0] == 0
    for each in first:
        cluster.complete(each.number)
    cluster.ask(1, 0, priority=10)
    cluster.round(SECOND)
    assert memory(cluster).jobs[1].kind == "LD"


def test_small_jobs_find_what_is_reserved_for_them():
    """With dmin a tenth, a large job that wants everything gets nine tenths, and is told why."""
    cluster = dress(dmin=0.1)
    come(cluster, a1=200)
    assert len(cluster.round()) == 90
    assert cluster.reasons[1, 20, 0] == "RESERVED"
    come(cluster, a2=6, a3=6)
    assert [len(of(cluster.round(), app)) for app in (2,)] == [6]
    assert used(cluster) == (10, 90)
    assert cluster.reasons[3, 20, 0] == "RESERVED"


def test_what_fits_nowhere_waits_for_a_node():
    """The quota is not to blame."""
    cluster = dress()
    come(cluster, a1=5)
    cluster.ask(1, 2, (30 * 1024, 1), priority=10)
    cluster.round()
    assert cluster.reasons == {(1, 10, 0): "NODE_FULL"}


@pytest.mark.parametrize(("defers", "small", "delta"), [(True, 9, 0.09), (False, 1, 0.01)])
def test_what_large_jobs_release_is_divided_at_the_next_tick(defers, small, delta):
    """Ten containers end: LD may not have them back before Algorithm 3 has seen them; else it would
    never see any. The small job's pending eight are moved to SD.
    """
    cluster = full(defer_releases=defers)
    for number in sorted(cluster.containers)[:10]:
        cluster.complete(number)
    cluster.round(SECOND // 2)
    cluster.round(SECOND // 2)
    cluster.round(SECOND)
    assert used(cluster)[0] == small
    assert memory(cluster).delta == pytest.approx(delta)


def test_large_jobs_get_their_releases_at_once_when_no_small_one_waits():
    """Nothing idles for nobody."""
    cluster = dress()
    come(cluster, a1=120)
    first = cluster.round()
    for each in first[:10]:
        cluster.complete(each.number)
    assert len(cluster.round()) == 10


def test_a_lone_category_gets_the_cluster_within_two_ticks():
    """Property 9: its quota reaches its demand, but for one container."""
    cluster = dress()
    for app in range(1, 16):
        come(cluster, **{f"a{app}": 8})
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (99, 0)


def test_refused_containers_are_not_held():
    """What the engine refuses is asked for again, and charged when it is granted."""
    cluster = dress()
    come(cluster, a1=5)
    cluster.refuse = lambda _: "NODE_FULL"
    cluster.round()
    cluster.refuse = lambda _: None
    cluster.round()
    assert used(cluster) == (5, 0)


def test_a_snapshot_keeps_delta_and_who_is_large():
    """Running tasks are carried: forecast only with the next phase."""
    cluster = dress()
    come(cluster, a1=40, a2=5)
    granted = cluster.round()
    begin(cluster, granted)
    cluster.round(SECOND)
    for each in of(granted, 1)[:35]:
        cluster.complete(each.number)
    cluster.round(10 * SECOND)
    before = memory(cluster).delta
    cluster.snapshot()
    cluster.round()
    job = memory(cluster).jobs[1]
    assert memory(cluster).delta == before == pytest.approx(0.05)
    assert job.kind == "LD"
    assert job.tracker.phases == []
    assert sorted(job.tracker.carry) == [each.number for each in of(granted, 1)[35:]]
    assert used(cluster) == (5, 5)


def test_a_lost_node_makes_the_cluster_smaller():
    """tot falls at once, delta stays, who was small by the old measure may be large; lost tasks are
    no burst of ends.
    """
    cluster = dress(fixed=True)
    come(cluster, a1=10)
    begin(cluster, cluster.round())
    cluster.round(SECOND)
    assert memory(cluster).jobs[1].kind == "SD"
    for number in (3, 4, 5):
        cluster.complete(number, "killed")
    cluster.round(SECOND)
    cluster.lose_node(1)
    cluster.round(SECOND)
    assert (memory(cluster).scale.tot, memory(cluster).delta) == (80, 0.1)
    assert memory(cluster).jobs[1].kind == "LD"
    assert [(p.c, p.fins, p.running) for p in memory(cluster).jobs[1].tracker.phases] == [
        (10, [], {})
    ]


def test_ticks_that_were_missed_are_evaluated_one_by_one():
    """A round comes half a minute late: the burst is seen nevertheless, for all at their times."""
    cluster = dress()
    come(cluster, a1=8)
    granted = cluster.round()
    for each in granted:
        cluster.now += 10
        cluster.tell(r.ContainerStarted(cluster.now, each.number))
    cluster.round(30 * SECOND)
    [phase] = memory(cluster).jobs[1].tracker.phases
    assert (phase.c, phase.dps) == (8, 70)


def test_releases_are_forecast_and_compared():
    """Ten tasks start over a second each and end likewise; the report has both sides, and jobs."""
    cluster = dress()
    come(cluster, a1=10, a2=30)
    granted = of(cluster.round(), 1)
    for each in granted:
        begin(cluster, [each])
        cluster.round(SECOND)
    for _ in range(20):
        cluster.round(SECOND)
    forecasts = []
    for each in granted:
        cluster.complete(each.number)
        cluster.round(SECOND)
        forecasts.append(shown(cluster)["forecast"])
    [phase] = memory(cluster).jobs[1].tracker.phases
    said = shown(cluster)
    assert phase.dps == 9 * SECOND
    assert forecasts == pytest.approx([0] * 6 + [10 / 9] * 3 + [0])
    assert said["released"] == 1
    assert said["jobs"][0]["kind"] == "SD"
    assert said["jobs"][1]["held"] == 30
    assert said["idle"] > 0


def test_no_timer_is_set_where_nothing_can_change():
    """While a window is open it ticks; a full cluster that only waits is left alone."""
    cluster = dress()
    come(cluster, a1=200)
    begin(cluster, cluster.round())
    assert cluster.timers == {1: memory(cluster).tick_ms + SECOND}
    for _ in range(30):
        cluster.round(SECOND)
    assert cluster.timers == {}
    cluster.complete(1)
    cluster.round()
    assert cluster.timers != {}


def test_an_am_is_told_what_its_category_may_still_have():
    """The reserve of the other category is no room for it, nor what a user may not have."""
    cluster = dress(dmin=0.1)
    come(cluster, a1=30)
    cluster.round()
    cluster.round(SECOND)
    come(cluster, a2=4)
    cluster.round()
    cluster.round(SECOND)
    told: dict[int, Any] = {}
    for _, text in cluster.history:
        told |= dict(r.read_reply(text).headroom)
    assert told == {1: (60 * 1024, 60), 2: (6 * 1024, 6)}


def test_below_two_containers_it_is_first_in_first_out():
    """Nothing can be divided: whoever came first, small or large, and delta is kept."""
    cluster = dress(nodes=[(1500, 1)])
    come(cluster, a1=2)
    cluster.add_app(2)
    cluster.ask(2, 1, is_am=True, priority=0)
    assert [each.app for each in cluster.round()] == [1]
    cluster.complete(1)
    assert [each.app for each in cluster.round()] == [1]
    assert memory(cluster).delta == 0.1


def test_a_queue_of_a_tree_divides_what_it_is_entitled_to():
    """Half the cluster, while the other queue wants its half."""
    cluster = Cluster(
        setup(queue("root", "drf"), queue("root.a", "dress"), queue("root.b", "fifo")),
        nodes=HUNDRED,
    )
    cluster.add_app(1, "root.a")
    cluster.ask(1, 100)
    cluster.add_app(2, "root.b")
    cluster.ask(2, 100)
    cluster.round()
    assert memory(cluster).scale.tot == 50
    assert used(cluster) == (0, 49)
    cluster.end_app(2)
    cluster.round(SECOND)
    cluster.round(SECOND)
    assert memory(cluster).scale.tot == 100


def test_what_no_node_could_hold_is_not_reserved_for():
    """30 GB on nodes of 20: it is no demand, until a node comes that could hold it; what else the
    job asks for is one.
    """
    cluster = dress()
    come(cluster, a1=200)
    cluster.ask(1, 40, (30 * 1024, 1), priority=10)
    cluster.round()
    cluster.round(SECOND)
    assert shown(cluster)["large_pending"] == 101
    cluster.add_node(9, 40 * 1024, 20)
    cluster.round(SECOND)
    assert shown(cluster)["large_pending"] > 1000


def test_delta_is_read_back_unless_the_option_is_another():
    """After a restart it goes on; after a swap to another ``delta``, or to a fixed one, what the
    options say counts. What an older version saved has no option beside it.
    """
    saved = Dress().save(Memory(0.05, {"b": None, "a": None}, unit=(2048, 1)))
    assert saved == {"delta": 0.05, "option": 0.1, "large": ["a", "b"], "unit": [2048, 1]}
    assert Dress().initial(None, saved).delta == 0.05
    assert Dress().initial(None, {"delta": 0.05}).delta == 0.05
    assert Dress(delta=0.3).initial(None, saved).delta == 0.3
    assert Dress(fixed=True).initial(None, saved).delta == 0.1
    many = [f"application_1_{number:04d}" for number in range(LARGE_KEPT + 5)]
    assert list(Dress().initial(None, {"large": many}).large) == many[5:]


def test_a_unit_of_what_the_cluster_does_not_have_says_nothing():
    """The policy would count no container at all, and reserve nothing, without a word."""
    cluster = dress(unit={"gpus": 1})
    come(cluster, a1=30)
    cluster.round()
    assert memory(cluster).scale.unit == (1024, 1)
    assert memory(cluster).scale.tot > 1


def test_one_container_is_the_same_after_a_restart():
    """Most that was asked for so far was of one core; what is there now is of two."""
    cluster = dress()
    come(cluster, a1=30)
    for each in cluster.round():
        cluster.complete(each.number)
    cluster.ask(1, 20, (2048, 2), priority=10)
    cluster.round(SECOND)
    assert memory(cluster).scale.unit == (1024, 1)
    cluster.snapshot()
    cluster.round(SECOND)
    assert memory(cluster).scale.unit == (1024, 1)
    cluster.ask(1, 60, (2048, 2), priority=10)
    cluster.round(SECOND)
    assert memory(cluster).scale.unit == (2048, 2)


def test_few_sizes_are_counted():
    """A stream of sizes of which each is asked for once does not fill the memory, nor does it hide
    what is asked for often.
    """
    cluster = dress()
    come(cluster, a1=200)
    for number in range(1, SIZES_KEPT + 20):
        cluster.ask(1, 1, (1024 + number, 1), priority=30 + number)
    cluster.round()
    assert len(memory(cluster).sizes) == SIZES_KEPT
    assert memory(cluster).scale.unit == (1024, 1)


def test_what_a_limit_forbids_is_not_reserved_for():
    """A user at the limit asks for more: small jobs' share does not wait for it."""
    spec = queue("root.default", "dress", user_limit_ppm=50_000)
    cluster = Cluster(setup(queue("root", "fifo"), spec), nodes=HUNDRED)
    come(cluster, a1=9)
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (5, 0)
    assert shown(cluster)["small_pending"] == 0
    assert cluster.reasons[1, 20, 0] == "USER_LIMIT"
