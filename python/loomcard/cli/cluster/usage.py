"""``loomcard usage``: who used how much of a cluster, from its journal."""

import re
import time
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from loomcard.cli.output import Json, console, moment, print_json, printable, waiting
from loomcard.player.journal_usage import Usage, Used
from loomcard.player.journal_usage import usage as read_usage

_AGO = re.compile(r"(\d+)([mhd])")
_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
_HOUR_MS = 3_600_000
_COLUMNS = {"memory_mb": ("memory GB-hours", 1024), "vcores": ("vcore-hours", 1)}


class By(StrEnum):
    """The periods into which the use is divided."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


def _when(text: str) -> int:
    """Return a moment in ms since 1970: so long ago, or a date in this machine's time zone."""
    ago = _AGO.fullmatch(text)
    if ago:
        return time.time_ns() // 1_000_000 - int(ago[1]) * _UNITS[ago[2]]
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            f"{text!r} is no time: expected so long ago, such as 7d, 12h or 30m, or a date such as"
            " 2026-09-21 or 2026-09-21T14:30"
        ) from error


def usage(
    journals: Annotated[
        list[Path],
        typer.Argument(
            metavar="JOURNAL...", help="The journal's folder; of a pair of ResourceManagers, both."
        ),
    ],
    since: Annotated[
        int | None,
        typer.Option(parser=_when, metavar="TIME", help="As 7d, 12h, or a date. Default: all."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option(parser=_when, metavar="TIME", help="The same. Default: the journal's end."),
    ] = None,
    by: Annotated[By | None, typer.Option("--by", help="A row for each such period.")] = None,
    as_json: Json = False,
) -> None:
    """Say who used how much of a cluster: containers, memory and vcores over time, by queue and
    user.
    """
    if since is not None and until is not None and since >= until:
        raise typer.BadParameter(f"--until {moment(until)} is not after --since {moment(since)}")
    with waiting("reading the journal"):
        found = read_usage(journals, since, until, lambda at_ms: _period(by, at_ms))
    if as_json:
        print_json(_document(found))
    else:
        _show(found, by)


def _period(by: By | None, at_ms: int) -> tuple[str, int]:
    """Return the name of the period around a moment, and its end, in this machine's time zone."""
    if by is None:
        return "", 1 << 62
    at = datetime.fromtimestamp(at_ms / 1000)
    begin = at.replace(minute=0, second=0, microsecond=0)
    if by is By.HOUR:
        name, end = begin.strftime("%Y-%m-%d %H:00"), begin + timedelta(hours=1)
    elif by is By.DAY:
        begin = begin.replace(hour=0)
        name, end = begin.strftime("%Y-%m-%d"), begin + timedelta(days=1)
    else:
        begin = begin.replace(day=1, hour=0)
        name, end = begin.strftime("%Y-%m"), (begin + timedelta(days=31)).replace(day=1)
    return name, int(end.replace(fold=0).timestamp() * 1000)


def _document(found: Usage) -> dict[str, Any]:
    return {
        "begins_ms": found.begins_ms,
        "ends_ms": found.ends_ms,
        "running": found.running,
        "restarts": [{"from_ms": begin, "to_ms": end} for begin, end in found.restarts],
        "lost": found.lost,
        "usage": [
            {
                **({"period": period} if period else {}),
                "queue": queue,
                "user": user,
                "applications": len(used.applications),
                "containers": used.containers,
                "container_seconds": used.container_ms / 1000,
                "amount_seconds": {kind: ms / 1000 for kind, ms in sorted(used.amount_ms.items())},
            }
            for (period, queue, user), used in sorted(found.rows.items())
        ],
    }


def _show(found: Usage, by: By | None) -> None:
    if found.begins_ms is None:
        typer.echo("the journal holds no round")
        return
    kinds = sorted({kind for used in found.rows.values() for kind in used.amount_ms})
    titles = [_COLUMNS.get(kind, (f"{kind}-hours", 1))[0] for kind in kinds]
    table = Table(*([by.value] if by else []), "queue", "user")
    for title in ("applications", "containers", "container-hours", *titles):
        table.add_column(title, justify="right")
    for (period, queue, user), used in sorted(found.rows.items()):
        names = [period, queue, user] if by else [queue, user]
        table.add_row(*map(printable, names), *_figures(used, kinds))
    if len(found.rows) > 1:
        names = ["all", "", ""] if by else ["all", ""]
        table.add_row(*names, *_figures(_sum(found), kinds), style="bold")
    console().print(table)
    typer.echo(f"the journal tells of {moment(found.begins_ms)} to {moment(found.ends_ms)}")
    if found.running:
        typer.echo(f"containers that run at its end, and are counted until then: {found.running}")
    if found.restarts:
        longest = max(end - begin for begin, end in found.restarts) / 1000
        typer.echo(
            f"restarts of the ResourceManager or of the policy process: {len(found.restarts)}, with"
            f" at most {longest:.0f} s between two rounds; what both began and ended in between is"
            f" not counted; containers that ended then, and are counted until its beginning:"
            f" {found.lost}"
        )


def _sum(found: Usage) -> Used:
    total = Used()
    for used in found.rows.values():
        total.applications |= used.applications
        total.container_ms += used.container_ms
        total.containers += used.containers
        for kind, ms in used.amount_ms.items():
            total.amount_ms[kind] = total.amount_ms.get(kind, 0) + ms
    return total


def _figures(used: Used, kinds: list[str]) -> list[str]:
    amounts = [
        used.amount_ms.get(kind, 0) / _HOUR_MS / _COLUMNS.get(kind, ("", 1))[1] for kind in kinds
    ]
    hours = [used.container_ms / _HOUR_MS, *amounts]
    counts = [len(used.applications), used.containers]
    return [*map(str, counts), *(f"{each:.2f}" for each in hours)]
