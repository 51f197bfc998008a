"""The ResourceManager's REST interface, as far as Loomcard uses it.

`requests` is imported at the first request: a command's help does not need it.
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
"""Returns the token for the ResourceManager at an address, for a change of its policy."""

TOKEN_FILE = "apply.token"  # noqa: S105 - the name of a file
"""The file with a ResourceManager's token, in `loomcard.state.dir`."""

_TOKEN = re.compile(r"[0-9A-Za-z_-]{32,256}")
_OURS = "cluster/loomcard/"

_READ_S = 10.0
_APPLY_S = 120.0  # an apply waits for a process to start and compile, and for a round to end
_EXPLAIN_S = 20.0  # a trial on a copy of the policy process takes some seconds at most
_PAUSES_S = (0.2, 0.5)  # before a GET is sent again
_FAILOVER_S = (0.5, 1.0, 2.0, 4.0, 8.0)  # the same, if another ResourceManager may take over
_PASSING = (502, 503, 504)  # a server or proxy that may answer in a moment


def is_over(application: Document) -> bool:
    """Whether an application has ended, by the ResourceManager's document of it."""
    return application["state"] in ("FINISHED", "FAILED", "KILLED")


class RestError(Exception):
    """A request to the ResourceManager failed or was refused.

    `hint` says what to do about it; `status` is the HTTP status, 0 without an answer; `body` is the
    JSON object that came with a refusal, otherwise {}.
    """

    def __init__(self, message: str, hint: str, status: int = 0, body: Document | None = None):
        super().__init__(message)
        self.hint = hint
        self.status = status
        self.body = body or {}


class _NoAnswerError(RestError):
    """No answer, or only one from a standby: the same request may succeed soon."""


class AddressError(RestError):
    """The given address of the ResourceManager is not an address."""


class TokenError(RestError):
    """The given token file contains no token, or cannot be read."""


def token_of(file: Path) -> Token:
    """Return a reader of the token in a file; it reads before each use, and raises TokenError."""

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
    except ValueError:  # an invalid port, or an incomplete IPv6 address
        good = False
    if not good:
        raise AddressError(
            f"{url!r} is not the address of a ResourceManager", "give it as http://HOST:8088"
        )
    return url.rstrip("/")


class ResourceManagerClient:
    """Sends requests to the ResourceManager at `url` (as in http://127.0.0.1:8088), as `user`.

    `url` may name the ResourceManagers of a cluster with high availability, separated by commas:
    the client finds the active one, and finds it again after a fail-over. A GET without an answer
    is sent again after each of `pauses_s` (None: some seconds in all); a change is sent once. For a
    cluster with Kerberos the caller's ticket is used (extra `loomcard[kerberos]`); any other
    cluster requires its `token` with a change of its policy.
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
        self._known = not self._several  # whether the active one is known
        self.url = self._addresses[0]
        self.user = user
        self._token = token
        usual = _FAILOVER_S if self._several else _PAUSES_S
        self._pauses_s = usual if pauses_s is None else tuple(pauses_s)
        import requests

        self._session = requests.Session()

    def info(self) -> Document:
        """Return version, state and start time of the ResourceManager."""
        return self._object("cluster/info", "clusterInfo")

    def metrics(self) -> Document:
        """Return counts of applications, containers and nodes; used and free memory and vcores."""
        return self._object("cluster/metrics", "clusterMetrics")

    def nodes(self) -> list[Document]:
        """Return every node with its state, rack and use."""
        return self._list("cluster/nodes", "nodes", "node")

    def applications(self) -> list[Document]:
        """Return every application that the ResourceManager remembers, oldest first."""
        found = self._list("cluster/apps", "apps", "app")
        return sorted(found, key=lambda app: (app["startedTime"], app["id"]))

    def application(self, application: str) -> Document:
        """Return one application: state, finalStatus, queue, user, startedTime, diagnostics."""
        return self._object(f"cluster/apps/{application}", "app")

    def attempts(self, application: str) -> list[Document]:
        """Return the attempts of an application."""
        return self._list(f"cluster/apps/{application}/appattempts", "appAttempts", "appAttempt")

    def containers(self, application: str, attempt: str) -> list[Document]:
        """Return the ResourceManager's live containers of an attempt (`appattempt_...`)."""
        found = self._get(f"cluster/apps/{application}/appattempts/{attempt}/containers")
        return _as_list(found.get("container"))

    def configuration(self) -> dict[str, str]:
        """Return the ResourceManager's Hadoop properties, without those left at a default."""
        # Hadoop 2.7 asks for it in the query, later lines in the header that every request has.
        found = self._get("/conf?format=json").get("properties")
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
        """Return the scheduler's document: Loomcard's own, or a stock scheduler's.

        Loomcard's own stands beside a document of CapacityScheduler's shape, for other clients.
        """
        found = self._object("cluster/scheduler", "scheduler")
        about = found.get("schedulerInfo")
        return {"schedulerInfo": about["loomcard"]} if about and "loomcard" in about else found

    def policy(self) -> Document:
        """Return the applied configuration: version, hash, source, YAML text. Loomcard only."""
        return self._of_loomcard("GET", "policy")

    def explain(self, name: str) -> Document:
        """Return why an application, by its id, or a queue, by its path, waits. Loomcard only."""
        kind = "application" if name.startswith("application_") else "queue"
        return self._of_loomcard("GET", "explain", timeout=_EXPLAIN_S, params={kind: name})

    def apply_policy(self, text: str, name: str) -> Document:
        """Replace the configuration; return the applied version and hash."""
        return self._put_policy(text, {"name": name})

    def _put_policy(self, text: str, params: dict[str, str]) -> Document:
        return self._of_loomcard(
            "PUT",
            "policy",
            timeout=_APPLY_S,
            params=params,
            data=text.encode(),
            headers={"Content-Type": "text/plain; charset=utf-8"},
        )

    def try_policy(self, text: str, name: str) -> Document:
        """Return the version and hash that an apply would give, without any change. Nothing is sent
        to an older ResourceManager, which would apply it.
        """
        if "dry_run" not in (self.policy().get("features") or []):
            raise RestError(
                f"the ResourceManager at {self.url} is older and has no dry run",
                "compare the file with it by `loomcard policy check FILE --rm URL`",
            )
        return self._put_policy(text, {"name": name, "dry_run": "true"})

    def policy_history(self) -> list[Document]:
        """Return the versions still kept, newest first; the first one governs. Loomcard only."""
        return _as_list(self._of_loomcard("GET", "policy/history").get("policies"))

    def roll_back_policy(self, version: int | None = None) -> Document:
        """Apply an earlier version again (None: the previous one); return version and hash."""
        return self._of_loomcard(
            "POST",
            "policy/rollback",
            timeout=_APPLY_S,
            params={} if version is None else {"version": str(version)},
        )

    def _of_loomcard(self, method: str, path: str, **more: Any) -> Document:
        """Request what only Loomcard answers; the error for another scheduler names it."""
        try:
            return self._ask(method, f"{_OURS}{path}", **more)
        except RestError as error:
            if error.status != 404:
                raise
            about = self.scheduler()["schedulerInfo"]
            if "config" in about:
                raise
            raise RestError(
                f"the ResourceManager at {self.url} runs another scheduler:"
                f" {about.get('type', 'unknown')}",
                "this is Loomcard's alone: see `loomcard install`, or name another with --rm",
            ) from error

    def kill(self, application: str) -> Document:
        """Request the end of an application."""
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
        """Send one request, and repeat it as the class says. `more` is for `requests`."""
        for pause in (*self._pauses_s, None):
            try:
                self._find_active()
                return self._once(method, path, timeout, **more)
            except _NoAnswerError as error:
                # A change may have been made without an answer; a standby makes no change.
                sent = method != "GET" and self._known and not 300 <= error.status < 400
                self._known = not self._several
                if pause is None or sent:
                    raise
            time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _find_active(self) -> None:
        """Set `url` to the active ResourceManager, if there are several."""
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
        """Send one request to `url`; with the caller's ticket if the answer requires one."""
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
        # A standby redirects to the active one, by a name that may be unknown here; and a token is
        # only for the given address.
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
    """Return the address that failed: `url`, or the target of its redirect."""
    sent_to = urlsplit(str(error.request.url)) if error.request is not None else urlsplit(url)
    if sent_to.netloc == urlsplit(url).netloc:
        return url
    return f"{sent_to.scheme}://{sent_to.netloc}, to which {url} sends its callers"


def _negotiates(answer: requests.Response) -> bool:
    return "negotiate" in answer.headers.get("WWW-Authenticate", "").lower()


def _ticket() -> AuthBase:
    """Return SPNEGO with the caller's Kerberos ticket. Raises RestError if it is not installed."""
    try:
        from requests_gssapi import OPTIONAL, HTTPSPNEGOAuth  # an extra
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
    passing = answer.status_code in _PASSING and not body  # with a body the scheduler has decided
    raise (_NoAnswerError if passing else RestError)(said, hint, answer.status_code, body)
