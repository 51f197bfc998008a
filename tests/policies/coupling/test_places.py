"""The ranked lists of a reduce are those of Eq 1, whatever is cached or left out. The alpha of a
map is that of its place.
"""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupled import REDUCE, SLOT, beat, coupling, job, state
from loomcard.advanced import Topology
from loomcard.policies.coupling import places as places_module
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.output import Output
from loomcard.policies.coupling.paper import beta, cost, probability
from loomcard.policies.coupling.places import Places

DATA = st.dictionaries(st.sampled_from([f"n{i}" for i in range(1, 9)]), st.integers(1, 50))


@given(DATA, st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from([1, 3, 7]))
def test_lists_are_the_cheapest_by_equation_1(data, slots, kept):
    """Of nodes with 0 to 3 free slots in two racks, those without room are in no list."""
    made = coupling(*(4,) * 8)
    job(made, 1, 1, 1)
    made.ask(1, 1, SLOT, REDUCE)
    made.add_app(2)
    for node, free in enumerate(slots, 1):
        wishes = {"hosts": {f"n{node}": 4 - free}, "racks": {("/a", "/b")[(node - 1) % 2]: 4}}
        if free < 4:
            made.ask(2, 4 - free, SLOT, 100 + node, relax=False, **wishes)
    beat(made)
    instances = made.session.tree.instances.values()
    view = next(i.view for i in instances if i.queue.path != "root")
    places = Places(view, Options(kept_nodes=kept))
    reduce = next(a for a in view.asks if a.priority == REDUCE)
    output = Output(view, {}, data, 1)
    found = places.lists(reduce, output, "salt")
    with patch.object(places_module, "FEW", 0):  # as on a large cluster
        assert Places(view, places.options).lists(reduce, output, "salt") == found
    hop, where = Topology({}).hop, {n.number: (n.host, n.rack) for n in view.nodes}
    held = {(host, where[int(host[1:])][1]): amount for host, amount in data.items()}
    prices = {number: cost(held, hop, place) for number, place in where.items()}
    able = [n.number for n in view.nodes if n.free[0] >= SLOT[0]]
    ranked = [node.number for part in found for node in part]
    assert set(ranked) <= set(able)
    assert len(ranked) == min(kept, len(able))
    assert [prices[n] for n in ranked] == sorted(prices[n] for n in able)[: len(ranked)]
    for upto in (1, 2):  # lists that stop early begin alike
        some = places.lists(reduce, output, "salt", upto=upto)
        assert some[:upto] == found[:upto]


@pytest.mark.parametrize("few", [256, 0])
def test_what_is_kept_of_costs_follows_data_and_nodes(few):
    """While a job waits, more maps finish, and a node joins on a host that has output of them."""
    made = coupling(1, 1, 1)
    job(made, 1, 1, 1)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made)
    view = next(i.view for i in made.session.tree.instances.values() if i.queue.path != "root")
    places = Places(view, Options(kept_nodes=1))
    reduce = next(a for a in view.asks if a.priority == REDUCE)

    def nearest(data, version):
        output = Output(view, {}, data, version)
        return places.lists(reduce, output, "salt")[0][0].host

    with patch.object(places_module, "FEW", few):
        assert nearest({"n1": 1}, 1) == "n1"
        assert nearest({"n1": 1, "n2": 2, "n9": 9}, 2) == "n2"
        made.add_node(9, *SLOT, rack="/c")
        made.round()
        assert nearest({"n1": 1, "n2": 2, "n9": 9}, 2) == "n9"


def test_equal_costs_are_drawn_anew_for_each_candidate():
    """Otherwise all candidates would wait for one node."""
    made = coupling(*(1,) * 20)
    job(made, 1, 1, 1)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made)
    view = next(i.view for i in made.session.tree.instances.values() if i.queue.path != "root")
    reduce = next(a for a in view.asks if a.priority == REDUCE)
    places = Places(view, Options())
    output = Output(view, {}, {}, 0)
    firsts = [places.lists(reduce, output, f"job/{n}")[0][0].number for n in range(10)]
    assert len(set(firsts)) > 3


@pytest.mark.parametrize(("node", "alpha"), [(3, 0.8), (5, 0.7), (2, 1.0)])
def test_a_rack_is_nearer_where_a_reduce_of_the_job_runs(node, alpha):
    """Of five nodes with room, node 1 has all input, nodes 3 and 5 share its rack, and 5 runs a
    reduce.
    """
    made = coupling(1, 1, 1, 1, 2, reduces="greedy")
    job(made, 1, 9, 1, hosts={"n1": 9}, racks={"/a": 9})
    made.ask(1, 1, SLOT, REDUCE, hosts={"n5": 1}, racks={"/a": 1}, relax=False)
    assert beat(made) == [(1, REDUCE, 5)]
    beat(made, node)
    p = state(made)["jobs"][0]["p"]
    assert p == pytest.approx(probability(False, 1 / 5, 4, alpha, beta(9, 4)), abs=1e-3)
