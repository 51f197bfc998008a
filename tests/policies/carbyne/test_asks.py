"""Tests of asks that an AM marks DEFAULT and ALTRUISTIC because it computes itself what must start
(2.7).
"""

from collections import Counter

import pytest

from carbyne_clusters import carbyne
from loomcard.api import registry
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS, unmarked
from loomcard.testing.cluster import Cluster
from loomcard.testing.policy_configs import configs

SLOT = (1024, 1)
DEFAULT, ALTRUISTIC = DEFAULT_ASKS.start + 1, ALTRUISTIC_ASKS.start + 1
"""The two request ids by which asks of stage 1 are marked."""


def hint(tasks: int, ms: float = 10_000.0) -> dict[str, str]:
    """Return the hint of one stage, asked for under request id 1."""
    return {HINT: write_dag([DagStage("s", 20, tasks, ms, SLOT, [], 1)])}


def ask(made: Cluster, app: int, default: int, altruistic: int) -> None:
    """Set the application's asks to this many containers of each kind."""
    for request, count in ((DEFAULT, default), (ALTRUISTIC, altruistic)):
        made.ask(app, count, SLOT, request_id=request)


def got(made: Cluster) -> Counter:
    """Run a round; return the allocated containers by application and kind."""
    kinds = {DEFAULT: "default", ALTRUISTIC: "altruistic"}
    return Counter((each.attempt, kinds.get(each.ask[2], "")) for each in made.round(0))


def reported(made: Cluster) -> dict:
    """Return the queue's report."""
    return made.reports["root.default"]


def test_a_mark_is_taken_off_to_find_the_stage():
    assert [unmarked(request) for request in (-1, 0, 7)] == [-1, 0, 7]
    assert {unmarked(DEFAULT), unmarked(ALTRUISTIC)} == {1}
    assert unmarked(DEFAULT_ASKS[-1]) == unmarked(ALTRUISTIC_ASKS[-1]) == 2**40 - 1
    assert unmarked(ALTRUISTIC_ASKS.stop) == ALTRUISTIC_ASKS.stop


def test_what_is_altruistic_waits_for_who_needs_less():
    """Each job has two of four slots. The first job has more work and says that one task must
    start; the other job starts all its three tasks.
    """
    made = carbyne(4)
    made.add_app(1, hints=hint(8))
    ask(made, 1, default=1, altruistic=7)
    made.add_app(2, hints=hint(3))
    ask(made, 2, default=2, altruistic=1)
    assert got(made) == {(1, "default"): 1, (2, "default"): 2, (2, "altruistic"): 1}
    assert reported(made)["violations"] == 0


def test_the_default_asks_of_all_go_before_every_altruistic_one():
    """This holds even if the altruistic job has by far the least work left."""
    made = carbyne(4)
    made.add_app(1, hints=hint(4, 10.0))
    ask(made, 1, default=0, altruistic=4)
    made.add_app(2, hints=hint(8))
    ask(made, 2, default=2, altruistic=6)
    assert got(made) == {(1, "altruistic"): 2, (2, "default"): 2}


def test_who_calls_everything_default_gains_nothing():
    """The share is the cap. The excess is served as ALTRUISTIC, after the job that needs less, and
    is counted once, however often it is looked at.
    """
    made = carbyne(4)
    made.add_app(1, hints=hint(8))
    ask(made, 1, default=8, altruistic=0)
    made.add_app(2, hints=hint(3))
    ask(made, 2, default=1, altruistic=2)
    assert got(made) == {(1, "default"): 2, (2, "default"): 1, (2, "altruistic"): 1}
    made.add_node(2, 1024, 1)
    made.round(1000)
    rows = {row["id"][-1]: row for row in reported(made)["jobs"]}
    assert reported(made)["violations"] == 6
    assert (rows["1"]["beyond"], rows["2"]["beyond"]) == (6, 0)


def test_asks_that_move_back_and_forth_gain_nothing():
    """A job with the most work moves its asks between the kinds in every round. It gets no more
    than its share while another job that needs less wants the rest.
    """
    made = carbyne(4)
    made.add_app(1, hints=hint(100))
    made.add_app(2, hints=hint(60, 1000.0))
    ask(made, 2, default=2, altruistic=58)
    for turn in range(20):
        held = Counter(c.attempt for c in made.containers.values())
        left = 100 - held[1]
        ask(made, 1, default=left * (turn % 2), altruistic=left * ((turn + 1) % 2))
        made.round(1000)
        held = Counter(c.attempt for c in made.containers.values())
        assert held[1] <= 2
        for number, container in list(made.containers.items()):
            if container.attempt == 2:
                made.complete(number)


def test_the_am_has_its_share_as_headroom_and_nobody_else_has():
    """The headroom is the whole share A_k. It is sent again only when jobs come or go."""
    made = carbyne(4)
    made.add_app(1, hints=hint(8))
    ask(made, 1, default=1, altruistic=0)
    made.add_app(2)
    made.ask(2, 8)

    def headroom() -> list:
        plan = made.exchange()
        made.commit(plan)
        return plan.headroom

    assert headroom() == [(1, (2048, 2))]
    ask(made, 1, default=0, altruistic=3)
    assert headroom() == []
    made.end_app(2)
    assert headroom() == [(1, (4096, 4))]


def test_without_altruism_all_that_the_share_holds_must_start():
    """A queue's switch that turns altruism off also counts for AMs that plan themselves."""
    made = carbyne(4, altruism=0.0)
    made.add_app(1, hints=hint(8))
    ask(made, 1, default=0, altruistic=8)
    made.add_app(2, hints=hint(3))
    ask(made, 2, default=0, altruistic=3)
    made.round(0)
    assert {row["must"] for row in reported(made)["jobs"]} == {2}


def test_a_job_that_begins_to_mark_is_planned_no_more():
    """Before the first mark the scheduler plans the job by its hint."""
    made = carbyne(4)
    made.add_app(1, hints=hint(8))
    made.ask(1, 8, SLOT, request_id=1)
    made.add_app(2, hints=hint(8))
    made.ask(2, 8, SLOT, request_id=1)
    made.round(0)
    assert reported(made)["jobs"][0]["left_ms"] is not None
    made.ask(1, 0, SLOT, request_id=1)
    ask(made, 1, default=0, altruistic=8)
    made.round(1000)
    assert reported(made)["jobs"][0]["left_ms"] is None


@pytest.mark.parametrize("policy", sorted(registry.built_in()))
def test_marks_are_harmless_under_every_policy(policy):
    """Every ask is served in the end, marked or not."""
    made = Cluster(configs(policy)["alone"])
    queue = next(each["path"] for each in made.compiled["queues"] if each["leaf"])
    made.add_node(1, 4096, 4)
    for app in (1, 2):
        made.add_app(app, queue, hints=hint(6))
    ask(made, 1, default=2, altruistic=4)
    made.ask(2, 6, SLOT, request_id=1)
    allocated: Counter = Counter()
    for _ in range(100):
        for each in made.round(1000):
            allocated[each.attempt] += 1
            made.complete(each.number)
        made.heartbeat()
    assert allocated == {1: 6, 2: 6}
