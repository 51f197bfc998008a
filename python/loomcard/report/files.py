"""A study's numbers as files: CSV or Parquet for other programs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from loomcard.report.page import page
from loomcard.report.paper_tables import paper_frame
from loomcard.report.terminal import Numbers
from loomcard.results.run_folder import whole, write_parquet


def write_page(report: Numbers, file: Path) -> None:
    """Write the HTML page, completely or not at all."""
    text = page(report)
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as temporary:
        temporary.write_text(text, "utf-8")


def write_tables(report: Numbers, beside: Path) -> list[Path]:
    """Writes, beside the page and named after it, what its tables are made of, as CSV and Parquet:
    the summary, the comparison with the baseline (if there is one), every application's figures,
    and papers' figures beside ours (if an experiment states some).
    """
    tables = {"summary": report.summary, "applications": report.study.applications}
    if report.study.baseline:
        tables["comparison"] = report.comparison
    if report.papers:
        tables["papers"] = paper_frame(report.papers)
    written = []
    for name, frame in tables.items():
        file = beside.with_name(f"{beside.stem}-{name}.csv")
        _csv(file, frame)
        write_parquet(file.with_suffix(".parquet"), frame)
        written += [file, file.with_suffix(".parquet")]
    return written


def _csv(file: Path, frame: pl.DataFrame) -> None:
    with whole(file) as temporary:
        frame.write_csv(temporary)
