"""What policies told over time on a real cluster, as Loomcard's journal tells."""

from __future__ import annotations

import contextlib
from pathlib import Path

from loomcard.api.report import figures_of
from loomcard.results.policy_series import StateRow, States
from loomcard.wire import messages
from loomcard.wire.journal import JournalError, read_segment, segments

_TELLS = '"panel":'
"""What stands in every plan that tells a figure to be kept: most are not worth decoding."""


def told_states(journal_dir: Path, zero_ms: int | None, until_ms: int) -> list[StateRow]:
    """The figures to be kept of the plans of a journal, from ``zero_ms`` (since 1970; None: the run
    never began) to ``until_ms`` after it; [] where there is no journal.
    """
    if zero_ms is None:
        return []
    states = States()
    paths: list[Path] = []
    with contextlib.suppress(JournalError):
        paths = segments(journal_dir)
    for path in paths:
        segment = read_segment(path)
        for batch, plan in segment.rounds:
            if _TELLS not in plan:
                continue
            request, reply = messages.read_request(batch), messages.read_reply(plan)
            assert isinstance(request, messages.Batch)
            assert isinstance(reply, messages.PlanReply)
            at_ms = int(segment.header["hello"][2]) + request.now_ms - zero_ms
            if not 0 <= at_ms <= until_ms:
                continue  # of whatever governed before and after the run
            for queue, report in reply.reports.items():
                states.tell(at_ms, queue, figures_of(report))
    return states.rows()
