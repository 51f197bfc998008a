"""docs/workload.md says what is so."""

import re
from pathlib import Path

from loomcard.workload import distributions, schema
from loomcard.workload.loading import build, shipped_names
from loomcard.workload.readers import OPTIONS

GUIDE = (Path(__file__).parents[2] / "docs" / "workload.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)


def test_the_examples_load() -> None:
    """What a reader copies from the page works."""
    whole, generator = BLOCKS
    assert len(build(whole, "w", Path(), seed=1).applications) == 1
    head = "version: 1\ncluster: {nodes: [{memory_mb: 8192, vcores: 8}]}\n"
    drawn = build(head + generator, "w", Path(), seed=1).applications
    assert [sum(one.tags == [name] for one in drawn) for name in ("small", "large")] == [9, 21]


def test_every_key_is_named() -> None:
    """Of files, clusters, applications, stages, distributions and traces."""
    parts = (
        *(schema.Workload, schema.Cluster, schema.Capacity, schema.Application, schema.Stage),
        *(schema.Generate, schema.Class, schema.Replicas, schema.Executors),
        *(schema.NodeFault, distributions.Distribution, distributions.Shape, *OPTIONS.values()),
    )
    words = set(re.findall(r"\w+", GUIDE))
    assert {key for part in parts for key in part.model_fields} - words == set()
    assert set(OPTIONS) | set(shipped_names()) <= {*words, *re.findall(r"`([\w-]+)`", GUIDE)}
