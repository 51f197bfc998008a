"""Every worked example of the paper, from empty and under churn, for H-DRF and for the rules that
fail.
"""

from functools import partial

import pytest

from benchmarks.hdrf_pool import ROUNDS, Pool, churn, fill, hdrf_round
from loomcard.policies.hdrf.paper import (
    SETTINGS,
    dominant_share,
    guarantees,
    static_hdrf,
    static_hdrf_tasks,
)
from loomcard.policies.hdrf.rules import hdrf
from papertrees import (
    BOTH_FULL,
    BOTH_FULL_WEIGHTS,
    FIG_4,
    FIG_4_BOTH,
    FIG_5,
    FIG_6,
    JOINT,
    SMALL_TASKS,
    Running,
    tree,
)

DESCENDING = [rule for rule in ROUNDS if not rule.startswith("collapsed")]
every_setting = pytest.mark.parametrize("setting", SETTINGS)
SLOTS = {"n1": {"n1,1": (1,)}, "n2": {"n2,1": (1,), "n2,2": (1,), "n2,3": (1,)}}
SLOT_WEIGHTS = {"n2,2": 2.0, "n2,3": 2.0}


@pytest.mark.parametrize("rule", ROUNDS)
def test_480_slots_are_divided_by_weight(rule):
    """The paper's section 2.1: under every rule n1 has 240, and the children of n2 have 48, 96 and
    96.
    """
    running = Running(rule, tree(SLOTS, SLOT_WEIGHTS), (480,))
    assert running.tasks == [240, 48, 96, 96]


@pytest.mark.parametrize("rule", [*DESCENDING, "collapsed_recalculated"])
def test_what_a_child_leaves_goes_to_its_siblings(rule):
    """When n2,3 leaves, its siblings have 80 and 160, and n1 stays at 240. Fixed collapsed weights
    give n1 300.
    """
    running = Running(rule, tree(SLOTS, SLOT_WEIGHTS), (480,))
    running.stop("n2,3")
    assert running.tasks == [240, 80, 160, 0]
    fixed = Running("collapsed_fixed", tree(SLOTS, SLOT_WEIGHTS), (480,))
    fixed.stop("n2,3")
    assert fixed.tasks == [300, 60, 120, 0]


@pytest.mark.parametrize("rule", ROUNDS)
def test_fig_3_is_plain_drf(rule):
    """Tasks of (3,2) and (2,3) in a cluster of 100 and 100 get 20 tasks each and shares of 0.6."""
    root = tree({"a": (3, 2), "b": (2, 3)})
    running = Running(rule, root, (100, 100), headroom=False)
    running.churn(20)
    assert running.tasks == [20, 20]
    assert [running.pool.shares()[leaf] for leaf in root.children] == [0.6, 0.6]


@pytest.mark.parametrize("rule", [*SETTINGS, "per_level_drf"])
def test_where_every_task_needs_every_resource_there_is_nothing_to_choose(rule):
    """Property 16's example: a{(4,1), (1,4)} and b{(2,1)} in a cluster of 400 and 400 get 40, 40
    and 100 tasks, from empty and under churn.
    """
    root = tree({"a": {"a1": (4, 1), "a2": (1, 4)}, "b": {"b1": (2, 1)}})
    running = Running(rule, root, (400, 400), headroom=False)
    assert running.tasks == [40, 40, 100]
    running.churn(40)
    assert all(abs(n - want) <= 1 for n, want in zip(running.tasks, (40, 40, 100), strict=True))


@every_setting
@pytest.mark.parametrize(
    ("spec", "capacity", "tasks"),
    [
        pytest.param(FIG_4, (10, 10), [5, 5, 10], id="fig 4"),
        pytest.param(FIG_4_BOTH, (12, 12), [6, 6, 6], id="3.2a"),
        pytest.param({"n1": {"a": (1, 0)}, "n2": {"b": (1, 0), "c": (1, 0)}}, (12, 12), [6, 3, 3],
                     id="3.2b"),
        pytest.param(FIG_5, (12, 12), [4, 4, 4, 6, 6], id="fig 5"),
        pytest.param(FIG_6, (300, 300), [60, 90, 30], id="fig 6"),
        pytest.param(SMALL_TASKS, (100, 100), [5, 5, 95], id="3.4"),
    ],
)  # fmt: skip
def test_h_drf_gives_the_static_allocation_and_keeps_it(setting, spec, capacity, tasks):
    """The tasks are those of Algorithm 1, from empty and after tasks of all leaves have ended in
    turn.
    """
    assert list(static_hdrf_tasks(tree(spec), capacity).values()) == tasks
    running = Running(setting, tree(spec), capacity, headroom=False)
    assert running.tasks == tasks
    running.churn(40)
    apart = 1 if setting == "look_ahead" else 0  # equal up to the next task, in 3.4
    assert all(abs(a - b) <= apart for a, b in zip(running.tasks, tasks, strict=True))


@pytest.mark.parametrize(
    ("spec", "shares"),
    [(FIG_4, [0.5, 0.5, 1]), (FIG_4_BOTH, [0.5] * 3), (FIG_5, [1 / 3] * 3 + [0.5] * 2),
     (FIG_6, [0.6, 0.3, 0.3])],
)  # fmt: skip
def test_the_fluid_fill_gives_the_papers_shares(spec, shares):
    """Algorithm 1 runs in slices of a thousandth with unequal capacities; inner nodes have the sums
    of their leaves.
    """
    root, capacity = tree(spec), (40, 7)
    for leaf in root.leaves():
        leaf.demand = tuple(t * c for t, c in zip(leaf.demand, capacity, strict=True))
    held = static_hdrf(root, capacity, 0.001)
    found = [dominant_share(held[leaf], capacity) for leaf in root.leaves()]
    assert found == pytest.approx(shares, abs=0.004)
    whole = [sum(held[leaf][r] for leaf in root.leaves()) for r in (0, 1)]
    assert held[root] == pytest.approx(whole)


def test_per_level_drf_starts_right_and_starves_under_churn():
    """The paper's section 3.3: n2,1 loses a task in each round until n1,1 has all CPUs."""
    running = Running("per_level_drf", tree(FIG_4), (10, 10))
    seen = [running.tasks]
    for _ in range(6):
        running.churn(1)
        seen.append(running.tasks)
    assert seen == [[5 + i, 5 - i, 10] for i in range(6)] + [[10, 0, 10]]


def test_collapsed_weights_leave_an_inner_node_below_its_guarantee():
    """The paper's section 3.2, Fig 4 with n1,1 = (1,1): the shares are 2/3, 1/3, 1/3, so n2 has 33
    % of each resource instead of 50 %.
    """
    for rule in ("collapsed_fixed", "collapsed_recalculated"):
        running = Running(rule, tree(FIG_4_BOTH), (12, 12))
        assert running.tasks == [8, 4, 4]
        running.churn(20)
        _, n2 = running.pool.root.children
        assert running.pool.shares()[n2] == pytest.approx(1 / 3)
        assert guarantees(running.pool.root)[n2] == 0.5


def test_collapsed_weights_are_right_for_one_resource():
    """The paper's section 3.2: if all three are (1,0), the shares are 0.5, 0.25, 0.25."""
    spec = {"n1": {"a": (1, 0)}, "n2": {"b": (1, 0), "c": (1, 0)}}
    for rule in ("collapsed_fixed", "collapsed_recalculated"):
        assert Running(rule, tree(spec), (12, 12)).tasks == [6, 3, 3]


def test_rescaling_alone_favours_who_has_a_small_sibling():
    """Fig 5: n3,2 gets 2/3 of the GPUs and n4,1 1/3, from empty and under churn."""
    running = Running("rescale_only", tree(FIG_5), (12, 12))
    assert running.tasks == [4, 4, 4, 8, 4]
    running.churn(20)
    assert running.tasks == [4, 4, 4, 8, 4]


def test_ignoring_blocked_nodes_alone_starves_under_churn():
    """The paper's section 3.4: n2,1 needs a few GPUs, so n2,2 is not blocked when one of n2,1's
    tasks ends.
    """
    running = Running("ignore_blocked_only", tree(SMALL_TASKS), (100, 100))
    assert running.tasks == [5, 5, 95]
    running.churn(20)
    assert running.tasks == [10, 0, 100]


@every_setting
def test_who_leaves_may_cost_another_organisation_its_share(setting):
    """Fig 7: n2,2 stops, and n1 falls from 60 % to 50 %, so H-DRF is not population monotone."""
    running = Running(setting, tree(FIG_6), (300, 300), headroom=False)
    running.stop("n2,2")
    running.churn(40)
    assert running.tasks == [50, 150, 0]
    n1, n2 = (running.pool.shares()[n] for n in running.pool.root.children)
    assert (n1, n2) == (0.5, 0.5)


@every_setting
def test_the_phases_of_figs_8_and_9(setting):
    """On 49 servers of 16 GB, 4 CPU and 4 GPU, with weights 4:1, the CPUs are shared .8/.1/.1 and
    n1,2 has all GPUs. After n1,1 is done, n2's leaves get .5 each; after n2,2 is done too, n2,1
    gets all CPUs.
    """
    spec = {"n1": {"n1,1": (1, 1, 0), "n1,2": (1, 0, 1)},
            "n2": {"n2,1": (1, 1, 0), "n2,2": (1, 1, 0)}}  # fmt: skip
    running = Running(setting, tree(spec, {"n1": 4.0}), *[(16, 4, 4)] * 49)
    for phase, tasks in ((None, [157, 196, 20, 20]), ("n1,1", [0, 196, 98, 98]),
                         ("n2,2", [0, 196, 196, 0])):  # fmt: skip
        if phase is not None:
            running.stop(phase)
        running.churn(20)
        assert all(abs(a - b) <= 1 for a, b in zip(running.tasks, tasks, strict=True)), phase
        assert sum(running.tasks) == 392


MANY = [((5, 1), 4, (2, 2)), ((60, 60), 40, (20, 20)), ((60, 1), 40, (20, 20)),
        ((30, 30), 40, (20, 20)), ((150, 10), 400, (200, 200))]  # fmt: skip


@pytest.mark.parametrize(("counts", "slots", "want"), MANY)
def test_more_leaves_than_slots_do_not_take_a_siblings_half(counts, slots, want):
    """docs/papers/hdrf.md 2.9: in each of two organisations a leaf has no task, and the
    organisations share equally. By the letter of the paper M is then 0 on both sides, and ties
    decide.
    """

    def shared(rule: str) -> tuple[int, ...]:
        spec = {n: {f"{n}{i}": (1,) for i in range(k)} for n, k in zip("ab", counts, strict=True)}
        running = Running(rule, tree(spec), (slots,))
        leaves = list(running.leaves.values())
        for turn in range(80):
            churn(running.pool, running.rule, [leaves[turn * 7 % len(leaves)]])
        return tuple(int(n.used[0]) for n in running.pool.root.children)

    assert all(abs(a - b) <= 1 for a, b in zip(shared("look_ahead"), want, strict=True))
    assert shared("static")[0] > want[0] + 1


@pytest.mark.parametrize(
    ("rule", "tasks"),
    [
        ("look_ahead", [40, 80, 80, 40]),
        ("static", [40, 80, 80, 40]),
        ("cap", [60] * 4),
        ("prose", [60] * 4),
    ],
)
def test_shares_over_saturated_resources_too_keep_the_static_split(rule, tasks):
    """docs/papers/hdrf.md 2.6: both resources are full, and the weights inside the organisations
    are unequal.
    """
    root = tree(BOTH_FULL, BOTH_FULL_WEIGHTS)
    assert list(static_hdrf_tasks(root, (120, 120)).values()) == pytest.approx(
        [40, 80, 80, 40], abs=1
    )
    running = Running(rule, root, (120, 120))
    assert running.tasks == pytest.approx([40, 80, 80, 40], abs=1)
    running.churn(100)
    assert running.tasks == tasks


@pytest.mark.parametrize(
    ("rule", "share"),
    [("look_ahead", 0.5), ("static", 0.5), ("cap", 0.5), ("prose", 0.2 / 1.1)],
)
def test_a_blocked_sibling_that_enters_whole_takes_a_leaf_its_guarantee(rule, share):
    """docs/papers/hdrf.md 2.6: a2 (GPU, .8 mem) fills the GPUs. Unscaled, it lets a1 settle at (1 -
    e) / (1 + d), below a1's guarantee of 1/4.
    """
    root = tree({"a": {"a1": (10, 0, 1), "a2": (0, 10, 8)}, "b": {"b1": (10, 0, 0)}})
    assert guarantees(root)[next(root.leaves())] == 0.25
    running = Running(rule, root, (1000, 1000, 1000), headroom=False)
    running.churn(100)
    assert running.tasks[0] / 100 == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("names", ["AB", "BA"])
def test_static_settles_a_plateau_by_order_alone_unless_ties_look_at_what_is_left(names):
    """This is not in the paper. A and B are alike, their CPUs are full and decide their shares, and
    C has the same share. GPUs raise neither's share, so Algorithm 1 gives the first one 30 and the
    other 10. Shares over what is left (cap, prose) treat them alike; so does `static` with even
    ties, which `look_ahead` always uses.
    """
    like = {"cpu": (1, 0), "gpu": (0, 1)}
    spec = {n: {f"{n}.{k}": v for k, v in like.items()} for n in names} | {"C": (0, 1)}
    weights = {f"{n}.cpu": 4.0 for n in names}
    want = [40, 30, 40, 10, 40]
    assert list(static_hdrf_tasks(tree(spec, weights), (80, 80)).values()) == want
    assert Running("static", tree(spec, weights), (80, 80)).tasks == want
    assert Running("prose", tree(spec, weights), (80, 80)).tasks == [40, 21, 40, 20, 39]
    pool = Pool(tree(spec, weights), [(80, 80)])
    fill(pool, partial(hdrf_round, rule=partial(hdrf, setting="static", even=True)))
    assert list(pool.tasks().values()) == [40, 20, 40, 20, 40]
    ahead = Running("look_ahead", tree(spec, weights), (80, 80))
    assert ahead.tasks == [40, 20, 40, 20, 40]


@pytest.mark.parametrize(("headroom", "tasks"), [(True, [1, 1]), (False, [8, 0])])
def test_headroom_lets_a_large_task_in_that_came_late(headroom, tasks):
    """A small task is placed only where the largest fits; the price is the room that idles
    meanwhile.
    """
    root = tree({"small": (1, 1), "large": (4, 4)})
    _, large = root.leaves()
    large.wants = False
    running = Running("static", root, (8, 8), headroom=headroom)
    large.wants = True
    running.churn(10)
    assert running.tasks == tasks


def late(rule: str, **more) -> Running:
    """Return the state in which c, which needs a CPU and a GPU, comes after a took all CPUs and b
    all GPUs.
    """
    root = tree(JOINT)
    *_, c = root.leaves()
    c.wants = False
    running = Running(rule, root, (30, 30), **more)
    assert running.tasks == [30, 30, 0]
    c.wants = True
    running.churn(60)
    return running


@pytest.mark.parametrize("headroom", [True, False])
@pytest.mark.parametrize("rule", ROUNDS)
def test_who_needs_what_others_free_apart_starves_unless_it_is_kept_for_it(rule, headroom):
    """This is not in the paper, but is also true of plain DRF: a single free CPU or GPU fits only
    the leaf that freed it. If room is reserved, c has its third. The static allocation gives it a
    half; that difference stays.
    """
    assert late(rule, headroom=headroom).tasks == [30, 30, 0]
    assert late(rule, headroom=headroom, reserve=True).tasks == [20, 20, 10]


def test_room_is_held_on_one_server_alone():
    """The others continue: of four servers one idles for a while, and then none."""
    root = tree(JOINT)
    *_, c = root.leaves()
    c.wants = False
    running = Running("static", root, *[(5, 5)] * 4, reserve=True)
    c.wants = True
    first = running.leaves["a"]
    for _ in range(2):
        running.pool.finish(first)
    running.fill()
    assert [free[0] for free in running.pool.free] == [1, 0, 0, 0]
    assert running.tasks == [19, 20, 0]
    running.pool.finish(running.leaves["b"])
    running.fill()
    assert running.tasks == [19, 19, 1]


def test_guarantees_count_demanding_siblings_alone():
    """As in Fig 1 of the paper, weights divide by level; a leaf that wants nothing is guaranteed
    nothing.
    """
    root = tree(SLOTS, SLOT_WEIGHTS)
    g = {n.member: v for n, v in guarantees(root).items()}
    assert g == pytest.approx(
        {"root": 1, "n1": 0.5, "n1,1": 0.5, "n2": 0.5, "n2,1": 0.1, "n2,2": 0.2, "n2,3": 0.2}
    )
    without = guarantees(root, lambda n: n.member not in ("n2,3", "n1", "n1,1"))
    assert [without[n] for n in root.leaves()] == pytest.approx([0, 1 / 3, 2 / 3, 0])


def test_the_static_fill_bounds_tasks_and_refuses_tasks_of_nothing():
    """A leaf that has all it wants leaves the rest to its siblings; a task of zeros is an error."""
    root = tree(FIG_4)
    first, second, third = root.leaves()
    assert static_hdrf_tasks(root, (10, 10), {first: 2}) == {first: 2, second: 8, third: 10}
    first.wants, first.used = False, [3, 0]
    assert static_hdrf_tasks(root, (10, 10)) == {first: 3, second: 7, third: 10}
    held = static_hdrf(root, (10, 10), 0.01)
    assert [held[leaf] for leaf in root.leaves()] == [
        pytest.approx(want) for want in ((3, 0), (7, 0), (0, 10))
    ]
    with pytest.raises(ValueError, match="x: it wants tasks without a demand"):
        static_hdrf(tree({"x": (0, 0), "y": (1, 0)}), (10, 10), 0.01)
