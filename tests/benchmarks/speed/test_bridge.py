"""What the bridge benchmark gives to its JVMs."""

from pathlib import Path

import pytest
import typer

from benchmarks.speed.bridge import (
    FULL,
    THEIRS,
    BenchError,
    Trial,
    application_settings,
    class_path,
    java_command,
    main,
    ours_of,
    policies,
    policy_yaml,
)
from loomcard.api.registry import built_in
from loomcard.config import compile_config


@pytest.mark.parametrize(
    ("policy", "governing"),
    [
        ("drf", ["drf", "drf", "drf"]),
        ("hdrf", ["hdrf", None, None]),
        ("coupling", ["drf", "coupling", "coupling"]),
        ("dress", ["drf", "dress", "dress"]),
        ("dress_ticks", ["drf", "dress", "dress"]),
    ],
)
def test_a_policy_governs_the_queues_as_the_table_says(policy: str, governing: list[str]) -> None:
    """The policy decides at the root and in two leaves of equal guarantee."""
    compiled = compile_config(policy_yaml(policy, 2), "bench.yml")
    assert [queue["policy"] for queue in compiled["queues"]] == governing
    assert [queue["guaranteed"] for queue in compiled["queues"][1:]] == [{"ppm": 500000}] * 2


def test_only_our_jvm_gets_a_policy_and_a_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load is the same for all; only our schedulers get our settings, each its policy."""
    monkeypatch.setattr("benchmarks.speed.bridge.TARGET", tmp_path)
    (tmp_path / "classpath.txt").write_text("jars")
    trial = Trial(FULL | {"nodes": 7}, applications=("asks=alike",), journal=tmp_path / "journal")
    schedulers = [*ours_of(["drf", "hdrf"]), THEIRS[0]]
    commands, setups = [], []
    for name in schedulers:
        commands.append(java_command(name, trial, tmp_path))
        setups.append((tmp_path / "setup.json").read_text())
    drf, ours, theirs = commands
    assert '"policy":"hdrf"' in setups[1]
    assert '"policy":"hdrf"' not in setups[0]
    assert all("nodes=7" in command for command in commands)
    assert "scheduler=loomcard" in drf
    assert "scheduler=capacity" in theirs
    assert "asks=alike" in theirs
    assert f"conf:loomcard.journal.dir={tmp_path / 'journal'}" in ours
    assert not [word for word in theirs if word.startswith("conf:")]


def test_the_jars_are_those_of_the_hadoop_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`LOOMCARD_HADOOP` chooses them, unless another tree's bench is measured."""
    (tmp_path / "loomcard-yarn-0.1.0.jar").touch()
    (tmp_path / "classpath.txt").write_text("built")
    monkeypatch.setenv("LOOMCARD_JARS", str(tmp_path))
    monkeypatch.setenv("LOOMCARD_HADOOP", "3.5")
    assert class_path(None) == str(tmp_path / "*")
    assert class_path(tmp_path) == "built"
    monkeypatch.delenv("LOOMCARD_JARS")
    monkeypatch.setenv("LOOMCARD_HADOOP", "9.9")
    with pytest.raises(BenchError, match=r"9\.9: no such line .name one of 2\.7"):
        class_path(None)


def test_an_unknown_hadoop_line_is_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One error and exit status 2, before the first JVM; 1 is a measurement without value."""
    monkeypatch.setenv("LOOMCARD_HADOOP", "9.9")
    with pytest.raises(typer.Exit) as ended:
        main()
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err.startswith("bench: Hadoop 9.9: no such line (name one of")


def test_every_built_in_policy_can_be_measured() -> None:
    """Each has a tree; `coupling` gets maps and reduces, `carbyne` stages, others plain jobs."""
    assert set(policies()) == {*built_in(), "dress_ticks"}
    assert "application_type=MAPREDUCE" in application_settings("coupling")
    assert [word.partition("=")[0] for word in application_settings("carbyne")] == ["stages"]
    assert application_settings("drf") == []


@pytest.mark.parametrize(
    ("policies", "wrong"),
    [(["nosuch"], "'nosuch': expected one of"), (["drf", "coupling"], "run of its own")],
)
def test_policies_that_cannot_be_measured_in_one_run(policies: list[str], wrong: str) -> None:
    """Their applications ask alike, or YARN's schedulers would have one load for two."""
    with pytest.raises(typer.BadParameter, match=wrong):
        ours_of(policies)
