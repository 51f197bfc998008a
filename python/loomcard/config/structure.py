"""A document against the model of its kind: every wrong key, type and bound, with its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loomcard.config import rules
from loomcard.config.schema import (
    AMOUNTS_TAG,
    PERCENT_TAG,
    AutoCreate,
    PlacementRule,
    PolicyConfig,
    Queue,
    QueueKeys,
)
from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document, Path
from loomcard.validation.structure import (
    check_header,
    check_mapping,
    drop_empty,
    flow,
    holder_of,
    message_of,
)
from loomcard.wire.older import QUEUE_KEYS

_NOT_IN_FILE: Final = {PERCENT_TAG, AMOUNTS_TAG, "[key]"}


@dataclass(frozen=True)
class StatedQueue:
    """A queue as the file states it: its YARN path, its place in the file, and its keys.

    ``parent`` is the parent's index in the list of queues; None for root.
    """

    path: str
    place: Path
    keys: Queue
    parent: int | None
    leaf: bool


def templates(stated: Sequence[StatedQueue]) -> list[StatedQueue]:
    """Return the leaves that queues may create, and, where these may be deeper, the queues between:
    the one called ``*`` stands for any of them.
    """
    found: list[StatedQueue] = []
    for number, queue in enumerate(stated):
        creates = queue.keys.auto_create
        if creates is None:
            continue
        place = (*queue.place, "auto_create", "template")
        keys = Queue.model_construct(**dict(creates.template or QueueKeys.model_validate({})))
        found.append(StatedQueue(f"{queue.path}.*", place, keys, number, leaf=True))
        if creates.depth > 1:
            found.append(
                StatedQueue(f"{queue.path}.*", place, Queue.model_validate({}), number, leaf=False)
            )
    return found


def check_structure(document: Document) -> list[StatedQueue]:
    """Return the queues depth first, siblings by name, without the wrong parts of the file, which
    are reported; an empty list if no part is left.

    Without the wrong parts, later checks can continue with the rest of the file, so that one run
    finds everything.
    """
    if not check_mapping(document):
        return []
    drop_empty(document, _in_options, "queues")
    check_header(document, "policy", "a configuration")
    _rename(document, ())
    while True:
        try:
            return _queues(PolicyConfig.model_validate(document.data))
        except ValidationError as error:
            places = [_report(document, detail) for detail in error.errors(include_url=False)]
            for place in sorted(set(places), key=_deepest_last_first):
                _leave_out(document.data, place)


def _queues(root: PolicyConfig) -> list[StatedQueue]:
    """Return all queues. The keys of a file without ``queues`` state what root.default may do."""
    if root.queues or root.auto_create:
        found: list[StatedQueue] = []
        _collect(StatedQueue("root", (), root, None, leaf=False), found)
        return found
    moved = ("policy", "options", "user_limit", "am_share")
    stated = {key: getattr(root, key) for key in (*moved, "reservation_share")}
    only = Queue(guaranteed="100%", maximum="100%", **stated)
    outer = root.model_copy(update={key: Queue.model_fields[key].default for key in moved})
    return [
        StatedQueue("root", (), outer, None, leaf=False),
        StatedQueue("root.default", (), only, 0, leaf=True),
    ]


def _collect(queue: StatedQueue, found: list[StatedQueue]) -> None:
    index = len(found)
    found.append(queue)
    for name, keys in sorted(queue.keys.queues.items()):
        place = (*queue.place, "queues", name)
        leaf = not keys.queues and keys.auto_create is None
        _collect(StatedQueue(f"{queue.path}.{name}", place, keys, index, leaf=leaf), found)


def _rename(document: Document, path: Path) -> None:
    """Give the keys of a queue, and of those below it, today's names."""
    queue = document.data
    for part in path:
        queue = queue[part]
    if not isinstance(queue, dict):
        return
    for old, new in QUEUE_KEYS.items():
        if old in queue and new not in queue:
            document.rename((*path, old), new, rules.RENAMED)
    below = queue.get("queues")
    for name in below if isinstance(below, dict) else ():
        _rename(document, (*path, "queues", name))


def _in_options(path: Path) -> bool:
    """Tell whether a place is in a policy's options, where an empty value may have a meaning."""
    while path[:1] in (("queues",), ("auto_create",)):
        path = path[2:]
    return path[:1] == ("options",)


def _report(document: Document, detail: ErrorDetails) -> Path:
    """Report one error from pydantic, and return the place that must be left out."""
    path: Path = tuple(part for part in detail["loc"] if part not in _NOT_IN_FILE)
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        document.report(
            path,
            f"unknown key {path[-1]!r}",
            nearest(str(path[-1]), _known(path)),
            at_key=True,
            rule=rules.UNKNOWN_KEY,
        )
        return path
    if kind in ("queue_name", "resource_name") or (kind == "label" and "[key]" in detail["loc"]):
        document.report(path, detail["msg"], "rename it", at_key=True)
        return path
    document.report(path, message_of(detail), _hint(path, value))
    return path


def _known(path: Path) -> list[str]:
    """Return the keys that the mapping around a place may have."""
    if len(path) == 1:
        model: type[BaseModel] = PolicyConfig
    elif path[0] == "placement":
        model = PlacementRule
    elif path[-2:-1] == ("auto_create",):
        model = AutoCreate
    else:
        model = QueueKeys if path[-3:-1] == ("auto_create", "template") else Queue
    return [field.alias or name for name, field in model.model_fields.items()]


def _hint(path: Path, value: object) -> str:
    """Return an example of the innermost key on the path that has one."""
    names = [part for part in path if isinstance(part, str)]
    queue_key = names[-1]
    if len(names) > 1 and names[-2] == "maximum_allocation":
        return "write a whole number of at least 1, such as 8192"
    if len(names) > 1 and names[-2] in ("guaranteed", "maximum"):
        return "write a whole number that is not negative, such as 8192"
    if len(names) > 1 and names[-2] in ("label_maximum", "label_guaranteed"):
        return f"for example {names[-2]}: {{{queue_key}: 50%}}"
    if queue_key in ("submit", "administer") and isinstance(path[-1], int):
        if value is None or isinstance(value, str | list | dict):
            return "such as alice"
        return f'quote it: "{str(value).lower()}"'
    if queue_key == "else":
        return "for example else: reject"
    in_rule = path[0] == "placement" and len(path) > 1
    models = (PlacementRule,) if in_rule else (PolicyConfig, AutoCreate)
    field = next((m.model_fields[queue_key] for m in models if queue_key in m.model_fields), None)
    if field is None or not field.examples:
        return "write {} for a queue with defaults" if names[-2:-1] == ["queues"] else ""
    return f"for example {queue_key}: {flow(field.examples[0])}"


def _deepest_last_first(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Order places so that leaving one out does not move any that is left out after it."""
    indexes = [(depth, -part) for depth, part in enumerate(path) if isinstance(part, int)]
    return -len(path), indexes


def _leave_out(data: Any, path: Path) -> None:
    """Remove the place; also remove amounts that become empty, as they have their finding."""
    outer = path[:-1]
    holder = holder_of(data, path)
    del holder[path[-1]]
    if not holder and outer and outer[-1] in ("guaranteed", "maximum", "maximum_allocation"):
        _leave_out(data, outer)
