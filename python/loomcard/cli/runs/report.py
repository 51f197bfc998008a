"""``loomcard report``: tables and one HTML page from run folders."""

from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import Json, console, print_json, waiting


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `loomcard run` has written.")],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="The policy to compare with. Default: the experiment's."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The HTML page. Default: report.html in the first folder."),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Write the numbers as CSV and Parquet beside the page.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare policies: waiting, completion, slowdown, makespan, utilization and fairness."""
    from loomcard.report.files import write_page, write_tables  # and with it polars
    from loomcard.report.runs import read_study
    from loomcard.report.terminal import numbers, tables

    report = numbers(read_study(folders, baseline))
    file = out or folders[0] / "report.html"
    with waiting("drawing"):
        write_page(report, file)
    written = [file, *(write_tables(report, file) if csv else [])]
    if as_json:
        found = {"summary": report.summary.to_dicts(), "comparison": report.comparison.to_dicts()}
        found["papers"] = [vars(each) for each in report.papers]
        print_json(found | {"files": [str(each) for each in written]})
        return
    out_to = console(markup=True)
    for table in tables(report):
        out_to.print(table)
    out_to.print("\n" + "\n".join(str(each) for each in written), soft_wrap=True)
