"""Tests of carbyne on clusters of a few nodes: which tasks must start, which jobs lend, deadlines,
timers, loans.
"""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbyne_clusters import carbyne
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.policies.carbyne.paper import leftover
from loomcard.policies.carbyne.policy import Carbyne
from loomcard.policies.carbyne.waves import Wants
from loomcard.testing.cluster import Cluster

SLOT = (1024, 1)


def dag(*stages: tuple[int, float, list[int]], slots: int = 1) -> dict[str, str]:
    """Return the hint of a job whose stages are given as (tasks, ms of each task, indexes of the
    stages before it). The priorities are 1, 2, ...
    """
    size = (1024 * slots, slots)
    rows = [DagStage(f"s{i}", i + 1, n, ms, size, after) for i, (n, ms, after) in enumerate(stages)]
    return {HINT: write_dag(rows)}


def got(made: Cluster) -> Counter:
    """Run a round; return the allocated containers by application and priority."""
    return Counter((allocated.attempt, allocated.ask[1]) for allocated in made.round(0))


def reported(made: Cluster) -> dict:
    """Return the queue's report."""
    return made.reports["root.default"]


def slack_job(made: Cluster, app: int) -> None:
    """Add a job with a chain of 2 s beside a task of 1 s. If it lacks a slot, that task may wait a
    second.
    """
    made.add_app(app, hints=dag((1, 2000.0, []), (1, 1000.0, [])))
    made.ask(app, 1, SLOT, priority=1)
    made.ask(app, 1, SLOT, priority=2)


def long_job(made: Cluster, app: int, tasks: int = 8) -> None:
    """Add a job with tasks of 10 s in one stage."""
    made.add_app(app, hints=dag((tasks, 10_000.0, [])))
    made.ask(app, tasks, SLOT, priority=1)


def test_a_job_yields_what_can_wait_and_the_shorter_job_has_it():
    """Each job has two of four slots. The short job's second task may start a second later, but the
    slot goes back to that job because it has the least work left. Its first task and two of the
    long job's must start.
    """
    made = carbyne(4)
    slack_job(made, 1)
    long_job(made, 2)
    assert got(made) == {(1, 1): 1, (1, 2): 1, (2, 1): 2}
    report = reported(made)
    jobs = {row["id"][-1]: row for row in report["jobs"]}
    assert (jobs["1"]["must"], jobs["1"]["borrowed"]) == (1, 1)
    assert (jobs["2"]["must"], jobs["2"]["borrowed"]) == (2, 0)
    assert jobs["1"]["left_ms"] == 2000


def test_without_altruism_a_job_takes_all_that_its_share_has_room_for():
    made = carbyne(4, altruism=0.0)
    slack_job(made, 1)
    long_job(made, 2)
    made.round(0)
    jobs = {row["id"][-1]: row for row in reported(made)["jobs"]}
    assert (jobs["1"]["must"], jobs["1"]["borrowed"]) == (2, 0)


def test_the_timer_says_when_the_next_task_must_start():
    """A task of 1 s need not start for 3 s, and there is no room for it before that."""
    made = carbyne(1)
    long_job(made, 2, 1)
    made.round(0)
    made.add_app(1, hints=dag((1, 4000.0, []), (1, 1000.0, []), slots=1))
    made.ask(1, 1, SLOT, priority=2)
    plan = made.exchange(2000)
    made.commit(plan)
    assert [at_ms for _, at_ms in plan.timers if at_ms is not None] == [made.now + 4000]


def test_what_is_left_over_goes_as_the_function_says():
    """On one machine, jobs without tasks that must start are served in the order of the paper's
    function.
    """
    check_leftover([(3, 2, 1), (2, 1, 3), (5, 4, 2)], 9, "srtf")


@pytest.mark.parametrize(
    ("most", "others", "expected"),
    [(0, 20, [12]), (3, 20, [9, 3]), (2, 20, [6, 6]), (3, 1, [9, 1, 1, 1]), (3, 0, [12])],
)
def test_the_leftover_goes_first_to_who_has_borrowed_little(most, others, expected):
    """Nothing must start of four jobs, each with a share of three of twelve slots; the first has
    the least work. It gets what the others do not want, however much it has borrowed.
    """
    made = carbyne(12, most_borrowed=most)
    for number in range(1, 5):
        made.add_app(number, hints=dag((100, 1000.0 * number, []), (1, 1e9, [])))
        made.ask(number, 100 if number == 1 else others, SLOT, priority=1)
    counts = Counter(allocated.attempt for allocated in made.round(0))
    assert [counts[number] for number in sorted(counts)] == expected


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4)),
             min_size=1, max_size=5, unique_by=lambda row: row[0] * row[1] * row[2]),
    st.integers(1, 20), st.sampled_from(["srtf", "pack"]),
)  # fmt: skip
def test_the_leftover_of_the_policy_is_that_of_the_paper(rows, slots, rule):
    check_leftover(rows, slots, rule)


def check_leftover(rows: list[tuple[int, int, int]], slots: int, rule: str) -> None:
    """Compare the allocations with the function. Each job ends with a long stage that is not asked
    for, so that its first stage may wait.
    """
    made = carbyne(slots, leftover_rule=rule, most_borrowed=0)
    wants = []
    for number, (seconds, width, tasks) in enumerate(rows, 1):
        ms = 1000.0 * seconds
        made.add_app(number, hints=dag((tasks, ms, []), (1, 1e9, []), slots=width))
        made.ask(number, tasks, (1024 * width, width), priority=1)
        work = tasks * seconds * width
        wants.append(Wants(work + 1e6 * width, [((width, width), tasks)]))
    allocated = [g.attempt - 1 for g in made.round(0)]
    expected = [k for k, _ in leftover(wants, (slots, slots), (slots, slots), rule)]
    assert sorted(allocated) == sorted(expected)


def test_a_job_without_a_dag_has_its_share_first_and_then_of_what_is_left():
    """Two jobs without a hint get two of four slots each; one alone gets all four."""
    made = carbyne(4)
    for app in (1, 2):
        made.add_app(app)
        made.ask(app, 4, SLOT)
    assert Counter(g.attempt for g in made.round(0)) == {1: 2, 2: 2}
    alone = carbyne(4)
    alone.add_app(1)
    alone.ask(1, 9, SLOT)
    assert len(alone.round(0)) == 4


def test_a_deadline_is_kept_while_the_share_does_not_shrink():
    """When a job is planned again and again, D_k never moves back (5, property 17)."""
    made = carbyne(4, learn=False)
    made.add_app(1, hints=dag((6, 3000.0, []), (3, 2000.0, [0])))
    made.ask(1, 6, SLOT, priority=1)
    long_job(made, 2, 20)
    made.round(0)
    assert made.session.tree is not None
    memory = made.session.tree.instances[1].memory
    key = next(name for name in memory["jobs"] if name.endswith("0001"))
    seen = [memory["jobs"][key]["plan"]["deadline"]]
    for _ in range(6):
        mine = [g.number for g in made.containers.values() if g.attempt == 1]
        for number in mine[:1]:
            made.complete(number)
        made.round(1000)
        if made.applications and memory["jobs"].get(key, {}).get("plan"):
            seen.append(memory["jobs"][key]["plan"]["deadline"])
    assert seen == sorted(seen, reverse=True)


def lenders(loan: str) -> Cluster:
    """Return a cluster of two slots. Job 1 has a task of 2 s and, after it, one of 3 s; job 2's two
    tasks run for 60 s.
    """
    made = carbyne(2, loan=loan)
    made.add_app(1, hints=dag((1, 2000.0, []), (1, 3000.0, [0])))
    made.add_app(2, hints=dag((2, 60_000.0, [])))
    made.ask(2, 2, SLOT, priority=1)
    return made


def test_a_free_loan_outlasts_its_lender_a_guarded_one_is_not_given():
    """Job 1 asks for nothing yet. A free loan gives its slot away for a minute; a guarded one keeps
    it for its plan.
    """
    free = lenders("free")
    assert len(free.round(0)) == 2
    guarded = lenders("guarded")
    guarded.ask(1, 1, SLOT, priority=1)
    assert got(guarded) == {(1, 1): 1, (2, 1): 1}


def test_a_stage_that_is_not_asked_for_in_time_holds_no_room():
    """Job 1's hint says that two tasks follow its first after 2 s, and that three follow those. The
    first runs on: after two heartbeats both slots are lent.
    """
    made = carbyne(3, loan="guarded")
    hint = dag((1, 2000.0, []), (2, 3000.0, [0]), (3, 3000.0, [1]))
    made.add_app(1, hints=hint)
    made.ask(1, 1, SLOT, priority=1)
    made.round(0)
    made.add_app(2, hints=dag((2, 60_000.0, [])))
    made.ask(2, 2, SLOT, priority=1)
    assert got(made) == {(2, 1): 1}
    assert made.round(1000) == []
    assert len(made.round(4000)) == 1


def test_a_loan_is_taken_back_when_its_lender_must_start():
    made = lenders("preempt")
    assert len(made.round(0)) == 2
    made.ask(1, 1, SLOT, priority=1)
    made.round(1000)
    made.round(1000)
    assert Counter(g.attempt for g in made.containers.values()) == {1: 1, 2: 1}


def test_wrong_estimates_are_planned_with():
    """E13: estimates that are 50 % too long let the plan end later; with error_part 0 no estimate
    is wrong.
    """
    for options, expected in (
        ({"error_percent": 50.0}, 15_000),
        ({"error_percent": -50.0}, 5_000),
        ({"error_percent": 50.0, "error_part": 0.0}, 10_000),
    ):
        made = carbyne(16, learn=False, **options)
        long_job(made, 1)
        made.round(0)
        [job] = reported(made)["jobs"]
        assert job["left_ms"] == expected


def test_finished_siblings_correct_the_estimate():
    """The hint says 10 s, but three tasks took one second each, so the rest is planned with
    that.
    """
    made = carbyne(3)
    long_job(made, 1, 6)
    made.round(0)
    made.now += 1000
    for number in list(made.containers)[:3]:
        made.complete(number)
    made.round(1000)
    [job] = reported(made)["jobs"]
    assert job["left_ms"] < 4000
    assert job["error"] > 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"altruism": 1.5}, {"altruism": -0.1}, {"default_rule": "fifo"}, {"leftover_rule": "drf"},
        {"loan": "never"}, {"tolerance_ms": -1}, {"assumed_ms": 0}, {"most_steps": 0},
        {"error_percent": -100}, {"error_part": 2}, {"reserve_after_ms": -1},
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Carbyne(**wrong)


def test_an_am_that_ends_after_the_cluster_changed_leaves_all_to_others():
    """Its job's last task ends in the batch in which a node comes, so that shares are new."""
    made = Cluster("carbyne", nodes=[(8192, 8)] * 2)
    made.add_app(1)
    made.ask(1, 1, (4096, 4), priority=0, is_am=True)
    made.round()
    made.ask(1, 1, SLOT)
    made.round()
    made.complete(next(c.number for c in made.containers.values() if not c.is_am))
    made.add_node(3, 1024, 1)
    made.round()
    made.end_app(1)
    made.round()
    made.add_app(2)
    made.ask(2, 30, SLOT)
    assert len(made.round()) == 17
    jobs = next(iter(made.session.tree.instances[1].view.cached("jobs").by_app.values()))
    assert [round(a) for a in jobs.share] == [17 * 1024, 17]
