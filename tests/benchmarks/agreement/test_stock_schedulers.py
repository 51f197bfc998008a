"""The split of a full cluster, on a schedule worked by hand."""

from benchmarks.agreement.stock_schedulers import Split, apart, run_imported, split
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord, RunRecord


def row(application, started, finished, is_am=False):
    size = (1024, 1)
    return ContainerRow(
        application, "s", 0, 1, "n1", is_am, size, 0, started, finished, "completed"
    )


def test_the_median_of_each_second_counts_what_runs_then_and_no_am():
    record = RunRecord("x", "w", 1, "local", ["memory_mb", "vcores"], [(0, (8192, 8))])
    record.applications = [
        ApplicationRecord("a1", "root.a", 0),
        ApplicationRecord("a2", "root.a", 0),
        ApplicationRecord("b1", "root.b", 0),
    ]
    record.containers = [
        row("a1", 0, 5000),
        row("a1", 2000, 5000),
        row("a2", 0, None),
        row("a2", 0, 9000, is_am=True),
        row("b1", 3500, 4500),
        row("b1", None, None),
    ]
    found = split(record, "x", (0, 5000))  # at 0, 1, 2, 3 and 4 s
    assert found.applications == {"a1": 2, "a2": 1, "b1": 0}
    assert found.queues == {"root.a": 3, "root.b": 0}


def test_schedulers_are_as_far_apart_as_their_furthest_queue_or_application():
    one = Split("x", {"a": 4, "b": 4}, {"a1": 2, "a2": 2, "b1": 4})
    other = Split("y", {"a": 5, "b": 3}, {"a1": 4, "a2": 1, "b1": 3})
    assert apart(one, other, leaves_too=False) == 1
    assert apart(one, other, leaves_too=True) == 2


def test_imported_files_are_compared_in_turn_and_yarn_with_itself(tmp_path):
    begun = []

    def play(scenario, policy, stock_file=None, **_):
        begun.append("ours" if stock_file is None else "yarn")
        record = RunRecord("x", "w", 1, "local", ["memory_mb", "vcores"], [(0, (8192, 8))])
        record.applications = [ApplicationRecord("etl", "root.dev.etl", 0)]
        late = 60_000 if begun == ["ours", "yarn"] else 0
        record.containers = [row("etl", late, None), row("etl", late, None)]
        return record

    found = run_imported(play, tmp_path, ["capacity"])["capacity"]
    assert begun == ["ours", "yarn"] * 3
    assert found["ours_ours"] == [1, 1, 1]
    assert found["yarn_yarn"] == [0.5, 0.5, 1]  # one run began half of the time later
    assert found["ours_yarn"] == [0.5] * 3 + [1] * 6
    assert found["ours_within_yarn"] == [1, 1, 1]
    assert found["yarn"][0]["counts"]["root.dev.etl"] == [0] * 60 + [2] * 60
