"""Tests of the kernel: order, time that never goes back, and the times of heartbeats."""

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from loomcard.masters.clock import Clock, next_beat


@given(st.lists(st.integers(0, 20)))
def test_events_happen_by_time_and_those_of_one_time_as_they_were_scheduled(times):
    clock, happened = Clock(), []
    for index, at in enumerate(times):
        clock.at(at, lambda *fact: happened.append((clock.now, *fact)), at, index)
    while clock.advance():
        pass
    assert happened == [(at, at, i) for at, i in sorted((at, i) for i, at in enumerate(times))]


@given(st.lists(st.integers(0, 20)))
def test_simpy_orders_the_same_events_alike(times):
    ours, clock = [], Clock()
    theirs, environment = [], simpy.Environment()
    for index, at in enumerate(times):
        clock.at(at, ours.append, index)
        timeout = environment.timeout(at, index)
        timeout.callbacks.append(lambda event: theirs.append(event.value))
    while clock.advance():
        pass
    environment.run()
    assert ours == theirs


def test_an_event_may_schedule_another_for_the_same_time_but_none_for_the_past():
    clock, happened = Clock(), []
    clock.at(5, lambda: clock.at(5, happened.append, "again"))
    clock.at(6, lambda: clock.at(5, happened.append, "never"))
    assert clock.advance()
    assert happened == ["again"]
    with pytest.raises(AssertionError, match="an event at 5 is scheduled at 6"):
        clock.advance()


@given(st.integers(0, 10_000), st.integers(0, 999), st.integers(1, 1000))
def test_the_next_beat_is_the_first_that_is_not_before(at, phase, period):
    beat = next_beat(at, phase, period)
    assert beat >= at
    assert (beat - phase) % period == 0
    assert beat == phase or beat - period < at


def test_without_a_period_every_time_is_a_beat():
    assert next_beat(17, 0, 0) == 17
