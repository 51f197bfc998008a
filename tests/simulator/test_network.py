"""Tests of links of shared bandwidth, and of reduces that copy map output over them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loomcard.masters.clock import Clock
from loomcard.masters.copying import Copying
from loomcard.simulator.network import Network as Links
from loomcard.workload.scenario import Fault, Network, ScenarioNode
from scenarios import app, run, scenario, stage, times

RACKS = {"a": "/1", "b": "/1", "c": "/2", "d": "/2"}


def links(clock, node=10.0, rack=0.0):
    return Links(clock, RACKS.__getitem__, node, rack)


def played(flows, **bandwidth):
    """Return when each flow (start in ms, source, target, MB) ends."""
    clock, ends = Clock(), {}
    network = links(clock, **bandwidth)
    for index, (at, *facts) in enumerate(flows):
        clock.at(at, start, network, clock, facts, ends, index)
    while clock.advance():
        pass
    return [ends[index] for index in range(len(flows))]


def start(network, clock, facts, ends, index):
    network.start(*facts, lambda: ends.__setitem__(index, clock.now))


@pytest.mark.parametrize(
    ("flows", "ends"),
    [
        ([(0, "a", "b", 100)], [10_000]),  # 100 MB at 10 MB/s
        ([(0, "a", "a", 100)], [0]),  # on one node
        ([(0, "a", "b", 100), (0, "a", "c", 100)], [20_000, 20_000]),  # they share a's link
        ([(0, "a", "c", 100), (0, "b", "c", 100)], [20_000, 20_000]),  # they share c's link
        ([(0, "a", "b", 100), (0, "c", "d", 100)], [10_000, 10_000]),  # they share nothing
        ([(0, "a", "b", 100), (0, "b", "a", 100)], [10_000, 10_000]),  # each direction is a link
        # 5 s alone, 10 s shared; then the second has 50 MB left and the link alone
        ([(0, "a", "b", 100), (5_000, "a", "c", 100)], [15_000, 20_000]),
        # c's link, shared by three, limits the second, which leaves a's link idle.
        ([(0, "a", "c", 10), (0, "b", "c", 10), (0, "d", "c", 10)], [3_000] * 3),
    ],
)
def test_flows_share_their_links(flows, ends):
    assert played(flows) == ends


def test_flows_between_racks_share_their_racks_links():
    """Two flows from /1 to /2 have 3 of 6 MB/s each; one inside a rack has its 10."""
    flows = [(0, "a", "c", 30), (0, "b", "d", 30), (0, "c", "d", 5)]
    assert played(flows, rack=6.0) == [10_000, 10_000, 1_000]


flow = st.tuples(
    st.integers(0, 5_000), st.sampled_from("abcd"), st.sampled_from("abcd"), st.floats(0, 80)
)


@given(st.lists(flow, min_size=1, max_size=12))
def test_no_link_carries_more_than_it_can(flows):
    """No flow ends before it would alone. The flows of one source do not all end before its link
    has carried them.
    """
    ends = played(flows)
    for (at, source, target, mb), end in zip(flows, ends, strict=True):
        alone = 0 if source == target else mb / 10 * 1000
        assert end >= at + alone - 1
    for node in "abcd":
        out = [(f, end) for f, end in zip(flows, ends, strict=True) if f[1] == node != f[2]]
        if out:
            carried = sum(f[3] for f, _ in out) / 10 * 1000
            assert max(end for _, end in out) >= min(f[0] for f, _ in out) + carried - 1


def test_a_reduce_copies_from_so_many_nodes_at_a_time():
    """A reduce copies from two of three sources at a time; the third waits although its link is
    idle.
    """
    clock, done = Clock(), []
    copying = Copying(links(clock), "d", 2, lambda: done.append(clock.now))
    for host in "abc":
        copying.add(host, 50)
    copying.close()
    copying.begin()
    while clock.advance():
        pass
    assert done == [15_000]  # 100 MB shared over d's link, then 50 MB


def test_what_is_cancelled_frees_its_links():
    clock, ends = Clock(), []
    network = links(clock)
    flow = network.start("a", "b", 1000, lambda: ends.append("first"))
    network.start("a", "c", 100, lambda: ends.append(clock.now))
    clock.at(10_000, network.cancel, flow)
    while clock.advance():
        pass
    assert ends == [15_000]  # 50 MB in the first 10 s, the rest alone


def job(maps, reduces, **keys):
    stages = [stage(maps, id="map", **keys.pop("of_maps", {}))]
    stages.append(stage(reduces, 2, id="reduce", priority=10, after=[0]))
    return app("j", *stages, kind="mapreduce", slowstart=0.0, reduce_asks="all", **keys)


def reduce_ends(record):
    return [row[5] for row in times(record) if row[0] == "reduce"]


def test_a_reduce_beside_its_maps_copies_nothing():
    """On one node the map takes 3 s and the reduce 1 s."""
    wanted = scenario(job([3_000], [1_000], map_output_mb=100.0), network=Network(10.0))
    assert reduce_ends(run(wanted)) == [4_000]


def test_a_reduce_elsewhere_copies_first():
    """The map runs on n1, which has one slot, and its reduce on n2. After the map 100 MB are copied
    at 10 MB/s.
    """
    wanted = scenario(
        job([3_000], [1_000], map_output_mb=100.0), nodes=2, slots=1, network=Network(10.0)
    )
    assert reduce_ends(run(wanted)) == [14_000]


@pytest.mark.parametrize(("slowstart", "ends"), [(0.0, 15_000), (1.0, 21_000)])
def test_an_early_reduce_copies_while_maps_run(slowstart, ends):
    """Four maps, one after the other on n1, leave 20 MB each. When the last ends at 12 s, the
    reduce on n2 has copied three of them in 2 s each, and copies the last until 14 s. A reduce that
    starts at 12 s copies all 80 MB until 20 s. That difference is the gain of a gradual launch.
    """
    stages = [
        stage([3_000] * 4, id="map", nodes=[["n1"]] * 4, size=(2048, 1)),
        stage([1_000], 2, id="reduce", priority=10, after=[0], nodes=[["n2"]]),
    ]
    one = app(
        "j", *stages, kind="mapreduce", slowstart=slowstart, reduce_asks="all", map_output_mb=20.0
    )
    machines = [ScenarioNode("n1", "/r1", (2048, 1)), ScenarioNode("n2", "/r1", (1024, 1))]
    wanted = replace(scenario(one, network=Network(10.0)), nodes=machines)
    assert reduce_ends(run(wanted)) == [ends]


def test_a_lost_reduce_starts_again():
    """The reduce on n1 copies from n2. n1 is lost during the copy, and the next reduce runs on the
    node of the map's output.
    """
    wanted = scenario(
        job([3_000], [1_000], map_output_mb=100.0), nodes=3, slots=1, network=Network(10.0),
        faults=[Fault(5_000, "n1", None)],
    )  # fmt: skip
    assert reduce_ends(run(wanted)) == [5_000, 6_000]


def test_a_map_takes_longer_where_its_input_is_not():
    """n1 has the input, so a map on n2 takes 1.5 times 4 s."""
    maps = {"nodes": [["n1"], ["n1"]], "remote_factor": 1.5}
    wanted = scenario(app("j", stage([4_000] * 2, **maps)), nodes=2, slots=1)
    ends = {row[3]: row[5] for row in times(run(wanted))}
    assert ends == {"n1": 4_000, "n2": 6_000}
