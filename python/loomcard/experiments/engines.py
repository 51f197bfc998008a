"""The engines that a cell can run on, behind one call: a task in, a record out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomcard.cluster.paths import jars
from loomcard.config.shipped import PlaceError
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario

SIMULATOR = "simulator"
DOCKER = "docker"


@dataclass(frozen=True)
class Task:
    """What an engine gets. ``source``: the policy as the experiment names it; ``text``: its
    configuration's YAML, ``config`` the same compiled (None: stock YARN's). ``folder``: empty, the
    engine's own. ``notify``: called now and then with the time in ms that has been reached; it may
    raise KeyboardInterrupt. ``queues``: the configuration whose queues a stock scheduler gets.
    ``home``: where the configuration's file lies.
    """

    scenario: Scenario
    policy: str
    source: str
    text: str | None
    config: dict[str, Any] | None
    folder: Path
    journal: Path | None
    engine: str
    notify: Callable[[int], None]
    queues: dict[str, Any] | None = None
    home: Path = Path()


Engine = Callable[[Task], RunRecord]
"""Runs a task; ended early by KeyboardInterrupt, returns what it has, ``finished`` False."""


def simulated(task: Task) -> RunRecord:
    """In the simulator."""
    from loomcard.simulator import simulate

    assert task.config is not None
    return simulate(
        task.scenario,
        task.config,
        policy=task.policy,
        journal=task.journal,
        on_progress=lambda progress: task.notify(progress.now_ms),
    )


def played(task: Task) -> RunRecord:
    """On a real cluster of its own; what the cluster wrote stays beside the results."""
    from loomcard.player.play import play

    policy: Path | str = task.source
    if task.text is not None:
        policy = task.folder / "policy.yml"
        policy.write_text(task.text, "utf-8")
    record = play(
        task.scenario,
        policy,
        on="docker" if task.engine == DOCKER else "local",
        folder=task.folder,
        config=task.queues,
        policy_path=policies_folders(task.config, task.home),
        on_progress=lambda progress: task.notify(progress.now_ms),
    )
    record.policy = task.policy
    return record


def policies_folders(config: dict[str, Any] | None, home: Path) -> list[Path]:
    """Where the configuration's policies in files lie: the offline reading of their paths."""
    named = sorted({queue["policy"] or "" for queue in (config or {"queues": []})["queues"]})
    files = [Path(name.rpartition(":")[0]) for name in named if ".py:" in name]
    folders = [home.resolve(), *(file.resolve().parent for file in files), Path.cwd()]
    return list(dict.fromkeys(folders))


def engine_of(name: str) -> Engine:
    """The engine called ``name``: simulator, local or docker."""
    return simulated if name == SIMULATOR else played


def hadoop_version(engine: str) -> str | None:
    """The Hadoop that an engine runs on, by its jars; None for the simulator, or none found."""
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
