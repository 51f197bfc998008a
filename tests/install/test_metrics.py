"""What `loomcard doctor` says of the metrics: whether they can be read, and who reads them."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from loomcard.install.hadoop_conf import read
from loomcard.install.metrics import configured, scraped

SERIES = "# TYPE loomcard_bridge_up gauge\nloomcard_bridge_up{} 1\nqueue_metrics_x 2\n"
DOCUMENT = {
    "bridge": {"state": "up"},
    "scrapers": [
        {"agent": "Prometheus/2.42.0", "address": "10.0.0.7", "age_ms": 5_000},
        {"agent": "loomcard-doctor", "address": "10.0.0.1", "age_ms": 100},
    ],
}


@pytest.fixture
def prom() -> Iterator[HTTPServer]:
    """A ResourceManager's /prom that answers with its status and text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = self.server.answer  # type: ignore[attr-defined]
            self.send_response(status if self.path == "/prom" else 500)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("answer", "document", "said", "well"),
    [
        ((200, SERIES), DOCUMENT, "2 series, read by Prometheus/2.42.0 at 10.0.0.7 5 s ago", True),
        ((200, SERIES), {"bridge": {}}, "read by nobody since the ResourceManager", True),
        ((200, "queue_metrics_x 2\n"), DOCUMENT, "1 series, none of Loomcard's", False),
        ((200, "queue_metrics_x 2\n"), {"type": "capacityScheduler"}, "read by nobody", True),
        ((404, ""), DOCUMENT, "(HTTP 404), so Prometheus reads no metrics", True),
        ((401, ""), DOCUMENT, "asks who calls", True),
    ],
)
def test_a_resource_manager_says_what_it_has_and_who_reads_it(
    prom: HTTPServer, answer, document, said: str, well: bool
) -> None:
    """Metrics that are off, or for callers with a ticket, are no fault of the installation."""
    prom.answer = answer  # type: ignore[attr-defined]
    check = scraped(f"http://127.0.0.1:{prom.server_port}", document)
    assert said in check.said
    assert check.well is well


def test_a_configuration_says_whether_they_are_on_and_where_they_go(tmp_path: Path) -> None:
    """Only sinks of the ResourceManager count; a comment is none."""
    site = tmp_path / "yarn-site.xml"
    site.write_text("<configuration></configuration>")
    [check] = configured(read(tmp_path))
    assert "/prom is off" in check.said
    name = "<name>hadoop.prometheus.endpoint.enabled</name>"
    site.write_text(
        f"<configuration><property>{name}<value>true</value></property></configuration>"
    )
    (tmp_path / "hadoop-metrics2.properties").write_text(
        "*.sink.graphite.class=org.x.G\n#resourcemanager.sink.off.class=org.x.O\n"
        "resourcemanager.sink.file.class = org.x.F\nnamenode.sink.nn.class=org.x.N\n"
    )
    on, sinks = configured(read(tmp_path))
    assert on.said == f"/prom is on, by {site}"
    assert sinks.said.startswith("file, graphite, by ")
