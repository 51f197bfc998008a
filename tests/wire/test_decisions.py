"""Tests of decisions in journals, and of the containers that they led to."""

import re
from pathlib import Path

import pytest

from loomcard.model.reasons import Reason
from loomcard.wire.decisions import allocated, read_decisions, write_decisions
from loomcard.wire.messages import Allocate, OutcomesRecord, Preempt, Reserve, Unreserve

PLAN = [
    (Allocate(1, 20, 0, 3, 4, 1), ("a tag", 7)),
    (Preempt(9, 50, "why", 1), None),
    (Reserve(1, 20, 0, 3, 500, 1), None),
    (Unreserve(1, 20, 0, 1), None),
    (Allocate(2, 10, -1, 4, 2, 0), None),
]
ROOT = Path(__file__).parents[2]
DECISIONS = [decision for decision, _ in PLAN]


def test_decisions_are_read_back_with_their_tags() -> None:
    assert read_decisions(write_decisions(PLAN)) == PLAN


def test_each_container_is_found_whose_decision_was_not_refused() -> None:
    """Two refusals of one decision are added; refusals of reservations and preemptions use no
    container number.
    """
    refusals = [(0, 1, "NODE_FULL"), (0, 2, "STALE"), (1, 1, "STALE"), (2, 1, "NODE_RESERVED")]
    outcomes = OutcomesRecord(0, 1, 30, [7, 8, 9], refusals)
    first, last = DECISIONS[0], DECISIONS[4]
    assert list(allocated(DECISIONS, outcomes)) == [(first, 30, 7), (last, 31, 8), (last, 32, 9)]


@pytest.mark.parametrize(("numbers", "says"), [([1] * 5, "is missing"), ([1] * 7, "more outcomes")])
def test_outcomes_of_another_plan_are_an_error(numbers: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(allocated(DECISIONS, OutcomesRecord(0, 1, 30, numbers, [])))


def test_the_engine_refuses_with_reasons_that_policies_know() -> None:
    """Every code of ReasonCodes.java is a Reason; an unknown one would end the session."""
    java = "jvm-bridge/shim/src/main/java/org/loomcard/yarn/queues/ReasonCodes.java"
    codes = re.findall(r'String (\w+) = "(\w+)"', (ROOT / java).read_text())
    assert all(name == code for name, code in codes)
    assert {Reason(code) for _, code in codes} == set(Reason) - {"ACL", "LABEL_GUARANTEE"}
