"""A study: its order, what is skipped, and what counts as wrong. The cluster is one without
YARN.
"""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_cluster import FakeCluster
from loomcard.cluster.rm_client import RestError
from loomcard.experiments.inputs import InputError
from loomcard.report.runs import read_study
from loomcard.results.run_folder import read_json
from loomcard.suite import play
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.cluster import Journal
from loomcard.suite.play import Run
from loomcard.suite.prepare import Asked, prepare, uses_spark
from loomcard.suite.study import Finished, Study, run_study

pytestmark = pytest.mark.usefixtures("no_jars")

Studied = Callable[..., Finished]
MIX = "version: 1\nkind: mix\nsubmitters: 2\njobs: [{benchmark: sort, count: 3}]\n"


def study(tmp_path: Path, policies: tuple[str, ...] = ("fifo",), repeats: int = 1) -> Study:
    file = tmp_path / "sorts.yml"
    file.write_text(MIX)
    return prepare(Asked((str(file),), "local", policies, repeats))


def test_no_policy_always_comes_first(tmp_path: Path) -> None:
    """The order changes from repetition to repetition."""
    turned = study(tmp_path, ("fifo", "drf", "stock:capacity"), 3).order
    names = ["fifo", "drf", "stock:capacity"]
    assert [cell.policy for cell in turned] == [
        *names,
        *(names[1:] + names[:1]),
        *(names[2:] + names[:2]),
    ]
    assert [cell.seed for cell in turned] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_run_leaves_what_reports_read(tmp_path: Path) -> None:
    """A run leaves every job with its times, every container, and the counts of results and
    allocations.
    """
    cluster = FakeCluster(tmp_path)
    finished = run_study(study(tmp_path, ("fifo", "drf")), cluster, tmp_path / "out", ignored)
    assert finished.problems == []
    assert finished.whole
    assert cluster.scheduled == ["fifo", "drf"]
    [first, _] = finished.runs
    assert [job["state"] for job in first["applications"]] == ["SUCCEEDED"] * 3
    assert first["capacity"] == [[0, [1024, 4]]]
    account = read_json(tmp_path / "out" / first["folder"] / "manifest.json")["suite"]
    assert [job["result"] for job in account["jobs"]] == ["right"] * 3
    assert account["allocations"] == {"policy": 6, "fallback": 0}
    assert len(read_study([tmp_path / "out"]).runs) == 2
    whole = read_json(tmp_path / "out" / "manifest.json")
    assert whole["mixes"]["sorts"]["submitters"] == 2
    assert whole["versions"]["python"]


def test_what_cannot_be_foretold_is_measured_all_the_same(tmp_path: Path) -> None:
    """The manifest says that the journal is missing, and the run counts."""
    cluster = FakeCluster(tmp_path)
    cluster.journal = lambda *_: Journal(tmp_path / "none", {})
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    assert finished.problems == []
    account = read_json(tmp_path / "out" / finished.runs[0]["folder"] / "manifest.json")["suite"]
    assert account["foretold"] == []
    assert "none" in account["not_foretold"]


def grep_and_sort(tmp_path: Path, submitters: int = 4) -> Study:
    file = tmp_path / "both.yml"
    jobs = "[{benchmark: grep}, {benchmark: sort}]"
    file.write_text(f"version: 1\nkind: mix\nsubmitters: {submitters}\njobs: {jobs}\n")
    return prepare(Asked((str(file),), "local", ("fifo",)))


def test_greps_second_job_is_a_job_of_its_own(tmp_path: Path) -> None:
    """One client submits both jobs, and the second writes the result. While the client waits for
    the first one, another client may submit.
    """
    cluster = FakeCluster(tmp_path, slow={"1-grep"})
    finished = run_study(grep_and_sort(tmp_path, 1), cluster, tmp_path / "out", ignored)
    assert finished.problems == []
    assert (cluster.submitted, cluster.most_clients, cluster.clients) == (
        ["1-grep", "2-sort"],
        2,
        0,
    )
    [run] = finished.runs
    assert [each["id"] for each in run["applications"]] == ["1-grep", "1-grep-sort", "2-sort"]
    assert run["applications"][1]["tags"] == ["tiny", "grep", "grep-sort"]
    account = read_json(tmp_path / "out" / run["folder"] / "manifest.json")["suite"]["jobs"]
    assert [job["result"] for job in account] == ["right"] * 3
    assert len({job["application"] for job in account}) == 3


def test_a_second_job_that_never_came_is_a_problem(tmp_path: Path) -> None:
    """A wrong result of it is a problem too; the first job has none."""
    cluster = FakeCluster(tmp_path, silent={"1-grep-sort"})
    [said] = run_study(grep_and_sort(tmp_path), cluster, tmp_path / "out", ignored).problems
    assert "1-grep-sort: was not submitted: its client ended before" in said
    cluster = FakeCluster(tmp_path, broken={"1-grep"})
    [said] = run_study(grep_and_sort(tmp_path), cluster, tmp_path / "out", ignored).problems
    assert "1-grep-sort: its result is wrong" in said


def test_submitters_are_a_pool(tmp_path: Path) -> None:
    """There are never more clients at a time than the mix allows."""
    cluster = FakeCluster(tmp_path)
    run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    assert (len(cluster.submitted), cluster.most_clients) == (3, 2)


def test_what_has_run_is_skipped_until_something_changes(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path)
    for again, wanted in ((False, 3), (False, 3), (True, 6)):
        run_study(study(tmp_path), cluster, tmp_path / "out", ignored, again=again)
        assert len(cluster.submitted) == wanted
    changed = tmp_path / "sorts.yml"
    whole = study(tmp_path)
    changed.write_text(MIX.replace("count: 3", "count: 4"))
    whole = prepare(Asked((str(changed),), "local", ("fifo",)))
    run_study(whole, cluster, tmp_path / "out", ignored)
    assert len(cluster.submitted) == 10


def test_a_wrong_result_is_a_failed_job_and_runs_again(tmp_path: Path) -> None:
    """YARN reports success, but the check does not."""
    cluster = FakeCluster(tmp_path, broken={"2-sort"})
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    [said] = finished.problems
    assert said.startswith("fifo on sorts, repetition 1: 2-sort: its result is wrong: the lines")
    states = [job["state"] for job in finished.runs[0]["applications"]]
    assert states == ["SUCCEEDED", "FAILED", "SUCCEEDED"]
    cluster.broken.clear()
    assert run_study(study(tmp_path), cluster, tmp_path / "out", ignored).problems == []


def test_a_client_that_submits_nothing_is_told_by_its_last_words(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path, silent={"1-sort"})
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    [said] = finished.problems
    assert "1-sort: was not submitted: its client ended before" in said
    assert "no such queue" in said
    assert len(finished.runs[0]["applications"]) == 3


def test_a_job_that_yarn_failed_says_why(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path)
    cluster.rest.of["3-sort"] = {"finalStatus": "FAILED", "diagnostics": "AM \n exited"}
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    assert finished.problems == ["fifo on sorts, repetition 1: 3-sort: FAILED: AM exited"]


def test_a_resourcemanager_that_is_late_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it may not answer for half a minute; one that stays silent is gone."""
    cluster = FakeCluster(tmp_path)
    answers, silent = cluster.rest.applications, [True, True]

    def late() -> object:
        if silent:
            silent.pop()
            raise RestError("did not answer", "look at its log")
        return answers()

    cluster.rest.applications = late
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    assert (finished.problems, silent) == ([], [])
    monkeypatch.setattr(play, "SILENT_S", -1)
    silent.append(True)
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored, again=True)
    assert "did not answer" in finished.problems[0]


def test_allocates_of_the_fallback_are_a_problem(tmp_path: Path) -> None:
    """In that case the named policy did not schedule everything."""
    cluster = FakeCluster(tmp_path)
    counts = itertools.count()
    scheduler = cluster.rest.scheduler

    def growing() -> dict[str, object]:
        cluster.rest.fallback = next(counts)
        return scheduler()

    cluster.rest.scheduler = growing
    finished = run_study(study(tmp_path), cluster, tmp_path / "out", ignored)
    assert finished.problems == ["fifo on sorts, repetition 1: the fallback allocated 1 containers"]


def test_ctrl_c_kills_what_runs_and_the_cell_runs_again(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path)
    cluster.rest.of["2-sort"] = {"state": "RUNNING", "finalStatus": "UNDEFINED"}

    def pressed(*_: object) -> None:
        if len(cluster.submitted) == 3:
            raise KeyboardInterrupt

    finished = run_study(study(tmp_path), cluster, tmp_path / "out", pressed)
    assert not finished.whole
    assert cluster.rest.killed == ["2-sort"]
    assert not finished.runs[0]["finished"]
    folder = tmp_path / "out" / finished.runs[0]["folder"]
    account = read_json(folder / "manifest.json")["suite"]["jobs"]
    assert [job["result"] for job in account] == ["not checked"] * 3
    cluster.rest.of.clear()
    assert run_study(study(tmp_path), cluster, tmp_path / "out", ignored).whole


def test_a_run_at_its_limit_is_told_as_such_and_the_next_policy_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that still ran count as failed; those that had ended are checked; the cell runs
    again.
    """
    cluster = FakeCluster(tmp_path)
    cluster.rest.of["2-sort"] = {"state": "RUNNING", "finalStatus": "UNDEFINED"}
    cluster.rest.of["3-sort"] = {"state": "ACCEPTED", "finalStatus": "UNDEFINED"}
    both = study(tmp_path, ("fifo", "drf"))
    monkeypatch.setattr(Run, "now_ms", past_the_limit)
    finished = run_study(both, cluster, tmp_path / "out", ignored)
    assert cluster.scheduled == ["fifo", "drf"]
    hint = "after limit_s (3600 s); raise limit_s, or give the cluster more room"
    said = [f"2-sort: still ran {hint}", f"3-sort: still waited {hint}"]
    names = ("fifo on sorts, repetition 1", "drf on sorts, repetition 1")
    assert finished.problems == [f"{name}: {each}" for name in names for each in said]
    assert finished.whole
    assert cluster.rest.killed == ["2-sort", "3-sort"] * 2
    for run in finished.runs:
        assert not run["finished"]
        states = [job["state"] for job in run["applications"]]
        assert states == ["SUCCEEDED", "KILLED", "KILLED"]
        account = read_json(tmp_path / "out" / run["folder"] / "manifest.json")["suite"]["jobs"]
        assert [job["result"] for job in account] == ["right", *said_of(said)]
    monkeypatch.undo()
    cluster.rest.of.clear()
    assert run_study(both, cluster, tmp_path / "out", ignored).problems == []


def past_the_limit(run: Run) -> int:
    """Move the clock past any limit as soon as all jobs are submitted."""
    return 10**9 if all(job.yarn for job in run.jobs) else 0


def said_of(problems: list[str]) -> list[str]:
    return [each.partition(": ")[2] for each in problems]


def test_a_warm_up_at_its_limit_fails_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not count as Ctrl-C either."""
    cluster = FakeCluster(tmp_path)
    cluster.rest.of["warm-up-0-sort"] = {"state": "RUNNING", "finalStatus": "UNDEFINED"}
    file = tmp_path / "warm.yml"
    file.write_text(f"{MIX}warm_up: [sort]\n")
    both = prepare(Asked((str(file),), "local", ("fifo", "drf")))
    monkeypatch.setattr(Run, "now_ms", past_the_limit)
    finished = run_study(both, cluster, tmp_path / "out", ignored)
    assert len(finished.problems) == len(both.cells)
    assert "the warm-up sort: still ran after limit_s (3600 s)" in finished.problems[0]


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    cluster = FakeCluster(tmp_path)
    schedule = cluster.schedule

    def failing(cell: object) -> None:
        schedule(cell)
        if len(cluster.scheduled) == 1:
            raise SuiteError("no room", "make some")

    cluster.schedule = failing
    finished = run_study(study(tmp_path, ("fifo", "drf")), cluster, tmp_path / "out", ignored)
    assert finished.problems == ["fifo on sorts, seed 1: SuiteError: no room (make some)"]
    assert [run["policy"] for run in finished.runs] == ["drf"]


def test_an_experiment_names_mixes(tmp_path: Path) -> None:
    """Simulator, player and suite have one format: the workload's kind says which one runs it."""
    (tmp_path / "sorts.yml").write_text(MIX)
    file = tmp_path / "mine.yml"
    file.write_text(
        "version: 1\nkind: experiment\npolicies: [drf, stock:capacity]\n"
        "workloads: [sorts.yml, slice]\nseeds: 2\n"
    )
    found = prepare(Asked((str(file),), "local"))
    assert list(found.mixes) == ["sorts", "slice"]
    assert len(found.cells) == 8
    assert found.experiment.baseline == "stock:capacity"
    assert uses_spark(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs: [{benchmark: sort, queue: root.a}]", "drf has no leaf queue 'root.a'"),
        ("jobs: [{benchmark: sort, queue: default}]", "its leaf queues are root.default"),
    ],
)
def test_a_queue_that_a_policy_lacks_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.yml"
    file.write_text(f"version: 1\nkind: mix\n{text}\n")
    with pytest.raises(InputError, match=said):
        prepare(Asked((str(file),), "local", ("drf",)))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (("sort", "grap"), "no benchmark 'grap'"),
        (("sort", "slice"), "slice is not a benchmark"),
        (("nothing",), "no benchmark or mix 'nothing'"),
        (("nothing.yml",), "nothing.yml: no such file"),
    ],
)
def test_what_is_not_there_is_named(what: tuple[str, ...], said: str) -> None:
    with pytest.raises(SuiteError, match=said):
        prepare(Asked(what, "local", ("drf",)))


def test_a_misspelt_benchmark_finds_the_one_that_was_meant() -> None:
    with pytest.raises(SuiteError, match="wordcuont") as caught:
        prepare(Asked(("wordcuont",), "local", ("drf",)))
    assert "did you mean 'wordcount'?" in caught.value.hint


def test_a_mix_takes_no_size() -> None:
    with pytest.raises(InputError, match="--size small: slice says the size of each"):
        prepare(Asked(("slice",), "local", ("drf",), size="small"))


def test_drivers_leave_room_for_executors(tmp_path: Path) -> None:
    """A policy given only by name gets half for AMs, and so does stock Capacity; a file has its own
    value.
    """
    file = tmp_path / "mine.yml"
    file.write_text("version: 1\nkind: policy\npolicy: drf\nam_share: 80%\n")
    found = prepare(Asked(("sort",), "local", ("hdrf", str(file), "stock:capacity"))).cells
    configs = [cell.config or cell.queues or {} for cell in found]
    shares = [config["queues"][1]["am_share_ppm"] for config in configs]
    assert shares == [500_000, 800_000, 500_000]


def test_a_policy_must_be_named() -> None:
    with pytest.raises(InputError, match="needs a policy"):
        prepare(Asked(("sort",), "local"))


def ignored(*_: object) -> None:
    """Ignore progress: the test watches nothing."""
