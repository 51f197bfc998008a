"""A cluster whose nodes change their labels, for state machines."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from loomcard.testing import PolicyMachine

LABELS = {"": False, "gpu": True, "fpga": False}
"""Whether the nodes of each label lend."""


class LabelledMachine(PolicyMachine):
    """Nodes change their labels, and the nodes of some labels lend; applications also ask for
    labels.
    """

    @rule(pick=st.integers(0), label=st.sampled_from(sorted(LABELS)))
    def node_is_relabelled(self, pick: int, label: str) -> None:
        """Change a node's label; the containers on it stay."""
        if self.cluster.nodes:
            number = sorted(self.cluster.nodes)[pick % len(self.cluster.nodes)]
            self.cluster.relabel_node(number, label, LABELS[label])

    @rule(pick=st.integers(0), label=st.sampled_from(sorted(LABELS)), count=st.integers(1, 4))
    def application_asks_for_a_label(self, pick: int, label: str, count: int) -> None:
        """Add an ask for a label to the application's other asks."""
        if self.cluster.applications:
            number = sorted(self.cluster.applications)[pick % len(self.cluster.applications)]
            self.cluster.ask(number, count, (512, 1), 7, label=label)
