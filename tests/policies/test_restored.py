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

LIMITED = """\
version: 1
policy: {0}
queues:
  a: {{am_share: 20%, maximum: 60%}}
  b: {{maximum_running_applications: 2, policy: fifo}}
  c:
    maximum: 70%
    maximum_running_applications: 3
    queues: {{x: {{am_share: 10%}}, y: {{policy: fair}}}}
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
    assert not differing(
        compile_config(TREE.format(policy), "test.yml"), 70, rounds, seed, keys, tmp_path
    )


@pytest.mark.parametrize(
    ("policy", "seed"),
    [("capacity", 5), ("capacity", 6), ("drf", 1), ("drf", 3), ("hdrf", 2), ("per_level_drf", 6)],
)
def test_restored_segments_replay_behind_limits(policy: str, seed: int, tmp_path: Path) -> None:
    """What was found behind a limit, and which queues had a last turn, leaves no trace."""
    assert not differing(
        compile_config(LIMITED.format(policy), "test.yml"), 50, 20, seed, {}, tmp_path
    )


def differing(
    config: dict[str, Any], rounds: int, each: int, seed: int, keys: dict[str, Any], tmp_path: Path
) -> list[Any]:
    """Return the first difference of every segment, of ``each`` rounds, of a random run."""
    cluster = Cluster(config, journal=tmp_path, segment_rounds=each)
    RandomCluster(cluster, seed, **keys).run(rounds, lambda: None)
    assert cluster.session.journal is not None
    cluster.session.journal.close()
    files = list(segments(tmp_path))
    assert len(files) > 2
    found = [first_difference(read_segment(file)) for file in files]
    return [one for one in found if one is not None]
