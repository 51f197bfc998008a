"""What may be wrong with an installation: one check per line, each with its remedy."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from loomcard import __version__
from loomcard.cluster import paths
from loomcard.cluster.hadoop_config import LOOMCARD_SCHEDULER
from loomcard.cluster.rm_client import ResourceManagerClient, RestError
from loomcard.config.shipped import PlaceError
from loomcard.install import hadoop_conf, metrics, queues
from loomcard.install.applications import running
from loomcard.install.hadoop_conf import SITE, HadoopConf
from loomcard.install.installation import SCHEDULER_KEY, read_record, read_site, same_jar
from loomcard.install.linking import link_check
from loomcard.install.site_file import SiteFileError
from loomcard.install.startup import Check, obstacles, queue_checks

_SKEW_S: Final = 5.0
_ANSWER_S: Final = 10.0
_PROGRAM_S: Final = 60.0


def checks(conf_dir: Path | None, rm: str | None) -> Iterator[Check]:
    """Check this machine, the installation in `conf_dir`, and the ResourceManager `rm`."""
    yield _java()
    if conf_dir is not None:
        yield from _installation(conf_dir, rm)
    yield _port()
    if rm is not None:
        yield from _resource_manager(rm)


def _java() -> Check:
    try:
        java = paths.java_home() / "bin" / "java"
    except PlaceError as error:
        return Check("java", str(error), error.hint)
    done = _run(str(java), "-version")
    if done is None:
        return Check("java", f"{java} has said nothing for {_PROGRAM_S:.0f} s", "set JAVA_HOME")
    said = done.stderr.partition("\n")[0] or f"{java} fails"
    right = re.search(r'"(?:1\.8|8|11|17|21)\b', said)
    return Check("java", said, "" if right else "set JAVA_HOME to a JDK 17, or Hadoop's own")


def _run(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Return what a program prints; None if it does not end. Raises OSError."""
    try:
        return subprocess.run(  # noqa: S603 (the Java and the Python of this Hadoop)
            command, capture_output=True, text=True, check=False, cwd="/", timeout=_PROGRAM_S
        )
    except subprocess.TimeoutExpired:
        return None


def _installation(conf_dir: Path, rm: str | None) -> Iterator[Check]:
    try:
        read_site(conf_dir)
        site = hadoop_conf.read(conf_dir)
        record = read_record(conf_dir)
    except SiteFileError as error:
        yield Check(SITE, str(error), error.hint)
        return
    again = f"loomcard install --hadoop-conf {conf_dir}"
    scheduler = site.get(SCHEDULER_KEY, "stock (not set)")
    ours = scheduler == LOOMCARD_SCHEDULER
    place = site.place(SCHEDULER_KEY)
    by = f", set by {place}" if place and not ours else ""
    remedy = f"remove it from {place}" if record and by else again
    yield Check("scheduler", scheduler + by, "" if ours else remedy)
    yield from obstacles(site, {}, None) if ours else ()
    jar_dir = Path(record.get("jar_dir", ""))
    yield _jar(jar_dir, again)
    if jar_dir.name:
        yield link_check(conf_dir, jar_dir)
    yield _python(site.get("loomcard.python", "python3"), again)
    yield _policy(site.get("loomcard.setup.path"), again)
    yield from _queues(site, rm)
    yield from metrics.configured(site)
    state = site.get("loomcard.state.dir")
    if state:
        yield _state(Path(state))
    writable = os.access(conf_dir, os.W_OK)
    yield Check(
        "write access", str(conf_dir), "" if writable else f"install as who owns {conf_dir}"
    )


def _queues(site: HadoopConf, rm: str | None) -> Iterator[Check]:
    known = running(site, rm)
    if known is None:
        return
    found = list(queue_checks(site, queues.governing(site, None, ""), known))
    yield from found
    if not found:
        count = len(known.applications)
        yield Check("queues", f"there is one for each of {count} applications (by {known.source})")


def _jar(folder: Path, again: str) -> Check:
    found = sorted(folder.glob("loomcard-yarn-*.jar")) if folder.name else []
    if not found:
        return Check("jar", "no loomcard-yarn jar was installed", again)
    if len(found) > 1:
        return Check(
            "jar", f"{len(found)} versions in {folder}", f"remove all but the newest: {again}"
        )
    if not same_jar(found[0]):
        return Check("jar", f"{found[0]} is not of Loomcard {__version__}", again)
    return Check("jar", str(found[0]))


def _python(python: str, again: str) -> Check:
    code = (
        "import loomcard.bridge.process, loomcard.model.state as hot;"
        " print(loomcard.__version__, hot.__file__)"
    )
    try:
        done = _run(python, "-c", code)
    except OSError as error:
        return Check("python", f"{python}: {error.strerror}", again)
    if done is None:
        return Check("python", f"{python} has said nothing for {_PROGRAM_S:.0f} s", again)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it fails"])[-1]
        return Check("python", f"{python}: {why}", f"{python} -m pip install loomcard-*.whl")
    version, _, hot_path = done.stdout.strip().partition(" ")
    built = "" if hot_path.endswith(".py") else ", compiled"
    same = version == __version__
    return Check("python", f"{python} has Loomcard {version}{built}", "" if same else again)


def _policy(setup: str, again: str) -> Check:
    if not setup:
        return Check("policy", "loomcard.setup.path is not set", again)
    try:
        document = json.loads(Path(setup).read_text(encoding="utf-8"))
    except OSError as error:
        return Check("policy", f"{setup}: {error.strerror}", again)
    except ValueError:
        return Check("policy", f"{setup}: not JSON", f"loomcard policy compile fifo --out {setup}")
    return Check("policy", f"{setup}, hash {str(document.get('hash', ''))[:12]}")


def _state(folder: Path) -> Check:
    """Check that only its owner may write there: the secret of the policy process is below it."""
    if not folder.is_dir():
        return Check("secret", f"no folder {folder}", "make it, mode 0700, for the RM's user")
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o022:
        return Check("secret", f"others may write to {folder}", f"chmod 0700 {folder}")
    if not os.access(folder, os.W_OK):
        return Check("secret", f"{folder}: no write access", "run doctor as the RM's user")
    return Check("secret", f"{folder}, mode {mode:04o}")


def _port() -> Check:
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_S):
                return Check("ports", "the policy process can listen on 127.0.0.1")
    except OSError as error:
        return Check("ports", f"127.0.0.1: {error.strerror}", "bring the loopback interface up")


def _resource_manager(rm: str) -> Iterator[Check]:
    client = ResourceManagerClient(rm)
    try:
        info = client.info()
        document = client.scheduler()["schedulerInfo"]
    except RestError as error:
        yield Check("ResourceManager", str(error), error.hint)
        return
    hadoop = info.get("hadoopVersion", "?")
    yield Check("versions", f"Hadoop {hadoop}")
    lacking = (document.get("hadoop") or {}).get("lacking")
    if lacking:
        yield Check("features", f"Hadoop {hadoop} lacks: {', '.join(lacking)}")
    bridge = (document.get("bridge") or {}).get("state")
    if bridge is None:
        said = f"another scheduler runs: {document.get('type', '?')}"
        yield Check("ResourceManager", said, "restart it after loomcard install")
    else:
        remedy = "" if bridge == "up" else "its log says why, under org.loomcard"
        yield Check("ResourceManager", f"{client.url}, policy process {bridge}", remedy)
    yield metrics.scraped(client.url, document)
    yield _clock(client.url)


def _clock(url: str, now: Callable[[], float] = time.time) -> Check:
    """Return the difference to this machine's clock; HTTP's dates are whole seconds."""
    import requests  # imported when a ResourceManager is called: a command's help does not need it

    try:
        date = requests.head(f"{url}/ws/v1/cluster/info", timeout=_ANSWER_S).headers.get("Date")
    except requests.RequestException:
        date = None
    if date is None:
        return Check("clock", "the ResourceManager says no time")
    skew = now() - parsedate_to_datetime(date).timestamp()
    right = abs(skew) <= _SKEW_S
    return Check("clock", f"{skew:+.0f} s to the ResourceManager's", "" if right else "run NTP")
