"""No check of `make chaos` is left out silently."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.chaos.cluster import Cluster
from benchmarks.chaos.run import Log, Run

EMPTY: dict[str, Any] = {"nodes": {}, "applications": {}, "containers": {}, "queues": {}}
FIGURES = {"rounds": 7, "heap_mb": 1, "threads": 1, "files": 1}


class AlwaysCalm:
    """A cluster without containers that is calm as often as ``answers`` says, then never."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.load = SimpleNamespace(ask=self._load)
        self.rm_pid, self.down, self.pauses = 1, [], []
        self.files = SimpleNamespace(state=Path())

    def _load(self, do: str, **_: Any) -> Any:
        return {"containers": {}, "outstanding": {}, "probe_waits_since_ms": 0} | {"do": do}

    def is_calm(self) -> bool:
        return bool(self._answers) and self._answers.pop(0)

    def ask_rm(self, do: str, **_: Any) -> Any:
        return EMPTY if do == "state" else FIGURES

    def mirror(self) -> Any:
        return {"nodes": {}, "containers": [], "pending": {}, "unconfirmed": 0}

    def policy_pids(self) -> list[int]:
        return [2]

    def poke(self) -> None:
        return None

    clear_mode = good_config = collect_pauses = poke


def checked(folder: Path, cluster: AlwaysCalm) -> list[str]:
    """Return the lines of the log after one check."""
    run = Run(Log(folder / "log.jsonl", 1), 1, ("rm.kill",), str, patience=0.01)
    cluster.files.state = folder / "state"
    run.cluster = cast(Cluster, cluster)
    run.check()
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [json.loads(line).get("kind", json.loads(line)["line"]) for line in lines]


def test_a_check_is_made_though_an_application_starts_in_between(tmp_path: Path) -> None:
    """The cluster was calm once; the comparison waits for what still moves."""
    assert checked(tmp_path, AlwaysCalm(True)) == ["figures", "check"]


def test_a_cluster_that_does_not_come_back_is_a_violation(tmp_path: Path) -> None:
    """Nothing can be compared in that case, and the log says so."""
    assert checked(tmp_path, AlwaysCalm()) == ["not back"]


def test_no_node_stays_excluded(tmp_path: Path) -> None:
    """A fault whose command got no answer has no undo, and the command can be carried out later."""

    class Excluding(AlwaysCalm):
        excluded = True

        def ask_rm(self, do: str, **arguments: Any) -> Any:
            self.excluded = self.excluded and (do, arguments) != ("exclude", {"hosts": ""})
            return super().ask_rm(do, **arguments)

        def is_calm(self) -> bool:
            return not self.excluded and super().is_calm()

    assert checked(tmp_path, Excluding(True)) == ["figures", "check"]


def test_a_capsule_that_others_may_read_is_a_violation(tmp_path: Path) -> None:
    """Each check looks at the folder, wherever it is below the state folder."""
    folder = tmp_path / "state" / "rm1" / "capsules"
    folder.mkdir(parents=True)
    for name, mode in (("capsule-1.zip", 0o600), ("capsule-2.zip", 0o644)):
        (folder / name).touch(mode)
    assert checked(tmp_path, AlwaysCalm(True)) == ["figures", "capsules", "check"]
