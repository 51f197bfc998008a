"""Tests of vectors of amounts: with one, two and three types of resource."""

import pytest

from loomcard.model.resource import (
    Resource,
    add_all,
    fits,
    room_for,
    share,
    short_of,
    subtract_all,
)


def test_vectors_are_added_subtracted_multiplied_and_compared_by_type():
    a, b = Resource((5, 2, 7)), Resource((3, 4, 7))
    assert (a.plus(b), a.minus(b), a.times(3), a.least(b)) == (
        (8, 6, 14), (2, -2, 0), (15, 6, 21), (3, 2, 7),
    )  # fmt: skip
    assert {type(each) for each in (a.plus(b), a.minus(b), a.times(3), a.least(b))} == {Resource}
    assert (a.memory_mb, a.vcores, Resource((5,)).vcores) == (5, 2, 0)
    for method in (a.plus, a.minus):
        with pytest.raises(ValueError, match="argument"):
            method((1, 1))


@pytest.mark.parametrize("more", [(), (9,)])
@pytest.mark.parametrize(
    ("need", "room", "want"),
    [
        ((4, 4), (4, 4), True), ((5, 4), (4, 4), False), ((4, 5), (4, 4), False),
        ((0, 0), (-1, 4), False), ((0, 0), (4, -1), False), ((1, 4), (9, 4), True),
    ],
)  # fmt: skip
def test_what_fits_exactly_fits(need, room, want, more):
    """No amount may be more than the same amount of the room, even if none is needed."""
    assert fits(need + more, room + more) is want
    assert Resource(need + more).fits_in(room + more) is want
    assert not fits((*need, 1), (*room, 0))


@pytest.mark.parametrize(
    ("size", "used", "want"),
    [
        ((4, 1), (6, 0), True), ((4, 1), (7, 0), False), ((1, 4), (0, 7), False),
        ((0, 1), (99, 0), True), ((4, 0), (6, 99), True), ((1, 1), (10, 0), False),
    ],
)  # fmt: skip
def test_a_limit_counts_in_the_types_that_are_needed(size, used, want):
    """A queue that is over its limit of memory may still have containers without memory."""
    assert room_for(size, used, (10, 10)) is want


@pytest.mark.parametrize(
    ("used", "promised", "want"),
    [
        ((1, 1), (2, 2), True), ((2, 1), (2, 2), False), ((1, 2), (2, 2), False),
        ((1, 9), (2, 0), True), ((0, 0), (0, 0), False), ((3, 1), (2, 2), False),
    ],
)  # fmt: skip
def test_who_is_short_has_less_than_promised_in_every_promised_type(used, promised, want):
    assert short_of(used, promised) is want


@pytest.mark.parametrize("amounts", [(3,), (3, 1), (3, 1, 2)])
def test_totals_are_changed_in_place_and_back(amounts):
    totals = [[10 * n + i for i in range(len(amounts))] for n in (1, 2)]
    before = [list(total) for total in totals]
    add_all(totals, amounts)
    assert totals == [[a + b for a, b in zip(t, amounts, strict=True)] for t in before]
    subtract_all(totals, amounts)
    assert totals == before
    subtract_all(totals, amounts)
    assert totals == [[a - b for a, b in zip(t, amounts, strict=True)] for t in before]


@pytest.mark.parametrize(
    ("used", "capacity", "want"),
    [
        ((2, 1), (10, 10), 0.2), ((1, 2), (10, 10), 0.2), ((1, 1), (10, 20), 0.1),
        ((1, 1), (20, 10), 0.1), ((0, 0), (10, 10), 0.0), ((5, 1), (0, 10), 0.1),
        ((1, 5), (10, 0), 0.1), ((5, 5), (0, 0), 0.0), ((1, 1), (1, 1), 1.0), ((3,), (10,), 0.3),
        ((1, 2, 3), (10, 10, 10), 0.3), ((3, 2, 1), (10, 10, 10), 0.3),
        ((1, 1, 9), (10, 10, 0), 0.1),
    ],
)  # fmt: skip
def test_the_dominant_share_is_the_largest_of_the_types_that_there_are(used, capacity, want):
    """Two types have code of their own, which must agree with the general one."""
    assert share(used, capacity) == want
    assert share((*used, 0, 0), (*capacity, 10, 10)) == want
