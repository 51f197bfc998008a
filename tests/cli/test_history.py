"""`loomcard policy history` and `rollback`, against the documents of docs/operate/rest.md."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

from loomcard.cli.policy.commands import policy

run = CliRunner().invoke
APPLY = ["apply", "drf", "--no-cluster-check"]
KEPT = [
    {
        "version": 3,
        "hash": "9f2c4e",
        "source": "drf.yml",
        "applied_at_ms": 1_790_000_000_000,
        "user": "alice",
        "has_yaml": True,
        "governs": True,
    },
    {
        "version": 1,
        "hash": "41aa",
        "source": "fifo.yml",
        "applied_at_ms": None,
        "user": None,
        "has_yaml": False,
        "governs": False,
    },
]


class ResourceManager(HTTPServer):
    """Records the requests, and gives the answer that was set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[str] = []
        self.tokens: list[str | None] = []
        self.answer: tuple[int, dict[str, Any]] = (200, {})

    @property
    def words(self) -> list[str]:
        """Return the words that name it on the command line, and the user."""
        return ["--rm", f"http://127.0.0.1:{self.server_port}", "--user", "bob"]


class Answering(BaseHTTPRequestHandler):
    """One call of either kind."""

    server: ResourceManager

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.tokens.append(self.headers.get("X-Loomcard-Token"))
        status, document = self.server.answer
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 (the name is http.server's)

    def log_message(self, *_: object) -> None:
        """Print nothing, because it would mix with the tests' output."""


@pytest.fixture
def rm() -> Iterator[ResourceManager]:
    server = ResourceManager()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_history_lists_every_version(rm: ResourceManager) -> None:
    """There is a line with version, time, user, name and hash for each; an unknown value is a
    dash.
    """
    rm.answer = (200, {"policies": KEPT})
    result = run(policy, ["history", *rm.words])
    assert result.exit_code == 0, result.output
    newest, oldest = (line.split("\u2502") for line in result.output.splitlines()[3:5])
    cells = [[cell.strip() for cell in row] for row in (newest, oldest)]
    assert cells[0][1] == "3"
    assert cells[0][2].startswith("2026-09-2")
    assert cells[0][3:7] == ["alice", "drf.yml", "9f2c4e", "governs"]
    assert cells[1][1:7] == ["1", "-", "-", "fifo.yml", "41aa", ""]
    assert json.loads(run(policy, ["history", "--json", *rm.words]).output) == KEPT


@pytest.mark.parametrize(("words", "query"), [([], ""), (["2"], "version=2&")])
def test_rollback_applies_an_earlier_version(
    rm: ResourceManager, words: list[str], query: str
) -> None:
    """The answer names the new version; without a number the previous version is applied."""
    rm.answer = (200, {"version": 4, "hash": "41aa", "source": "fifo.yml"})
    done = run(policy, ["rollback", *words, *rm.words])
    assert done.exit_code == 0, done.output
    assert done.output == "fifo.yml: applied as version 4, hash 41aa\n"
    assert rm.asked == [f"POST /ws/v1/cluster/loomcard/policy/rollback?{query}user.name=bob"]


@pytest.mark.parametrize(("status", "code"), [(404, 2), (409, 2), (403, 1), (500, 1), (503, 1)])
def test_a_refusal_is_one_line(rm: ResourceManager, status: int, code: int) -> None:
    """It has message and hint of the ResourceManager; a version that does not exist is bad
    input.
    """
    rm.answer = (status, {"message": "Version 9 is not kept.", "hint": "Kept are: 2, 1."})
    done = run(policy, ["rollback", "9", *rm.words])
    assert done.exit_code == code
    assert done.stderr == "error: Version 9 is not kept. (Kept are: 2, 1.)\n"


def test_findings_of_an_earlier_version_are_named(rm: ResourceManager) -> None:
    """If a YAML is no longer valid because its policy was removed, the error says where."""
    found = [{"line": 3, "column": 9, "path": "policy", "message": "unknown", "hint": ""}]
    rm.answer = (400, {"message": "1 error(s)", "hint": "correct it", "findings": found})
    done = run(policy, ["rollback", *rm.words])
    assert done.exit_code == 2
    assert done.stderr == "error: the version before, 3:9: unknown (correct it)\n"
    found[0]["hint"] = "put it into one of loomcard.policy.path (/p)"
    done = run(policy, ["rollback", "8", *rm.words])
    assert done.stderr == f"error: version 8, 3:9: unknown ({found[0]['hint']})\n"


def test_the_token_that_is_named_is_shown(
    rm: ResourceManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token comes from option or variable; without either, that of the running cluster is sent,
    and only to it.
    """
    monkeypatch.chdir(tmp_path)
    given, left = tmp_path / "given", tmp_path / "run" / "local" / "loomcard" / "apply.token"
    given.write_text("g" * 64 + "\n")
    left.parent.mkdir(parents=True)
    left.write_text("l" * 64)
    state = {"pid": 1, "nodes": 1, "scheduler": "loomcard"}
    state_file = left.parent.parent / "state.json"
    state_file.write_text(json.dumps(state | {"web": "127.0.0.1:1"}))
    rm.answer = (200, {"version": 4, "hash": "41aa", "source": "fifo.yml"})
    url = rm.words[1]
    assert run(policy, ["rollback", "--rm", url]).exit_code == 0
    assert run(policy, ["rollback", "--rm", url, "--token-file", str(given)]).exit_code == 0
    state_file.write_text(json.dumps(state | {"web": url.removeprefix("http://")}))
    assert run(policy, ["rollback"]).exit_code == 0
    assert run(policy, ["rollback", "--rm", f"{url}/"]).exit_code == 0
    assert run(policy, ["rollback"], env={"LOOMCARD_TOKEN_FILE": str(given)}).exit_code == 0
    assert [str(each)[:1] for each in rm.tokens] == ["N", "g", "l", "l", "g"]


def test_what_is_no_token_is_said(rm: ResourceManager, tmp_path: Path) -> None:
    """The error is one line with the file and what was expected; nothing was sent."""
    file = tmp_path / "token"
    for command in (APPLY, ["rollback"]):
        words = [*command, *rm.words, "--token-file", str(file)]
        missing = run(policy, words)
        assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
        assert missing.stderr.startswith(f"error: {file}: No such file or directory (")
        file.write_text("hello")
        assert run(policy, words).stderr.startswith(f"error: {file} holds no token (expected")
        file.unlink()
    assert rm.asked == []


def test_the_compose_cluster_needs_no_address() -> None:
    """Its address and its token are known, so naming a second cluster is refused."""
    for command in (APPLY, ["rollback"]):
        for more in (["--rm", "http://a:8088"], ["--token-file", "f"]):
            done = run(policy, [*command, "--on", "docker", *more])
            assert (done.exit_code, "compose cluster" in done.stderr) == (2, True)


def test_bad_words_are_refused(rm: ResourceManager) -> None:
    """A version below 1 and an invalid address exit with 2, and nothing is called."""
    assert run(policy, ["rollback", "0", *rm.words]).exit_code == 2
    assert run(policy, ["history", "--rm", "nowhere"]).exit_code == 2
    assert rm.asked == []
