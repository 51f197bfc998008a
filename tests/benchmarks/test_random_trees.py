"""The study of random trees: the trees it draws, its counts and its output."""

from random import Random

import msgspec
import pytest
from typer.testing import CliRunner

from benchmarks import random_trees
from benchmarks.random_trees import Row, random_tree, study, trial
from papertrees import FIG_4, tree


def rng(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - no secret


@pytest.mark.parametrize("depth", [1, 3])
def test_trees_have_leaves_at_one_depth_and_tasks_of_something(depth):
    """Nodes have 2 or 3 children and weights of 1 to 3; the same seed gives the same tree."""
    root, capacity = random_tree(rng(7), depth, 2)
    again, same = random_tree(rng(7), depth, 2)
    leaves = list(root.leaves())
    assert {len(leaf.path()) for leaf in leaves} == {depth + 1}
    assert all(any(leaf.demand) and max(leaf.demand) <= 3 for leaf in leaves)
    assert {len(n.children) for n in root.walk()} <= {0, 2, 3}
    assert (capacity, [n.weight for n in root.walk()]) == (same, [n.weight for n in again.walk()])


def test_fig_4_breaks_a_guarantee_under_per_level_drf_alone():
    """n2,1 ends with nothing; under H-DRF every leaf keeps its share, and a leaf that wakes reaches
    it.
    """
    bad = trial("per_level_drf", tree(FIG_4), (20, 20), rng(1), completions=300)
    good = trial("static", tree(FIG_4), (20, 20), rng(1), completions=300)
    assert (bad.short, bad.distances[-1]) == (pytest.approx(0.25), pytest.approx(0.5, abs=0.01))
    assert bad.distances[0] <= 0.01
    assert max(good.distances) <= 0.01
    assert good.short <= 0
    assert good.woken is not None


def test_a_study_counts_and_is_the_same_again():
    """There is one row per rule, from the same trees; all settings of H-DRF stay nearer to
    static.
    """
    few = {"kinds": [(2, 2)], "completions": 150}
    rules = ["static", "cap", "prose", "per_level_drf"]
    *settings, per_level = rows = list(study(4, 3, rules, **few))
    assert [(row.rule, row.trees, len(row.distances)) for row in rows] == [
        (rule, 4, 3) for rule in rules
    ]
    assert all(row.mismatching < per_level.mismatching for row in settings)
    assert all(row.distances[-1] < per_level.distances[-1] for row in settings)
    assert rows[:1] == list(study(4, 3, rules[:1], **few))
    assert all(row.worst >= row.distances[-1] for row in rows)


def test_the_command_prints_a_table_or_json(monkeypatch):
    """The columns that docs/papers/hdrf.md explains."""
    row = Row(2, 3, "static", 5, 1, 0, [0.01, 0.02], 0.2, None, 5)
    monkeypatch.setattr(random_trees, "study", lambda *_, **__: iter([row]))
    app = random_trees.typer.Typer()
    app.command()(random_trees.main)
    printed = CliRunner().invoke(app, ["--trees", "5"]).output
    assert "guarantee broken" in printed
    assert "0.010 0.020" in printed
    printed = CliRunner().invoke(app, ["--json", "--no-headroom"]).output
    assert msgspec.json.decode(printed, type=list[Row]) == [row]
