"""Tests of node labels under every policy: whatever happens to the partitions, every ask is served
in the end, and the journal replays.
"""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from compiled import config, queue
from labelled import LabelledMachine
from loomcard.api.registry import built_in, find
from loomcard.testing.cluster import Cluster

# hdrf's baselines share its descent.
POLICIES = sorted(n for n, at in built_in().items() if "hdrf.baselines" not in at)
SHARING = [name for name in POLICIES if not getattr(find(name), "leaf_only", False)]
SMALL = settings(max_examples=8, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("policy", POLICIES)
def test_everybody_is_served_whatever_the_labels(policy: str) -> None:
    """No plan breaks a label (the cluster checks it), and nothing waits for ever."""
    machine = type("RandomLabels", (LabelledMachine,), {"policy": policy})
    run_state_machine_as_test(machine, settings=SMALL)
    assert machine.policy == policy


@pytest.mark.parametrize("policy", SHARING)
def test_a_policy_at_the_root_lends_too(policy: str) -> None:
    """A policy that shares among queues, or walks the tree, uses nodes that lend."""
    leaves = [queue(f"root.{name}", "fifo") for name in ("a", "b")]
    engine = Cluster(config(queue("root", policy), *leaves))
    engine.add_node(1, 4096, 8)
    engine.add_node(2, 4096, 8, label="gpu", shared=True)
    for number, path in ((1, "root.a"), (2, "root.b")):
        engine.add_app(number, path)
        engine.ask(number, 6)
    while engine.round():
        pass
    assert sorted(g.node for g in engine.containers.values()) == [1] * 4 + [2] * 4
