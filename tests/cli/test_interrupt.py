"""Ctrl-C: one line that says what remains of the cluster, the job or the policy."""

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from loomcard.cli.app import run
from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.rm_client import ResourceManagerClient


def press(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line of a command that Ctrl-C ended."""
    assert run(list(arguments)) == 130
    error = capsys.readouterr().err
    assert error.startswith("error: interrupted")
    assert error.count("\n") == 1
    return error


def test_a_command_that_leaves_nothing_says_so_much(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """typer alone would end it without a message."""
    monkeypatch.setattr(ResourceManagerClient, "info", press)
    assert said(capsys, "status", "--rm", "http://127.0.0.1:1") == "error: interrupted\n"


def test_a_cluster_that_was_starting_is_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded cluster does the same if its start is not complete."""
    monkeypatch.setattr("loomcard.cluster.paths.jars", lambda: None)
    monkeypatch.setattr(LocalCluster, "up", press)
    assert "what had started of the cluster was stopped again" in said(capsys, "cluster", "up")


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_policy_may_still_be_applied(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    """The ResourceManager has received it; a trial changes nothing."""
    monkeypatch.setattr(ResourceManagerClient, "apply_policy", press)
    monkeypatch.setattr(ResourceManagerClient, "try_policy", press)
    arguments = ["policy", "apply", "drf", "--rm", "http://127.0.0.1:1", "--no-cluster-check"]
    line = said(capsys, *arguments, *(["--dry-run"] if dry_run else []))
    assert ("nothing was changed" in line) is dry_run
    assert ("see `loomcard policy history`" in line) is not dry_run


@pytest.mark.parametrize("accepted", [True, False])
def test_a_job_that_was_accepted_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], accepted: bool
) -> None:
    """Its client is ended; the line names the application, if there is one."""
    ended: list[bool] = []
    submission: Any = SimpleNamespace(
        application=(lambda: "application_1_0001") if accepted else press,
        stop=lambda: ended.append(True),
    )
    client = SimpleNamespace(submit=lambda *_, **__: submission)
    monkeypatch.setattr(
        "loomcard.cli.cluster.jobs._local", lambda: SimpleNamespace(client=client, wait=press)
    )
    line = said(capsys, "submit", "pi")
    assert ("application_1_0001 goes on" in line) is accepted
    assert ("was not accepted yet" in line) is not accepted
    assert ended == [True]
