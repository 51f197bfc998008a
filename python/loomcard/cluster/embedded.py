"""The embedded cluster: a real YARN in one JVM on this machine, without Docker.

Its node names exist only in a hosts file that every JVM of the cluster reads. So each NodeManager
has its own address, name and rack; `client_options` gives the same names to a client. Linux only:
other systems answer only on 127.0.0.1, not on all of 127.0.0.0/8.
"""

import contextlib
import getpass
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from loomcard.cluster import paths, start_up
from loomcard.cluster.embedded_config import LocalSettings, Machine, render_conf
from loomcard.cluster.rm_client import TOKEN_FILE, ResourceManagerClient, RestError, token_of
from loomcard.config.shipped import PlaceError
from loomcard.validation.hinted import HintedError

_MARK = "@loomcard "
_START_S = 240.0  # seconds on an idle machine, minutes on one busy with other builds
_STOP_S = 30.0
_OLDEST_JAVA = 9
"""The first version that reads a hosts file and knows --add-opens."""
_MAIN = "org.loomcard.yarn.embedded.EmbeddedCluster"


class ClusterError(HintedError):
    """The cluster did not do what was requested. `hint` says where to look."""


def _damaged(run_dir: Path) -> ClusterError:
    return ClusterError(
        f"{run_dir / 'state.json'} is damaged",
        "end the cluster's JVM if it runs, then remove that file",
    )


class LocalCluster:
    """An embedded cluster in `settings.run_dir`.

    As a context manager it stops when the block ends, and with the process that started it.
    `up(detached=True)` leaves it running; `LocalCluster.attach(run_dir)` finds it again. `pid` is
    the process id of its JVM, `web` the host and port of the ResourceManager's web pages.
    """

    def __init__(self, settings: LocalSettings) -> None:
        self.settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        self._seen = 0
        self.web = ""

    @classmethod
    def attach(cls, run_dir: Path) -> Self:
        """Return the cluster left running in `run_dir`. Raises ClusterError if none runs there."""
        try:
            state = json.loads((run_dir / "state.json").read_text())
        except FileNotFoundError:
            raise ClusterError(
                f"no embedded cluster in {run_dir}", "start one with `loomcard cluster up`"
            ) from None
        except ValueError as error:
            raise _damaged(run_dir) from error
        try:
            settings = LocalSettings(
                run_dir=run_dir, nodes=state["nodes"], scheduler=state["scheduler"]
            )
            cluster = cls(settings)
            cluster.pid, cluster.web = int(state["pid"]), str(state["web"])
            # Its clients are of its line.
            paths.use_hadoop(str(state.get("hadoop", paths.BUILT_WITH)))
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(run_dir) from error
        return cluster

    @property
    def run_dir(self) -> Path:
        """The folder for all files of this cluster."""
        return self.settings.run_dir

    @property
    def conf_dir(self) -> Path:
        """Hadoop's configuration, for daemons and clients alike."""
        return self.run_dir / "conf"

    @property
    def journal_dir(self) -> Path:
        """The journal's segments."""
        return self.run_dir / "loomcard" / "journal"

    @property
    def container_times(self) -> Path:
        """What the NodeManagers record about each container, one JSON object per line."""
        return self.run_dir / "containers.jsonl"

    @property
    def log(self) -> Path:
        """The log of ResourceManager, NodeManagers and policy process."""
        return self.run_dir / "logs" / "cluster.log"

    @property
    def _rm_state(self) -> Path:
        return self.run_dir / "rm-state"

    @property
    def _new_classes(self) -> Path:
        return self.run_dir / "tmp" / "classes.jsa"

    @property
    def rest(self) -> ResourceManagerClient:
        """The ResourceManager's REST interface, used as the user that may administer it."""
        return ResourceManagerClient(
            f"http://{self.web}", getpass.getuser(), token_of(self.token_file)
        )

    @property
    def token_file(self) -> Path:
        """The file with the token that allows to change the policy."""
        return self.run_dir / "loomcard" / TOKEN_FILE

    @property
    def client_options(self) -> list[str]:
        """The options with which a client's JVM knows the nodes' names."""
        return [f"-Djdk.net.hosts.file={self.conf_dir / 'hosts'}"]

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()

    def alive(self) -> bool:
        """Whether the cluster's JVM runs."""
        if self._process is not None:
            return self._process.poll() is None
        return _is_ours(self.pid, self.run_dir)

    def up(self, *, detached: bool = False) -> None:
        """Start the cluster and wait until it serves; `detached`: it outlives this process."""
        if (self.run_dir / "state.json").exists():
            if LocalCluster.attach(self.run_dir).alive():
                raise ClusterError(
                    f"an embedded cluster runs already in {self.run_dir}",
                    "stop it with `loomcard cluster down`",
                )
            self._forget()
        _check_java()
        render_conf(self.settings)
        start_up.seed_key(self._rm_state)
        self._launch(detached)
        try:
            ready = self._await_event("ready", _START_S)
            self.pid, self.web = int(ready["pid"]), ready["web"]
            self._write_state()
            if self.settings.is_loomcard:
                self._await(self._bridge_is_up, _START_S, "the policy process is up")
        except BaseException:
            self._stop()
            raise
        start_up.keep_key(self._rm_state)

    def down(self) -> None:
        """Stop the cluster, its containers and its policy process; do nothing if none runs."""
        self._stop()
        if self._new_classes.exists() and (data := _class_data()) is not None:
            data.keep(self._new_classes)

    def _stop(self) -> None:
        if self._process is not None:
            self._stop_child(self._process)
        elif self.pid and self.alive():
            os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + _STOP_S
            while self.alive() and time.monotonic() < deadline:
                time.sleep(0.05)
            if self.alive():
                os.kill(self.pid, signal.SIGKILL)
        _kill_containers(self.run_dir)
        self._forget()

    def restart_resource_manager(self) -> None:
        """Restart only the ResourceManager: NodeManagers and containers continue to run."""
        self.command("restart-rm")
        if self.settings.is_loomcard:
            self._await(self._bridge_is_up, _START_S, "the policy process is up")

    def command(self, line: str) -> None:
        """Send the JVM one of its commands (`stop-node n1`, ...) and wait until it is done."""
        if self._process is None or self._process.stdin is None:
            raise ClusterError("only who started the cluster can command it", "start it attached")
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        self._await_event("done", _START_S)

    def tail(self, lines: int) -> list[str]:
        """Return the last lines of the cluster's log."""
        try:
            return self.log.read_text(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return []

    def _launch(self, detached: bool) -> None:
        home = paths.java_home()
        data = _class_data()
        command = [
            str(home / "bin" / "java"),
            *((data.options or data.recording(self._new_classes)) if data is not None else []),
            f"-Xmx{512 + 16 * len(self.settings.machines)}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            *self.client_options,
            f"-Djava.io.tmpdir={self.run_dir / 'tmp'}",
            f"-Dlog4j.configuration={(self.conf_dir / 'log4j.properties').absolute().as_uri()}",
            "-cp",
            f"{paths.jars()}/*:{self.conf_dir}",
            _MAIN,
            *self._nodes(),
            "--work",
            str(self.run_dir),
            *(["--stay"] if detached else []),
        ]
        ours = {"JAVA_HOME": str(home), "HADOOP_CONF_DIR": str(self.conf_dir)}
        environment = os.environ | ours | self.settings.environment
        for folder in (self.log.parent, self.run_dir / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        self._new_classes.unlink(missing_ok=True)
        with self._events_file.open("wb") as out, self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command line
                command,
                stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
                stdout=out,
                stderr=log,
                cwd=self.run_dir,
                env=environment,
                start_new_session=True,
            )

    def _nodes(self) -> list[str]:
        if self.settings.machines:
            return ["--machines", str(self.conf_dir / "machines.json")]
        return ["--nodes", str(self.settings.nodes)]

    @property
    def _events_file(self) -> Path:
        return self.run_dir / "logs" / "events"

    def _await_event(self, wanted: str, seconds: float) -> dict[str, str]:
        found: dict[str, str] = {}

        def arrived() -> bool:
            lines = [
                line[len(_MARK) :]
                for line in self._events_file.read_text().split("\n")[:-1]
                if line.startswith(_MARK)
            ]
            for line in lines[self._seen :]:
                self._seen += 1
                event = json.loads(line)
                if event["event"] == "failed":
                    raise ClusterError(event["error"], f"the log is {self.log}")
                if event["event"] == wanted:
                    found.update(event)
                    return True
            return False

        self._await(arrived, seconds, f"the cluster says {wanted}")
        return found

    def _await(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if not self.alive():
                last = next((line for line in reversed(self.tail(50)) if line.strip()), "")
                raise ClusterError(
                    f"the embedded cluster ended before {what}: {last}", f"the log is {self.log}"
                )
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{seconds:.0f} s passed before {what}", f"the log is {self.log}"
                )
            time.sleep(0.05)

    def _bridge_is_up(self) -> bool:
        try:
            information: Any = self.rest.scheduler()["schedulerInfo"]
        except RestError:
            return False
        return bool(information.get("bridge", {}).get("state") == "up")

    def _write_state(self) -> None:
        state = {
            "pid": self.pid,
            "web": self.web,
            "nodes": len(self.settings.cluster_machines),
            "scheduler": self.settings.scheduler,
            "hadoop": paths.hadoop_line(),
        }
        written = self.run_dir / "state.json.new"
        written.write_text(json.dumps(state))
        written.replace(self.run_dir / "state.json")  # the file is never incomplete

    def _forget(self) -> None:
        (self.run_dir / "state.json").unlink(missing_ok=True)

    def _stop_child(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        else:
            process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._process = None


def _check_java() -> None:
    version = paths.java_version(paths.java_home())
    if version is not None and version < _OLDEST_JAVA:
        raise ClusterError(
            f"{paths.java_home()} is Java {version}, which reads no hosts file",
            f"set JAVA_HOME to Java {_OLDEST_JAVA} or later: every Hadoop line runs on Java 17",
        )


def _class_data() -> start_up.ClassData | None:
    with contextlib.suppress(PlaceError):
        return start_up.ClassData.of(paths.java_home(), paths.jars())
    return None


def _is_ours(pid: int, run_dir: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return str(run_dir).encode() in words


def _kill_containers(run_dir: Path) -> None:
    """End containers that outlived a NodeManager which could not stop them itself."""
    for file in (run_dir / "nodes").glob("*/local/nmPrivate/**/*.pid"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(file.read_text())
            # Only if the number still belongs to a container of this cluster.
            if str(run_dir).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.killpg(pid, signal.SIGKILL)


def clear(run_dir: Path) -> None:
    """Remove the files that a stopped cluster left in `run_dir`."""
    shutil.rmtree(run_dir, ignore_errors=True)


def resource_manager(
    rm: str | None, user: str | None = None, token_file: Path | None = None
) -> ResourceManagerClient:
    """Return the ResourceManager at `rm`. None: that of the cluster left running below the current
    folder, otherwise the usual one of this machine. That cluster's token is known; another's is
    read from `token_file`. Raises AddressError.
    """
    here = ""
    with contextlib.suppress(ClusterError):
        local = LocalCluster.attach(paths.run_folder("local"))
        here = f"http://{local.web}"
    url = rm or here or "http://127.0.0.1:8088"
    if token_file is None and url.rstrip("/") == here:
        token_file = local.token_file
    token = None if token_file is None else token_of(token_file)
    return ResourceManagerClient(url, user, token)


__all__ = ["ClusterError", "LocalCluster", "LocalSettings", "Machine", "clear", "resource_manager"]
