"""A YARN with Kerberos: tickets of a KDC that the test starts, SPNEGO for HTTP, access lists."""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import requests

from loomcard.cluster import paths
from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.engine.session import replay
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests" / "support" / "gssapi_ticket.py"
CLASS_PATH = ROOT / "jvm-bridge" / "chaos" / "target" / "kdc-classpath.txt"
KDC = "org.apache.hadoop.minikdc.MiniKdc"
REALM = "EXAMPLE.COM"
USERS = ("alice", "bob", "yarnadmin")
DEADLINE_S = 240.0
POLICY = "version: 1\nkind: policy\npolicy: drf\nqueues:\n  a: {submit: [alice]}\n"
KRB5 = """[libdefaults]
  default_realm = {realm}
  udp_preference_limit = 1
  dns_lookup_kdc = false
  dns_uri_lookup = false
  dns_canonicalize_hostname = false
  rdns = false
[realms]
  {realm} = {{
    kdc = {kdc}
  }}
"""


@dataclass(frozen=True)
class Realm:
    """A running KDC; `folder` has krb5.conf, all.keytab and each user's own keytab."""

    folder: Path

    def environment(self, user: str) -> dict[str, str]:
        """Return an environment in which Kerberos finds the user's ticket by itself; `nobody` has
        none.
        """
        return {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_CLIENT_KTNAME": f"FILE:{self.folder}/{user}.keytab",
            "KRB5CCNAME": f"FILE:{self.folder}/{user}.cache",
            "PYTHONPATH": str(self.folder),
        }

    @contextmanager
    def ticket(self, user: str) -> Iterator[None]:
        """Let this process call as that user."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment(user).items():
                patch.setenv(name, value)
            yield


until = functools.partial(wait_until, seconds=DEADLINE_S)


def of_one(keytab: bytes, user: str) -> bytes:
    """Return the entries of a user: each has its length, a count, and after the realm the name's
    parts.
    """
    kept, at = keytab[:2], 2
    while at < len(keytab):
        end = at + 4 + int.from_bytes(keytab[at : at + 4], "big")
        if f"{REALM}\0{chr(len(user))}{user}".encode() in keytab[at:end]:
            kept += keytab[at:end]
        at = end
    return kept


@contextmanager
def kdc(folder: Path) -> Iterator[Realm]:
    """A KDC with the users and the services of this machine."""
    (folder / "kdc.properties").touch()
    keytab, log = folder / "all.keytab", folder / "kdc.log"
    principals = (*USERS, "rm/localhost", "HTTP/localhost", "HTTP/127.0.0.1")
    java = str(paths.java_home() / "bin" / "java")
    words = [KDC, str(folder), str(folder / "kdc.properties"), str(keytab), *principals]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [java, "-Xmx128m", "-cp", CLASS_PATH.read_text().strip(), *words],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        until(lambda: b"Running" in log.read_bytes() or process.poll() is not None, "the KDC")
        assert process.poll() is None, log.read_text()
        theirs = (folder / "krb5.conf").read_text()
        place = theirs.partition("kdc = ")[2].split()[0]
        (folder / "krb5.conf").write_text(KRB5.format(realm=REALM, kdc=place))
        for user in USERS:
            (folder / f"{user}.keytab").write_bytes(of_one(keytab.read_bytes(), user))
        if find_spec("requests_gssapi") is None:
            shutil.copy(STAND_IN, folder / "requests_gssapi.py")
        yield Realm(folder)
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def secured(realm: Realm) -> dict[str, dict[str, str]]:
    """Return the settings of a ResourceManager and a NodeManager; in one JVM they have one
    login.
    """
    keytab, http = str(realm.folder / "all.keytab"), "hadoop.http.authentication"
    secret = realm.folder / "cookies.secret"
    secret.write_text("0123456789abcdef" * 4)
    daemons = {
        f"yarn.{daemon}.{key}": value
        for daemon in ("resourcemanager", "nodemanager")
        for key, value in {
            "principal": f"rm/localhost@{REALM}",
            "keytab": keytab,
            "webapp.spnego-principal": f"HTTP/localhost@{REALM}",
            "webapp.spnego-keytab-file": keytab,
        }.items()
    }
    core = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "privacy",
        "hadoop.http.filter.initializers": (
            "org.apache.hadoop.security.AuthenticationFilterInitializer"
        ),
        f"{http}.type": "kerberos",
        f"{http}.kerberos.principal": "*",
        f"{http}.kerberos.keytab": keytab,
        f"{http}.signature.secret.file": str(secret),
    }
    lists = {"yarn.acl.enable": "true", "yarn.admin.acl": "yarnadmin"}
    return {"core": core, "yarn": daemons | lists}


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """The realm of this module."""
    if find_spec("requests_gssapi") is None and find_library("gssapi_krb5") is None:
        missing = "no libgssapi_krb5 here; install libgssapi-krb5-2 to run the tests with Kerberos"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    with kdc(tmp_path_factory.mktemp("kdc")) as running, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(running.folder)
        yield running


@pytest.fixture(scope="module")
def cluster(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One NodeManager, and a queue that only alice may submit to."""
    folder = tmp_path_factory.mktemp("cluster")
    policy = folder / "first.yml"
    policy.write_text(POLICY)
    settings = LocalSettings(
        run_dir=folder / "run", nodes=1, node_memory_mb=1024, policy=policy, **secured(realm),
        environment={
            "JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={realm.folder / 'krb5.conf'}"
        },
    )  # fmt: skip
    with realm.ticket("yarnadmin"), LocalCluster(settings) as running:
        yield running


def url(cluster: LocalCluster, path: str) -> str:
    return f"http://{cluster.web}/ws/v1/cluster/{path}"


def loomcard(realm: Realm, cluster: LocalCluster, user: str, *words: str) -> tuple[int, str]:
    """Run the command as that user; return its status and all that it printed."""
    done = subprocess.run(
        [sys.executable, "-c", "from loomcard.cli import main; main()", *words],
        cwd=realm.folder, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        env=os.environ | realm.environment(user) | {"LOOMCARD_RM": f"http://{cluster.web}"},
    )  # fmt: skip
    return done.returncode, done.stdout


def ask(realm: Realm, user: str, method: str, address: str, **more: Any) -> requests.Response:
    """Make one call with that user's ticket."""
    import requests_gssapi

    with realm.ticket(user):
        shown = requests_gssapi.HTTPSPNEGOAuth(
            mutual_authentication=requests_gssapi.OPTIONAL,
        )
        return requests.request(method, address, auth=shown, timeout=60, **more)


def submitted(realm: Realm, cluster: LocalCluster, user: str) -> Mapping[str, Any]:
    """Submit an application to queue a whose AM does nothing for a second; return its document."""
    fresh = ask(realm, user, "POST", url(cluster, "apps/new-application")).json()
    application = fresh["application-id"]
    command = {"commands": {"command": "sleep 1"}}
    document = {
        "application-id": application, "application-name": "one", "queue": "a",
        "max-app-attempts": 1, "resource": {"memory": 128, "vCores": 1},
        "am-container-spec": command,
    }  # fmt: skip
    assert ask(realm, user, "POST", url(cluster, "apps"), json=document).status_code == 202

    def ended() -> Mapping[str, Any] | None:
        app: Mapping[str, Any] = cluster.rest.application(application)
        return app if app["state"] in ("FAILED", "FINISHED") else None

    found: Mapping[str, Any] = until(ended, f"{application} is over")
    return found


def test_the_policy_serves_who_may_submit(realm: Realm, cluster: LocalCluster) -> None:
    """The node runs alice's container, which the policy allocated and which is in the journal; bob
    learns who may submit.
    """
    alices = submitted(realm, cluster, "alice")
    assert alices["user"] == "alice"
    runs = read_runs(cluster.container_times)
    assert [(run.application, run.node) for run in runs] == [(alices["id"], "n1")]
    bobs = submitted(realm, cluster, "bob")
    assert "User bob may not submit to queue root.a; who may: alice" in bobs["diagnostics"]
    document = cluster.rest.scheduler()["schedulerInfo"]
    assert document["bridge"]["state"] == "up"
    assert document["allocations"] == {"policy": 1, "fallback": 0}
    assert any(cluster.journal_dir.glob("*.jsonl"))
    assert replay(cluster.journal_dir) == []


def test_only_an_administrators_ticket_changes_the_policy(
    realm: Realm, cluster: LocalCluster
) -> None:
    """Without a ticket the answer is 401, with another user's it is 403, whatever name is claimed
    and though they have the token; the administrator needs no token.
    """
    apply = ("policy", "apply", "fifo", "--no-cluster-check")
    token = ("--token-file", str(cluster.token_file))
    before = cluster.rest.policy()["version"]
    for more in ((), ("--user", "yarnadmin"), token):
        status, said = loomcard(realm, cluster, "nobody", *apply, *more)
        assert (status, "kinit" in said) == (1, True), said
        status, said = loomcard(realm, cluster, "alice", *apply, *more)
        assert (status, "User alice@EXAMPLE.COM is no YARN administrator" in said) == (1, True)
    assert cluster.rest.policy()["version"] == before
    good = realm.folder / "good.yml"
    good.write_text(POLICY.replace("drf", "fifo"))
    status, said = loomcard(realm, cluster, "yarnadmin", "policy", "apply", str(good))
    assert (status, f"applied as version {before + 1}" in said) == (0, True), said
    newest = cluster.rest.policy_history()[0]
    assert (newest["source"], newest["user"]) == ("good.yml", f"yarnadmin@{REALM}")
    status, said = loomcard(realm, cluster, "yarnadmin", "status", "--json")
    assert (status, json.loads(said)["scheduler"]["config"]["version"]) == (0, before + 1)


def test_a_page_of_another_site_changes_nothing(realm: Realm, cluster: LocalCluster) -> None:
    """A browser sends the administrator's ticket to every page, but a form cannot send the
    header.
    """
    address = url(cluster, "loomcard/policy")
    policy = requests.utils.quote(POLICY)
    before = cluster.rest.policy()["version"]
    foreign = {"Origin": "http://evil.example", "Content-Type": "application/x-www-form-urlencoded"}
    for method, where in (("POST", f"{address}/rollback"), ("PUT", address)):
        refused = ask(realm, "yarnadmin", method, where, data=f"a={policy}", headers=foreign)
        assert (refused.status_code, "X-XSRF-HEADER" in refused.text) == (403, True)
    assert cluster.rest.policy()["version"] == before
