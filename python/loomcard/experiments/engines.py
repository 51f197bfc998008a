"""The engines that a cell can run on: a function from a task to a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomcard.cluster.paths import jars
from loomcard.config.shipped import PlaceError
from loomcard.experiments.grid import Cell
from loomcard.results.record import SIMULATOR, RunRecord
from loomcard.workload.scenario import Scenario

DOCKER = "docker"


@dataclass(frozen=True)
class Task:
    """What an engine gets. ``folder``: empty, for the engine's own files; ``journal``: where the
    simulator writes its journal, None for no journal. ``notify``: called now and then with the time
    in ms that has been reached; it may raise KeyboardInterrupt.
    """

    cell: Cell
    scenario: Scenario
    folder: Path = Path()
    journal: Path | None = None
    notify: Callable[[int], None] = lambda _: None


Engine = Callable[[Task], RunRecord]
"""Runs a task. After a KeyboardInterrupt it returns what it has, with ``finished`` False."""


def simulated(task: Task) -> RunRecord:
    """Run the task in the simulator."""
    from loomcard.simulator import simulate

    assert task.cell.config is not None
    return simulate(
        task.scenario,
        task.cell.config,
        policy=task.cell.policy,
        journal=task.journal,
        on_progress=lambda progress: task.notify(progress.now_ms),
    )


def played(task: Task) -> RunRecord:
    """Run the task on a real cluster of its own, whose files stay in the task's folder."""
    from loomcard.player.play import play

    cell = task.cell
    policy: Path | str = cell.source
    if cell.text is not None:
        policy = task.folder / "policy.yml"
        policy.write_text(cell.text, "utf-8")
    record = play(
        task.scenario,
        policy,
        on="docker" if cell.engine == DOCKER else "local",
        folder=task.folder,
        config=cell.queues,
        policy_path=policies_folders(cell.config, cell.home),
        on_progress=lambda progress: task.notify(progress.now_ms),
    )
    record.policy = cell.policy
    return record


def policies_folders(config: dict[str, Any] | None, home: Path) -> list[Path]:
    """Return the folders in which the configuration's policies from files are."""
    named = sorted({queue["policy"] or "" for queue in (config or {"queues": []})["queues"]})
    files = [Path(name.rpartition(":")[0]) for name in named if ".py:" in name]
    folders = [home.resolve(), *(file.resolve().parent for file in files), Path.cwd()]
    return list(dict.fromkeys(folders))


def engine_of(name: str) -> Engine:
    """Return the engine called ``name``: simulator, local or docker."""
    return simulated if name == SIMULATOR else played


def hadoop_version(engine: str) -> str | None:
    """Return the version of Hadoop that an engine runs on, by its jars; None for the simulator, and
    if no jar is found.
    """
    if engine == SIMULATOR:
        return None
    try:
        folder = jars()
    except PlaceError:
        if engine == DOCKER:  # its image brings its own; a checkout need not be built for it
            return None
        raise
    named = (jar.stem.removeprefix("hadoop-common-") for jar in folder.glob("hadoop-common-*.jar"))
    return next(iter(sorted(version for version in named if version[:1].isdigit())), None)
