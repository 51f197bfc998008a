"""Check whether a policy decides again what a journal contains: ``policy check --journal``, ``make
golden``. The replay is that of ``engine.session``, byte by byte. Another configuration is first
written into the journal, as if it had been recorded under it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, Final

import msgspec

from loomcard.engine.session import replay_segment
from loomcard.experiments.inputs import InputError
from loomcard.wire import messages as r
from loomcard.wire.journal import JournalError, Round, Segment, read_segment, reading, segments

_FIRST: Final = ("resync", "faults", "decisions")
"""The fields of a plan that are compared first: they explain differences in the others."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first plan of a journal that differs: ``what`` is the first part that differs, with its
    recorded and its present value as text.
    """

    journal: Path
    round: int
    at_ms: int
    what: str
    recorded: str
    now: str


@dataclass(frozen=True, slots=True)
class Compared:
    """How many files and rounds were replayed, and the first difference of each file that has
    one.
    """

    files: int
    rounds: int
    differ: list[FirstDifference]


def journal_files(place: Path) -> list[Path]:
    """Return the segments of the journal at ``place``, or of all journals below it. Raises
    JournalError if there is none.
    """
    if place.is_file():
        return [place]
    below = sorted(each for each in place.rglob("*") if each.is_dir())
    found = []
    for folder in [place, *below]:
        if any(folder.glob("*.jsonl")) or any(folder.glob("*.jsonl.xz")):
            found += segments(folder)
    return found or segments(place)


def compare(place: Path, config: Mapping[str, Any]) -> Compared:
    """Replay every journal at or below ``place`` with ``config``, compiled, in place of the
    configuration that it begins with; what a journal swaps to later stays. Raises JournalError, and
    InputError for a configuration with other queues.
    """
    files = journal_files(place)
    rounds, differ = 0, []
    for _, journal in groupby(files, key=lambda file: (file.parent, file.name.partition("-")[0])):
        began: str | None = None
        for file in journal:
            segment = read_segment(file)
            if not segment.rounds:
                continue
            began = began or _begins_with(segment)["hash"]
            first = first_difference(_under(segment, began, config))
            rounds += len(segment.rounds)
            differ += [] if first is None else [first]
    return Compared(len(files), rounds, differ)


def first_difference(segment: Segment) -> FirstDifference | None:
    """Return the first plan of the segment that differs; None: all are as recorded. Raises
    JournalError.
    """
    found = next(replay_segment(segment), None)
    if found is None:
        return None
    each = next(each for each in segment if each.plan.round == found.round)
    again = r.read_reply(found.replay)
    assert isinstance(again, r.PlanReply)
    names = [*_FIRST, *(name for name in r.PlanReply.__struct_fields__ if name not in _FIRST)]
    for name in names:
        recorded, now = getattr(each.plan, name), getattr(again, name)
        if recorded != now:
            place = (segment.path, found.round, each.batch.now_ms)
            return FirstDifference(*place, *_apart(name, recorded, now))
    return FirstDifference(
        segment.path, found.round, each.batch.now_ms, "text", each.plan_text, found.replay
    )


def _apart(what: str, recorded: Any, now: Any) -> tuple[str, str, str]:
    """Return where two values differ first, down to a value that is neither a dict nor a list, and
    both values.
    """
    if isinstance(recorded, dict) and isinstance(now, dict):
        key = next(key for key in sorted({*recorded, *now}) if recorded.get(key) != now.get(key))
        return _apart(f"{what}[{key!r}]", recorded.get(key), now.get(key))
    if isinstance(recorded, list) and isinstance(now, list):
        pairs = enumerate(zip_longest(recorded, now))
        index, pair = next((index, pair) for index, pair in pairs if pair[0] != pair[1])
        return _apart(f"{what}[{index}]", *pair)
    return what, _text(recorded), _text(now)


def _text(value: Any) -> str:
    return "nothing" if value is None else repr(value)


def _begins_with(segment: Segment) -> Mapping[str, Any]:
    """Return the configuration in force in the segment's first round. Raises JournalError."""
    with reading(segment.place, "the segment's state cannot be used"):
        found: Mapping[str, Any] | None = segment.header.get("mirror", {}).get("config")
        for record in next(iter(segment)).batch.records:
            if found is None and isinstance(record, r.ConfigRecord):
                found = record.config
        if found is None:
            raise JournalError(f"{segment.place}: no configuration in its first round")
        return found


def _under(segment: Segment, began: str, config: Mapping[str, Any]) -> Segment:
    """Return the segment with ``config`` in place of the configuration of that hash."""
    header = segment.header
    policies: dict[str, str] = {}  # keys of what instances saved: before and after
    with reading(segment.place, "the segment's state cannot be used"):
        mirror = header.get("mirror")
        if mirror is not None and mirror["config"]["hash"] == began:
            policies = _renamed(segment.place, mirror["config"], config)
            saved = _with_keys(mirror["saved"], policies)
            header = {**header, "mirror": {**mirror, "config": dict(config), "saved": saved}}
    rounds = [_round_under(each, began, config, policies) for each in segment]
    return Segment(segment.path, header, rounds)


def _round_under(
    each: Round, began: str, config: Mapping[str, Any], policies: dict[str, str]
) -> tuple[str, str]:
    """Return batch and plan under the other configuration; ``policies`` is kept up to date."""
    batch, plan = each.batch_text, each.plan_text
    if '["config",' in batch or '["saved",' in batch:
        records: list[r.AnyRecord] = []
        for record in each.batch.records:
            if isinstance(record, r.ConfigRecord) and record.config["hash"] == began:
                policies.update(_renamed(each.batch_place, record.config, config))
                record = msgspec.structs.replace(record, config=dict(config))
            elif isinstance(record, r.SavedStateRecord):
                record = msgspec.structs.replace(record, saved=_with_keys(record.saved, policies))
            records.append(record)
        batch = r.write(msgspec.structs.replace(each.batch, records=records))
    if each.plan.saved and any(old != new for old, new in policies.items()):
        saved = _with_keys(each.plan.saved, policies)
        plan = r.write(msgspec.structs.replace(each.plan, saved=saved))
    return batch, plan


def _renamed(place: str, recorded: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, str]:
    """Return what instances saved, by the journal's key: the key under ``config``. Raises
    InputError unless both have the same queues.
    """
    was, will = recorded["queues"], config["queues"]
    if _paths(was) != _paths(will):
        raise InputError(
            [
                f"{place}: recorded under the queues {', '.join(_paths(was))}; the configuration"
                f" has {', '.join(_paths(will))} (give one with the journal's queues)"
            ]
        )
    return {
        f"{old['path']}:{old['policy']}": f"{new['path']}:{new['policy']}"
        for old, new in zip(was, will, strict=True)
    }


def _paths(queues: Sequence[Mapping[str, Any]]) -> list[str]:
    return [queue["path"] for queue in queues]


def _with_keys(saved: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    return {keys.get(key, key): value for key, value in saved.items()}
