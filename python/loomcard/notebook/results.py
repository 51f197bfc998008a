"""The result of a simulation: a table, a plot, a page, and its display in a notebook."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import mean, median
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from loomcard.notebook.frames import Library, Row, frame, html_table
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from loomcard.report.runs import Study


@dataclass(frozen=True)
class SimulationResult:
    """The runs of ``loomcard.simulate``, one for each policy and seed.

    ``records``: the facts of each run. ``manifest``: versions, seeds and the hashes of what was
    read. ``baseline``: the policy that plots and reports compare with, "" for none. ``whole``:
    False where Ctrl-C ended it early; the runs that were cut short say so in ``finished``.
    """

    records: Sequence[RunRecord] = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)
    baseline: str = ""
    whole: bool = True

    def table(self, *, library: Library | None = None) -> Any:
        """A row for each run, as a polars DataFrame; as a pandas one where polars is not installed,
        or with ``library="pandas"``.

        Columns: policy, workload, seed, finished; makespan_s, and mean and median of waiting and
        completion in seconds, of the applications that succeeded (None: there is none);
        utilization of the fullest resource and Jain's index, both from 0 to 1
        (docs/simulate/experiments.md defines them); how many applications succeeded, failed, and
        are open, that is have not ended. Raises ModuleNotFoundError where neither library is
        installed.
        """
        return frame(self._rows, library)

    def applications(self, *, library: Library | None = None) -> Any:
        """A row for each application of each run: policy, workload, seed, id, queue, tags, state
        ("" while it has not ended), and its times in ms. As ``table`` otherwise.
        """
        rows = []
        for each in self._summaries:
            who = {name: each[name] for name in ("policy", "workload", "seed")}
            rows += [who | application for application in each["applications"]]
        return frame(rows, library)

    def plot(self) -> Figure:
        """The cumulative distributions of waiting and completion, in seconds, a line a policy: a
        matplotlib figure. Needs the extra ``loomcard[report]``. Raises ResultError where no run
        has ended.
        """
        from loomcard.report.drawing import styled
        from loomcard.report.plots import distributions

        study = self._study
        with styled():
            return distributions(study, study.settings[0])

    def report(self, path: str | Path) -> Path:
        """Write the HTML page of ``loomcard report``: tables, plots, what was run. It needs no
        other file. Returns its path. Raises ResultError where no run has ended, OSError.
        """
        from loomcard.report.files import write_page
        from loomcard.report.terminal import numbers

        file = Path(path)
        write_page(numbers(self._study), file)
        return file

    def save(self, folder: str | Path) -> Path:
        """Write a run folder, as ``loomcard run --out`` does: results.json, tables of applications
        and containers, manifest. Returns the folder. Raises OSError.
        """
        from loomcard.results.run_folder import write_run

        write_run(Path(folder), self.records, self.manifest)
        return Path(folder)

    @cached_property
    def _summaries(self) -> list[dict[str, Any]]:
        return [summary(record) for record in self.records]

    @property
    def _rows(self) -> list[Row]:
        return [_row(each) for each in self._summaries]

    @cached_property
    def _study(self) -> Study:
        from loomcard.report.runs import read_study

        return read_study([self.save(self._folder)], self.baseline or None)

    @cached_property
    def _folder(self) -> str:
        """A temporary run folder, because reports read run folders; removed with the object."""
        folder = mkdtemp(prefix="loomcard-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _repr_html_(self) -> str:
        caption = "Times in seconds, mean and median of the applications that succeeded."
        if not self.whole:
            caption += " Interrupted: this is what there was."
        return html_table(self._rows, caption)


def _row(each: dict[str, Any]) -> Row:
    applications = each["applications"]
    good = [a for a in applications if a["state"] == "SUCCEEDED"]
    still = sum(not a["state"] for a in applications)
    waits = [a["waiting_ms"] / 1000 for a in good if a["waiting_ms"] is not None]
    ends = [a["completion_ms"] / 1000 for a in good if a["completion_ms"] is not None]
    makespan = each["makespan_ms"]
    return {
        "policy": each["policy"],
        "workload": each["workload"],
        "seed": each["seed"],
        "finished": each["finished"],
        "makespan_s": None if makespan is None else makespan / 1000,
        "mean_waiting_s": mean(waits) if waits else None,
        "median_waiting_s": median(waits) if waits else None,
        "mean_completion_s": mean(ends) if ends else None,
        "median_completion_s": median(ends) if ends else None,
        "utilization": max(each["utilization"].values(), default=0.0),
        "jain": each["jain"]["mean"],
        "succeeded": len(good),
        "failed": len(applications) - len(good) - still,
        "open": still,
    }
