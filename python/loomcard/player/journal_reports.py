"""What policies reported over time on a real cluster, from Loomcard's journal."""

from __future__ import annotations

from pathlib import Path

from loomcard.api.report import figures_of
from loomcard.results.policy_series import StateRow, States
from loomcard.wire.journal import JournalError, rounds, segments

_TELLS = '"panel":'
"""A text in every plan that reports a figure to keep; plans without it are not decoded."""


def reported_states(journal_dir: Path, zero_ms: int | None, until_ms: int) -> list[StateRow]:
    """Return the figures to be kept of a journal's plans, from ``zero_ms`` (since 1970; None: the
    run never began) to ``until_ms`` after it; [] if there is no journal.
    """
    if zero_ms is None:
        return []
    states = States()
    try:
        segments(journal_dir)
    except JournalError:
        return []
    for each in rounds(journal_dir):
        if _TELLS not in each.plan_text:
            continue
        at_ms = each.segment.hello.epoch + each.batch.now_ms - zero_ms
        if not 0 <= at_ms <= until_ms:
            continue  # of a policy before or after the run
        for queue, report in each.plan.reports.items():
            states.add(at_ms, queue, figures_of(report))
    return states.rows()
