"""Every predicate is broken by the policy that is made to break it, and by no other."""

import pytest

import broken
from loomcard.stress.run import SCENARIOS, judge
from loomcard.testing.policy_configs import candidate


@pytest.mark.parametrize(
    ("policy", "scenario", "predicates"),
    [
        (broken.Working, "many-applications", set()),
        (broken.Working, "node-sized", set()),
        (broken.Working, "vanishing-resource", set()),
        (broken.DividesByEachType, "vanishing-resource", {"sound", "ends"}),
        (broken.IgnoresLargeTasks, "node-sized", {"ends", "idle room", "bounded wait"}),
        (broken.StopsAtHalf, "node-sized", {"idle room", "in use"}),
        (broken.NeverHolds, "node-sized", {"bounded wait"}),
        (broken.LastComeFirst, "many-applications", {"starvation"}),
        (broken.LastComeFirst, "hints-refused", {"starvation", "in time"}),
        (broken.Working, "hints-too-large", set()),
        (broken.ForgetsQueues, "many-applications", {"guarantee"}),
    ],
)
def test_a_predicate_is_broken_by_a_policy_that_breaks_it(policy, scenario, predicates):
    """Other predicates are kept, unless one follows from another: what is not served does not
    end.
    """
    verdict = judge(SCENARIOS[scenario](), candidate(policy))
    assert set(verdict.broken) == predicates, verdict.broken
