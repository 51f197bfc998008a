"""Faults of policies on a cluster, as the status reports them."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def fault_text(fault: dict[str, Any], when: str) -> str:
    """Return one of ``bridge.faults`` (docs/operate/rest.md) as text: what was raised, in which
    line and ``when``, which policy serves the queue meanwhile, and where the traceback is.
    """
    queue, trace = fault["queue"], fault.get("traceback") or ""
    policy, _, raised = fault["message"].removeprefix(f"{queue}:").partition(": ")
    places = re.findall(r'^ *File "(.+)", (line \d+)', trace, re.MULTILINE)
    where = f"{Path(places[-1][0]).name}, {places[-1][1]}; " if places else ""
    last = trace.rstrip().rpartition("\n")[2]
    serves = last if last.startswith("Its queue") else "Its queue is served first in, first out."
    return (
        f"{queue}: its policy {policy} raised {raised} at {when} ({where}traceback in the"
        f" ResourceManager's log and in `loomcard status --json`). {serves}"
    )


def stall_text(stall: dict[str, Any], until: str) -> str:
    """Return one of ``bridge.stalled`` as text: what waited, and which policy serves the queue
    ``until`` when.
    """
    return (
        f"{stall['queue']}: its policy left an ask waiting: {stall['message']}. Its queue is served"
        f" first in, first out until {until}, then the policy is tried again"
        f" (stalled {stall['times']} times in a row)."
    )


def reasons_text(asks: Sequence[dict[str, Any]], moment: Callable[[int], str]) -> str:
    """Return why an application's asks wait, from its ``waiting``. If a rule of the policy keeps an
    ask waiting, the text says until when. ``moment`` formats a time in milliseconds since 1970.
    """
    said = set()
    for ask in asks:
        until_ms = ask.get("until_ms")
        rule = f" (the policy's rule, until {moment(until_ms)})" if until_ms else ""
        said.add(f"{ask['reason'] or '?'}{rule}")
    return ", ".join(sorted(said))
