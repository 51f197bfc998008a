"""The unmodified MapReduce AM under coupling: its reduces are held, and nothing of it minds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomcard.api.report import values_of
from loomcard.cli.app import run
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.engine.session import replay
from loomcard.policies.coupling import unit
from loomcard.policies.coupling.serve import COUPLED
from loomcard.wire import messages as r
from loomcard.wire.journal import rounds

pytestmark = pytest.mark.cluster

MAPS, REDUCES = 12, 2
REDUCE = 10
LARGE = "mapreduce.map.memory.mb=800"
"""Four maps run at a time on two nodes of 2 GB, one of which has the AM."""
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
    more than k units of finished maps; no reduce is given up by its AM, none is refused, and the
    fallback grants nothing.
    """
    job = ["-m", str(MAPS), "-r", str(REDUCES), "-mt", "1500", "-rt", "200"]
    once = ["mapreduce.map.speculative=false", "mapreduce.reduce.speculative=false", LARGE]
    defined = [word for each in once for word in ("-D", each)]
    assert run(["submit", "--profile", "coupling", *defined, "sleep", "--", *job]) == 0
    assert "SUCCEEDED" in capsys.readouterr().out
    played = [(each.batch, each.plan) for each in rounds(cluster.journal_dir)]

    (added,) = [e for batch, _ in played for e in batch.records if type(e) is r.ApplicationAdded]
    assert (added.type, added.tags) == ("MAPREDUCE", [f"reduces={REDUCES}"])
    assert REDUCE in {e.priority for b, _ in played for e in b.records if type(e) is r.AskChanged}

    reports = [values_of(each) for _, plan in played for each in plan.reports.values()]
    rows = [row for report in reports for row in report["jobs"]]
    assert max(row["finished_maps"] for row in rows) == MAPS
    assert {row["reduces"] for row in rows} == {REDUCES}
    reasons = {reason for _, plan in played for *_, reason in plan.waits}
    assert COUPLED in reasons, "no reduce was ever held"
    for row in rows:
        if row["pending_maps"] > 0 and row["launched_reduces"]:
            earned = row["launched_reduces"] * unit(row["maps"], REDUCES, 0.2)
            assert earned < row["finished_maps"]
    launched = [
        sum(report[name] for name in ("first", "second", "third", "fourth")) for report in reports
    ]
    assert max(launched) == REDUCES

    ends = Counter(
        (e.kind, e.exit_status)
        for batch, _ in played for e in batch.records if type(e) is r.ContainerCompleted
    )  # fmt: skip
    assert not [kind for kind, _ in ends if kind in ("preempted", "lost", "expired")], ends
    refused = [e.refusals for batch, _ in played for e in batch.records if type(e) is r.Outcomes]
    assert not any(refused), refused
    assert cluster.rest.scheduler()["schedulerInfo"]["grants"]["fallback"] == 0
    assert replay(cluster.journal_dir) == []
