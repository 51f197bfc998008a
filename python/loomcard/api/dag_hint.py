"""What an application may tell of its stages: the hint ``LOOMCARD_DAG``, the same in both engines.

An AM that knows its stages gives the hint with its submission (an application's scheduling
property, or a variable of the AM's environment). Policies that weigh remaining work read it; those
that do not, never see it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from loomcard.model.objects import AskKey
from loomcard.model.resource import Resource

HINT = "LOOMCARD_DAG"


class DagStage(msgspec.Struct, frozen=True):
    """One stage: ``tasks`` containers of ``size``, each of about ``ms``, ``after`` these stages.

    ``request``: the allocation request id of its asks; None: told by ``priority`` alone, as
    MapReduce's AM does it.
    """

    id: str
    priority: int
    tasks: int
    ms: float
    size: tuple[int, ...]
    after: list[int] = []
    request: int | None = None


class Dag:
    """The stages of one application, in an order in which parents come first."""

    def __init__(self, stages: list[DagStage]) -> None:
        self.stages = stages
        self.sizes = [Resource(stage.size) for stage in stages]
        self._by_key = {(s.priority, s.request): i for i, s in enumerate(stages)}

    def stage_of(self, key: AskKey) -> int | None:
        """The index of the stage that an ask's or a container's key belongs to; None: of none."""
        found = self._by_key.get((key.priority, key.allocation_request_id))
        return self._by_key.get((key.priority, None)) if found is None else found


def write_dag(stages: list[DagStage]) -> str:
    """The hint's text."""
    return msgspec.json.encode(stages).decode()


def read_dag(hints: Mapping[str, str]) -> Dag | None:
    """The DAG that an application's hints tell of; None where they tell of none, or of one that
    cannot be right: a hint is a hint, and no application may hurt the scheduler by it.
    """
    text = hints.get(HINT)
    if text is None:
        return None
    try:
        stages = msgspec.json.decode(text, type=list[DagStage])
    except msgspec.MsgspecError:
        return None
    for index, stage in enumerate(stages):
        if any(not 0 <= parent < index for parent in stage.after) or stage.ms < 0:
            return None
    return Dag(stages) if stages else None
