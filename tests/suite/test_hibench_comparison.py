"""HiBench's workloads under one policy after the other, and what remains of them after Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fake_hibench import installed, programs
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.suite.hibench.comparison import Comparison, Results, compare
from loomcard.suite.hibench.installation import Installation
from loomcard.suite.hibench.places import ConfiguredCluster, policies
from loomcard.suite.hibench.workloads import WORKLOADS, Framework, Workload, workload
from waiting import wait_until

DEADLINE_S = 240


class Manager(ThreadingHTTPServer):
    """A ResourceManager that turns each call of the stand-in's `hadoop` into an application. A run
    of a workload that HiBench has continues until it is killed; `events` records what came, in
    order.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.folder = folder
        self.events: list[str] = []
        self.killed: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def applications(self) -> list[dict[str, Any]]:
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [self._application(f"application_1_{n:04}", line) for n, line in enumerate(lines)]

    def _application(self, name: str, line: str) -> dict[str, Any]:
        step, data = line.split(" jar ")[1].split()[1:3]
        held = (self.folder / "HiBench" / f"hold-{data.rpartition('/')[2]}").exists()
        runs = held and step != "prepare" and name not in self.killed
        final = "KILLED" if name in self.killed else "UNDEFINED" if runs else "SUCCEEDED"
        return {
            "id": name,
            "name": step,
            "queue": "root.default",
            "applicationTags": line.rpartition("tag=")[2],
            "state": "RUNNING" if runs else "FINISHED",
            "finalStatus": final,
            "startedTime": 1000,
            "launchTime": 1500,
            "finishedTime": 0 if runs else 9000,
        }


class Answering(BaseHTTPRequestHandler):
    server: Manager

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/ws/v1/cluster/")
        documents: dict[str, Any] = {
            "apps": {"apps": {"app": self.server.applications()}},
            "nodes": {"nodes": {"node": [{"nodeHostName": "n1", "state": "RUNNING"}]}},
            "scheduler": {
                "scheduler": {"schedulerInfo": {"allocations": {"policy": 7, "fallback": 0}}}
            },
        }
        self._answer(documents[path])

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if found := re.search(r"apps/(\w+)/state", self.path):
            self.server.killed.add(found[1])
        else:
            self.server.events.append(f"policy {len(self.server.applications())}")
        self._answer({})

    def _answer(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing, because it would mix with the tests' output."""


@contextmanager
def serving(folder: Path) -> Iterator[Manager]:
    manager = Manager(folder)
    thread = Thread(target=manager.serve_forever, daemon=True)
    thread.start()
    try:
        yield manager
    finally:
        manager.shutdown()
        manager.server_close()
        thread.join()


@pytest.fixture
def there(tmp_path: Path) -> Installation:
    return installed(tmp_path)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with serving(tmp_path) as found:
        yield found


def compared(there: Installation, manager: Manager, *names: str, **more: Any) -> Results:
    place = ConfiguredCluster(manager.folder / "conf", ResourceManagerClient(manager.url, "me"))
    out = manager.folder / "out"
    cells = policies(["drf", "fifo"], "local")
    chosen: list[tuple[Workload, Framework]] = [(workload(name), "hadoop") for name in names]
    asked = Comparison(chosen, cells, there, out, **{"at_a_time": len(names), **more})
    results = Results(out / "hibench.json")
    compare(asked, place, results, lambda _, __: None)
    assert json.loads(results.file.read_text()) == results.document()
    return results


def steps(manager: Manager) -> list[str]:
    lines = (manager.folder / "calls").read_text().splitlines()
    return [line.split(" jar ")[1].split()[1] for line in lines]


def test_every_input_is_there_before_the_first_run(there: Installation, manager: Manager) -> None:
    """HiBench's generators take no seed, so policies are compared on one input. No run that counts
    shares the cluster with a generator.
    """
    results = compared(there, manager, "sort", "wordcount")
    assert not results.failed
    assert steps(manager) == ["prepare"] * 2 + ["hadoop"] * 4
    # The first policy is applied for the inputs, and again right before its runs, as the second.
    assert manager.events == ["policy 0", "policy 2", "policy 4"]
    assert [row["policy"] for row in results.prepared] == ["drf"] * 2
    assert [row["policy"] for row in results.runs] == ["drf"] * 2 + ["fifo"] * 2
    lines = (manager.folder / "calls").read_text().splitlines()
    assert len({line.split(" jar ")[1].split()[2] for line in lines}) == 2
    assert results.runs[0]["allocated"] == {"policy": 0, "fallback": 0}


def asked(there: Installation, *names: str, **more: Any) -> Comparison:
    chosen: list[tuple[Workload, Framework]] = [(workload(name), "hadoop") for name in names]
    return Comparison(chosen, policies(["drf"], "local"), there, Path("out"), **more)


def test_small_workloads_are_spread_over_a_mix(there: Installation) -> None:
    """Inputs and runs are small alike. Inputs are not made at the times of arrivals."""
    names = [name for name, each in WORKLOADS.items() if "hadoop" in each.frameworks] * 2
    mix = asked(there, *names[:10], parallelism=3, every_s=5.0, small=0.3)
    runs, inputs = mix.wanted("run", "drf"), mix.wanted("prepare")
    assert [each.parallelism for each in runs] == [3, 3, 3, 1, 3, 3, 1, 3, 3, 1]
    assert [each.parallelism for each in inputs] == [each.parallelism for each in runs]
    assert [each.after_s for each in runs] == [5.0 * number for number in range(10)]
    assert {each.after_s for each in inputs} == {0.0}
    assert {each.parallelism for each in asked(there, *names).wanted("run", "drf")} == {2}


def test_a_mix_uses_the_inputs_of_an_earlier_run(there: Installation, manager: Manager) -> None:
    """It runs every workload beside those before, whatever `at_a_time` is."""
    compared(there, manager, "sort", "wordcount")
    again = compared(there, manager, "sort", "wordcount", every_s=0.1, at_a_time=1, prepared=True)
    assert not again.failed
    assert again.prepared == []
    assert sorted(row["after_s"] for row in again.runs) == [0.0, 0.0, 0.1, 0.1]
    assert steps(manager) == ["prepare"] * 2 + ["hadoop"] * 8
    lines = (manager.folder / "calls").read_text().splitlines()
    assert len({line.split(" jar ")[1].split()[2] for line in lines}) == 2


def test_a_workload_without_input_is_not_run(there: Installation, manager: Manager) -> None:
    (there.home / "fail-prepare").touch()
    results = compared(there, manager, "sort")
    assert results.failed
    assert results.runs == []
    assert "out of room" in results.prepared[0]["wrong"]
    assert manager.events == ["policy 0"]


def test_ctrl_c_kills_what_was_submitted_and_keeps_what_was_measured(
    there: Installation, manager: Manager, tmp_path: Path
) -> None:
    """Applications are killed by the tags that the run gave; its scripts end with all that they
    started.
    """
    (there.home / "hold-micro.sort").touch()
    (tmp_path / "calls").write_text("--config x jar y hadoop z/micro.sort queue= tag=another\n")
    process = started(there, manager, "wordcount", "sort", "--at-a-time", "2")
    out = tmp_path / "out" / "hibench.json"
    wait_for_a_run(process, out, tmp_path / "held")
    process.send_signal(signal.SIGINT)
    said, error = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, error
    assert error == f"error: interrupted; what has run is in {out}\n"
    assert "micro.wordcount" in said
    wait_for_the_end((tmp_path / "held").read_text())
    assert "<value>root.default</value>" in (tmp_path / "calls").read_text()
    runs = json.loads(out.read_text())["runs"]
    assert [(row["workload"], row["wrong"]) for row in runs] == [
        ("micro.wordcount", ""), ("micro.sort", "stopped"),
    ]  # fmt: skip
    assert runs[0]["hibench"]["duration_s"] == "17.5"
    ours = [app for row in runs for app in row["applications"]]
    assert [app["final_status"] for app in ours] == ["SUCCEEDED", "KILLED"]
    assert manager.killed == {ours[1]["id"]}


def test_ctrl_c_in_a_mix_leaves_out_what_has_not_arrived(
    there: Installation, manager: Manager, tmp_path: Path
) -> None:
    (there.home / "hold-micro.sort").touch()
    process = started(there, manager, "sort", "wordcount", "--every", "1000")
    wait_for_a_run(process, None, tmp_path / "held")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, error
    runs = json.loads((tmp_path / "out" / "hibench.json").read_text())["runs"]
    assert [(row["workload"], row["wrong"]) for row in runs] == [("micro.sort", "stopped")]
    assert manager.killed == {runs[0]["applications"][0]["id"]}
    assert steps(manager) == ["prepare", "prepare", "hadoop"]


def started(there: Installation, manager: Manager, *words: str) -> "subprocess.Popen[str]":
    """Start `loomcard hibench run` with these words."""
    more = ["--framework", "hadoop", "--queue", "root.default", "--out", "out"]
    more += ["--home", str(there.home), "--hadoop-home", str(there.hadoop_home)]
    more += ["--hadoop-conf", str(manager.folder / "conf"), "--rm", manager.url]
    program = "from loomcard.cli import main; main()"
    stubs = programs(manager.folder / "stubs", "python2", "bc")
    return subprocess.Popen(
        [sys.executable, "-c", program, "hibench", "run", *words, *more],
        cwd=manager.folder,
        env=os.environ | {"PATH": f"{stubs}:{os.environ['PATH']}"},
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_a_run(process: "subprocess.Popen[str]", out: Path | None, held: Path) -> None:
    """Wait until a run is running, and another was measured, unless `out` is None."""

    def begun() -> bool:
        assert process.poll() is None, process.communicate()
        measured = out is None or (out.exists() and json.loads(out.read_text())["runs"])
        return measured and held.exists() and held.read_text().endswith("\n")

    wait_until(begun, "the runs began", seconds=DEADLINE_S)


def wait_for_the_end(number: str) -> None:
    """Wait until the process has ended; its parent may not have read its status yet."""
    status = Path("/proc") / number.strip() / "stat"
    wait_until(
        lambda: not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z",
        "it ended",
        seconds=DEADLINE_S,
    )
