"""Tests of queues and users at their limit, with many jobs that wait."""

from unittest.mock import patch

import pytest

from compiled import flat
from coupled import beat, job
from loomcard.testing.cluster import Cluster


@pytest.mark.parametrize("limit", [{"maximum": {"ppm": 500_000}}, {"user_limit_ppm": 500_000}])
def test_a_limit_that_is_met_is_asked_about_once_a_round(limit):
    """This holds for any number of waiting jobs of one user, and for any number of heartbeats."""
    compiled = flat("coupling")
    compiled["queues"][1] |= limit
    made = Cluster(compiled)
    for node in range(1, 5):
        made.add_node(node, 2048, 2)
    for app in range(1, 31):
        job(made, app, 9, 0)
    assert len(beat(made, 1, 2, 3, 4)) == 4
    state = type(made.state)
    with patch.object(state, "limited", autospec=True, side_effect=state.limited) as asked:
        assert beat(made, 1, 2, 3, 4) == []
    assert asked.call_count < 30


def test_another_user_is_served_meanwhile():
    """Thirty jobs of alice come first, but she may use half of the cluster."""
    compiled = flat("coupling")
    compiled["queues"][1]["user_limit_ppm"] = 500_000
    made = Cluster(compiled)
    made.add_node(1, 4096, 4)
    for app in range(1, 31):
        made.add_app(app, user="alice", type="MAPREDUCE")
        made.ask(app, 9)
    assert len(beat(made, 1)) == 2
    made.add_app(31, user="bob", type="MAPREDUCE")
    made.ask(31, 9)
    assert [app for app, _, _ in beat(made, 1)] == [31, 31]
