"""`loomcard explain`, against an explanation made by the policy process's own code."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from loomcard.cli.cluster.explain import explain
from loomcard.engine.explain import Explainer
from loomcard.testing import Cluster

APP = typer.Typer()
APP.command()(explain)
run = CliRunner().invoke
EPOCH = 1_790_000_000_000


def waiting() -> Explainer:
    """A queue whose AM share holds its second AM back."""
    cluster = Cluster("fifo", nodes=[(8192, 8)], queues={"a": {"am_share": "25%"}})
    for app in (1, 2):
        cluster.add_app(app)
        cluster.ask(app, 1, (1536, 1), is_am=True)
    cluster.round()
    cluster.session.mirror.epoch_ms = EPOCH
    return Explainer(cluster.session.mirror, cluster.session.tree)


class Rm(BaseHTTPRequestHandler):
    documents: dict[str, dict[str, Any]]

    def do_GET(self) -> None:
        found = self.documents.get(self.path.rpartition("?")[2])
        body = json.dumps(found or {"message": "There is no queue root.x.", "hint": "Look."})
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    explainer = waiting()
    state = explainer.state
    app = explainer.application(state.applications[2])
    Rm.documents = {
        f"application={state.applications[2].id}": app | {"state": "ACCEPTED"},
        "queue=root.a": explainer.queue(state.by_path["root.a"]),
    }
    with HTTPServer(("127.0.0.1", 0), Rm) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_application_is_explained_with_amounts(address: str) -> None:
    """The sentence, a table of what binds, and the queues above."""
    name = "application_1700000000000_0002"
    said = run(APP, [name, "--rm", address], env={"COLUMNS": "200"})
    assert said.exit_code == 0, said.output
    assert f"{name} (ACCEPTED): Since 2026-09-21" in said.output
    for part in ("AM_LIMIT", "2 GB", "1.5 GB", "1 GB", "am_share: 37.5%", "root.a"):
        assert part in said.output, part


def test_a_queue_is_explained_by_its_causes(address: str) -> None:
    said = run(APP, ["root.a", "--rm", address], env={"COLUMNS": "200"})
    assert said.exit_code == 0, said.output
    assert "AM_LIMIT (1 asks, 1 containers" in said.output


def test_the_document_is_printed_as_it_is(address: str) -> None:
    said = run(APP, ["root.a", "--json", "--rm", address])
    assert json.loads(said.output) == Rm.documents["queue=root.a"]


def test_another_word_is_refused(address: str) -> None:
    """Nothing is asked; the error says what is expected."""
    said = run(APP, ["word-count", "--rm", address])
    assert said.exit_code == 2
    assert "application_1790000000000_0001" in said.output.replace("\n", "")
