"""The command `loomcard policy`."""

import json
from collections.abc import Iterator
from getpass import getuser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from loomcard.api import registry
from loomcard.cli.policy.commands import policy

ROOT = Path(__file__).parents[2]
BAD = "version: 1\npolcy: drf\nweight: 0\n"
run = CliRunner().invoke


class ResourceManager:
    """The part of a ResourceManager that the tests need: it records the call and gives a set
    answer.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.answer: tuple[int, dict[str, Any]] = (200, {"version": 7, "hash": "abc"})
        about = {"cluster": {"capacity": {"memory_mb": 10240}}}
        self.documents: dict[str, dict[str, Any]] = {
            "/ws/v1/cluster/scheduler": {"scheduler": {"schedulerInfo": about}},
            "/ws/v1/cluster/apps": {"apps": {}},
        }
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                length = int(self.headers["Content-Length"])
                outer.calls.append((self.path, self.rfile.read(length).decode()))
                status, document = outer.answer
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                body = json.dumps(outer.documents[self.path.partition("?")[0]]).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing, because it would mix with the tests' output."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def rm() -> Iterator[ResourceManager]:
    """A ResourceManager on a free port, until the test ends."""
    manager = ResourceManager()
    thread = Thread(target=manager.server.serve_forever, daemon=True)
    thread.start()
    yield manager
    manager.server.shutdown()
    manager.server.server_close()
    thread.join()


@pytest.fixture
def bad(tmp_path: Path) -> str:
    """Return the file of a configuration with three findings."""
    file = tmp_path / "bad.yml"
    file.write_text(BAD)
    return str(file)


def good(name: str = "queues.yml") -> str:
    return str(ROOT / "policies" / name)


def test_list_names_the_policies_with_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """fifo and drf are in the list; JSON has one object for each."""
    monkeypatch.setattr(registry, "_registered", {})  # other tests register long names
    listed = run(policy, ["list", "--json"])
    assert listed.exit_code == 0
    entries = {entry["name"]: entry for entry in json.loads(listed.output)}
    assert {"fifo", "drf"} <= set(entries)
    assert set(entries["drf"]) == {"name", "origin", "summary", "governs", "options"}
    listed = run(policy, ["list"]).output
    assert all(name in listed for name in entries), "names are not cut"
    assert "…" not in listed
    assert "dict[str," in listed, "brackets are no markup"


def test_list_shows_the_choices_of_an_option() -> None:
    """For a text option with few allowed values these are listed."""
    entries = {entry["name"]: entry for entry in json.loads(run(policy, ["list", "--json"]).output)}
    types = {option["name"]: option["type"] for option in entries["dress"]["options"]}
    assert types["reading"] == "printed|share"
    assert types["order"] == "submission|demand"
    assert types["pack"] == "whole|partial"


def test_check_lists_every_finding_and_exits_2(bad: str) -> None:
    """There is one line for each, with file, line and column; valid files are reported as valid."""
    checked = run(policy, ["check", good(), bad])
    assert checked.exit_code == 2
    lines = checked.output.splitlines()
    assert lines[0].startswith(f"{good()}: valid, 3 queues")
    assert [line.split(": ")[0] for line in lines[1:]] == [
        f"{bad}:{at}" for at in ("1:1", "2:1", "3:9")
    ]
    assert "did you mean 'policy'?" in lines[2]


def test_check_prints_json(bad: str) -> None:
    """There is one object for each file, with findings by field name."""
    checked = run(policy, ["check", good(), bad, "--json"])
    assert checked.exit_code == 2
    right, wrong = json.loads(checked.output)
    assert right["findings"] == []
    assert len(right["hash"]) == 64
    assert [(one["line"], one["path"]) for one in wrong["findings"]] == [
        (1, "policy"),
        (2, "polcy"),
        (3, "weight"),
    ]


def test_check_of_right_files_exits_0() -> None:
    """Nothing wrong, nothing to say but that."""
    assert run(policy, ["check", good(), good("hdrf-users.yml")]).exit_code == 0


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    """There is no traceback; exit 2, as for any bad input."""
    file = tmp_path / "file.yml"
    if content is not None:
        file.write_bytes(content)
    checked = run(policy, ["check", str(file)])
    assert checked.exit_code == 2
    assert len(checked.output.splitlines()) == 1
    assert checked.output.startswith(f"{file}:1:1: ")


def test_a_file_that_is_not_there_hides_nothing_of_the_others(tmp_path: Path) -> None:
    """Every named file has its entry, so that a script reads all findings of all files."""
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("version: 1\npolicy: nope\n")
    checked = run(policy, ["check", "--json", str(wrong), str(tmp_path / "none.yml")])
    assert checked.exit_code == 2
    said = [report["findings"][0]["message"] for report in json.loads(checked.output)]
    assert said == ["there is no policy 'nope'", f"there is no file {tmp_path}/none.yml"]


def test_a_policys_name_is_enough(
    rm: ResourceManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """check and apply take the name of a policy or an example, whatever is in the folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drf").write_text("not YAML: [")
    checked = run(policy, ["check", "drf", "queues"])
    assert checked.exit_code == 0
    first, second = checked.output.splitlines()
    assert first.startswith("drf: valid, 2 queues, hash ")
    assert second.startswith("queues: valid, 3 queues, hash ")
    applied = run(policy, ["apply", "drf", "--rm", rm.url, "--user", "yarn"])
    assert applied.output == "drf: applied as version 7, hash abc\n"
    ((path, text),) = rm.calls
    assert path == "/ws/v1/cluster/loomcard/policy?name=drf&user.name=yarn"
    assert text == "version: 1\nkind: policy\npolicy: drf\n"


def test_an_unknown_name_is_one_line_with_the_nearest(rm: ResourceManager) -> None:
    """Nothing is sent, unless the ResourceManager is asked to judge."""
    said = "dfr: error LC130: there is no policy 'dfr' (did you mean: drf"
    checked = run(policy, ["check", "dfr"])
    assert (checked.exit_code, len(checked.output.splitlines())) == (2, 1)
    assert checked.output.startswith(said)
    refused = run(policy, ["apply", "dfr", "--rm", rm.url])
    assert refused.exit_code == 2
    assert refused.output.startswith(said)
    assert "--no-local-check" in refused.output
    assert rm.calls == []
    assert run(policy, ["apply", "dfr", "--rm", rm.url, "--no-local-check"]).exit_code == 0
    assert rm.calls[0][1].endswith("policy: dfr\n")


def test_apply_sends_the_text_and_prints_the_version(rm: ResourceManager) -> None:
    """The ResourceManager gets the unchanged YAML, with the file's name."""
    applied = run(policy, ["apply", good(), "--rm", rm.url, "--user", "yarn"])
    assert applied.exit_code == 0, applied.output
    assert "applied as version 7" in applied.output
    assert rm.calls == [
        (
            "/ws/v1/cluster/loomcard/policy?name=queues.yml&user.name=yarn",
            Path(good()).read_text(),
        )
    ]


def test_apply_asks_as_the_caller(rm: ResourceManager) -> None:
    """Without a name YARN takes the caller for dr.who, who has no rights."""
    assert run(policy, ["apply", good(), "--rm", rm.url]).exit_code == 0
    ((path, _),) = rm.calls
    assert path.endswith(f"&user.name={getuser()}")


def test_apply_sends_nothing_that_is_wrong_here(rm: ResourceManager, bad: str) -> None:
    """The local check comes first."""
    applied = run(policy, ["apply", bad, "--rm", rm.url])
    assert applied.exit_code == 2
    assert "unknown key 'polcy'" in applied.output
    assert rm.calls == []


def test_a_policy_that_is_unknown_here_may_be_known_there(
    rm: ResourceManager, tmp_path: Path, bad: str
) -> None:
    """The line says where it was checked, and how to leave the check to the ResourceManager."""
    file = tmp_path / "theirs.yml"
    file.write_text("version: 1\nkind: policy\npolicy: theirs.py:Theirs\n")
    applied = run(policy, ["apply", str(file), "--rm", rm.url])
    assert applied.exit_code == 2
    assert "checked on this machine, nothing was sent" in applied.output
    assert "--no-local-check" in applied.output
    assert rm.calls == []
    assert "--no-local-check" not in run(policy, ["apply", bad, "--rm", rm.url]).output


def test_apply_shows_the_servers_findings_alike(rm: ResourceManager) -> None:
    """A policy may be unknown there: the lines and the exit code are the same."""
    finding = {"line": 4, "column": 9, "path": "policy", "message": "unknown", "hint": "install it"}
    rm.answer = 400, {"message": "bad", "hint": "", "findings": [finding]}
    applied = run(policy, ["apply", good(), "--rm", rm.url])
    assert applied.exit_code == 2
    assert f"{good()}:4:9: policy: unknown (install it)" in applied.output
    as_json = run(policy, ["apply", good(), "--rm", rm.url, "--json"])
    assert json.loads(as_json.output) == {"applied": None, "findings": [finding]}


def test_a_policy_that_ends_its_process_does_not_end_the_command(
    rm: ResourceManager, tmp_path: Path
) -> None:
    """check and apply say what it does and where it is named; nothing is sent."""
    (tmp_path / "quits.py").write_text("import os\nos._exit(0)\n")
    file = tmp_path / "quits.yml"
    file.write_text("version: 1\npolicy: quits.py:Quits\n")
    said = f"{file}:2:9: error LC130: policy: the policy 'quits.py:Quits' ended the process"
    for arguments in (["check", str(file), good()], ["apply", str(file), "--rm", rm.url]):
        ran = run(policy, arguments)
        assert ran.exit_code == 2
        assert ran.output.startswith(said)
        assert "with status 0" in ran.output
    assert rm.calls == []


def test_a_refusal_is_one_line_and_exits_1(rm: ResourceManager) -> None:
    """If it is forbidden, or queues are in use, the server's message is shown without a
    traceback.
    """
    rm.answer = 409, {"message": "root.a has applications", "hint": "wait", "queues": ["root.a"]}
    applied = run(policy, ["apply", good(), "--rm", rm.url])
    assert applied.exit_code == 1
    assert applied.output == "error: root.a has applications (wait)\n"


def test_a_policy_installed_there_only_can_be_applied(rm: ResourceManager, tmp_path: Path) -> None:
    """--no-local-check leaves the judgement to the ResourceManager."""
    file = tmp_path / "theirs.yml"
    file.write_text("version: 1\npolicy: theirs\n")
    assert run(policy, ["apply", str(file), "--rm", rm.url]).exit_code == 2
    assert run(policy, ["apply", str(file), "--rm", rm.url, "--no-local-check"]).exit_code == 0
    assert len(rm.calls) == 1


def test_check_compares_with_a_running_cluster(rm: ResourceManager, tmp_path: Path) -> None:
    """Sizes and living applications come from the ResourceManager; only warnings exit with 0."""
    cluster = {"capacity": {"memory_mb": 10240}, "minimum_allocation": {"memory_mb": 1024}}
    about = {"cluster": cluster, "queues": [{"path": "root.old"}]}
    apps = [{"queue": "old", "state": state, "startedTime": 1, "id": state} for state in STATES]
    rm.documents = {
        "/ws/v1/cluster/scheduler": {"scheduler": {"schedulerInfo": about}},
        "/ws/v1/cluster/apps": {"apps": {"app": apps}},
    }
    file = tmp_path / "new.yml"
    file.write_text("version: 1\npolicy: drf\nqueues:\n  a: {maximum: 5%}\n")
    checked = run(policy, ["check", str(file), "--rm", rm.url])
    assert checked.exit_code == 2
    first, second = checked.output.splitlines()
    assert first.startswith(f"{file}:3:1: error LC205: queues: 2 applications live in root.old")
    assert second.startswith(f"{file}:4:16: error LC202: queues.a.maximum: at most 512 memory_mb")
    file.write_text("version: 1\npolicy: drf\nqueues:\n  old: {guaranteed: 5%}\n")
    checked = run(policy, ["check", str(file), "--rm", rm.url, "--json"])
    assert checked.exit_code == 0
    [finding] = json.loads(checked.output)[0]["findings"]
    assert (finding["rule"], finding["severity"]) == ("LC203", "warning")


STATES = ("RUNNING", "ACCEPTED", "FINISHED", "KILLED")


def test_apply_refuses_what_does_not_fit_the_cluster(rm: ResourceManager, tmp_path: Path) -> None:
    """`apply` finds what `check --rm` finds; a flag applies it all the same."""
    file = tmp_path / "large.yml"
    file.write_text("version: 1\npolicy: drf\nqueues:\n  a: {guaranteed: {memory_mb: 99999}}\n")
    assert run(policy, ["check", str(file), "--rm", rm.url]).exit_code == 2
    apply = ["apply", str(file), "--rm", rm.url]
    refused = run(policy, apply)
    assert refused.exit_code == 2
    assert "99999 memory_mb are guaranteed" in refused.output
    assert "--no-cluster-check" in refused.output
    assert json.loads(run(policy, [*apply, "--json"]).output)["applied"] is None
    assert rm.calls == []
    assert run(policy, [*apply, "--no-cluster-check"]).exit_code == 0
    assert len(rm.calls) == 1


def test_apply_shows_warnings_and_goes_on(rm: ResourceManager, tmp_path: Path) -> None:
    """A guarantee below the smallest container is reported, not refused."""
    about = {
        "cluster": {"capacity": {"memory_mb": 10240}, "minimum_allocation": {"memory_mb": 999}}
    }
    rm.documents["/ws/v1/cluster/scheduler"] = {"scheduler": {"schedulerInfo": about}}
    file = tmp_path / "small.yml"
    file.write_text("version: 1\npolicy: drf\nqueues:\n  a: {guaranteed: 5%}\n")
    applied = run(policy, ["apply", str(file), "--rm", rm.url])
    assert applied.exit_code == 0
    warning, done = applied.output.splitlines()
    assert "warning LC203" in warning
    assert "applied as version 7" in done


def test_a_dry_run_changes_nothing(rm: ResourceManager) -> None:
    """The configuration is checked here, then tried on the cluster, but not applied."""
    cluster = {"capacity": {"memory_mb": 10240}}
    app = {"queue": "root.gone", "state": "RUNNING", "startedTime": 1, "id": "a"}
    rm.documents = {
        "/ws/v1/cluster/scheduler": {"scheduler": {"schedulerInfo": {"cluster": cluster}}},
        "/ws/v1/cluster/apps": {"apps": {"app": app}},
        "/ws/v1/cluster/loomcard/policy": {"version": 6, "features": ["dry_run"]},
    }
    dry_run = ["apply", good(), "--rm", rm.url, "--user", "yarn", "--dry-run"]
    refused = run(policy, dry_run)
    assert refused.exit_code == 2
    assert "1 application lives in root.gone" in refused.output
    assert rm.calls == []
    rm.documents["/ws/v1/cluster/apps"] = {"apps": {}}
    tried = run(policy, dry_run)
    assert tried.exit_code == 0, tried.output
    said = f"{good()}: would be applied as version 7, hash abc; nothing was changed"
    assert tried.output.splitlines()[-1] == said
    asked = "/ws/v1/cluster/loomcard/policy?name=queues.yml&dry_run=true&user.name=yarn"
    assert rm.calls == [(asked, Path(good()).read_text())]
    as_json = json.loads(run(policy, [*dry_run, "--json"]).output)
    assert as_json["applied"] is None
    assert as_json["would_apply"] == {"version": 7, "hash": "abc"}


def test_a_dry_run_prints_what_the_server_found(rm: ResourceManager) -> None:
    """A policy that raises there is one line; nothing is sent to a server that would apply it."""
    rm.documents = {
        "/ws/v1/cluster/scheduler": {"scheduler": {"schedulerInfo": {"cluster": {}}}},
        "/ws/v1/cluster/metrics": {"clusterMetrics": {}},
        "/ws/v1/cluster/apps": {"apps": {}},
        "/ws/v1/cluster/loomcard/policy": {"version": 6, "features": ["dry_run"]},
    }
    rm.answer = (
        500,
        {"message": "the policy of queue root raised: ValueError", "hint": "correct it"},
    )
    dry_run = ["apply", good(), "--rm", rm.url, "--dry-run"]
    raised = run(policy, dry_run)
    assert raised.exit_code == 1
    assert raised.output == "error: the policy of queue root raised: ValueError (correct it)\n"
    rm.documents["/ws/v1/cluster/loomcard/policy"] = {"version": 6}
    rm.calls.clear()
    older = run(policy, dry_run)
    assert older.exit_code == 1
    assert "is older and has no dry run" in older.output
    assert rm.calls == []


def test_check_compares_with_a_workloads_cluster() -> None:
    """A shipped workload's nodes stand for a cluster that does not exist yet."""
    assert run(policy, ["check", good(), "--cluster", "demo"]).exit_code == 0
    both = run(policy, ["check", good(), "--cluster", "demo", "--rm", "http://h:1"])
    assert (both.exit_code, "one of the two" in both.output) == (2, True)
