"""The seed alone decides which fault comes when."""

from collections import Counter

from benchmarks.chaos.faults import KINDS
from benchmarks.chaos.schedule import PAIR_KINDS, PLAIN_KINDS, fault


def test_the_same_seed_gives_the_same_faults() -> None:
    """A run can be repeated, and resumed in its middle, from its seed."""
    first = [fault(7, index) for index in range(100)]
    assert first == [fault(7, index) for index in range(100)]
    assert first[60:] == [fault(7, index) for index in range(60, 100)]
    assert first != [fault(8, index) for index in range(100)]


def test_every_kind_comes_once_in_each_round() -> None:
    """No kind is left out by chance, and no order comes twice."""
    kinds = [fault(3, index).kind for index in range(2 * len(PLAIN_KINDS))]
    assert Counter(kinds) == dict.fromkeys(PLAIN_KINDS, 2)
    assert kinds[: len(PLAIN_KINDS)] != kinds[len(PLAIN_KINDS) :]


def test_faults_overlap_and_five_hundred_fit_into_an_hour() -> None:
    """The pauses alone take less than 45 minutes, and are shorter than the faults."""
    faults = [fault(1, index) for index in range(500)]
    assert sum(one.pause_s for one in faults) < 45 * 60
    assert sum(one.lasts_s for one in faults) > sum(one.pause_s for one in faults)
    assert all(0 <= one.strength <= 1 for one in faults)


def test_only_the_wanted_kinds_come() -> None:
    """A run can be limited to a few kinds, to study them."""
    wanted = ("rm.kill", "policy.kill")
    assert {fault(1, index, wanted).kind for index in range(20)} == set(wanted)


def test_each_kind_of_the_schedule_can_be_done() -> None:
    """There is a function for every kind in the schedule."""
    assert set(PLAIN_KINDS) | set(PAIR_KINDS) == set(KINDS)
