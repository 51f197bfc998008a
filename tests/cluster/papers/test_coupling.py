"""The unmodified MapReduce AM under coupling: its reduces are delayed, and it works all the
same.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomcard.api.report import values_of
from loomcard.cli.app import run
from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import example
from loomcard.cluster.job_profiles import profile_definitions
from loomcard.cluster.submit import Client
from loomcard.engine.session import replay
from loomcard.policies.coupling.paper import unit
from loomcard.policies.coupling.reclaim import REASON
from loomcard.policies.coupling.serve import COUPLED
from loomcard.wire import messages as r
from loomcard.wire.journal import rounds
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

DEADLINE_S = 900.0  # a minute on a quiet machine
MAPS, REDUCES = 12, 2
REDUCE = 10
LARGE = "mapreduce.map.memory.mb=800"
"""Four maps run at a time on two nodes of 2 GB; one of the nodes has the AM, too."""
POLICY = "version: 1\nkind: policy\npolicy: coupling\noptions: {threshold: 0.2}\n"
"""delta is 1, so that k reduces need more than 6 k finished maps: more than run at a time."""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """Two nodes under coupling."""
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "held.yml"
    policy.write_text(POLICY)
    settings = LocalSettings(
        run_dir=tmp_path / "run" / "local",
        nodes=2,
        policy=str(policy),
        yarn={"loomcard.round.deadline-ms": "10000"},
    )
    with LocalCluster(settings) as running:
        yield running


def test_reduces_are_held_till_maps_have_earned_them(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job ends well under `submit --profile coupling`. While maps wait, k launched reduces mean
    more than k units of finished maps. The AM gives up no reduce, no reduce is refused, and the
    fallback allocates nothing.
    """
    job = ["-m", str(MAPS), "-r", str(REDUCES), "-mt", "1500", "-rt", "200"]
    once = ["mapreduce.map.speculative=false", "mapreduce.reduce.speculative=false", LARGE]
    defined = [word for each in once for word in ("-D", each)]
    assert run(["submit", "--profile", "coupling", *defined, "sleep", "--", *job]) == 0
    assert "SUCCEEDED" in capsys.readouterr().out
    played = [(each.batch, each.plan) for each in rounds(cluster.journal_dir)]

    (added,) = [
        e for batch, _ in played for e in batch.records if type(e) is r.ApplicationAddedRecord
    ]
    assert (added.type, added.tags) == ("MAPREDUCE", [f"reduces={REDUCES}"])
    assert REDUCE in {
        e.priority for b, _ in played for e in b.records if type(e) is r.AskChangedRecord
    }

    reports = [values_of(each) for _, plan in played for each in plan.reports.values()]
    rows = [row for report in reports for row in report["jobs"]]
    assert max(row["finished_maps"] for row in rows) == MAPS
    assert {row["reduces"] for row in rows} == {REDUCES}
    reasons = {reason for _, plan in played for *_, reason, _ in plan.waits}
    assert COUPLED in reasons, "no reduce was ever held"
    for row in rows:
        if row["pending_maps"] > 0 and row["launched_reduces"]:
            # Not row["maps"]: an ask of the AM that crosses an allocation counts a map twice.
            earned = row["launched_reduces"] * unit(MAPS, REDUCES, 0.2)
            assert earned < row["finished_maps"]
    launched = [
        sum(report[name] for name in ("first", "second", "third", "fourth")) for report in reports
    ]
    assert max(launched) == REDUCES

    ends = Counter(
        (e.kind, e.exit_status)
        for batch, _ in played for e in batch.records if type(e) is r.ContainerCompletedRecord
    )  # fmt: skip
    assert not [kind for kind, _ in ends if kind in ("preempted", "lost", "expired")], ends
    refused = [
        e.refusals for batch, _ in played for e in batch.records if type(e) is r.OutcomesRecord
    ]
    assert not any(refused), refused
    assert cluster.rest.scheduler()["schedulerInfo"]["allocations"]["fallback"] == 0
    assert replay(cluster.journal_dir) == []


RECLAIM_MS = 3000
FULL = f"version: 1\nkind: policy\npolicy: coupling\noptions: {{reclaim_after_ms: {RECLAIM_MS}}}\n"
SIZES = {
    "yarn.app.mapreduce.am.resource.mb": "1400",  # no map fits beside it, and only one reduce
    "mapreduce.map.memory.mb": "768",
    "mapreduce.reduce.memory.mb": "640",  # three on a node, or two beside the map
    "mapreduce.map.speculative": "false",
    "mapreduce.reduce.speculative": "false",
}
ONE_MAP = example("sleep", ["-m", "1", "-r", "7", "-mt", "60000", "-rt", "100"])


until = functools.partial(wait_until, seconds=DEADLINE_S)


def test_a_map_that_runs_again_is_not_blocked_by_its_own_reduces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node of a job's only map is lost while reduces use all other room and wait for the map.
    Under the profile the AM gives up none of them for half an hour. The policy takes back what one
    map needs, and no more; the job ends well.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full.yml").write_text(FULL)
    settings = LocalSettings(
        run_dir=tmp_path / "run" / "local",
        nodes=3,
        policy=str(tmp_path / "full.yml"),
        yarn={"loomcard.round.deadline-ms": "10000"},
    )
    sizes = [f"{name}={value}" for name, value in SIZES.items()]
    with LocalCluster(settings) as cluster:
        client = Client(cluster.conf_dir, cluster.run_dir / "work", tuple(cluster.client_options))
        job = client.submit(ONE_MAP, definitions=profile_definitions("coupling", ONE_MAP, sizes))
        try:

            def at_work() -> dict[int, list[str]]:
                """Return the nodes of the tasks that run, by their memory."""
                found: dict[int, list[str]] = {768: [], 640: []}
                for each in read_runs(cluster.container_times):
                    if each.ended_ms is None and each.memory_mb in found:
                        found[each.memory_mb].append(each.node)
                return found

            until(lambda: list(map(len, at_work().values())) == [1, 6], "all room is taken")
            cluster.command(f"stop-node {at_work()[768][0].partition('.')[0]}")
            assert job.wait(DEADLINE_S) == 0, job.reason()
        finally:
            job.stop()
        played = [(each.batch, each.plan) for each in rounds(cluster.journal_dir)]
    taken = [
        each.reason for _, plan in played for each in plan.decisions if type(each) is r.Preempt
    ]
    assert taken == [REASON]
    ends = Counter(
        e.kind
        for batch, _ in played
        for e in batch.records
        if type(e) is r.ContainerCompletedRecord
    )
    assert ends["preempted"] == 1, ends
