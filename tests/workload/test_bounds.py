"""A number with a typing error is a finding; it neither fills the memory nor breaks a table."""

import pytest

from loomcard.validation.findings import FindingsError
from loomcard.workload.loading import load

TEXT = """version: 1
kind: workload
cluster: {nodes: [{name: n, memory_mb: 8192, vcores: 8}]}
applications:
  - id: j
    kind: plain
    stages: [{id: s, memory_mb: 1024, vcores: 1, TASKS}]
"""


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ("tasks: 999999999999, duration_ms: 1", "a stage has at most 20,000,000"),
        ("tasks: 1, duration_ms: 1.0e+300", "a task of 1e.300 ms"),
        ("tasks: 9, duration_ms: {lognormal: {median: 1, sigma: 500}}", "is the longest"),
    ],
)
def test_what_no_cluster_holds_is_a_finding_with_its_line(tmp_path, tasks, said):
    file = tmp_path / "w.yml"
    file.write_text(TEXT.replace("TASKS", tasks))
    with pytest.raises(FindingsError, match=said) as error:
        load(file, seed=1)
    assert error.value.findings[0].line == 7
