"""A small experiment on disk."""

from pathlib import Path

import pytest

WORKLOAD = """version: 1
kind: workload
parameters: {tasks: 4}
cluster: {nodes: [{count: 2, memory_mb: 4096, vcores: 4}]}
applications:
  - id: a
    tags: [small]
    stages:
      - id: s
        tasks: $tasks
        memory_mb: 1024
        vcores: 1
        duration_ms: {uniform: {low: 1000, high: 9000}}
  - id: b
    submit_ms: 500
    tags: [large]
    stages: [{id: s, tasks: 12, memory_mb: 1024, vcores: 1, duration_ms: 5000}]
"""
EXPERIMENT = """version: 1
kind: experiment
policies: [fifo, drf]
workloads: [small.yml]
vary: {workload.tasks: [2, 6]}
seeds: 2
baseline: fifo
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Return two policies, two values, two seeds: eight cells of milliseconds."""
    (tmp_path / "small.yml").write_text(WORKLOAD)
    file = tmp_path / "try.yml"
    file.write_text(EXPERIMENT)
    return file
