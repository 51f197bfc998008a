"""Tests of lines by shape, and of shapes that are known to fit nowhere."""

from __future__ import annotations

from random import Random

import pytest

from compiled import flat
from loomcard import ClusterView, Plan, Resource, register
from loomcard.advanced import OpenShapes, ShapeLines
from loomcard.testing.cluster import Cluster

SMALL, LARGE = (Resource((1024, 1)), ""), (Resource((4096, 4)), "")


def test_the_first_of_each_line():
    """The smallest entry is the first of its line; a member that enters again keeps only its new
    places.
    """
    lines = ShapeLines()
    lines.enter("a", [(SMALL, (2, "a")), (LARGE, (2, "a"))])
    lines.enter("b", [(SMALL, (1, "b"))])
    assert (lines.top(SMALL), lines.top(LARGE)) == ((1, "b"), (2, "a"))
    lines.enter("a", [(SMALL, (0, "a"))])
    assert (lines.top(SMALL), lines.top(LARGE)) == ((0, "a"), None)
    assert lines.shapes() == [SMALL]
    lines.leave(SMALL, "a")
    assert lines.entries(SMALL) == [(1, "b")]


def test_who_is_set_aside_has_its_place_again_but_not_one_it_gave_up():
    lines = ShapeLines()
    for name in ("a", "b", "c"):
        lines.enter(name, [(SMALL, (ord(name), name))])
    lines.set_aside(SMALL)
    lines.set_aside(SMALL)
    lines.enter("b", ())
    assert lines.top(SMALL) == (99, "c")
    lines.put_back()
    assert [entry[-1] for entry in sorted(lines.entries(SMALL))] == ["a", "c"]
    assert lines.top(SMALL) == (97, "a")


def test_lines_that_nobody_stands_in_are_forgotten():
    lines, kept = ShapeLines(), []
    for number in range(200):
        lines.enter("a", [((Resource((number, 1)), ""), (number, "a"))])
        kept.append(len(lines._lines))
    assert kept == [*range(1, 65), *[*range(2, 65)] * 2, *range(2, 12)]
    assert lines.shapes() == [(Resource((199, 1)), "")]


@register("test-opens")
class Opens:
    """Serves first come, first served; compares the open shapes with a look at all nodes."""

    leaf_only = True

    def decide(self, view: ClusterView, memory: None) -> tuple[Plan, None]:
        plan = Plan(view)
        shapes = view.cache("open", lambda: OpenShapes(view))
        shapes.begin(view)
        for ask in view.asks:
            shape = (ask.size, ask.label)
            while ask.count > 0:
                found = shapes.find(shape)
                assert found is view.first_fit(*shape)
                assert (shape in shapes) is (found is not None)
                if found is None:
                    break
                plan.allocate(ask, found)
        return plan, memory


@pytest.mark.parametrize("seed", range(5))
def test_what_is_closed_fits_nowhere_and_all_else_is_found(seed):
    """The result is right while asks of many shapes come and go, containers end, and nodes join,
    leave and have labels.
    """
    draw = Random(seed)  # noqa: S311
    made = Cluster(flat("test-opens"), nodes=[(8192, 8)] * 3)
    for number in range(1, 9):
        made.add_app(number)
    for turn in range(60):
        size = 1024 * draw.randrange(1, 9), draw.randrange(1, 9)
        made.ask(draw.randrange(1, 9), draw.randrange(4), size, priority=draw.randrange(20, 40))
        for container in list(made.containers):
            if draw.random() < 0.2:
                made.complete(container)
        if turn == 30:
            made.lose_node(1)
        if turn == 40:
            made.add_node(9, 16384, 16)
        made.round(1000)
    assert made.containers
