"""The command as a user meets it: what it prints, and its exit status."""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from loomcard.cli.app import run
from loomcard.cli.cluster.jobs import in_a_container
from loomcard.cluster.embedded import ClusterError, LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import ProgramError, program

pytestmark = pytest.mark.usefixtures("no_jars")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOOMCARD_RM", raising=False)


def only_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["submit", "po"], 2, "error: no example job 'po' (there are "),
        (["submit", "missing.jar"], 2, "error: no file missing.jar (name a .jar file"),
        (["submit", "pi"], 1, "error: no embedded cluster in "),
        (
            ["cluster", "up", "--scheduler", "bogus"],
            2,
            "error: --scheduler bogus: no such scheduler",
        ),
        (["cluster", "down"], 1, "error: no embedded cluster in "),
        (["cluster", "logs"], 1, "error: no embedded cluster in "),
        (["status", "--rm", "http://127.0.0.1:1"], 1, "error: no ResourceManager answers at "),
    ],
)
def test_an_error_is_one_line_with_a_hint(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input exits 2, any other failure 1; one line on standard error, never a traceback."""
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    line = only_line(captured.err)
    assert line.startswith(said)
    assert line.endswith(")")


def test_an_unknown_option_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line itself is input, too."""
    assert run(["status", "--nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_render_lists_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`cluster render --json` prints the files, and they exist."""
    assert (
        run(["cluster", "render", str(tmp_path / "c"), "--scheduler", "stock:fifo", "--json"]) == 0
    )
    files = json.loads(capsys.readouterr().out)
    assert {"yarn-site.xml", "hosts"} <= {Path(file).name for file in files}
    assert all(Path(file).is_file() for file in files)


ANSWERS: dict[str, Any] = {
    "/ws/v1/cluster/info": {"clusterInfo": {"state": "STARTED", "resourceManagerVersion": "3.4.2"}},
    "/ws/v1/cluster/scheduler": {
        "scheduler": {
            "schedulerInfo": {
                "config": {
                    "policy": "drf",
                    "version": 3,
                    "hash": "0123456789abcdef",
                    "source": "d.yml",
                },
                "bridge": {
                    "state": "fallback",
                    "since_ms": 1790000000000,
                    "rounds": 7,
                    "last_failure": "killed [by hand]\nTraceback",
                    "recovered_ms": None,
                    "faults": [
                        {
                            "queue": "root.a",
                            "at_ms": 1790000000000,
                            "message": "root.a:d.py:D: KeyError: [/b]",
                            "traceback": 'Traceback\n  File "/round.py", line 1, in a\n'
                            '  File "/p/d.py", line 8, in decide\nKeyError: [/b]\n'
                            "Its queue is served first in, first out for 2000 ms, then it is tried"
                            " again.",
                        }
                    ],
                    "journal": {"trouble": "/j: No space left on device", "lost_rounds": 5},
                },
                "allocations": {"policy": 40, "fallback": 2},
                "refusals": {"NODE_FULL": 1},
                "queues": [
                    {
                        "path": "root.a",
                        "policy": "drf",
                        "guaranteed": {"memory_mb": 1},
                        "used": {},
                        "pending": {},
                        "applications": 1,
                        "containers": 2,
                        "report": {"delta": 0.25, "why": "[full]"},
                    }
                ],
                "reservations": [
                    {
                        "application": "application_1_0001",
                        "queue": "root.b",
                        "node": "n1:1",
                        "priority": 20,
                        "resource": {"memory_mb": 4096},
                    }
                ],
                "waiting": [],
            }
        }
    },
    "/ws/v1/cluster/nodes": {"nodes": None},
    "/ws/v1/cluster/apps": {
        "apps": {
            "app": [
                {
                    "id": "application_1_0001",
                    "name": "[/red] [bold]\x1b[2J",
                    "user": "eve",
                    "queue": "root.a",
                    "state": "RUNNING",
                    "finalStatus": "UNDEFINED",
                    "runningContainers": 2,
                    "startedTime": 1,
                }
            ]
        }
    },
}


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def resource_manager() -> Any:
    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_status_says_policy_version_and_fallback(
    resource_manager: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`loomcard status` shows the applied version, the bridge's state and its last failure."""
    assert run(["status", "--rm", resource_manager]) == 0
    shown = capsys.readouterr().out
    assert "policy drf, version 3, from d.yml" in shown
    assert re.search(
        r"bridge fallback since 2026-09-\S+ \S+, 7 rounds; last failure: killed \[", shown
    )
    one_line = " ".join(shown.split())
    assert re.search(r"root.a: its policy d.py:D raised KeyError: \[/b\] at 2026-09-", one_line)
    assert "(d.py, line 8; traceback in the ResourceManager's log and in" in one_line
    assert "Its queue is served first in, first out for 2000 ms, then it is tried" in one_line
    assert "allocated by policy 40, by the fallback 2; refused: NODE_FULL 1" in shown
    assert "on n1:1 reserved for application_1_0001 in root.b" in shown
    assert "the journal is not written, 5 rounds are missing: /j: No space left on device" in shown
    assert [line.split() for line in shown.splitlines() if "delta" in line] == [
        ["│", "delta", "│", "0.25", "│"]
    ]
    assert shown.count("root.a") == 4
    assert "[full]" in shown
    assert "[/red] [bold]?[2J" in shown  # neither an error nor followed


def test_status_marks_a_failure_that_is_over(
    resource_manager: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a policy serves again, an earlier failure does not read as if it continued."""
    scheduler = ANSWERS["/ws/v1/cluster/scheduler"]["scheduler"]["schedulerInfo"]
    monkeypatch.setitem(scheduler["bridge"], "state", "up")
    monkeypatch.setitem(scheduler["bridge"], "recovered_ms", 1790000000000)
    assert run(["status", "--rm", resource_manager]) == 0
    shown = capsys.readouterr().out
    over = r"last failure \(recovered at 2026-09-21 \S+\): killed"
    assert re.search(rf"bridge up since \S+ \S+, 7 rounds; {over}", " ".join(shown.split()))


def test_status_as_json_is_one_document(
    resource_manager: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` prints the ResourceManager's answer; empty lists are lists."""
    assert run(["status", "--rm", resource_manager, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["scheduler"]["config"]["version"] == 3
    assert (document["nodes"], len(document["applications"])) == ([], 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status", "--rm", "127.0.0.1:8088"], "not the address of a ResourceManager"),
        (["status", "--rm", "http://[::1"], "not the address of a ResourceManager"),
        (["submit", "pi", "-D", "nonsense"], "no Hadoop property"),
        (["submit", "pi", "--on", "docker", "--json"], "--on local and --rm only"),
        (["bogus"], "see `loomcard --help`"),
        (["submit"], "see `loomcard submit --help`"),
        (["cluster", "up", "--on", "mars"], "see `loomcard cluster up --help`"),
        (["cluster", "up", "--policy-path", "/no/such/folder"], "no such folder"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """Visible mistakes are reported before anything is started or called."""
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("state", ["garbage", "{}", "[]"])
def test_a_damaged_state_file_is_said_with_a_remedy(tmp_path: Path, state: str) -> None:
    """Half a file, left by a full disk or an old version, does not end in a traceback."""
    (tmp_path / "state.json").write_text(state)
    with pytest.raises(ClusterError, match="is damaged") as error:
        LocalCluster.attach(tmp_path)
    assert "remove" in error.value.hint


def test_a_jar_is_mounted_for_a_job_on_docker(tmp_path: Path) -> None:
    """The client's container sees the host's jar; properties of its job are its own arguments."""
    (tmp_path / "my.jar").touch()
    chosen = program(str(tmp_path / "my.jar"), ["org.example.Main", "1"], None)
    mount, service = in_a_container(chosen, "my.jar", [])[1:3]
    assert (mount.split(":")[0], service) == (str(tmp_path / "my.jar"), "client")
    inside = mount.split(":")[1]
    words = in_a_container(chosen, "my.jar", [])[3:]
    assert words == ["jar", inside, "org.example.Main", "1"]
    with pytest.raises(ProgramError, match="own arguments"):
        in_a_container(chosen, "my.jar", ["a=b"])


CLIENT = """#!/bin/sh
echo $$ > {pid}
echo "$@" > {pid}.said
echo "INFO impl.YarnClientImpl: Submitted application application_1_0001"
exec sleep 600
"""


class Attached:
    """Provide what `submit` needs of a running cluster."""

    def __init__(self, folder: Path) -> None:
        self.conf_dir, self.run_dir, self.client_options = folder, folder, ()
        self.container_times = folder / "containers.jsonl"
        self.rest, self.settings = self, LocalSettings(run_dir=folder)

    def application(self, wanted: str) -> dict[str, Any]:
        return {"id": wanted, "finalStatus": "UNDEFINED", "startedTime": 1}

    def scheduler(self) -> dict[str, Any]:
        return {"schedulerInfo": {}}


def test_no_wait_leaves_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client is ended when its application is accepted. Otherwise it would watch the job, and
    after `cluster down` call the ResourceManager for ever.
    """
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(CLIENT.format(pid=tmp_path / "pid"))
    java.chmod(0o700)
    monkeypatch.setattr("loomcard.cluster.paths.java_home", lambda: tmp_path)
    monkeypatch.setattr("loomcard.cluster.paths.jars", lambda: tmp_path)
    monkeypatch.setattr(LocalCluster, "attach", lambda _: Attached(tmp_path))
    assert run(["submit", "pi", "--no-wait", "--queue", "root.a"]) == 0
    assert only_line(capsys.readouterr().out) == "application_1_0001"
    assert "-Dmapreduce.job.queuename=root.a" in (tmp_path / "pid.said").read_text().split()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
