"""The later segments of a journal begin with all state, restored, and replay like the run without a
break. So a policy may keep only what follows from its memory and the cluster.
"""

from pathlib import Path
from typing import Any

import pytest

from loomcard.config import compile_config
from loomcard.experiments.replay_check import first_difference
from loomcard.testing import Cluster
from loomcard.testing.random_cluster import RandomCluster
from loomcard.wire.journal import read_segment, segments

TREE = """\
version: 1
policy: drf
queues:
  a:
    weight: 2
    guaranteed: 50%
    queues: {{x: {{weight: 3, policy: {0}}}, y: {{policy: {0}}}}}
  b: {{guaranteed: 25%, maximum: 75%, policy: {0}}}
"""


@pytest.mark.parametrize(
    ("policy", "rounds", "seed", "keys"),
    [
        (
            "dress",
            60,
            5,
            {"refusing": True},
        ),  # an ask that was filled in reserved room left its place behind
        (
            "dress",
            40,
            5,
            {},
        ),  # a job's largest demand was computed again, with containers that were resized
        ("carbyne", 40, 1, {}),  # an AM without tasks ended, and its room was not shared
        ("coupling", 40, 2, {"rebuilding": True}),
        ("hdrf", 40, 3, {"refusing": True}),
        ("tetris", 40, 4, {}),
    ],
)
def test_restored_segments_replay(
    policy: str, rounds: int, seed: int, keys: dict[str, Any], tmp_path: Path
) -> None:
    """The replay is equal byte by byte, including reasons and reports."""
    config = compile_config(TREE.format(policy), "test.yml")
    cluster = Cluster(config, journal=tmp_path, segment_rounds=rounds)
    RandomCluster(cluster, seed, **keys).run(70, lambda: None)
    assert cluster.session.journal is not None
    cluster.session.journal.close()
    files = list(segments(tmp_path))
    assert len(files) > 2
    assert [first_difference(read_segment(file)) for file in files] == [None] * len(files)
