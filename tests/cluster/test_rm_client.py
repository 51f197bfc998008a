"""The REST client: without an answer, when another RM takes over, and with Kerberos."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
import requests
from requests.auth import AuthBase

from loomcard.cluster.rm_client import (
    AddressError,
    ResourceManagerClient,
    RestError,
    TokenError,
    token_of,
)

NOBODY = "http://127.0.0.1:1"
SOON = (0.0, 0.0)


class ResourceManager:
    """Answers `cluster/info`, `cluster/metrics` and the policy, or as a standby does."""

    def __init__(self) -> None:
        self.state = "ACTIVE"
        self.calls: list[str] = []
        self.shown: list[tuple[str | None, str | None]] = []  # what came with each call
        self.broken: list[int] = []  # the statuses of the next answers, without a document
        self.body = b""
        self.ticket: str | None = None
        self.redirect = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.path.partition("?")[0].removeprefix("/ws/v1/")
                outer.calls.append(f"{self.command} {asked}")
                headers = ("X-XSRF-HEADER", "X-Loomcard-Token")
                outer.shown.append((self.headers.get(headers[0]), self.headers.get(headers[1])))
                self.send(*outer.answer(self.path, self.headers.get("Authorization")))

            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str, ticket: str | None) -> tuple[int, bytes, dict[str, str]]:
        if self.broken:
            return self.broken.pop(0), self.body, {}
        if self.ticket is not None and ticket != self.ticket:
            return 401, b"", {"WWW-Authenticate": "Negotiate"}
        if path.startswith("/ws/v1/cluster/info"):
            return 200, json.dumps({"clusterInfo": {"haState": self.state}}).encode(), {}
        if self.state != "ACTIVE":
            headers = {"Location": self.redirect + path} if self.redirect else {}
            return 307, b"This is standby RM.", headers
        return 200, json.dumps({"clusterMetrics": {"url": self.url}, "version": 2}).encode(), {}


@contextmanager
def running() -> Iterator[ResourceManager]:
    manager = ResourceManager()
    thread = Thread(target=manager.server.serve_forever, daemon=True)
    thread.start()
    yield manager
    manager.server.shutdown()
    manager.server.server_close()
    thread.join()


@pytest.fixture
def rm() -> Iterator[ResourceManager]:
    with running() as manager:
        yield manager


@pytest.fixture
def other() -> Iterator[ResourceManager]:
    with running() as manager:
        manager.state = "STANDBY"
        yield manager


def test_a_question_is_asked_again(rm: ResourceManager) -> None:
    """A proxy's 502 and 503 are repeated; the third answer counts."""
    rm.broken = [502, 503]
    assert ResourceManagerClient(rm.url, pauses_s=SOON).metrics() == {"url": rm.url}
    assert rm.calls == ["GET cluster/metrics"] * 3


def test_what_the_scheduler_says_is_not_asked_again(rm: ResourceManager) -> None:
    """A 503 with a document is the scheduler's own answer."""
    rm.broken, rm.body = [503], b'{"message": "down", "hint": "wait"}'
    with pytest.raises(RestError, match="down") as error:
        ResourceManagerClient(rm.url, pauses_s=SOON).policy()
    assert (error.value.hint, error.value.status, len(rm.calls)) == ("wait", 503, 1)


def test_what_the_scheduler_says_is_one_line(rm: ResourceManager) -> None:
    """The message may quote what a policy raised, of any number of lines; one line is shown."""
    rm.broken, rm.body = [500], b'{"message": "the policy raised: a\\n  b\\n", "hint": "wait"}'
    with pytest.raises(RestError, match=r"^the policy raised: a b$"):
        ResourceManagerClient(rm.url, pauses_s=SOON).policy()


def test_a_change_is_sent_once(rm: ResourceManager) -> None:
    """A change is sent once: no answer does not mean that nothing was done."""
    rm.broken = [502, 502]
    with pytest.raises(RestError):
        ResourceManagerClient(rm.url, pauses_s=SOON).apply_policy("version: 1", "a.yml")
    assert rm.calls == ["PUT cluster/loomcard/policy"]


def test_the_active_one_is_found(rm: ResourceManager, other: ResourceManager) -> None:
    """One address is dead, one is a standby; a change goes only to the active one."""
    urls = f"{NOBODY}, {other.url}/,{rm.url}"
    client = ResourceManagerClient(urls, pauses_s=SOON)
    assert client.apply_policy("version: 1", "a.yml")["version"] == 2
    assert client.url == rm.url
    assert other.calls == ["GET cluster/info"]
    assert rm.calls == ["GET cluster/info", "PUT cluster/loomcard/policy"]


def test_another_takes_over(rm: ResourceManager, other: ResourceManager) -> None:
    """After a fail-over the new active one gets requests and changes."""
    client = ResourceManagerClient(f"{rm.url},{other.url}", pauses_s=SOON)
    assert client.metrics() == {"url": rm.url}
    rm.state, other.state = "STANDBY", "ACTIVE"
    assert client.metrics() == {"url": other.url}
    rm.state, other.state = "ACTIVE", "STANDBY"
    assert client.apply_policy("version: 1", "a.yml")["version"] == 2
    assert (client.url, rm.calls[-1]) == (rm.url, "PUT cluster/loomcard/policy")


def test_a_change_shows_the_token(rm: ResourceManager, other: ResourceManager) -> None:
    """Only changes of the policy carry the active one's token; every change carries the header that
    a page of another site cannot send.
    """
    asked: list[str] = []

    def token(url: str) -> str:
        asked.append(url)
        return "t" * 64

    client = ResourceManagerClient(f"{other.url},{rm.url}", "me", token, pauses_s=SOON)
    client.policy()
    client.kill("application_1_0001")
    assert asked == []
    client.apply_policy("version: 1", "a.yml")
    assert asked == [rm.url]
    assert rm.shown[-3:] == [(None, None), ("loomcard", None), ("loomcard", "t" * 64)]
    assert other.shown == [(None, None)]


def test_a_token_is_for_one_address(rm: ResourceManager, other: ResourceManager) -> None:
    """A standby's redirect takes the token nowhere else; without a token it is followed as
    usual.
    """
    other.redirect = rm.url
    with pytest.raises(RestError, match="is not the active one"):
        ResourceManagerClient(other.url, "me", lambda _: "t" * 64, pauses_s=SOON).apply_policy(
            "version: 1", "a.yml"
        )
    assert rm.calls == []
    ResourceManagerClient(other.url, pauses_s=SOON).apply_policy("version: 1", "a.yml")
    assert rm.calls == ["PUT cluster/loomcard/policy"]


def test_a_token_is_read_from_its_file(tmp_path: Path) -> None:
    """The token is read each time it is sent, so that a renewed one counts; what is not a token is
    never sent.
    """
    file = tmp_path / "apply.token"
    token = token_of(file)
    with pytest.raises(TokenError, match=f"{file}: No such file") as missing:
        token("http://rm:8088")
    assert "--token-file" in missing.value.hint
    for text in ("0123456789abcdef" * 4, "abcdefghij_-ABCDEFGHIJ0123456789\n"):
        file.write_text(text)
        assert token("http://rm:8088") == text.strip()
    for text in ("", "short", "a b" * 40, "a" * 40 + "\n" + "b" * 40, "\u00e9" * 40):
        file.write_text(text)
        with pytest.raises(TokenError, match="holds no token"):
            token("http://rm:8088")


def test_nobody_is_active(other: ResourceManager) -> None:
    """The error names every address with its answer."""
    client = ResourceManagerClient(f"{NOBODY},{other.url}", pauses_s=SOON)
    with pytest.raises(RestError, match="no ResourceManager is active") as error:
        client.metrics()
    assert f"{NOBODY} does not answer; {other.url} is standby" in str(error.value)


def test_a_standby_sends_on(rm: ResourceManager, other: ResourceManager) -> None:
    """With one known address, the standby's redirect is followed; if it leads nowhere, it is
    named.
    """
    other.redirect = rm.url
    assert ResourceManagerClient(other.url, pauses_s=SOON).metrics() == {"url": rm.url}
    other.redirect = NOBODY
    with pytest.raises(RestError, match=f"{NOBODY}, to which {other.url} sends"):
        ResourceManagerClient(other.url, pauses_s=SOON).metrics()
    other.redirect = ""
    with pytest.raises(RestError, match="is not the active one") as error:
        ResourceManagerClient(other.url, pauses_s=SOON).metrics()
    assert "with commas" in error.value.hint


def test_another_web_server_is_found_out(rm: ResourceManager) -> None:
    """A page with status 200 is not an answer of a ResourceManager's REST interface."""
    for body in (b"<html>", b"[1]", b"\xff\x00"):
        rm.broken, rm.body = [200], body
        with pytest.raises(RestError, match="not a JSON object") as error:
            ResourceManagerClient(rm.url, pauses_s=SOON).nodes()
        assert "a YARN ResourceManager?" in error.value.hint


def test_an_answer_without_what_was_asked_for_is_named(rm: ResourceManager) -> None:
    """If the JSON comes from another service, the error says which page lacks what."""
    rm.broken, rm.body = [200], b'{"clusterMetrics": 7}'
    with pytest.raises(RestError) as error:
        ResourceManagerClient(rm.url, pauses_s=SOON).metrics()
    said = "the ResourceManager's answer to cluster/metrics holds no clusterMetrics"
    assert (str(error.value), error.value.hint) == (said, f"is {rm.url} a YARN ResourceManager?")


def test_a_wrong_path_has_its_remedy(rm: ResourceManager) -> None:
    """404 with a page that is not the ResourceManager's means that the address was wrong."""
    rm.broken, rm.body = [404], b"<html>"
    with pytest.raises(RestError, match="Not Found") as error:
        ResourceManagerClient(rm.url, pauses_s=SOON).nodes()
    assert "as in http://HOST:8088?" in error.value.hint


@pytest.mark.parametrize("url", ["", "http://a,", "ftp://a", "http://[::1", "http://a:99999"])
def test_an_address_that_is_none(url: str) -> None:
    """Each of several addresses is checked before the first call."""
    with pytest.raises(AddressError, match="not the address of a ResourceManager"):
        ResourceManagerClient(url)


def test_a_ticket_is_shown_where_one_is_wanted(
    rm: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra package answers the challenge; without it the error says what to install."""
    rm.ticket = "Negotiate abc"
    monkeypatch.setitem(sys.modules, "requests_gssapi", None)
    client = ResourceManagerClient(rm.url, pauses_s=SOON)
    with pytest.raises(RestError, match="Kerberos ticket") as error:
        client.metrics()
    assert (error.value.status, "loomcard[kerberos]" in error.value.hint) == (401, True)

    class Ticket(AuthBase):
        def __init__(self, mutual_authentication: int) -> None:
            assert mutual_authentication == 2

        def __call__(self, request: requests.PreparedRequest) -> Any:
            request.headers["Authorization"] = "Negotiate abc"
            return request

    package = ModuleType("requests_gssapi")
    package.HTTPSPNEGOAuth, package.OPTIONAL = Ticket, 2  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "requests_gssapi", package)
    assert client.metrics() == {"url": rm.url}


def test_another_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """YARN answers 404 for what only Loomcard has; the error names the scheduler that runs."""
    client = ResourceManagerClient(NOBODY, pauses_s=())

    def ask(method: str, path: str, **_: Any) -> dict[str, Any]:
        if path == "cluster/scheduler":
            return {"scheduler": {"schedulerInfo": {"type": "capacityScheduler"}}}
        raise RestError(f"{method} {path}", "not found", 404)

    monkeypatch.setattr(client, "_ask", ask)
    for call in (client.policy, client.policy_history, client.roll_back_policy):
        with pytest.raises(RestError, match="runs another scheduler: capacityScheduler") as caught:
            call()
        assert caught.value.status == 0
