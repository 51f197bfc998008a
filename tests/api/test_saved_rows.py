"""What policies save of single applications stays bounded, even if applications ended unseen."""

from types import SimpleNamespace

import pytest

from compiled import flat
from loomcard import saved_rows
from loomcard.advanced import ENDED_KEPT
from loomcard.testing.cluster import EPOCH, Cluster

LIVE = f"application_{EPOCH}_0001"
GONE = [f"application_{EPOCH - 1}_{number:04d}" for number in range(1, ENDED_KEPT + 500)]
ROWS = {
    "sjf": {"0": [1, 1000]},
    "srtf": {"0": [1, 1000]},
    "tetris": {"0": [1, 1000]},
    "carbyne": {"0": [1, 1000]},
    "dress": None,
    "coupling": {"finished": {"n1": 1}},
}


def rows_of(policy, saved):
    """Return the part of a policy's saved state that is kept by application."""
    return (
        saved[{"carbyne": "finished", "dress": "large", "coupling": "jobs"}[policy]]
        if (policy in ("carbyne", "dress", "coupling"))
        else saved
    )


def part(policy, ids):
    rows = dict.fromkeys(ids, ROWS[policy])
    if policy == "dress":
        return {"large": list(rows)}
    return {"carbyne": {"finished": rows}, "coupling": {"jobs": rows}}.get(policy, rows)


@pytest.mark.parametrize("policy", ROWS)
def test_applications_that_ended_unseen_are_forgotten(policy):
    """Only the newest are kept, and an application that still runs, however many came after it."""
    saved = {f"root.default:{policy}": part(policy, [LIVE, *GONE])}
    made = Cluster(flat(policy), nodes=[(4096, 4)], saved=saved)
    made.add_app(1, type="MAPREDUCE", id=LIVE)
    made.ask(1, 1)
    made.round()
    made.round(2_000)
    (kept,) = [rows_of(policy, each) for key, each in made.saved.items() if policy in key]
    assert len(kept) == ENDED_KEPT + 1
    assert {LIVE, *GONE[-ENDED_KEPT:]} == set(kept)


def test_the_newest_are_known_by_start_and_number():
    """Applications of one ResourceManager are ordered by their numbers, which are padded to four
    digits only. Those of a ResourceManager that started later are newer. Other ids are the oldest.
    """
    nobody = SimpleNamespace(applications=())
    ids = ["x", *(f"application_1_{n}" for n in range(9_500, 10_500)), "application_2_0001"]
    assert list(saved_rows(dict.fromkeys(ids), nobody)) == ids[2:]
