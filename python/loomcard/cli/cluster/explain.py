"""``loomcard explain``."""

import re
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from loomcard.cli.output import Json, Rm, console, moment, print_json, printable
from loomcard.cluster.embedded import resource_manager
from loomcard.cluster.limits import amounts

_NAME = re.compile(r"application_\d+_\d+|root(\..+)?")


def explain(
    name: Annotated[str, typer.Argument(help="An application's id, or a queue's path.")],
    rm: Rm = None,
    as_json: Json = False,
) -> None:
    """Say why an application, or a queue's applications, wait, and by how much.

    Of an application: what binds it, who is ahead of it and by which rule, and what would let it
    start. Of a queue: what it uses of its share, and why its applications wait.
    """
    if not _NAME.fullmatch(name):
        raise typer.BadParameter(
            f"{name!r} is neither an application's id nor a queue's path: expected, for example,"
            " application_1790000000000_0001 or root.default (`loomcard status` lists both)"
        )
    document = resource_manager(rm).explain(name)
    if as_json:
        print_json(document)
        return
    out = console()
    state = f" ({document['state']})" if document.get("state") else ""
    out.print(printable(f"{name}{state}: {document['sentence']}"), soft_wrap=True)
    for ask in document.get("asks", ()):
        _print_ask(out, ask)
    order = document.get("order")
    if order:
        out.print(printable(order["text"]), soft_wrap=True)
    for cause in document.get("causes", ()):
        shown = f"{cause['asks']} asks, {cause['containers']} containers, first {cause['first']}"
        out.print(printable(f"{cause['code']} ({shown}): {cause['text']}"), soft_wrap=True)
    if document.get("chain"):
        out.print(_chain(document["chain"]))


def _print_ask(out: Console, ask: dict[str, Any]) -> None:
    what = "the AM" if ask["am"] else f"{ask['count']} x"
    until = f", until {moment(ask['until_ms'])}" if ask["until_ms"] else ""
    out.print(
        f"{what} {amounts(ask['asked'])}, priority {ask['priority']}, since"
        f" {moment(ask['since_ms'])}{until}: {printable(ask['code'])}"
    )
    table = Table("binds", "where", "asked", "limit", "used", "free", "too little", "would do")
    for each in ask["binding"]:
        named = (each[key] for key in ("asked", "limit", "used", "free", "short"))
        shown = [amounts(found) if found is not None else "-" for found in named]
        to = "-" if each["to"] is None else f"{each['key']}: {each['to']}"
        table.add_row(*map(printable, (each["code"], each["where"], *shown, to)))
    if ask["binding"]:
        out.print(table)


def _chain(queues: list[dict[str, Any]]) -> Table:
    table = Table("queue", "policy", "used", "entitled to", "guaranteed", "at most", "asked for")
    for each in queues:
        most = "no limit" if each["maximum"] is None else amounts(each["maximum"])
        rows = (amounts(each[key]) for key in ("used", "entitlement", "guaranteed"))
        policy = str(each["policy"] or "-")
        table.add_row(printable(each["queue"]), policy, *rows, most, str(each["pending"]))
    return table
