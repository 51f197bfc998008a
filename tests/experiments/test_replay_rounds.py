"""Another policy beside a journal's: on the cluster as it really was, never as that policy would
have changed it.
"""

import pytest

from loomcard.experiments.replay_rounds import shadow
from loomcard.simulator import simulate
from loomcard.wire.journal import JournalError
from scenarios import app, compiled, random_scenario, scenario, stage

TWO_QUEUES = "version: 1\npolicy: drf\nqueues:\n  a: {}\n  b: {}\n"


@pytest.fixture
def contended(tmp_path):
    """Return the journal of a fifo run in which two applications want all four slots at once."""
    wanted = scenario(app("early", stage([100] * 6)), app("late", stage([100] * 6)))
    simulate(wanted, compiled("fifo"), policy="fifo", journal=tmp_path)
    return tmp_path


@pytest.mark.parametrize("policy", ["fifo", "drf", "fair"])
def test_the_policy_that_ran_would_have_decided_what_it_did(tmp_path, policy):
    record = simulate(random_scenario(8), compiled(policy), policy=policy, journal=tmp_path)
    rounds = list(shadow(tmp_path, compiled(policy)))
    assert rounds
    assert all(each.same for each in rounds)
    assert sum(sum(each.recorded.values()) for each in rounds) == len(record.containers)


def test_another_policy_is_asked_about_each_round_as_it_was(contended):
    first, second, third, *_ = [
        each for each in shadow(contended, compiled("drf")) if each.recorded
    ]
    assert dict(first.recorded) == {("early", "n1"): 4}
    assert dict(first.other) == {("early", "n1"): 2, ("late", "n1"): 2}
    assert not first.same_but_for_nodes
    # Four slots are free again, early has none running and two left: as recorded, not as drf's
    # own first answer would have left it.
    assert dict(second.recorded) == {("early", "n1"): 2, ("late", "n1"): 2}
    assert second.same
    assert dict(third.other) == dict(third.recorded) == {("late", "n1"): 4}


def test_a_journal_may_be_taken_up_in_the_middle(tmp_path):
    wanted = scenario(
        app("j", *[stage([10], i + 1, after=[i - 1] if i else []) for i in range(1200)])
    )
    simulate(wanted, compiled("fifo"), policy="fifo", journal=tmp_path)
    first, *later = sorted(tmp_path.glob("*.jsonl"))
    assert later
    first.unlink()
    rounds = list(shadow(tmp_path, compiled("drf")))
    assert rounds[0].round == 1001
    assert all(each.same for each in rounds)


def test_queues_of_other_paths_are_refused_with_both_names(contended):
    with pytest.raises(JournalError, match=r"ran in root\.default.* it has root\.a, root\.b"):
        list(shadow(contended, compiled(TWO_QUEUES)))
