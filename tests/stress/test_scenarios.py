"""Tests of the scenarios: what each requires, and that our policies do in them what the page
says.
"""

import pytest

from loomcard.stress.design import DESIGNS, OPTIONS, POLICIES
from loomcard.stress.run import SCENARIOS, judge
from loomcard.stress.scenario import Candidate
from loomcard.workload.scenario import write_scenario

PAPERS = ("dress", "hdrf", "carbyne", "coupling")
CHEAP = [name for name, build in SCENARIOS.items() if build().cheap]
BREAKS = {(name, policy) for d in DESIGNS for name in d.scenarios for policy in d.policies}


def pairs():
    """Return short scenarios with policies. `make test` runs what a policy breaks, and our papers'
    policies in all but the scenarios with hints, which take longest.
    """
    for name in CHEAP:
        for policy in POLICIES:
            slow = policy not in PAPERS or name.startswith("hints")
            slow = slow and (name, policy) not in BREAKS
            yield pytest.param(name, policy, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_the_same_each_time_and_says_what_it_is(name):
    """A scenario gives equal bytes each time, has the name of the table, and predicates with
    different names.
    """
    one, two = SCENARIOS[name](), SCENARIOS[name]()
    assert write_scenario(one.workload) == write_scenario(two.workload)
    assert (one.name, one.workload.name) == (name, name)
    assert one.about
    words = [each.name for each in one.requires]
    assert len(words) == len(set(words))
    assert {"sound", "ends", "idle room"} <= set(words)


@pytest.mark.parametrize("policy", ["drf", "capacity", "tetris"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_kind_of_policy_has_its_place_in_every_scenario(name, policy):
    """Policies that share, that walk the tree, or that are for leaves only govern every leaf or the
    tree above it.
    """
    scenario = SCENARIOS[name]()
    queues = scenario.config(Candidate(policy))["queues"]
    used = {app.queue for app in scenario.workload.applications}
    assert used <= {queue["path"] for queue in queues if queue["leaf"]}
    for path in used:
        named = [q["policy"] for q in queues if (path + ".").startswith(q["path"] + ".")]
        assert policy in named


@pytest.mark.parametrize(("name", "policy"), [*pairs()])
def test_our_policies_break_what_their_definition_breaks_and_nothing_else(name, policy):
    """The result is what docs/policies/stress.md says of the short scenarios."""
    verdict = judge(SCENARIOS[name](), Candidate(policy, OPTIONS.get(policy, {})))
    known = {d.predicate for d in DESIGNS if policy in d.policies and name in d.scenarios}
    assert set(verdict.broken) == known, verdict.broken


def test_designs_name_policies_scenarios_and_predicates_that_are_there():
    """A note about a name that was changed would explain nothing."""
    for design in DESIGNS:
        assert set(design.policies) <= set(POLICIES)
        assert design.why.endswith(".")
        for name in design.scenarios:
            assert design.predicate in {each.name for each in SCENARIOS[name]().requires}
