"""A master on a real ResourceManager, message by message."""

from typing import Any

from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS
from loomcard.player.played_master import Cluster, Heard, PlayedMaster, Said
from loomcard.workload.scenario import Executors, ScenarioApplication
from scenarios import app, scenario, stage

DEFAULT, ALTRUISTIC = DEFAULT_ASKS.start, ALTRUISTIC_ASKS.start


class Play:
    """An application, and the messages of its player; every answer has a headroom of ``slots``."""

    def __init__(self, spec: ScenarioApplication, **names: str) -> None:
        cluster = Cluster(scenario(spec, nodes=2, slots=10, am_heartbeat_ms=100), names)
        self.master = PlayedMaster(spec, cluster)
        self.now_ms = 1_000_000

    def send(self, **facts: Any) -> Said:
        return self.master.hear(Heard("j", self.now_ms, **facts))

    def begin(self, **facts: Any) -> Said:
        return self.send(registered=True, **facts)

    def beat(self, after_ms: int = 100, slots: int = 10, **facts: Any) -> Said:
        self.now_ms += after_ms
        return self.send(headroom=[1024 * slots, slots], **facts)


def rows(said: Said) -> list[tuple[int, str, int]]:
    """Return (request id, name, count) of the asks."""
    return [(row.request_id, row.name, row.count) for row in said.asks]


def uses(said: Said) -> list[tuple[int, int, int, bool, int | None, int]]:
    """Return (container, task, attempt, kept, length, exit status) of the allocated containers."""
    return [(u.container, u.task, u.attempt, u.kept, u.length_ms, u.status) for u in said.uses]


def on(*numbers: int, request: int = 1, host: str = "n1", priority: int = 20) -> list[Any]:
    """Return containers allocated under one key."""
    return [(number, priority, request, host) for number in numbers]


def test_a_stage_opens_after_the_one_before_and_the_last_ends_the_application():
    play = Play(app("j", stage([100, 200], 1), stage([50], 2, after=[0])))
    assert rows(play.begin()) == [(1, "*", 2)]
    assert uses(play.beat(allocated=on(1, 2))) == [(1, 0, 1, True, 100, 0), (2, 1, 1, True, 200, 0)]
    assert rows(play.beat(ended=[(1, "completed")])) == []
    assert rows(play.beat(ended=[(2, "completed")])) == [(2, "*", 1)]
    assert uses(play.beat(allocated=on(3, request=2))) == [(3, 0, 1, True, 50, 0)]
    last = play.beat(ended=[(3, "completed")])
    assert (last.state, last.demanding) == ("SUCCEEDED", False)


def test_a_failed_task_runs_again_until_it_failed_too_often():
    play = Play(app("j", stage([100], 1, fails_ms={0: [20, 30]}), max_attempts=2))
    play.begin()
    assert uses(play.beat(allocated=on(1))) == [(1, 0, 1, True, 20, 1)]
    assert rows(play.beat(ended=[(1, "failed")])) == [(1, "*", 1)]
    assert uses(play.beat(allocated=on(2))) == [(2, 0, 2, True, 30, 1)]
    last = play.beat(ended=[(2, "failed")])
    assert (last.state, last.diagnostics) == ("FAILED", "a task failed too often")


def test_a_container_too_many_goes_back():
    """Rows that are sent while allocations are on their way ask for these again."""
    play = Play(app("j", stage([100], 1)))
    play.begin()
    said = play.beat(allocated=on(1, 2))
    assert uses(said) == [(1, 0, 1, True, 100, 0), (2, -1, 1, False, None, 0)]
    assert said.releases == []
    assert play.beat(ended=[(2, "released")]).state == ""
    assert play.beat(ended=[(1, "completed")]).state == "SUCCEEDED"


def test_names_are_the_clusters():
    play = Play(app("j", stage([100], 1, nodes=[["n2"]])), n2="host-2", **{"/r2": "/rack"})
    assert rows(play.begin()) == [(1, "*", 1), (1, "/rack", 1), (1, "host-2", 1)]
    assert [use.node for use in play.beat(allocated=on(1, host="host-2")).uses] == ["n2"]


def test_a_new_attempt_asks_again_for_what_has_not_ended():
    """The containers of the earlier attempt have ended with it; their numbers come again."""
    play = Play(app("j", stage([100] * 3, 1)))
    play.begin()
    play.beat(allocated=on(1, 2))
    play.beat(ended=[(1, "completed")])
    assert rows(play.begin()) == [(1, "*", 2)]
    assert uses(play.beat(allocated=on(1, 2))) == [(1, 1, 1, True, 100, 0), (2, 2, 1, True, 100, 0)]


def test_an_attempt_that_was_lost_while_it_unregistered_does_not_begin_again():
    play = Play(app("j", stage([100], 1, fails_ms={0: [20]}), max_attempts=1))
    play.begin()
    play.beat(allocated=on(1))
    assert play.beat(ended=[(1, "failed")]).state == "FAILED"
    again = play.begin()
    assert (again.state, rows(again)) == ("FAILED", [])


def reducing(**keys: Any) -> ScenarioApplication:
    """Return two maps and a reduce, which is requested at once."""
    stages = stage([100] * 2, 1, id="map"), stage([50], 2, id="reduce", priority=10, after=[0])
    return app("j", *stages, kind="mapreduce", slowstart=0.0, ms_per_map=30, **keys)


def test_a_reduce_ends_when_it_has_copied_all_maps():
    play = Play(reducing())
    play.begin()
    play.beat(allocated=on(1, 2))
    said = play.beat(allocated=on(3, request=2, priority=10), ended=[(1, "completed")])
    assert uses(said) == [(3, 0, 1, True, None, 0)]
    assert said.ends == []
    # The second map ended 100 ms after its start, which was reported one heartbeat later.
    (end,) = play.beat(ended=[(2, "completed")]).ends
    assert end.container == 3
    assert end.ran_ms == 2 * 30 + 50
    assert end.earliest_ms == play.now_ms + 50


def test_reduces_yield_to_maps_that_starve():
    """A lost map waits, and the reduce uses the only room: it is given back, and waits."""
    play = Play(reducing())
    play.begin()
    play.beat(allocated=on(1, 2))
    play.beat(allocated=on(3, request=2, priority=10), ended=[(1, "completed")])
    said = play.beat(slots=0, ended=[(2, "lost")])
    assert said.releases == [3]
    assert rows(said) == [(1, "*", 1)]
    assert rows(play.beat(slots=0, allocated=on(4), ended=[(3, "released")])) == [(2, "*", 1)]


def test_a_scheduler_that_counts_memory_alone_has_room_without_vcores():
    """Memory for the waiting map is left, so the reduce continues."""
    play = Play(reducing())
    play.begin(with_vcores=False)
    play.beat(allocated=on(1, 2))
    play.beat(allocated=on(3, request=2, priority=10), ended=[(1, "completed")])
    play.now_ms += 100
    assert play.send(headroom=[2048, 0], ended=[(2, "lost")]).releases == []


def executing(count: int = 1) -> ScenarioApplication:
    """Return two tasks, then one, in executors of one slot."""
    stages = stage([100, 110], 1), stage([70], 2, after=[0])
    return app("j", *stages, kind="spark", executors=Executors(count, (1024, 1)))


def test_tasks_in_executors_need_no_message_but_the_last():
    """They follow each other at their own times; the end is reported when it comes."""
    play = Play(executing())
    assert rows(play.begin()) == [(0, "*", 1)]
    assert uses(play.beat(allocated=on(1, request=0))) == [(1, -1, 1, True, None, 0)]
    began = play.now_ms + 40
    assert play.beat(started=[(1, began)]).wake_ms is None
    assert play.beat(after_ms=150).wake_ms == began + 280
    play.now_ms = began + 280
    assert play.send().state == "SUCCEEDED"


def test_a_lost_executor_is_replaced_and_what_ran_in_it_runs_again():
    play = Play(executing())
    play.begin()
    play.beat(allocated=on(1, request=0))
    play.beat(started=[(1, play.now_ms)])
    assert rows(play.beat(after_ms=20, ended=[(1, "lost")])) == [(0, "*", 1)]
    said = play.beat(allocated=on(2, 3, request=0))
    assert [(use.container, use.kept) for use in said.uses] == [(2, True), (3, False)]
    began = play.now_ms
    play.beat(started=[(2, began)])
    play.now_ms = began + 280  # all of it except what ended in the first container
    assert play.send().state == "SUCCEEDED"


def test_executors_end_with_their_attempt():
    """The tasks in them run again, though their time was over before the next attempt
    registered.
    """
    play = Play(executing())
    play.begin()
    play.beat(allocated=on(1, request=0))
    play.beat(started=[(1, play.now_ms)])
    play.now_ms += 1000
    again = play.begin()
    assert (again.state, rows(again)) == ("", [(0, "*", 1)])


def test_what_must_start_moves_to_the_other_ask_when_the_share_is_known():
    """The answer to the first marks was made before the scheduler knew them."""
    play = Play(app("j", stage([1000] * 3, 1), stage([1000], 2, after=[0]), asks="altruistic"))
    assert rows(play.begin()) == [(ALTRUISTIC + 1, "*", 3)]
    assert rows(play.beat(slots=10)) == []
    assert rows(play.beat(slots=1)) == [(ALTRUISTIC + 1, "*", 2), (DEFAULT + 1, "*", 1)]
    said = play.beat(slots=1, allocated=on(1, request=DEFAULT + 1))
    assert uses(said) == [(1, 0, 1, True, 1000, 0)]
    assert said.uses[0].stage == "s1"
    assert rows(said) == []
