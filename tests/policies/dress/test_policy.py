"""Tests of the policy: which jobs are small, what each category gets, ticks, and changes of the
cluster.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from compiled import config, flat, queue
from dressed import HUNDRED, SECOND, begin, come, dress, full, memory, of, pools, shown, used
from loomcard.policies.dress.jobs import UNKNOWN, Memory
from loomcard.policies.dress.policy import Dress
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

EMPTY = SimpleNamespace(applications=())
"""The only part of a view that is read to restore what was saved."""


def test_an_unknown_jobs_am_is_small_until_its_tasks_are_known():
    """The AM is in P1 and charged to SD. When the job's demand turns out to be large, its charge
    moves to LD.
    """
    cluster = dress()
    cluster.add_app(1)
    cluster.ask(1, 1, is_am=True, priority=0)
    cluster.round()
    assert used(cluster) == (1, 0)
    assert memory(cluster).jobs[1].kind == UNKNOWN
    cluster.ask(1, 30)
    cluster.round()
    assert used(cluster) == (0, 31)
    assert memory(cluster).jobs[1].peak == (30 * 1024, 30)


def test_a_job_grows_large_and_never_small_again():
    """The demand is the peak of what the job uses and asks for."""
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
    assert memory(cluster).jobs[1].kind == "large"


def test_small_jobs_find_what_is_reserved_for_them():
    """With dmin a tenth, a large job that wants everything gets nine tenths, and the rest waits
    with a reason. (When small jobs come the border moves at once, unless ``eager`` is off.)
    """
    cluster = dress(dmin=0.1, order="submission", eager=False)
    come(cluster, a1=200)
    assert len(cluster.round()) == 90
    assert cluster.reasons[1, 20, 0] == "RESERVED"
    come(cluster, a2=6, a3=6)
    assert [len(of(cluster.round(), app)) for app in (2,)] == [6]
    assert used(cluster) == (10, 90)
    assert cluster.reasons[3, 20, 0] == "RESERVED"


def test_what_fits_nowhere_waits_for_a_node():
    """The reason is NODE_FULL, because the quota is not the cause."""
    cluster = dress()
    come(cluster, a1=5)
    cluster.ask(1, 2, (30 * 1024, 1), priority=10)
    cluster.round()
    assert cluster.reasons == {(1, 10, 0): "NODE_FULL"}


@pytest.mark.parametrize(("defers", "small", "delta"), [(True, 8, 0.08), (False, 1, 0.0)])
def test_what_large_jobs_release_is_divided_at_the_next_tick(defers, small, delta):
    """Ten containers end. LD may not use them again before Algorithm 3 has seen them, or it would
    never see any. The small job gets its first container at once, and the eight that it still asks
    for are moved to SMALL.
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
    """No room idles if no small job waits for it."""
    cluster = dress()
    come(cluster, a1=120)
    first = cluster.round()
    for each in first[:10]:
        cluster.complete(each.number)
    assert len(cluster.round()) == 10


def test_a_lone_category_gets_the_cluster_within_two_ticks():
    """Property 9: the quota of the only category that asks reaches its demand."""
    cluster = dress(eager=False, reading="printed")
    for app in range(1, 16):
        come(cluster, **{f"a{app}": 8})
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (100, 0)


def test_refused_containers_are_not_held():
    """Containers that the engine refuses are asked for again, and charged when they are
    allocated.
    """
    cluster = dress()
    come(cluster, a1=5)
    cluster.refuse = lambda _: "NODE_FULL"
    cluster.round()
    cluster.refuse = lambda _: None
    cluster.round()
    assert used(cluster) == (5, 0)


def test_a_snapshot_keeps_delta_and_who_is_large():
    """Tasks that run are carried: they are forecast only with the next phase."""
    cluster = dress()
    come(cluster, a1=40, a2=5)
    allocated = cluster.round()
    begin(cluster, allocated)
    cluster.round(SECOND)
    for each in of(allocated, 1)[:35]:
        cluster.complete(each.number)
    cluster.round(10 * SECOND)
    before = memory(cluster).delta
    cluster.snapshot()
    cluster.round()
    job = memory(cluster).jobs[1]
    assert memory(cluster).delta == before == pytest.approx(0.05)
    assert job.kind == "large"
    assert job.tracker.phases == []
    assert sorted(job.tracker.carry) == [each.number for each in of(allocated, 1)[35:]]
    assert used(cluster) == (5, 5)


def test_a_lost_node_makes_the_cluster_smaller():
    """tot falls at once, and delta stays. A job that was small by the old size may be large now.
    Lost tasks are no burst of ends.
    """
    cluster = dress(dmin=0.1, dmax=0.1)
    come(cluster, a1=10)
    begin(cluster, cluster.round())
    cluster.round(SECOND)
    assert memory(cluster).jobs[1].kind == "small"
    for number in (3, 4, 5):
        cluster.complete(number, "killed")
    cluster.round(SECOND)
    cluster.lose_node(1)
    cluster.round(SECOND)
    assert (pools(cluster).total[1], memory(cluster).delta) == (80, 0.1)
    assert memory(cluster).jobs[1].kind == "large"
    assert [(p.c, p.fins, p.running) for p in memory(cluster).jobs[1].tracker.phases] == [
        (10, [], {})
    ]


def test_ticks_that_were_missed_are_evaluated_one_by_one():
    """A round comes half a minute late; the burst is seen nevertheless, with the right times."""
    cluster = dress()
    come(cluster, a1=8)
    allocated = cluster.round()
    for each in allocated:
        cluster.now += 10
        cluster.send(r.ContainerStartedRecord(cluster.now, each.number))
    cluster.round(30 * SECOND)
    [phase] = memory(cluster).jobs[1].tracker.phases
    assert (phase.c, phase.dps) == (8, 70)


def test_releases_are_forecast_and_compared():
    """Ten tasks start over a second each and end in the same way. The report has forecast and real
    releases, and the jobs.
    """
    cluster = dress()
    come(cluster, a1=10, a2=30)
    allocated = of(cluster.round(), 1)
    for each in allocated:
        begin(cluster, [each])
        cluster.round(SECOND)
    for _ in range(20):
        cluster.round(SECOND)
    forecasts = []
    for each in allocated:
        cluster.complete(each.number)
        cluster.round(SECOND)
        forecasts.append(shown(cluster)["forecast"])
    [phase] = memory(cluster).jobs[1].tracker.phases
    said = shown(cluster)
    assert phase.dps == 9 * SECOND
    assert forecasts == pytest.approx([0] * 6 + [10 / 9] * 3 + [0])
    assert said["released"] == 1
    assert said["jobs"][0]["kind"] == "small"
    assert said["jobs"][1]["held"] == 30
    assert said["idle"] > 0


def test_no_timer_is_set_where_nothing_can_change():
    """While a window is open the policy ticks. A full cluster that only waits is left alone, except
    that the root states again what the border keeps waiting.
    """
    cluster = dress()
    come(cluster, a1=200)
    begin(cluster, cluster.round())
    assert cluster.timers[1] == memory(cluster).tick_ms + SECOND
    for _ in range(30):
        cluster.round(SECOND)
    assert 1 not in cluster.timers
    cluster.complete(1)
    cluster.round()
    assert 1 in cluster.timers


def test_headroom_is_what_the_category_may_still_have():
    """Headroom includes neither the reserve of the other category nor what a limit forbids the
    user.
    """
    cluster = dress(dmin=0.1)
    come(cluster, a1=30)
    cluster.round()
    cluster.round(SECOND)
    come(cluster, a2=4)
    cluster.round()
    cluster.round(SECOND)
    by_app: dict[int, Any] = {}
    for _, text in cluster.history:
        by_app |= dict(r.read_reply(text).headroom)
    assert by_app == {1: (60 * 1024, 60), 2: (6 * 1024, 6)}


def test_below_two_containers_it_is_first_in_first_out():
    """Nothing can be divided, so the first job is first, and no AM is served before a task that
    waits.
    """
    cluster = dress(nodes=[(1500, 1)])
    come(cluster, a1=2)
    cluster.add_app(2)
    cluster.ask(2, 1, is_am=True, priority=0)
    assert [each.app for each in cluster.round()] == [1]
    cluster.complete(1)
    assert [each.app for each in cluster.round()] == [1]


def test_a_queue_of_a_tree_divides_what_it_is_entitled_to():
    """The queue divides half of the cluster while the other queue wants its half."""
    cluster = Cluster(
        config(queue("root", "drf"), queue("root.a", "dress"), queue("root.b", "fifo")),
        nodes=HUNDRED,
    )
    cluster.add_app(1, "root.a")
    cluster.ask(1, 100)
    cluster.add_app(2, "root.b")
    cluster.ask(2, 100)
    cluster.round()
    assert pools(cluster).total[1] == 50
    assert used(cluster) == (0, 50)
    cluster.end_app(2)
    cluster.round(SECOND)
    cluster.round(SECOND)
    assert pools(cluster).total[1] == 100


def test_a_queue_of_a_tree_takes_what_no_other_can_use():
    """Half of the cluster is promised to the other queue, which lacks cores for it. The large job
    gets the memory that is left, except what is reserved for small jobs.
    """
    cluster = Cluster(
        config(queue("root", "drf"), queue("root.a", "dress"), queue("root.b", "fifo")),
        nodes=HUNDRED,
    )
    cluster.add_app(1, "root.b")
    cluster.ask(1, 100, (1024, 20))
    cluster.add_app(2, "root.a")
    cluster.ask(2, 200, (1024, 0))
    for _ in range(3):
        cluster.round(SECOND)
    left = shown(cluster, "root.a")["delta"] * 50
    assert len(of(list(cluster.containers.values()), 1)) == 5
    assert len(of(list(cluster.containers.values()), 2)) == pytest.approx(95 - left, abs=1)


def test_what_no_node_could_hold_is_not_reserved_for():
    """An ask of 30 GB on nodes of 20 GB is no demand until a node comes that could run it. The
    job's other asks are demand.
    """
    cluster = dress()
    come(cluster, a1=200)
    cluster.ask(1, 40, (30 * 1024, 1), priority=10)
    cluster.round()
    cluster.round(SECOND)
    assert shown(cluster)["large_pending"] == 100
    cluster.add_node(9, 40 * 1024, 20)
    cluster.round(SECOND)
    assert shown(cluster)["large_pending"] == 140


def test_delta_is_read_back_unless_the_option_is_another():
    """After a restart delta continues. After a swap to another ``delta``, or to a fixed one, the
    options count. State that an older version saved contains no option.
    """
    saved = Dress().save(Memory(0.05, {"b": None, "a": None}))
    assert saved == {"delta": 0.05, "option": 0.1, "large": ["a", "b"]}
    assert Dress().initial(EMPTY, saved).delta == 0.05
    assert Dress().initial(EMPTY, {"delta": 0.05}).delta == 0.05
    assert Dress(delta=0.3).initial(EMPTY, saved).delta == 0.3
    assert Dress(dmin=0.1, dmax=0.1).initial(EMPTY, saved).delta == 0.1


def test_what_a_limit_forbids_is_not_reserved_for():
    """A user at the limit asks for more; the small jobs' share is not reserved for that."""
    spec = queue("root.default", "dress", user_limit_ppm=50_000)
    cluster = Cluster(config(queue("root", "fifo"), spec), nodes=HUNDRED)
    come(cluster, a1=9)
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (5, 0)
    assert shown(cluster)["small_pending"] == 0
    assert cluster.reasons[1, 20, 0] == "USER_LIMIT"


def test_a_resource_that_is_gone_stops_nobody():
    """The last node with GPUs is lost while a job uses one and asks for more. Other jobs are
    served, and the report stays finite.
    """
    nodes = [(20480, 20, 0), (20480, 20, 0), (20480, 20, 1)]
    cluster = Cluster(flat("dress"), nodes=nodes, resource_types=("memory_mb", "vcores", "gpu"))
    cluster.add_app(1)
    cluster.ask(1, 2, (1024, 1, 1))
    assert len(cluster.round()) == 1
    cluster.lose_node(3)
    cluster.round(SECOND)
    cluster.add_app(2)
    cluster.ask(2, 5, (1024, 1, 0))
    assert len(cluster.round(SECOND)) == 5


@pytest.mark.parametrize("size", [(32 * 1024, 1), (16 * 1024, 1)])
def test_one_users_sizes_do_not_move_the_border(size):
    """A user has four hundred asks that no node can run, or that need most of a node. A job of nine
    containers is still small, and the reserve is there for it.
    """
    cluster = dress(dmin=0.1, dmax=0.1, order="submission")
    cluster.add_app(1)
    cluster.ask(1, 400, size)
    cluster.round()
    come(cluster, a2=200)
    cluster.round(SECOND)
    cluster.round(SECOND)
    come(cluster, a3=4)
    assert len(of(cluster.round(), 3)) == 4
    assert memory(cluster).jobs[3].kind == "small"


def test_the_last_container_is_lent():
    """One large job gets all four containers of the cluster."""
    cluster = dress(nodes=[(2048, 2)] * 2)
    come(cluster, a1=120)
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (0, 4)


def test_who_is_small_does_not_depend_on_the_leafs_own_demand():
    """The leaf could have half of a hundred containers, although it asks for four. Four is less
    than a tenth of that half.
    """
    cluster = Cluster(
        config(queue("root", "drf"), queue("root.a", "dress"), queue("root.b", "dress")),
        nodes=HUNDRED,
    )
    cluster.add_app(1, "root.b")
    cluster.ask(1, 500)
    cluster.round(SECOND)
    for app in range(2, 12):
        cluster.add_app(app, "root.a")
        cluster.ask(app, 4)
        cluster.round(SECOND)
    jobs = cluster.memory("root.a").jobs
    assert {job.kind for job in jobs.values()} == {"small"}


@pytest.mark.parametrize(("eager", "allocated"), [(True, 24), (False, 0)])
def test_a_small_job_does_not_wait_for_a_tick_where_nobody_else_wants_the_room(eager, allocated):
    """On an idle cluster it is served at once if ``eager``, and otherwise when the border has moved
    at the next tick.
    """
    cluster = dress(eager=eager)
    come(cluster, a1=8)
    cluster.round()
    come(cluster, a2=8, a3=8, a4=8)
    assert len(cluster.round()) == allocated
    cluster.round(SECOND)
    cluster.round(SECOND)
    assert used(cluster) == (32, 0)


def test_a_large_job_is_not_passed_by_small_ones_where_it_fits():
    """Small jobs exceed their quota only if no large job could use the free room."""
    cluster = dress(dmin=0.1, dmax=0.1, eager=True)
    come(cluster, a1=95)
    for app in range(2, 6):
        come(cluster, **{f"a{app}": 8})
    cluster.round()
    cluster.round(SECOND)
    assert used(cluster) == (10, 90)


def test_ams_that_ask_for_what_no_node_could_run_keep_no_other_am_waiting():
    """They do not count as waiting for a task, though other jobs run tasks; with the node that they
    ask for they do.
    """
    made = Cluster("dress", nodes=[(8192, 8)] * 10)

    def start(app: int) -> None:
        made.add_app(app)
        made.ask(app, 1, is_am=True, priority=0)
        made.round(1100)

    start(1)
    made.ask(1, 2)
    made.round(1100)
    for app in range(2, 6):
        start(app)
        made.ask(app, 1, (16384, 1))
        made.round(1100)
    before = sum(g.is_am for g in made.containers.values())
    for app in range(6, 16):
        made.add_app(app)
        made.ask(app, 1, is_am=True, priority=0)
    for _ in range(10):  # a new AM counts as waiting for a while
        made.round(30_000)
    assert sum(g.is_am for g in made.containers.values()) == before + 10
    assert not any(pools(made).waiting_ams)
    made.add_node(11, 16384, 1)
    made.round(10)
    assert any(pools(made).waiting_ams)


def test_pools_made_anew_count_nothing_twice():
    """They are, when a turn was ended in the middle and when a journal is replayed."""
    made = Cluster("dress", nodes=[(16384, 16)] * 2)
    made.add_app(1)
    made.ask(1, 1000)
    made.round()
    made.round(1100)
    made.add_app(2)
    made.ask(2, 1, (4096, 1), hosts={"n1": 1}, racks={"/r": 1}, relax=False)
    for ms in (10, 1100, 10):
        made.round(ms)
    counted = list(memory(made).large_at_tick)
    assert any(counted)
    for instance in made.session.tree.instances.values():
        instance.view._cache.drop()
    made.round(10)
    assert memory(made).large_at_tick == counted
