"""Tests of how long shapes wait, and how long containers run."""

from dataclasses import dataclass, field

import pytest

from loomcard.model.objects import ShapeWait
from loomcard.model.resource import Resource
from loomcard.model.shape_waits import ShapeWaits

A, B = (Resource((1, 1)), ""), (Resource((2, 2)), "")


@dataclass
class Owner:
    """In place of an application."""

    ran: list[int] = field(default_factory=lambda: [0, 0])


@dataclass
class Ended:
    """In place of a container that ended."""

    application: Owner
    started_ms: int | None = 100
    is_am: bool = False


@pytest.mark.parametrize(
    ("ended", "kind", "own", "tasks", "masters"),
    [
        ({}, "completed", [1, 50], [1, 50], [0, 0]),
        ({}, "killed", [0, 0], [0, 0], [0, 0]),
        ({"is_am": True}, "killed", [0, 0], [0, 0], [1, 50]),
        ({"started_ms": None}, "completed", [0, 0], [0, 0], [0, 0]),
    ],
)
def test_the_run_times_of_completed_tasks_and_of_masters_are_counted(
    ended, kind, own, tasks, masters
):
    """A task that was killed says nothing of how long such tasks run; an AM does, however it
    ended. Both the application's tasks and those of all are counted.
    """
    waits, app = ShapeWaits(2), Owner()
    waits.ended(Ended(app, **ended), kind, 150)
    assert (app.ran, waits.ran, waits.masters_ran) == (own, tasks, masters)
    waits.ended(Ended(app, **ended), kind, 150)
    assert (app.ran, waits.ran) == ([2 * n for n in own], [2 * n for n in tasks])


def test_a_shape_is_passed_over_when_others_were_served_since():
    """With ``others=False`` it is enough that it got nothing itself. The time itself counts. Each
    has the resource types that it asks for and of which others got nothing.
    """
    waits = ShapeWaits(2)
    waits.of = {A: ShapeWait(100), B: ShapeWait(200)}
    waits.taken_ms = [200, 200]
    assert waits.passed_over(99) == {}
    assert waits.passed_over(100) == {A: []}
    assert waits.passed_over(200) == {A: []}
    assert waits.passed_over(200, others=False) == {A: (), B: ()}
    waits.taken_ms = [200, 100]
    assert waits.passed_over(100) == {A: [1]}
    waits.of = {(Resource((1, 0)), ""): ShapeWait(100)}
    assert list(waits.passed_over(100).values()) == [[]]
