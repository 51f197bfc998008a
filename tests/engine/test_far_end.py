"""The far end of a session: its own state, which a plan changes only when it is carried out."""

from compiled import config, flat, queue
from loomcard.engine.far_end import FarEnd
from loomcard.model.objects import AskKey
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def asking(count: int) -> FarEnd:
    """One node, and one application that asks for containers there."""
    far_end = FarEnd("test", ["memory_mb", "vcores"], flat("fifo"), {})
    for record in (
        r.NodeAddedRecord(0, 1, "n1:1", "/r", (4096, 4)),
        r.ApplicationAddedRecord(0, 1, "application_1_0001", 1, "u", "", "T", [], 0, 0, {}),
        r.AttemptAddedRecord(0, 1, 1, 1, True),
        r.AskChangedRecord(0, 1, 20, 0, False, (1024, 1), count, {"n1": 3}, {"/r": 3}, True, ""),
    ):
        far_end.send(record)
    return far_end


def test_a_plan_changes_the_state_when_it_is_carried_out_and_not_before():
    """Neither counts nor rows: the mirror and the state share nothing that changes."""
    far_end = asking(3)
    plan = far_end.next_plan(10)
    ask = far_end.state.attempts[1].asks[AskKey(1, 20, 0)]
    assert (ask.count, ask.hosts) == (3, {"n1": 3})
    assert far_end.carry_out(plan) == []
    assert sorted(far_end.state.containers) == [1, 2, 3]


def test_what_is_refused_on_purpose_is_asked_for_again():
    """Every refusal is returned, and the next batch begins with it; containers of an attempt are
    numbered from 1, as YARN does.
    """
    far_end = asking(2)
    assert far_end.carry_out(far_end.next_plan(10), {0: "STALE"}) == [(0, 2, "STALE")]
    assert far_end.needs_round
    assert far_end.carry_out(far_end.next_plan(20)) == []
    assert far_end.outcomes == r.OutcomesRecord(20, 2, 1, [1, 2], [])


def test_a_configuration_with_fewer_queues_ends_their_waits():
    """A wait by a rule is that of a queue's number, which the new tree may lack."""
    made = Cluster(
        config(
            queue("root", "fifo"), queue("root.a", "fifo"), queue("root.b", "fifo"),
            queue("root.c", "slots", options={"slots_per_node": 1}),
        ),
        nodes=[(8192, 8)],
    )  # fmt: skip
    made.add_app(1, "root.c")
    made.ask(1, 2, (1024, 1))
    made.round(100)
    made.round(100)
    assert made.session.mirror.state.rule_waits.rows()
    made.end_app(1)
    made.configure(config(queue("root", "fifo"), queue("root.a", "fifo")), made.now)
    for ms in (100, 70_000, 70_000):
        made.round(ms)
    assert len(made.session.mirror.state.node_watchers) <= 1
