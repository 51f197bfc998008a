"""What every policy promises, of Coupling with its defaults and as the baseline of its paper."""

from hypothesis import settings

from loomcard.testing import PolicyMachine, check_contract


def test_contract():
    check_contract("coupling")


class Life(PolicyMachine):
    """Whatever happens to the cluster."""

    policy = "coupling"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=20, stateful_step_count=25)
