"""Sums of floats depend on their order, so a replay that begins later must add in the same
order.
"""

from pathlib import Path

import pytest

from loomcard.engine.session import replay
from loomcard.policies.hdrf.policy import HierarchicalDominantResourceFairness
from loomcard.testing import Cluster

SETTINGS = ("static", "cap", "prose", "look_ahead")
BASELINES = ("rescale_only", "ignore_blocked_only", "per_level_drf", "collapsed_recalculated")
POLICIES = [*BASELINES, *(HierarchicalDominantResourceFairness(setting) for setting in SETTINGS)]


@pytest.mark.parametrize("policy", POLICIES, ids=[*BASELINES, *SETTINGS])
def test_who_comes_back_is_summed_where_a_later_replay_finds_it(policy, tmp_path: Path) -> None:
    """Application 1 has no container for a while and then comes after 2 and 3. In floats 0.1 + 0.2
    + 0.3 of the cluster is not 0.2 + 0.3 + 0.1.
    """
    queues = {"a": {}, "b": {}}
    made = Cluster(policy, queues=queues, nodes=[(10, 10)], journal=tmp_path, segment_rounds=1)
    for app, count in ((1, 1), (2, 2), (3, 3)):
        made.add_app(app, queue="root.a")
        made.ask(app, count, (1, 1))
    [first, *_] = (allocated for allocated in made.round(1000) if allocated.app == 1)
    made.complete(first.number)
    made.round(1000)
    made.ask(1, 1, (1, 1))
    for _ in range(3):
        made.round(1000)
    assert made.session.journal is not None
    made.session.journal.close()
    assert {app.used[0] for app in made.session.mirror.state.applications.values()} == {1, 2, 3}
    assert replay(tmp_path) == []
