"""What H-DRF is compared with, on the real objects: each baseline fails where the paper says it
does.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from hdrf_clusters import churn, grown, held, wants
from loomcard.api.registry import built_in, find
from loomcard.testing import PolicyMachine
from loomcard.testing.policy_configs import compiled

CPU, GPU, BOTH = (0, 1, 0), (0, 0, 1), (0, 1, 1)
FIG4 = {"n1": {"n11": {}}, "n2": {"n21": {}, "n22": {}}}
FIG5 = {"n1": {"a": {}}, "n2": {"a": {}}, "n3": {"a": {}, "b": {}}, "n4": {"a": {}}}
ALL = sorted(name for name, at in built_in().items() if ".hdrf." in at)


def lived(policy, tree, capacity, leaves, times, **options):
    """Return the number of containers of each leaf after this many rounds of churn."""
    made = grown(policy, tree, (100_000, *capacity), **options)
    for app, (queue, size) in enumerate(leaves, 1):
        wants(made, app, queue, size)
    made.round()
    churn(made, times, *range(1, len(leaves) + 1))
    return [held(made).get(app, 0) for app in range(1, len(leaves) + 1)]


def test_per_level_drf_starves_a_leaf_of_figure_4():
    """The first allocation is right; then n2,1 loses a task in each round to n1,1."""
    leaves = [("n1.n11", CPU), ("n2.n21", CPU), ("n2.n22", GPU)]
    assert lived("per_level_drf", FIG4, (10, 10), leaves, 0) == [5, 5, 10]
    assert lived("per_level_drf", FIG4, (10, 10), leaves, 12) == [10, 0, 10]


def test_stopping_at_the_first_blocked_leaf_leaves_gpus_idle():
    """As in C.S-Current of the paper, n2,2 gets nothing while leaves before it wait for CPUs."""
    leaves = [("n1.n11", CPU), ("n2.n21", CPU), ("n2.n22", GPU)]
    n11, n21, n22 = lived("per_level_drf", FIG4, (10, 10), leaves, 12, stop_at_blocked=True)
    assert n11 + n21 == 10
    assert n22 <= 5
    assert lived("per_level_drf", FIG4, (10, 10), leaves, 12)[2] == 10


def test_collapsing_breaks_the_guarantee_of_an_inner_queue():
    """3.2a: n2 ends with a third, below its half; H-DRF gives it its half."""
    leaves = [("n1.n11", BOTH), ("n2.n21", CPU), ("n2.n22", GPU)]
    assert lived("collapsed_fixed", FIG4, (60, 60), leaves, 6) == [40, 20, 20]
    recalculated = lived("collapsed_recalculated", FIG4, (60, 60), leaves, 6)
    assert all(abs(a - b) <= 1 for a, b in zip(recalculated, [40, 20, 20], strict=True))
    assert lived("hdrf", FIG4, (60, 60), leaves, 6) == [30, 30, 30]


@pytest.mark.parametrize("policy", ["collapsed_fixed", "collapsed_recalculated", "hdrf"])
def test_with_one_resource_collapsing_is_right(policy):
    """3.2b: the leaves get a half and two quarters."""
    leaves = [("n1.n11", CPU), ("n2.n21", CPU), ("n2.n22", CPU)]
    assert lived(policy, FIG4, (20, 20), leaves, 6) == [10, 5, 5]


def test_recalculated_weights_follow_who_demands_and_fixed_ones_do_not():
    """When n2,2 wants no more, B gives its part to n2,1. A counts n2,2 as long as it exists, so it
    leaves a third to n2,1.
    """
    for policy, want in (("collapsed_recalculated", [10, 10]), ("collapsed_fixed", [13, 7])):
        made = grown(policy, FIG4, (1000, 20, 20))
        for app, queue in enumerate(["n1.n11", "n2.n21", "n2.n22"], 1):
            wants(made, app, queue, CPU, 5 if app == 3 else 10_000)
        made.round()
        churn(made, 10, 1, 2, 3)
        left = held(made)
        assert left.get(3, 0) == 0
        assert all(abs(left[a] - w) <= 1 for a, w in enumerate(want, 1)), (policy, left)


def test_rescaling_alone_fails_with_four_organisations():
    """3.3: n3's GPUs are scaled to its CPUs' least share, so n3 gets two thirds of them and n4 a
    third.
    """
    leaves = [("n1.a", CPU), ("n2.a", CPU), ("n3.a", CPU), ("n3.b", GPU), ("n4.a", GPU)]
    found = lived("rescale_only", FIG5, (30, 30), leaves, 12)
    assert all(abs(a - b) <= 1 for a, b in zip(found, [10, 10, 10, 20, 10], strict=True)), found


def test_ignoring_blocked_nodes_alone_starves_a_leaf():
    """3.4, with small tasks: n2,1 needs a few of the GPUs that n2,2 uses, and starves. H-DRF shares
    equally, except for the task by which it looks ahead.
    """
    leaves = [("n1.n11", (0, 100, 0)), ("n2.n21", (0, 100, 1)), ("n2.n22", GPU)]
    found = lived("ignore_blocked_only", FIG4, (1000, 1000), leaves, 25, headroom=False)
    assert found[1] <= 1, found
    kept = lived("hdrf", FIG4, (1000, 1000), leaves, 25, setting="static")
    assert kept[:2] == [5, 5], kept
    kept = lived("hdrf", FIG4, (1000, 1000), leaves, 25)
    assert kept[:2] == [6, 4], kept


@pytest.mark.parametrize("policy", [name for name in ALL if name != "hdrf"])
def test_figure_3_is_right_under_each(policy):
    """One level with two resources is DRF."""
    leaves = [("a", (0, 3, 2)), ("b", (0, 2, 3))]
    found = lived(policy, {"a": {}, "b": {}}, (100, 100), leaves, 3, headroom=False)
    assert found == [20, 20]


CONFIGS = [
    "{x: {queues: {a: {maximum: 50%, user_limit: 50%}, b: {policy: srtf}}}, y: {am_share: 50%}}",
    "{x: {weight: 2, guaranteed: 30%, queues: {a: {}, b: {weight: 3}}}, y: {policy: slots}}",
]


class ClusterMachine(PolicyMachine):
    """hdrf and its baselines with options and queues of every kind: nothing that happens to a
    cluster breaks them, every ask is served in the end, and the journal replays.
    """

    @classmethod
    def compiled(cls, draw):
        """Return one of the configurations, with one of the options."""
        policy, queues = draw(st.sampled_from(ALL)), draw(st.sampled_from(CONFIGS))
        options = draw(st.sampled_from(["{}", "{headroom: false}", "{leaf: queue}"]))
        if policy == "hdrf":
            more = ["{headroom: true}", "{setting: cap}", "{setting: prose, reserve_after_ms: 50}"]
            options = draw(st.sampled_from([options, *more]))
        text = f"version: 1\npolicy: {policy}\noptions: {options}\nqueues: {queues}\n"
        return compiled(text)


TestClusterMachine = ClusterMachine.TestCase
TestClusterMachine.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def test_they_are_found_by_name():
    """With or without entry points, each is a policy that walks the tree."""
    assert all(find(name).walks_tree for name in ALL)
    assert len(ALL) == 6


@pytest.mark.parametrize(
    ("policy", "options"),
    [("hdrf", {"headroom": True}), ("rescale_only", {}),
     ("per_level_drf", {"headroom": False, "stop_at_blocked": True})],
)  # fmt: skip
def test_room_that_a_rule_keeps_idle_is_stated_though_all_was_full_before(policy, options):
    """When a part becomes free, an application that was reported NODE_FULL waits for headroom, or
    behind a blocked one. Without that rule the watchdog for progress would blame the policy.
    """
    made = grown(policy, {"a": {}, "b": {}}, (1000, 6, 6), **options)
    wants(made, 2, "b", CPU)
    made.round()
    wants(made, 1, "a", (0, 4, 0))
    made.round()
    rules, root = made.session.mirror.state.rule_waits, made.session.tree.instances[0].view.queue
    assert held(made) == {2: 6}
    assert made.reasons[2, 20, 0] == "NODE_FULL"
    assert rules.until_ms(root) == 0
    for number in list(made.containers)[:2]:
        made.complete(number)
    made.round()
    assert held(made) == {2: 4}
    assert rules.until_ms(root) > made.now
