"""docs/simulate/workload.md agrees with the code."""

import re
from pathlib import Path
from textwrap import indent

from loomcard.workload import distributions, schema, stage_schema
from loomcard.workload.loading import build, shipped_names
from loomcard.workload.readers import OPTIONS

GUIDE = (Path(__file__).parents[2] / "docs" / "simulate" / "workload.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", GUIDE, flags=re.DOTALL | re.MULTILINE)


def test_the_examples_load() -> None:
    """An example that a reader copies from the page works."""
    whole, dag, generator, shuffle = BLOCKS
    assert len(build(whole, "w", Path(), seed=1).applications) == 1
    head = "version: 1\ncluster: {nodes: [{memory_mb: 8192, vcores: 8}]}\n"
    one = f"applications:\n  - id: a\n{indent(dag, '    ')}"
    assert len(build(head + one, "w", Path(), seed=1).applications[0].stages) > 1
    copied = build(shuffle, "w", Path(), seed=1)
    assert (copied.network.node_mb_s, copied.network.rack_mb_s) == (110, 440)
    assert copied.applications[0].map_output_mb == 64
    drawn = build(head + generator, "w", Path(), seed=1).applications
    assert [sum(one.tags == [name] for one in drawn) for name in ("small", "large")] == [9, 21]


def test_every_key_is_named() -> None:
    """The page has the keys of files, clusters, applications, stages, distributions and traces."""
    parts = (
        *(schema.Workload, schema.Cluster, schema.Capacity, schema.Application, stage_schema.Stage),
        stage_schema.DrawnDag,
        *(schema.Generate, schema.Class, stage_schema.Replicas, schema.Executors),
        *(schema.NetworkKeys, schema.Shuffle),
        *(schema.NodeFault, distributions.Distribution, distributions.Shape, *OPTIONS.values()),
    )
    words = set(re.findall(r"\w+", GUIDE))
    assert {key for part in parts for key in part.model_fields} - words == set()
    assert set(OPTIONS) | set(shipped_names()) <= {*words, *re.findall(r"`([\w-]+)`", GUIDE)}
