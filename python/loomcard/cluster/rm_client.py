"""The ResourceManager's REST interface, as far as Loomcard uses it.

`requests` is imported when something is asked: a command's help needs none.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import requests
    from requests.auth import AuthBase

Document = dict[str, Any]
Token = Callable[[str], str]
"""Gives the token of the ResourceManager at an address, when a change of its policy is sent."""

TOKEN_FILE = "apply.token"  # noqa: S105 - the name of a file
"""Where a ResourceManager keeps it, in `loomcard.state.dir`."""

_TOKEN = re.compile(r"[0-9A-Za-z_-]{32,256}")
_OURS = "cluster/loomcard/"

_READ_S = 10.0
_APPLY_S = 120.0  # an apply waits for a process to start and compile, and for a round to end
_PAUSES_S = (0.2, 0.5)  # before a GET is sent again
_FAILOVER_S = (0.5, 1.0, 2.0, 4.0, 8.0)  # the same where another ResourceManager may take over
_PASSING = (502, 503, 504)  # a server or proxy that may answer in a moment


def is_over(application: Document) -> bool:
    """Whether an application has ended, by the ResourceManager's document of it."""
    return application["state"] in ("FINISHED", "FAILED", "KILLED")


class RestError(Exception):
    """The ResourceManager could not be asked, or said no.

    `hint` says what to do about it; `status` is the HTTP status, 0 where there was no answer;
    `body` is the JSON object that came with a refusal, {} where there was none.
    """

    def __init__(self, message: str, hint: str, status: int = 0, body: Document | None = None):
        super().__init__(message)
        self.hint = hint
        self.status = status
        self.body = body or {}


class _NoAnswerError(RestError):
    """Nobody answered, or a standby did: the same question may be answered in a moment."""


class AddressError(RestError):
    """What was given as the ResourceManager's address is none."""


class TokenError(RestError):
    """What was named as the file of a token holds none, or cannot be read."""


def token_of(file: Path) -> Token:
    """The token in a file, read whenever one is sent. Reading raises TokenError."""

    def read(_: str) -> str:
        try:
            text = file.read_text(errors="replace").strip()
        except OSError as error:
            raise TokenError(
                f"{file}: {error.strerror}",
                f"name a copy of {TOKEN_FILE} in the ResourceManager's loomcard.state.dir by"
                " --token-file, and see that you may read it",
            ) from error
        if not _TOKEN.fullmatch(text):
            raise TokenError(
                f"{file} holds no token",
                f"expected the line of {TOKEN_FILE} in the ResourceManager's loomcard.state.dir",
            )
        return text

    return read


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        good = False
    if not good:
        raise AddressError(
            f"{url!r} is not the address of a ResourceManager", "give it as http://HOST:8088"
        )
    return url.rstrip("/")


class ResourceManagerClient:
    """Asks the ResourceManager at `url` (as in http://127.0.0.1:8088), as `user`.

    `url` may name the ResourceManagers of a cluster with high availability, with commas between
    them: the active one is found and asked, and found again after a fail-over. A GET that nobody
    answers is sent again after each of `pauses_s` (None: some seconds in all); a change is sent
    once. A cluster with Kerberos is asked with the caller's ticket (extra `loomcard[kerberos]`);
    another one wants its `token` with a change of its policy.
    Every method raises RestError.
    """

    def __init__(
        self,
        url: str,
        user: str | None = None,
        token: Token | None = None,
        *,
        pauses_s: Sequence[float] | None = None,
    ) -> None:
        self._addresses = [_checked(each.strip()) for each in url.split(",")]
        self._several = len(self._addresses) > 1
        self._known = not self._several  # which one is active
        self.url = self._addresses[0]
        self.user = user
        self._token = token
        usual = _FAILOVER_S if self._several else _PAUSES_S
        self._pauses_s = usual if pauses_s is None else tuple(pauses_s)
        import requests

        self._session = requests.Session()

    def info(self) -> Document:
        """Version, state and start time of the ResourceManager."""
        return self._object("cluster/info", "clusterInfo")

    def metrics(self) -> Document:
        """Counts of applications, containers and nodes; used and free memory and vcores."""
        return self._object("cluster/metrics", "clusterMetrics")

    def nodes(self) -> list[Document]:
        """Every node with its state, rack and use."""
        return self._list("cluster/nodes", "nodes", "node")

    def applications(self) -> list[Document]:
        """Every application that the ResourceManager remembers, oldest first."""
        found = self._list("cluster/apps", "apps", "app")
        return sorted(found, key=lambda app: (app["startedTime"], app["id"]))

    def application(self, application: str) -> Document:
        """One application: state, finalStatus, queue, user, startedTime, diagnostics."""
        return self._object(f"cluster/apps/{application}", "app")

    def attempts(self, application: str) -> list[Document]:
        """The attempts of an application."""
        return self._list(f"cluster/apps/{application}/appattempts", "appAttempts", "appAttempt")

    def containers(self, application: str, attempt: str) -> list[Document]:
        """The ResourceManager's live containers of an attempt (`appattempt_...`)."""
        found = self._get(f"cluster/apps/{application}/appattempts/{attempt}/containers")
        return _as_list(found.get("container"))

    def configuration(self) -> dict[str, str]:
        """Hadoop's properties as the ResourceManager has them, without those left at a default."""
        found = self._get("/conf").get("properties")
        if not isinstance(found, list):
            raise RestError(
                "the ResourceManager's answer to /conf holds no properties",
                f"is {self.url} a YARN ResourceManager?",
            )
        return {
            each["key"]: each["value"]
            for each in found
            if not str(each.get("resource", "")).endswith("-default.xml")
        }

    def scheduler(self) -> Document:
        """The scheduler's document: Loomcard's own, or a stock scheduler's."""
        return self._object("cluster/scheduler", "scheduler")

    def policy(self) -> Document:
        """The applied configuration: version, hash, source and YAML text. Loomcard only."""
        return self._of_loomcard("GET", "")

    def apply_policy(self, text: str, name: str) -> Document:
        """Swaps the configuration; returns the applied version and hash."""
        return self._put_policy(text, {"name": name})

    def _put_policy(self, text: str, params: dict[str, str]) -> Document:
        return self._of_loomcard(
            "PUT",
            "",
            timeout=_APPLY_S,
            params=params,
            data=text.encode(),
            headers={"Content-Type": "text/plain; charset=utf-8"},
        )

    def try_policy(self, text: str, name: str) -> Document:
        """What an apply would come to; nothing is changed: the version and hash that would govern.
        An older ResourceManager, which would apply it, is not sent anything.
        """
        if "dry_run" not in (self.policy().get("features") or []):
            raise RestError(
                f"the ResourceManager at {self.url} is older and has no dry run",
                "compare the file with it by `loomcard policy check FILE --rm URL`",
            )
        return self._put_policy(text, {"name": name, "dry_run": "true"})

    def policy_history(self) -> list[Document]:
        """The versions that are still kept, newest first; the first one governs. Loomcard only."""
        return _as_list(self._of_loomcard("GET", "/history").get("policies"))

    def roll_back_policy(self, version: int | None = None) -> Document:
        """Applies an earlier version again (None: the one before); returns version and hash."""
        return self._of_loomcard(
            "POST",
            "/rollback",
            timeout=_APPLY_S,
            params={} if version is None else {"version": str(version)},
        )

    def _of_loomcard(self, method: str, path: str, **more: Any) -> Document:
        """What only a ResourceManager with Loomcard answers; another one is told by its name."""
        try:
            return self._ask(method, f"{_OURS}policy{path}", **more)
        except RestError as error:
            if error.status != 404:
                raise
            about = self.scheduler()["schedulerInfo"]
            if "config" in about:
                raise
            raise RestError(
                f"the ResourceManager at {self.url} runs another scheduler:"
                f" {about.get('type', 'unknown')}",
                "policies are Loomcard's: see `loomcard install`, or name another with --rm",
            ) from error

    def kill(self, application: str) -> Document:
        """Asks for the end of an application."""
        return self._ask(
            "PUT",
            f"cluster/apps/{application}/state",
            data=json.dumps({"state": "KILLED"}),
            headers={"Content-Type": "application/json"},
        )

    def _object(self, path: str, key: str) -> Document:
        answer = self._get(path).get(key)
        if not isinstance(answer, dict):
            raise RestError(
                f"the ResourceManager's answer to {path} holds no {key}",
                f"is {self.url} a YARN ResourceManager?",
            )
        return answer

    def _list(self, path: str, outer: str, inner: str) -> list[Document]:
        # YARN writes null, or leaves the key out, for an empty list.
        return _as_list((self._get(path).get(outer) or {}).get(inner))

    def _get(self, path: str) -> Document:
        return self._ask("GET", path)

    def _ask(self, method: str, path: str, timeout: float = _READ_S, **more: Any) -> Document:
        """One question, asked again as the class says. `more` is for `requests`."""
        for pause in (*self._pauses_s, None):
            try:
                self._find_active()
                return self._once(method, path, timeout, **more)
            except _NoAnswerError as error:
                # A change may have been made though no answer came; a standby makes none.
                sent = method != "GET" and self._known and not 300 <= error.status < 400
                self._known = not self._several
                if pause is None or sent:
                    raise
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _find_active(self) -> None:
        """Turns `url` to the active ResourceManager, where there are several."""
        if self._known:
            return
        states = {}
        for address in (self.url, *self._addresses):
            if address in states:
                continue
            self.url = address
            try:
                info = self._once("GET", "cluster/info", _READ_S).get("clusterInfo")
            except _NoAnswerError:
                states[address] = "does not answer"
                continue
            state = str(info.get("haState")) if isinstance(info, dict) else "no ResourceManager"
            if state == "ACTIVE":
                self._known = True
                return
            states[address] = f"is {state.lower()}"
        self.url = self._addresses[0]
        states_text = "; ".join(f"{address} {state}" for address, state in states.items())
        raise _NoAnswerError(
            f"no ResourceManager is active: {states_text}",
            "look at their logs; a fail-over takes seconds",
        )

    def _once(self, method: str, path: str, timeout: float, **more: Any) -> Document:
        """One request to `url`; with the caller's ticket where the answer wants one."""
        params = dict(more.pop("params", {}))
        if self.user is not None:
            params["user.name"] = self.user
        headers = {"Accept": "application/json", **more.pop("headers", {})}
        shown = {}
        if method != "GET":
            headers["X-XSRF-HEADER"] = "loomcard"  # a page of another site could not send it
            if self._token is not None and path.startswith(_OURS):
                shown["X-Loomcard-Token"] = self._token(self.url)
        more |= {"timeout": timeout, "params": params, "headers": headers | shown}
        # A standby sends its callers to the active one, by a name that may not be known here; and
        # a token is for the address that was named, for no other.
        more["allow_redirects"] = not self._several and not shown
        answer = self._sent(method, path, **more)
        if answer.status_code == 401 and self._session.auth is None and _negotiates(answer):
            self._session.auth = _ticket()
            answer = self._sent(method, path, **more)
        return _read(answer, path)

    def _sent(self, method: str, path: str, **more: Any) -> requests.Response:
        import requests

        try:
            whole = path if path.startswith("/") else f"/ws/v1/{path}"
            return self._session.request(method, self.url + whole, **more)
        except requests.Timeout as error:
            raise RestError(
                f"the ResourceManager at {self.url} did not answer within {more['timeout']:.0f} s",
                "look at its log; it may be starting or overloaded",
            ) from error
        except requests.RequestException as error:
            raise _NoAnswerError(
                f"no ResourceManager answers at {_asked(error, self.url)}",
                "start one with `loomcard cluster up`, or name another with --rm",
            ) from error


def _asked(error: requests.RequestException, url: str) -> str:
    """The address that failed: `url`, or another to which it had sent us."""
    sent_to = urlsplit(str(error.request.url)) if error.request is not None else urlsplit(url)
    if sent_to.netloc == urlsplit(url).netloc:
        return url
    return f"{sent_to.scheme}://{sent_to.netloc}, to which {url} sends its callers"


def _negotiates(answer: requests.Response) -> bool:
    return "negotiate" in answer.headers.get("WWW-Authenticate", "").lower()


def _ticket() -> AuthBase:
    """SPNEGO with the caller's Kerberos ticket. Raises RestError where nothing here can do it."""
    try:
        from requests_gssapi import OPTIONAL, HTTPSPNEGOAuth  # an extra, for few
    except ImportError as error:
        raise RestError(
            "the ResourceManager wants a Kerberos ticket, and requests-gssapi is not installed",
            "pip install 'loomcard[kerberos]', then kinit",
            401,
        ) from error
    auth: AuthBase = HTTPSPNEGOAuth(mutual_authentication=OPTIONAL)
    return auth


def _as_list(value: Any) -> list[Document]:
    # Jersey writes a list of one element as the element itself.
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _read(answer: requests.Response, path: str) -> Document:
    try:
        body = answer.json()
    except ValueError:
        body = None
    where = answer.url.partition("/ws/v1/")[0].partition("?")[0].removesuffix(path)
    if 300 <= answer.status_code < 400:
        raise _NoAnswerError(
            f"the ResourceManager at {where} is not the active one",
            "name all of them in --rm, with commas between them",
            answer.status_code,
        )
    if answer.ok and not isinstance(body, dict) and answer.content:
        raise RestError(
            f"the answer of {where} to {path} is not a JSON object",
            f"is {where} a YARN ResourceManager?",
            answer.status_code,
        )
    body = body if isinstance(body, dict) else {}
    if answer.ok:
        return body
    remote = body.get("RemoteException", body)
    remote = remote if isinstance(remote, dict) else {}
    said = " ".join(str(remote.get("message") or answer.reason).split())  # a policy may raise lines
    hint = str(remote.get("hint") or f"HTTP {answer.status_code} from {path}")
    if answer.status_code == 401:
        hint = "it wants a Kerberos ticket: get one with kinit; klist shows those that are there"
    if answer.status_code == 404 and not remote:
        hint += f"; is {where} the whole address of a ResourceManager, as in http://HOST:8088?"
    passing = answer.status_code in _PASSING and not body  # what the scheduler says, it means
    raise (_NoAnswerError if passing else RestError)(said, hint, answer.status_code, body)
