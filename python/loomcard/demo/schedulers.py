"""One workload under four schedulers on a real YARN, with containers that wait instead of work."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loomcard.config import compile_config
from loomcard.engine.session import replay
from loomcard.player.play import play
from loomcard.results.manifest import manifest
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import write_run
from loomcard.simulator import Progress
from loomcard.workload import load
from loomcard.workload.loading import find
from loomcard.workload.scenario import Scenario

WORKLOAD = "organisations"
STOCK = "stock:capacity"
POLICIES = ("dress", "hdrf", "carbyne")
SEED = 1
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Played:
    """The workload's run under one scheduler. ``differences``: plans that the journal's replay made
    otherwise; None under the stock scheduler, which has no journal.
    """

    scheduler: str
    record: RunRecord
    differences: int | None


def steps() -> int:
    """How often `play_all` reports progress."""
    return (1 + len(POLICIES)) * (1 + len(_scenario().applications))


def play_all(folder: Path, progress: Callable[[str], None]) -> list[Played]:
    """Plays the workload under each, one after the other, and writes the results into `folder` as
    any run's are. Raises as `play` does, and KeyboardInterrupt where that ended a run.
    """
    scenario = _scenario()
    played: list[Played] = []
    for scheduler in (STOCK, *POLICIES):
        # Hadoop takes a colon in a path for the end of a scheme.
        own = folder / "played" / scheduler.replace(":", "-")
        played.append(_play(scenario, scheduler, own, progress))
    write_run(folder, [each.record for each in played], _manifest())
    return played


def _play(
    scenario: Scenario, scheduler: str, folder: Path, progress: Callable[[str], None]
) -> Played:
    text = (_HERE / "capacity.yml").read_text()
    is_stock = scheduler == STOCK
    record = play(
        scenario,
        STOCK if is_stock else _HERE / f"{scheduler}.yml",
        folder=folder,
        config=compile_config(text, "capacity.yml") if is_stock else None,
        on_progress=_Told(scheduler, progress),
    )
    if not record.finished:
        raise KeyboardInterrupt
    record.policy = scheduler
    differences = None if is_stock else len(replay(folder / "cluster" / "loomcard" / "journal"))
    progress(f"{scheduler}: played" if is_stock else f"{scheduler}: played and replayed")
    return Played(scheduler, record, differences)


class _Told:
    """Reports each application that has ended."""

    def __init__(self, scheduler: str, progress: Callable[[str], None]) -> None:
        self.scheduler = scheduler
        self.progress = progress
        self.seen = 0

    def __call__(self, now: Progress) -> None:
        while self.seen < now.finished:
            self.seen += 1
            self.progress(
                f"{self.scheduler}: {self.seen} of {now.applications} applications have ended"
            )


def _scenario() -> Scenario:
    return load(find(WORKLOAD), seed=SEED)


def _manifest() -> dict[str, object]:
    file = find(WORKLOAD)
    inputs = {file.name: file.read_bytes()}
    inputs |= {f"{name}.yml": (_HERE / f"{name}.yml").read_bytes() for name in POLICIES}
    inputs["capacity.yml"] = (_HERE / "capacity.yml").read_bytes()
    return manifest(inputs, command=("loomcard", "demo"), seeds=[SEED], engine="local")
