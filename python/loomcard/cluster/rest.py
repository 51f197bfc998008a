"""The ResourceManager's REST interface, as far as Loomcard uses it."""

import json
from typing import Any
from urllib.parse import urlsplit

import requests

Document = dict[str, Any]

_READ_S = 10.0
_APPLY_S = 60.0  # an apply waits for the policy process to compile and for the round to end


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


class AddressError(RestError):
    """What was given as the ResourceManager's address is none."""


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        good = False
    if not good:
        raise AddressError(
            f"{url!r} is no address of a ResourceManager", "give it as http://HOST:8088"
        )
    return url.rstrip("/")


class ResourceManagerClient:
    """Asks the ResourceManager at `url` (as in http://127.0.0.1:8088), as `user`.

    Every method raises RestError.
    """

    def __init__(self, url: str, user: str | None = None) -> None:
        self.url = _checked(url)
        self.user = user
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

    def scheduler(self) -> Document:
        """The scheduler's document: Loomcard's own, or what a stock scheduler tells."""
        return self._object("cluster/scheduler", "scheduler")

    def policy(self) -> Document:
        """The applied set-up: version, hash, source and YAML text. Loomcard only."""
        return self._get("cluster/loomcard/policy")

    def apply_policy(self, text: str, name: str) -> Document:
        """Swaps the set-up; returns the applied version and hash."""
        return self._ask(
            "PUT",
            "cluster/loomcard/policy",
            timeout=_APPLY_S,
            params={"name": name},
            data=text.encode(),
            headers={"Content-Type": "text/plain; charset=utf-8"},
        )

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
        params = dict(more.pop("params", {}))
        if self.user is not None:
            params["user.name"] = self.user
        headers = {"Accept": "application/json", **more.pop("headers", {})}
        try:
            answer = self._session.request(
                method,
                f"{self.url}/ws/v1/{path}",
                timeout=timeout,
                params=params,
                headers=headers,
                **more,
            )
        except requests.Timeout as error:
            raise RestError(
                f"the ResourceManager at {self.url} did not answer within {timeout:.0f} s",
                "look at its log; it may be starting or overloaded",
            ) from error
        except requests.RequestException as error:
            raise RestError(
                f"no ResourceManager answers at {self.url}",
                "start one with `loomcard cluster up`, or name another with --rm",
            ) from error
        return _read(answer, path)


def _as_list(value: Any) -> list[Document]:
    # Jersey writes a list of one element as the element itself.
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _read(answer: requests.Response, path: str) -> Document:
    try:
        body = answer.json()
    except requests.JSONDecodeError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    if answer.ok:
        return body
    remote = body.get("RemoteException", body)
    said = str(remote.get("message") or answer.reason)
    hint = str(remote.get("hint") or f"HTTP {answer.status_code} from {path}")
    raise RestError(said, hint, answer.status_code, body)
