"""Tests of attributed shares and collapsed weights, worked out by hand."""

import pytest

from loomcard.policies.hdrf import collapsed_target, collapsed_weights
from loomcard.policies.hdrf.paper import (
    SETTINGS,
    Node,
    dominant_share,
    largest_demand,
    plain_shares,
    unsaturated,
    update_shares,
)

LETTER = ("static", "cap", "prose")
"""The settings without look-ahead."""


def leaf(name: str, demand: tuple[float, ...], tasks: float = 0, weight: float = 1, wants=True):
    return Node(name, weight, demand=demand, used=[tasks * d for d in demand], wants=wants)


def fig4(*tasks: int) -> tuple[Node, dict[str, Node]]:
    """Return figure 4 with these tasks: 10 CPU and 10 GPU; n1{n1,1 (1,0)}, n2{n2,1 (1,0), n2,2
    (0,1)}.
    """
    leaves = [leaf(n, d, t) for n, d, t in zip("abc", ((1, 0), (1, 0), (0, 1)), tasks, strict=True)]
    root = Node("r", children=[Node("n1", children=leaves[:1]), Node("n2", children=leaves[1:])])
    return root, {n.member: n for n in root.walk()}


@pytest.mark.parametrize("setting", LETTER)
def test_the_walk_through_fig_4(setting):
    """With 5, 5 and 10 tasks n2's vector is (0.5, 0.5) of the cluster (the paper's section 3.4)."""
    root, by = fig4(5, 5, 10)
    found = update_shares(root, (10, 10), (True, True), setting)
    assert found[by["n2"]].vector == (5, 5)
    assert (found[by["n2"]].share, found[by["n2"]].minimum) == (0.5, 0.5)
    assert (found[by["c"]].share, found[by["n1"]].share) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("setting", "vector", "share"),
    [
        ("static", (4, 4), 0.4),
        ("cap", (4, 4), 0.4),
        ("prose", (4, 10), 0.4),
        ("look_ahead", (4, 5), 0.5),
    ],
)
def test_a_blocked_child_is_capped_at_m_or_enters_as_it_is(setting, vector, share):
    """A CPU is free, but no GPU, and n2,2 wants more. With `prose` it enters whole, over Y =
    {CPU}.
    """
    root, by = fig4(5, 4, 10)
    found = update_shares(root, (10, 10), (True, False), setting)
    assert not found[by["c"]].active
    assert found[by["n2"]].vector == vector
    assert found[by["n2"]].share == share


def test_static_compares_all_resources_and_never_scales_up():
    """A blocked child below M is not scaled, and s also looks at saturated resources."""
    root, by = fig4(0, 6, 4)
    for setting in SETTINGS:
        found = update_shares(root, (10, 10), (True, False), setting)
        assert found[by["n2"]].vector == (6, 4)
        assert found[by["n2"]].share == 0.6
    assert update_shares(root, (10, 10), (False, True), "static")[by["b"]].share == 0.6
    assert update_shares(root, (10, 10), (False, True), "cap")[by["b"]].share == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_who_wants_nothing_counts_whole_until_its_tasks_end(setting):
    """Resolution 15: such a child is unscaled in every setting, although its share exceeds M."""
    root, by = fig4(5, 2, 8)
    by["c"].wants = False
    found = update_shares(root, (10, 10), (True, True), setting)
    assert found[by["n2"]].vector == (2, 8)
    assert found[by["n2"]].share == 0.8


@pytest.mark.parametrize("setting", LETTER)
def test_an_empty_active_child_makes_its_parent_count_nothing(setting):
    """Resolution 8: M is 0, so the parent is served next, and inside it the empty child."""
    root, by = fig4(5, 0, 10)
    found = update_shares(root, (10, 10), (True, True), setting)
    assert found[by["n2"]].vector == (0, 0)
    assert found[by["n2"]].minimum == 0


def test_looking_ahead_an_empty_child_lets_its_siblings_count_one_task():
    """docs/papers/hdrf.md 2.9: M is the share of the least child with its next task; no child is
    scaled up.
    """
    leaves = [leaf("a", (2, 0), 0), leaf("b", (1, 0), 3), leaf("c", (1, 0), 1)]
    root = Node("r", children=[Node("n", children=leaves)])
    found = update_shares(root, (10, 10), (True, True), "look_ahead")
    assert found[next(iter(root.children))].minimum == pytest.approx(0.2)
    assert found[next(iter(root.children))].vector == pytest.approx((3, 0))
    assert found[next(iter(root.children))].ahead == pytest.approx(0.2)


def test_blocked_is_who_fits_nowhere_now_whatever_is_free_in_sum():
    """docs/papers/hdrf.md 2.9: the siblings of a blocked child are not held down to its share."""
    root, by = fig4(5, 4, 3)
    found = update_shares(root, (10, 10), (True, True), "static", {by["a"], by["b"]})
    assert not found[by["c"]].active
    assert found[by["n2"]].vector == (4, 3)
    found = update_shares(root, (10, 10), (True, True))
    assert found[by["n2"]].vector == pytest.approx((3, 3))


@pytest.mark.parametrize("setting", SETTINGS)
def test_where_none_is_active_nothing_is_scaled(setting):
    """If all resources are full, the vectors are plain sums."""
    root, by = fig4(3, 7, 10)
    found = update_shares(root, (10, 10), (False, False), setting)
    assert found[by["n2"]].vector == (7, 10)
    assert found[by["n2"]].minimum is None
    assert not found[root].active


@pytest.mark.parametrize("setting", LETTER)
def test_weights_divide_what_is_compared(setting):
    """Resolution 12: a child of weight w is scaled to M * w; its parent's weight counts one level
    up.
    """
    a, b = leaf("a", (1, 0), 2, weight=1), leaf("b", (0, 1), 9, weight=3)
    root = Node("r", children=[Node("n", 5, children=[a, b])])
    found = update_shares(root, (10, 10), (True, True), setting)
    assert found[next(iter(root.children))].vector == pytest.approx((2, 6))
    assert found[next(iter(root.children))].minimum == pytest.approx(0.2)
    assert found[root].minimum == pytest.approx(0.6 / 5)


def test_an_unknown_setting_is_refused():
    """There is one clear error, which lists the settings."""
    with pytest.raises(ValueError, match="look_ahead, static, cap, prose"):
        update_shares(fig4(0, 0, 0)[0], (10, 10), (True, True), "other")


def test_saturated_is_what_the_largest_demanded_task_does_not_find():
    """Resolution 11: q is the largest demand with headroom and the smallest without; a resource
    with 0 free is full.
    """
    tasks = [(3, 0, 0), (1, 2, 0)]
    assert largest_demand(tasks, 3) == [3, 2, 0]
    assert largest_demand(tasks, 3, headroom=False) == [1, 2, 0]
    assert unsaturated((2, 2, 5), [3, 2, 0]) == (False, True, True)
    assert unsaturated((2, 0, 0), [1, 2, 0]) == (True, False, False)


def test_a_resource_of_which_there_is_nothing_counts_in_no_share():
    """docs/papers/hdrf.md 2.8; a node that uses nothing has the share 0."""
    assert dominant_share((4, 1), (10, 0)) == 0.4
    assert dominant_share((0, 0), (10, 10)) == 0
    assert dominant_share((9, 1), (10, 10), over=[1]) == 0.1


def test_plain_sums_are_what_starves():
    """Per-level DRF sees n2 at 1.0 (the paper's section 3.3); over Y alone it is at 0.4."""
    root, by = fig4(5, 4, 10)
    assert plain_shares(root, (10, 10))[by["n2"]] == 1.0
    assert plain_shares(root, (10, 10), over=[0])[by["n2"]] == 0.4


def test_collapsed_weights_are_products_along_the_path():
    """The paper's section 3.2: n1,1 gets 1/2 and each leaf of n2 1/4; a leaf that does not count
    gets nothing.
    """
    root, by = fig4(0, 0, 0)
    fixed = collapsed_weights(root)
    assert [fixed[by[n]] for n in "abc"] == [0.5, 0.25, 0.25]
    again = collapsed_weights(root, lambda n: n is not by["b"])
    assert [again[by[n]] for n in "abc"] == [0.5, 0, 0.5]


def test_the_target_of_recalculated_weights_does_not_overpay_a_sibling():
    """docs/papers/hdrf.md 2.3: a1 stops at 0.1, so a2 should get 0.4 and b 0.5, not 0.45 each."""
    a1, a2, b = leaf("a1", (1,), 10, wants=False), leaf("a2", (1,)), leaf("b", (1,))
    root = Node("r", children=[Node("a", children=[a1, a2]), b])
    target = collapsed_target(root, (100,))
    assert [target[n] for n in (a1, a2, b)] == pytest.approx([0.1, 0.4, 0.5])
    a1.wants, a1.used = True, [100]
    assert [collapsed_target(root, (100,))[n] for n in (a1, a2, b)] == pytest.approx(
        [0.25, 0.25, 0.5]
    )
    bounded = collapsed_target(root, (100,), {b: 20})
    assert [bounded[n] for n in (a1, a2, b)] == pytest.approx([0.4, 0.4, 0.2])


def test_the_target_renews_the_weights_when_a_resource_is_full():
    """With n1,1 (1,1) of Fig 4 the CPUs are gone at 2/3, 1/3, 1/3, and n2,2 has no GPU left to
    grow.
    """
    a, b, c = leaf("a", (1, 1)), leaf("b", (1, 0)), leaf("c", (0, 1))
    root = Node("r", children=[Node("n1", children=[a]), Node("n2", children=[b, c])])
    target = collapsed_target(root, (10, 10))
    assert [target[n] for n in (a, b, c)] == pytest.approx([2 / 3, 1 / 3, 1 / 3])
