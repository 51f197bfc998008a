"""Tests of which applications queues accept: the cases, and the wording, of the shim's
AdmissionTest.
"""

import json
from pathlib import Path

import pytest

from loomcard.model.admission import lifetime_s, oversize, refusal
from loomcard.model.limits import build_tree
from loomcard.model.objects import Application
from loomcard.model.queue import Queue

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/admission.json").read_text())
TYPES = ["memory_mb", "vcores"]


def tree(stated: dict[str, dict]) -> dict[str, Queue]:
    """Return queues by path; the first is root, and the others are leaves below it."""
    queues = [
        {"path": path, "parent": 0 if number else None, "leaf": number > 0, "policy": "fifo"}
        | {"weight": 1.0, **keys}
        for number, (path, keys) in enumerate(stated.items())
    ]
    return {queue.path: queue for queue in build_tree({"queues": queues}, len(TYPES))}


@pytest.mark.parametrize("case", GOLDEN["refusals"], ids=lambda case: case["says"])
def test_who_is_refused_and_in_which_words(case):
    queues = tree(case["queues"])
    for number, (path, user) in enumerate(case["live"]):
        queues[path].applications[number] = Application(number, "", queues[path], user)
    assert refusal(queues[case["to"]], case["user"], "ID") == case["refusal"]


@pytest.mark.parametrize("case", GOLDEN["lifetimes"], ids=str)
def test_how_long_an_application_may_live(case):
    queue = tree({"root": {}, "root.a": case["queue"]})["root.a"]
    assert lifetime_s(queue, case["asked"]) == case["seconds"]


def test_the_least_of_the_path_is_the_largest_container():
    queues = tree(
        {
            "root": {"maximum_allocation": {"memory_mb": 4096, "vcores": 2}},
            "root.a": {"maximum_allocation": {"memory_mb": 2048}},
            "root.b": {},
        }
    )
    assert oversize(queues["root.a"], TYPES, (2048, 2)) is None
    assert oversize(queues["root.b"], TYPES, (4096, 1)) is None
    said = oversize(queues["root.a"], TYPES, (2049, 1))
    assert said is not None
    assert "greater than maximum allowed allocation" in said
    assert "type=[memory_mb]" in said
    assert "type=[vcores]" in str(oversize(queues["root.b"], TYPES, (1, 3)))
