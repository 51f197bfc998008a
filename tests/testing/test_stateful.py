"""Tests of the stateful machine: our policies survive it, and it finds what breaks one."""

import sys
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import broken
from loomcard import testing
from loomcard.api import registry
from loomcard.testing import PolicyMachine

OURS = [known.name for known in registry.names() if known.origin.startswith("loomcard.")]


def check_survives(policy: Any, examples: int, *phases: Phase) -> None:
    """Run the machine on a policy. The runs are few because there are many policies."""
    machine = type("Machine", (PolicyMachine,), {"policy": policy})
    few = settings(max_examples=examples, stateful_step_count=25, deadline=None, phases=phases)
    run_state_machine_as_test(machine, settings=few)


@pytest.mark.parametrize("name", OURS)
def test_every_policy_survives_the_machine(name):
    """Counts are right after each step, every ask is served, and the journal replays."""
    check_survives(name, 12, Phase.generate, Phase.shrink)


def test_the_machine_finds_a_policy_that_packs_one_node():
    """The machine finds within a few steps that more is allocated than a node has."""
    found = r"holds|is over-allocated|^Allocate\(.*\): NODE_FULL"
    with pytest.raises(AssertionError, match=found):
        check_survives(broken.PacksOneNode, 500, Phase.generate)


def test_without_hypothesis_only_the_machine_is_missing(monkeypatch):
    """The import error says what to install."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "loomcard.testing.stateful")
    with pytest.raises(ImportError, match="pip install hypothesis"):
        testing.PolicyMachine  # noqa: B018 - the name is what is looked up
