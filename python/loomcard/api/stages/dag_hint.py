"""What an application may say of its stages: the hint ``LOOMCARD_DAG``, the same in both engines.

An AM that knows its stages gives the hint at submission (as a scheduling property of the
application, or as a variable of the AM's environment). Only policies that weigh remaining work read
it. `loomcard dag` writes hints for jobs of unmodified frameworks (docs/simulate/dag.md).
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from loomcard.api.stages.marked_asks import unmarked
from loomcard.model.objects import AskKey
from loomcard.model.resource import Resource

HINT = "LOOMCARD_DAG"
MOST_CHARACTERS: Final = 256 * 1024
"""The longest hint that is read. The ResourceManager passes on no more than this of all hints of an
application.
"""

Count = Annotated[int, Meta(ge=0, le=10**9)]
Milliseconds = Annotated[float, Meta(ge=0, le=1e12)]
Amount = Annotated[int, Meta(ge=0, le=10**12)]
"""These bounds are far above any cluster's values; they keep sums of products finite."""


class HintError(ValueError):
    """The text is not a hint; the message names the place and what is expected there."""


class DagStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stage: ``tasks`` containers of ``size``, each of about ``ms``, ``after`` these stages.

    ``request``: the allocation request id of its asks, without a mark; None: ``priority`` alone
    identifies them, as for MapReduce's AM.
    """

    id: str
    priority: int
    tasks: Count
    ms: Milliseconds
    size: tuple[Amount, ...]
    after: list[int] = []
    request: int | None = None


class Dag:
    """The stages of one application, in an order in which parents come first.

    ``types``: how many resource types the cluster has. ``sizes`` have that length: a type that a
    stage does not name is 0, and a type that the cluster does not have is left out. None: sizes are
    as in the stages.
    """

    def __init__(self, stages: list[DagStage], types: int | None = None) -> None:
        self.stages = stages
        self.sizes = [_sized(stage.size, types) for stage in stages]
        self._by_key: dict[tuple[int, int | None], list[int]] = {}
        for i, stage in enumerate(stages):
            self._by_key.setdefault((stage.priority, stage.request), []).append(i)

    def stage_of(self, key: AskKey) -> int | None:
        """The index of the stage to which an ask's or a container's key belongs, with any mark;
        None if it belongs to no stage, or to several.
        """
        found = self.stages_of(key)
        return found[0] if len(found) == 1 else None

    def stages_of(self, key: AskKey) -> Sequence[int]:
        """The indexes of all stages that have the key, in the order of the hint."""
        found = self._by_key.get((key.priority, unmarked(key.allocation_request_id)))
        return self._by_key.get((key.priority, None), ()) if found is None else found


def _sized(size: tuple[int, ...], types: int | None) -> Resource:
    if types is None or len(size) == types:
        return Resource(size)
    return Resource((*size, *[0] * types)[:types])


def write_dag(stages: list[DagStage]) -> str:
    """Return the hint's text, which is JSON."""
    return msgspec.json.encode(stages).decode()


def compact_dag(text: str) -> str:
    """Return the same hint as base64url without padding: it has no quote, comma, space or =.

    It survives shells, YARN's launch scripts, and frameworks that split variables at commas.
    """
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parse_dag(text: str, types: int | None = None) -> Dag:
    """The DAG that a hint's text describes, plain or compact. ``types``: as in `Dag`.

    Raises HintError if a stage comes after itself or a later one, if an amount is out of bounds, or
    if the format does not have a key (nothing is skipped, so that no nesting can be deep).
    """
    if len(text) > MOST_CHARACTERS:
        raise HintError(f"expected at most {MOST_CHARACTERS} characters, found {len(text)}")
    try:
        stages = msgspec.json.decode(_json(text), type=list[DagStage])
    except (msgspec.MsgspecError, ValueError) as error:
        raise HintError(str(error)) from error
    if not stages:
        raise HintError("expected at least one stage")
    for index, stage in enumerate(stages):
        if any(not 0 <= parent < index for parent in stage.after):
            raise HintError(f"expected indexes of earlier stages - at `$[{index}].after`")
    return Dag(stages, types)


def _json(text: str) -> bytes:
    if text.lstrip().startswith(("[", "{")):
        return text.encode()
    with contextlib.suppress(ValueError):
        found = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if found.lstrip().startswith((b"[", b"{")):
            return found
    raise HintError("expected a JSON list of stages, plain or as base64url, found neither")


def read_dag(hints: Mapping[str, str], types: int | None = None) -> Dag | None:
    """The DAG that an application's hints describe, as `parse_dag` reads it; None if there is no
    hint or a wrong one: an application must not harm the scheduler by its hint.
    """
    text = hints.get(HINT)
    try:
        return None if text is None else parse_dag(text, types)
    except HintError:
        return None
