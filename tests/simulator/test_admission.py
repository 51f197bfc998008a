"""Tests of what a queue's limits do to simulated applications: they are rejected, fail or are
killed, as on YARN.
"""

import scripted  # noqa: F401 - registers test policies
from loomcard.engine.far_end import EPOCH
from loomcard.results.metrics import facts
from scenarios import app, compiled, run, scenario, stage

LONG = 60_000


def limited(keys: str) -> str:
    return f"version: 1\npolicy: fifo\nqueues: {{a: {{{keys}}}, b: {{}}}}\n"


def ends(record) -> dict[str, tuple[str, str]]:
    return {each.id: (each.state, each.diagnostics) for each in record.applications}


def test_no_more_applications_than_the_queue_takes_and_one_that_ends_makes_room():
    wanted = scenario(
        app("first", stage([5_000]), queue="root.a"),
        app("second", stage([5_000]), queue="root.a", submit_ms=1_000),
        app("other", stage([5_000]), queue="root.b", submit_ms=1_000),
        app("third", stage([5_000]), queue="root.a", submit_ms=6_000),
    )
    record = run(wanted, limited("maximum_applications: 1"))
    assert ends(record) == {
        "first": ("SUCCEEDED", ""),
        "second": (
            "FAILED",
            "Queue root.a already has 1 applications, cannot accept submission of application:"
            f" application_{EPOCH}_0002",
        ),
        "other": ("SUCCEEDED", ""),
        "third": ("SUCCEEDED", ""),
    }
    assert {row.application for row in record.containers} == {"first", "other", "third"}
    by_id = {each["id"]: each for each in facts(record)["applications"]}
    assert by_id["second"]["diagnostics"].startswith("Queue root.a already has 1 applications")
    assert "diagnostics" not in by_id["first"]


def test_a_stopped_queue_takes_none():
    wanted = scenario(app("j", stage([5_000]), queue="root.a"))
    (state, said) = ends(run(wanted, limited("state: stopped")))["j"]
    assert state == "FAILED"
    assert said.startswith("Queue root.a is STOPPED. Cannot accept submission of application")


def test_an_ask_that_is_too_large_fails_the_application_and_an_am_too_large_is_rejected():
    wanted = scenario(
        app("large", stage([5_000]), stage([5_000], 2, size=(3072, 1)), queue="root.a"),
        app("am", stage([5_000]), queue="root.a", am=(3072, 1)),
        app("fits", stage([5_000]), queue="root.a", am=(2048, 1)),
        nodes=3,
    )
    found = ends(run(wanted, limited("maximum_allocation: {memory_mb: 2048}")))
    assert found["fits"] == ("SUCCEEDED", "")
    for name in ("large", "am"):
        assert found[name][0] == "FAILED"
        assert "Requested resource=<memory_mb: 3072, vcores: 1>" in found[name][1]
        assert "maximum allowed allocation=<memory_mb: 2048>" in found[name][1]


def test_the_lifetime_kills_an_application_with_all_its_containers():
    wanted = scenario(
        app("old", stage([LONG] * 2), queue="root.a", am=(1024, 1)),
        app("young", stage([9_000]), queue="root.a", submit_ms=2_000),
        app("free", stage([LONG]), queue="root.b", submit_ms=2_000),
        nodes=2,
    )
    record = run(wanted, limited("maximum_lifetime: 10"))
    found = ends(record)
    assert found["old"][0] == "KILLED"
    assert "exceeded the lifetime period" in found["old"][1]
    assert found["young"] == found["free"] == ("SUCCEEDED", "")
    old = [row for row in record.containers if row.application == "old"]
    assert {(row.kind, row.finished_ms) for row in old} == {("killed", 10_000)}
    assert len(old) == 3


def test_an_application_that_waits_without_success_is_killed_in_time():
    """The end of its lifetime is noticed, even if nothing but heartbeats happens for a long
    time.
    """
    days = 3 * 24 * 3600
    wanted = scenario(
        app("j", stage([5_000], size=(9_000, 1)), queue="root.a"), heartbeat_ms=3_600_000
    )
    config = limited(f"maximum_lifetime: {days}").replace("fifo", "test-heartbeats")
    record = run(wanted, config)
    assert ends(record)["j"][0] == "KILLED"
    assert record.ended_ms == 1000 * days


def test_the_limits_are_of_the_queue_that_states_them():
    config = compiled(limited("maximum_applications: 1"))
    assert config["queues"][1]["maximum_applications"] == 1
    assert "maximum_applications" not in config["queues"][2]
