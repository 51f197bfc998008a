"""Tests of the contract: all our policies keep it, and a policy that breaks a clause is caught."""

from dataclasses import dataclass

import pytest

import broken
from loomcard import ClusterView, Plan, fill
from loomcard.api import registry
from loomcard.testing import Clause, ContractError, SubprocessReplayError, check_contract

OURS = [known.name for known in registry.names() if known.origin.startswith("loomcard.")]
QUICK = ("fifo", "dress", "hdrf", "carbyne", "coupling")
SCENARIOS = {Clause.STRESS, Clause.IDLE}
"""The clauses of the stress scenarios, the most expensive ones: tests/stress has our policies in
each.
"""


@pytest.mark.parametrize("seeds", [(0,), pytest.param((1, 2), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in OURS],
)
def test_every_policy_keeps_the_contract(name, seeds):
    """No clause is broken in the runs of the default seeds. Under strict shares are limits, so a
    large task waits for its own queue as under a maximum.
    """
    skip = SCENARIOS | ({Clause.WAIT} if name == "strict" else set())
    check_contract(name, seeds=seeds, skip=skip)
    if name == "strict":
        check_contract("version: 1\npolicy: strict", seeds=seeds, skip=SCENARIOS)


@pytest.mark.parametrize(
    ("policy", "clause"),
    [
        (broken.PacksOneNode, Clause.OVER_ALLOCATES),
        (broken.OverAllocates, Clause.OVER_ALLOCATES),
        (broken.OverAllocations, Clause.ASK),
        (broken.ChangesWhatItSees, Clause.READ_ONLY),
        (broken.ExpectsOneAsk, Clause.RAISES),
        (broken.DividesByCapacity, Clause.EMPTY),
        (broken.UsesUnseededRandom, Clause.DETERMINISTIC),
        (broken.CountsOutsideMemory, Clause.DETERMINISTIC),
        (broken.FirstIntroduced, Clause.ORDER),
        (broken.AsksOnce, Clause.REFUSAL),
        (broken.TracksAskChanges, Clause.REBUILD),
        (broken.KeepsObjects, Clause.MEMORY),
        (broken.LeavesRoomFree, Clause.LIVENESS),
        (broken.WakesForever, Clause.LIVENESS),
        (broken.NeverHolds, Clause.WAIT),
        (broken.DividesByEachType, Clause.STRESS),
        (broken.StopsAtHalf, Clause.IDLE),
    ],
)
def test_a_broken_policy_is_caught_by_its_clause(policy, clause):
    """The error names the clause, and says how to reproduce it."""
    with pytest.raises(ContractError) as caught:
        check_contract(policy)
    error = caught.value
    assert error.clause == clause, error
    assert str(error).startswith(f"{clause}: ")
    if clause in (Clause.STRESS, Clause.IDLE):
        assert f"`loomcard {error.where.replace(' scenario', ' ... --scenario')}`" in str(error)
        return
    assert f"seeds=[{error.seed}]" in str(error)
    assert error.batch.startswith('["batch",')


def test_the_seed_that_is_named_finds_it_again():
    """One seed is enough to reproduce a finding."""
    with pytest.raises(ContractError) as first:
        check_contract(broken.AsksOnce)
    with pytest.raises(ContractError) as again:
        check_contract(broken.AsksOnce, seeds=[first.value.seed])
    assert str(again.value) == str(first.value)


def test_a_clause_can_be_left_out():
    """A policy that depends on the order of introduction by design keeps all other clauses."""
    check_contract(broken.FirstIntroduced, seeds=[0], skip=SCENARIOS | {Clause.ORDER})


def test_another_process_with_other_hashes_decides_alike():
    """A policy that iterates over a set of texts looks deterministic until it runs in another
    process.
    """
    policy, skip = broken.IteratesASet, SCENARIOS | {Clause.ORDER}
    check_contract(policy, seeds=[0], skip=skip, hash_seed=None)
    with pytest.raises(ContractError, match=r"^deterministic: with PYTHONHASHSEED="):
        check_contract(policy, seeds=[0], skip=skip)


@dataclass(frozen=True)
class LastComeFirst:
    """Serves the youngest application first; ``patience_ms`` does nothing."""

    patience_ms: int = 0

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: -member.submitted_ms)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(LastComeFirst, id="class"),
        pytest.param(LastComeFirst(patience_ms=3), id="object"),
        pytest.param("drf", id="name"),
        pytest.param(f"{broken.__file__}:Working", id="file"),
        pytest.param("version: 1\npolicy: drf\nqueues: {a: {maximum: 50%}, b: {}}", id="YAML"),
    ],
)
def test_a_policy_may_come_in_any_form(policy):
    """Object, class, name and configuration are checked in the same way; a class of a test in the
    test's process.
    """
    check_contract(policy, seeds=[1], skip=SCENARIOS)


@pytest.mark.parametrize("policy", [None, 7, object()])
def test_what_is_no_policy_is_refused(policy):
    """The error says so before anything is tried."""
    with pytest.raises(TypeError, match="is not a policy"):
        check_contract(policy)


def test_a_policy_that_another_process_cannot_import_says_what_to_do():
    """The other process's error is passed on, with a remedy."""
    gone = type("Gone", (LastComeFirst,), {"__module__": "a_module_that_is_not_there"})
    with pytest.raises(SubprocessReplayError, match="pass hash_seed=None"):
        check_contract(gone, seeds=[0], skip=SCENARIOS)
