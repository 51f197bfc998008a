"""Tests of node labels in a simulation: partitions, what they lend, and what queues are guaranteed
there.
"""

from msgspec.structs import replace

from loomcard.workload.scenario import Scenario, ScenarioNode
from scenarios import app, run, scenario, stage, times

TREE = """
version: 1
policy: fifo
queues:
  a: {}
  b: {label_guaranteed: {gpu: 50%}}
"""


def labelled(wanted: Scenario, *, shared: bool) -> Scenario:
    """Return the scenario on n1 without a label and n2 with the label gpu."""
    nodes = [
        ScenarioNode("n1", "/r1", (4096, 4)),
        ScenarioNode("n2", "/r1", (4096, 4), None, "gpu", shared),
    ]
    return replace(wanted, nodes=nodes)


def places(wanted: Scenario, policy: str = "fifo") -> list[str]:
    return sorted(row[3] for row in times(run(wanted, policy)))


def test_a_partition_lends_only_where_it_is_shared():
    wanted = scenario(app("j", stage([1000] * 8)))
    assert places(labelled(wanted, shared=True)) == ["n1"] * 4 + ["n2"] * 4
    assert places(labelled(wanted, shared=False)) == ["n1"] * 8


def test_a_stage_stays_on_the_nodes_of_its_label():
    wanted = scenario(app("j", stage([1000] * 8, label="gpu")))
    assert places(labelled(wanted, shared=True)) == ["n2"] * 8


def test_the_queues_default_label_counts():
    wanted = scenario(app("j", stage([1000] * 8), queue="root.a"))
    tree = "version: 1\npolicy: fifo\nqueues: {a: {default_label: gpu}}\n"
    assert places(labelled(wanted, shared=True), tree) == ["n2"] * 8


def test_a_guarantee_on_a_label_is_honoured():
    """b comes later, but runs two of four tasks at a time from the first end on."""
    wanted = scenario(
        app("first", stage([1000] * 12, label="gpu"), queue="root.a"),
        app("j", stage([1000] * 4, label="gpu"), queue="root.b", submit_ms=10),
    )
    starts = [row[4] for row in times(run(labelled(wanted, shared=False), TREE))]
    assert sorted(starts) == [1000, 1000, 2000, 2000]
