"""Minima and maxima of a FairScheduler's queues, and of those that it creates."""

from pathlib import Path
from typing import Any

from converting import fair, outcome, queue

OPEN = '<queue name="users" type="parent">{}</queue>'


def template(text: str, tmp_path: Path) -> dict[str, Any]:
    """Return the keys of what is created below root.users."""
    found: dict[str, Any] = queue(fair(tmp_path, text), "root.users")["auto_create"]["template"]
    return found


def test_created_queues_have_the_maximum_of_queues_without_one(tmp_path: Path) -> None:
    general = "<queueMaxResourcesDefault>{}</queueMaxResourcesDefault>"
    half = OPEN.format("<maxResources>50%</maxResources>")

    amounts = template(half + general.format("1000 mb, 1 vcores"), tmp_path)
    percent = template(half + general.format("40%"), tmp_path)
    more = template(half + general.format("60%"), tmp_path)

    assert amounts["maximum"] == {"memory_mb": 1000, "vcores": 1}
    assert percent["maximum"] == "80%"
    assert "maximum" not in more


def test_a_maximum_of_children_in_percent_is_of_the_cluster(tmp_path: Path) -> None:
    own = "<maxResources>50%</maxResources><maxChildResources>10%</maxChildResources>"
    general = "<queueMaxResourcesDefault>40%</queueMaxResourcesDefault>"

    assert template(OPEN.format(own) + general, tmp_path)["maximum"] == "20%"


def test_a_maximum_of_children_below_amounts_needs_the_size_of_the_cluster(tmp_path: Path) -> None:
    own = (
        "<maxResources>1000 mb, 10 vcores</maxResources><maxChildResources>10%</maxChildResources>"
    )
    whole = {"memory_mb": 2000, "vcores": 50}

    lost = outcome(fair(tmp_path, OPEN.format(own)), "maxChildResources")
    made = queue(fair(tmp_path, OPEN.format(own), whole), "root.users")

    assert lost.became == "lost"
    assert made["auto_create"]["template"]["maximum"] == {"memory_mb": 200, "vcores": 5}


def test_a_maximum_below_the_minimum_is_raised_to_it(tmp_path: Path) -> None:
    made = fair(
        tmp_path,
        '<queue name="a"><minResources>20000 mb, 5 vcores</minResources>'
        "<maxResources>10000 mb, 10 vcores</maxResources></queue>",
    )

    assert queue(made, "root.a")["maximum"] == {"memory_mb": 20000, "vcores": 10}
    assert "raised" in outcome(made, "a: maxResources").why


def test_a_maximum_of_0_percent_is_nothing(tmp_path: Path) -> None:
    made = fair(tmp_path, '<queue name="a"><maxResources>0%</maxResources></queue>')

    assert queue(made, "root.a")["maximum"] == {"memory_mb": 0, "vcores": 0}


def test_minima_above_the_parents_maximum_are_lowered_in_proportion(tmp_path: Path) -> None:
    made = fair(
        tmp_path,
        '<queue name="p"><maxResources>8000 mb, 8 vcores</maxResources>'
        '<queue name="x"><minResources>6000 mb, 4 vcores</minResources></queue>'
        '<queue name="y"><queue name="z"><minResources>12000 mb, 4 vcores</minResources></queue>'
        "</queue></queue>",
    )

    assert queue(made, "root.p")["guaranteed"] == {"memory_mb": 8000, "vcores": 8}
    assert queue(made, "root.p.x")["guaranteed"] == {"memory_mb": 3428, "vcores": 4}
    assert queue(made, "root.p.y.z")["guaranteed"] == {"memory_mb": 4571, "vcores": 4}
    assert "lowered" in outcome(made, "root.p.x: minResources").why


def test_the_largest_container_of_a_child_replaces_that_of_its_parent(tmp_path: Path) -> None:
    largest = "<maxContainerAllocation>{} mb, {} vcores</maxContainerAllocation>"
    made = fair(
        tmp_path,
        f'<queue name="p">{largest.format(1000, 2)}<queue name="x">{largest.format(4000, 2)}'
        f'</queue><queue name="y">{largest.format(500, 1)}</queue><queue name="z"/></queue>'
        f'<queue name="q">{largest.format(8, 8)}<queue name="r">{largest.format(4, 4)}</queue>'
        "</queue>",
    )

    assert "maximum_allocation" not in queue(made, "root.p")
    assert [queue(made, f"root.p.{name}")["maximum_allocation"]["memory_mb"] for name in "xyz"] == [
        4000, 500, 1000,
    ]  # fmt: skip
    assert queue(made, "root.p")["auto_create"]["template"]["maximum_allocation"] == {
        "memory_mb": 1000, "vcores": 2,
    }  # fmt: skip
    assert queue(made, "root.q")["maximum_allocation"] == {"memory_mb": 8, "vcores": 8}


def test_a_limit_below_zero_lets_nothing_run(tmp_path):
    """FairScheduler compares with it; here a limit is at least 0."""
    made = fair(
        tmp_path,
        "<queue name='a'><maxRunningApps>-1</maxRunningApps></queue>"
        "<userMaxAppsDefault>-1</userMaxAppsDefault>",
    )
    assert queue(made, "root.a")["maximum_running_applications"] == 0
