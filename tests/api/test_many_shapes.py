"""Tests of one application that asks for hundreds of containers of different sizes."""

from random import Random

import pytest

from compiled import config, flat, queue
from loomcard.api import fill
from loomcard.model import fit_index
from loomcard.model.fit_index import SHAPES_KEPT, FitIndex
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

SHAPES = 3 * SHAPES_KEPT
OTHERS = ["capacity", "fair", "sjf", "srtf"]
HOLDING = ["drf", "fifo", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


def asking(policy: str, seed: int = 1) -> Cluster:
    """Return ten nodes of eight slots that application 1 fills; application 2 asks for many
    shapes.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    made = Cluster(flat(policy), nodes=[(8192, 8)] * 10)
    made.add_app(1, submitted_ms=1)
    made.ask(1, 80)
    made.round()
    made.add_app(2, submitted_ms=2)
    sizes = rng.sample([(m, v) for m in range(256, 256 + SHAPES) for v in (1, 2, 3)], SHAPES)
    for number, size in enumerate(sizes, 1):
        made.ask(2, 1, size, request_id=number)
    return made


@pytest.mark.parametrize("policy", HOLDING)
def test_many_shapes_are_served_as_if_each_had_an_index(policy, monkeypatch):
    """The nodes found for many shapes, and the shapes ruled out, are those that a look at every
    node gives.
    """

    def lived() -> list[tuple[int, ...]]:
        made, found = asking(policy), []
        for _ in range(60):
            made.complete(min(made.containers))
            found += [(g.app, g.node, *g.size) for g in made.round(1000)]
        return found

    quick = lived()
    monkeypatch.setattr(fit_index, "SHAPES_KEPT", 10 * SHAPES)
    assert lived() == quick
    assert {app for app, *_ in quick} == {2}


@pytest.mark.parametrize("policy", HOLDING)
def test_a_full_cluster_is_not_searched_for_each_shape(policy, monkeypatch):
    """What fits on no node is ruled out for all shapes at once, in a round and in a turn. An index
    needs a look at every node, so it is built only after as many looks without one as there are
    nodes.
    """
    made = asking(policy)
    looked = []
    made_of = FitIndex.__init__

    def counted(self, shape, nodes):
        looked.append(shape)
        made_of(self, shape, nodes)

    monkeypatch.setattr(FitIndex, "__init__", counted)
    for _ in range(5):
        assert made.round(1000) == []
    assert len(looked) <= SHAPES_KEPT + 5 * SHAPES // 10


@pytest.mark.parametrize("policy", [*HOLDING, "strict"])
def test_who_may_have_nothing_is_looked_at_once_not_for_each_shape(policy, monkeypatch):
    """A user limit, or a share, forbids the application any more while half of the cluster is
    free.
    """
    made = Cluster(
        config(queue("root", "drf"), queue("root.a", policy, user_limit_ppm=500_000)),
        nodes=[(8192, 8)] * 10,
    )
    made.add_app(1, user="greedy", submitted_ms=1)
    for number in range(1, SHAPES + 1):
        made.ask(1, 1, (1024 + number, 1), request_id=number)
    made.add_app(2, user="other", submitted_ms=2)
    made.ask(2, 1)
    made.round()
    looked = []
    top = fill.MemberIndex.top
    monkeypatch.setattr(fill.MemberIndex, "top", lambda *given: looked.append(1) or top(*given))
    for _ in range(5):
        made.send(r.TimerFiredRecord(made.now, 1))
        assert made.round(1000) == []
    assert 5 <= len(looked) < SHAPES
