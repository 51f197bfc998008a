"""Tests of where a container is placed: node, rack, anywhere; strict asks, blacklists,
partitions.
"""

import msgspec
import pytest

from compiled import flat
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def cluster() -> Cluster:
    """Return a cluster with application 1 and nodes n1 and n2 on rack /a, n3 on /b, with room for
    two containers each.
    """
    engine = Cluster(flat())
    for number, rack in ((1, "/a"), (2, "/a"), (3, "/b")):
        engine.add_node(number, 2048, 2, rack=rack)
    engine.add_app(1)
    return engine


@pytest.mark.parametrize(
    ("count", "keys", "want"),
    [
        pytest.param(3, {}, [1, 1, 2], id="anywhere: lowest number first"),
        pytest.param(3, {"hosts": {"n3": 2}, "racks": {"/b": 2}}, [3, 3, 1], id="node-local first"),
        pytest.param(2, {"racks": {"/b": 2}}, [3, 3], id="rack-local before anywhere"),
        pytest.param(
            3,
            {"hosts": {"n3": 3}, "racks": {"/b": 3}, "strict_racks": ["/b"], "relax": False},
            [3, 3],
            id="strict: only the host",
        ),
        pytest.param(
            3, {"hosts": {"n3": 3}, "relax": False}, [], id="strict: a host without its rack"
        ),
        pytest.param(
            3,
            {"hosts": {"n1": 3}, "racks": {"/a": 3}, "strict_racks": ["/a"]},
            [1, 1, 3],
            id="a strict rack, and anywhere else",
        ),
        pytest.param(
            5, {"racks": {"/a": 5}, "relax": False}, [1, 1, 2, 2], id="strict: only the rack"
        ),
        pytest.param(2, {"hosts": {"n2": 1}, "racks": {"/a": 2}}, [2, 1], id="one row serves one"),
    ],
)
def test_nodes_are_chosen_by_locality(count, keys, want):
    """Containers are node-local if possible, then rack-local, then on any node; strict asks stay on
    the nodes that they name.
    """
    engine = cluster()
    engine.ask(1, count, **keys)
    assert [g.node for g in engine.round()] == want


def test_a_strict_ask_that_waits_says_locality():
    """A strict ask whose host is full waits with LOCALITY though other nodes are free."""
    engine = cluster()
    engine.ask(1, 3, hosts={"n3": 3}, relax=False)
    assert engine.exchange().waits == [(1, 20, 0, "LOCALITY", None)]


def test_blacklisted_hosts_and_racks_are_left_out():
    """No container is placed on a host or a rack of the attempt's blacklist."""
    engine = cluster()
    engine.send(r.BlacklistRecord(0, 1, ["/a"]))
    engine.ask(1, 3)
    plan = engine.exchange()
    assert [(d.node, d.count) for d in plan.decisions] == [(3, 2)]
    assert plan.waits == [(1, 20, 0, "BLACKLISTED", None)]


def test_nodes_of_one_host_are_distinguished_by_their_names():
    """If node names have ports, two NodeManagers of one host are two different places for asks and
    blacklists. The host's name alone matches neither.
    """
    engine = Cluster(flat())
    for number, port in ((1, 4001), (2, 4002)):
        engine.add_node(number, 2048, 2, rack="/a", host=f"h:{port}")
        engine.waiting[-1] = msgspec.structs.replace(engine.waiting[-1], id=f"h:{port}")
    engine.add_app(1)
    strict = {"racks": {"/a": 3}, "strict_racks": ["/a"], "relax": False}
    engine.ask(1, 3, hosts={"h": 3}, **strict)
    assert engine.round() == []
    engine.ask(1, 1, hosts={"h:4002": 1}, **strict)
    assert [g.node for g in engine.round()] == [2]
    engine.add_app(2)
    engine.blacklist(2, "h:4001")
    engine.ask(2, 3)
    assert [g.node for g in engine.round()] == [2]


def test_a_partition_takes_only_asks_of_its_label():
    """A labelled node serves only asks with that label, and such asks go to no other node."""
    engine = cluster()
    engine.add_node(4, 2048, 2, label="gpu")
    engine.ask(1, 1, label="gpu")
    engine.add_app(2)
    engine.ask(2, 9)
    allocated = engine.round()
    assert {g.node for g in allocated if g.attempt == 1} == {4}
    assert 4 not in {g.node for g in allocated if g.attempt == 2}


def test_a_refused_local_allocation_leaves_the_ask_as_local_as_before():
    """After a refusal the rows of hosts and racks come back with the count, so the next try is as
    local.
    """
    engine = cluster()
    engine.ask(1, 2, hosts={"n3": 1}, racks={"/b": 2})
    engine.refuse = lambda _: "STALE"
    assert engine.round() == []
    engine.refuse = lambda _: None
    ask = engine.session.mirror.state.attempts[1].ordered[0]
    assert [g.node for g in engine.round()] == [3, 3]
    assert (ask.hosts, ask.racks) == ({}, {})
