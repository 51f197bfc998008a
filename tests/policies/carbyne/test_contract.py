"""What every policy promises, of Carbyne with each of its options."""

from hypothesis import settings

from loomcard.testing import PolicyMachine, check_contract


def test_contract():
    check_contract("carbyne")


class Life(PolicyMachine):
    """Whatever happens to the cluster."""

    policy = "carbyne"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=20, stateful_step_count=25)
