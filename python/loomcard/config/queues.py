"""The queues of a configuration, resolved: one row each, with all that is in force at the queue."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from loomcard.config import rules
from loomcard.config.governing import Governed
from loomcard.config.schema import MILLION, UNLIMITED, ppm
from loomcard.config.structure import StatedQueue
from loomcard.model.limits import RESERVATION_SHARE_PPM
from loomcard.validation.reading import Document, Path

ALL: Final = "*"
"""Everyone, in a list of users; every label, in a list of labels."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ResolvedQueue:
    """What is in force at one queue: inheritance is resolved, and defaults are filled in.

    All fields but ``place``, its path in the file, ``administer_stated``, whether a queue of its
    path states ``administer``, and ``copies``, how many queues may be made from it, are its
    compiled form (docs/reference/wire.md). A field with a
    default is left out there if it has this value. A limit for a queue and all below it is in the
    row of the queue that states it, and in no row below.
    """

    place: Path = ()
    administer_stated: bool = False
    copies: int = 1
    path: str
    parent: int | None
    leaf: bool
    policy: str | None
    policy_named: bool
    walked: bool
    options: Mapping[str, Any]
    weight: float
    guaranteed: Mapping[str, Any]
    maximum: Mapping[str, Any]
    user_limit_ppm: int
    am_share_ppm: int
    submit: tuple[str, ...]
    administer: tuple[str, ...]
    reservation_share_ppm: int = RESERVATION_SHARE_PPM
    reservation_nodes: int = 1
    state: str = "running"
    maximum_applications: int | None = None
    maximum_applications_per_user: int | None = None
    maximum_running_applications: int | None = None
    maximum_running_applications_per_user: Mapping[str, int | None] | None = None
    default_priority: int = 0
    maximum_allocation: Mapping[str, int] | None = None
    maximum_lifetime_s: int | None = None
    default_lifetime_s: int | None = None
    labels: tuple[str, ...] | None = None
    default_label: str = ""
    label_maximum_ppm: Mapping[str, int] | None = None
    label_guaranteed_ppm: Mapping[str, int] | None = None
    auto_create: Mapping[str, Any] | None = None

    def compiled(self) -> dict[str, Any]:
        """Return the queue as the compiled configuration has it."""
        found: dict[str, Any] = {}
        for key in dataclasses.fields(self):
            value = getattr(self, key.name)
            if key.name not in _NOT_COMPILED and value != key.default:
                found[key.name] = list(value) if isinstance(value, tuple) else value
        return dict(sorted(found.items()))


_NOT_COMPILED: Final = ("place", "administer_stated", "copies")

_ABOVE_ROOT: Final = ResolvedQueue(
    path="", parent=None, leaf=False, policy=None, policy_named=False, walked=False, options={},
    weight=1.0, guaranteed={"ppm": MILLION}, maximum={"ppm": MILLION}, user_limit_ppm=MILLION,
    am_share_ppm=MILLION, submit=(ALL,), administer=(ALL,),
)  # fmt: skip
"""What root inherits."""


def resolve(
    document: Document, stated: Sequence[StatedQueue], governed: Sequence[Governed]
) -> list[ResolvedQueue]:
    """Return the row of each queue; report what contradicts the rows above it."""
    rows: list[ResolvedQueue] = []
    for queue, governs in zip(stated, governed, strict=True):
        above = _ABOVE_ROOT if queue.parent is None else rows[queue.parent]
        row = _resolve(document, queue, governs, above)
        rows.append(replace(row, copies=_copies(queue, stated)))
    return rows


def with_templates(
    stated: Sequence[StatedQueue], rows: Sequence[ResolvedQueue]
) -> list[ResolvedQueue]:
    """Return the rows of the file's queues; one that creates others has their rows in its own.

    ``rows`` are those of ``stated``, and after them those of ``structure.templates``.
    """
    found = list(rows[: len(stated)])
    for row in rows[len(stated) :]:
        number = row.parent
        assert number is not None
        keys = stated[number].keys.auto_create
        assert keys is not None
        made = {key: v for key, v in row.compiled().items() if key not in ("path", "parent")}
        creates = dict(found[number].auto_create or {})
        creates["template" if row.leaf else "between"] = made
        creates |= {"depth": keys.depth, "maximum_queues": keys.maximum_queues}
        if keys.remove_after != UNLIMITED:
            creates["remove_after_s"] = keys.remove_after
        found[number] = replace(found[number], auto_create=dict(sorted(creates.items())))
    return found


def _copies(queue: StatedQueue, stated: Sequence[StatedQueue]) -> int:
    creates = None if queue.parent is None else stated[queue.parent].keys.auto_create
    made = creates is not None and queue.leaf and queue.path.endswith(".*")
    return creates.maximum_queues if creates is not None and made else 1


def _resolve(
    document: Document, queue: StatedQueue, governs: Governed, above: ResolvedQueue
) -> ResolvedQueue:
    keys = queue.keys
    submit, administer = _access(document, queue, above)
    maximum_lifetime_s, default_lifetime_s = _lifetimes(document, queue, above)
    labels = _labels(document, queue, above)
    most = _shares(document, queue, "label_maximum", labels)
    promised = _shares(document, queue, "label_guaranteed", labels)
    return ResolvedQueue(
        place=queue.place,
        administer_stated=above.administer_stated or keys.administer is not None,
        path=queue.path,
        parent=queue.parent,
        leaf=queue.leaf,
        policy=governs.policy,
        policy_named=governs.named,
        walked=governs.walked,
        options=governs.options,
        weight=float(keys.weight),
        guaranteed=_limit(_guaranteed(queue)),
        maximum=_limit("100%" if keys.maximum is None else keys.maximum),
        user_limit_ppm=ppm(keys.user_limit),
        am_share_ppm=ppm(keys.am_share),
        submit=submit,
        administer=administer,
        reservation_share_ppm=ppm(keys.reservation_share),
        reservation_nodes=_own(keys.reservation_nodes, above.reservation_nodes),
        state=keys.state,
        maximum_applications=_number(keys.maximum_applications),
        maximum_applications_per_user=_number(keys.maximum_applications_per_user),
        maximum_running_applications=_number(keys.maximum_running_applications),
        maximum_running_applications_per_user=_by_user(keys.maximum_running_applications_per_user),
        default_priority=_own(keys.default_priority, above.default_priority),
        maximum_allocation=_amounts(keys.maximum_allocation),
        maximum_lifetime_s=maximum_lifetime_s,
        default_lifetime_s=default_lifetime_s,
        labels=labels,
        default_label=_default_label(document, queue, above, labels),
        label_maximum_ppm={name: part for name, part in most.items() if part < MILLION} or None,
        label_guaranteed_ppm={name: part for name, part in promised.items() if part} or None,
    )


def _own(stated: T | None, inherited: T) -> T:
    return inherited if stated is None else stated


def _number(value: int | str) -> int | None:
    return None if value == UNLIMITED else int(value)


def _by_user(value: dict[str, int | str] | int | str) -> dict[str, int | None] | None:
    """Return the number for each user, None for no limit; ``ALL`` is for those not named."""
    stated = value if isinstance(value, dict) else {ALL: value}
    found = {user: _number(count) for user, count in sorted(stated.items())}
    return found if any(count is not None for count in found.values()) else None


def _amounts(value: dict[str, int] | str) -> dict[str, int] | None:
    return dict(sorted(value.items())) if isinstance(value, dict) else None


def _limit(stated: dict[str, int] | str) -> dict[str, Any]:
    """Return a limit as the compiled configuration has it: millionths, or amounts."""
    return {"ppm": ppm(stated)} if isinstance(stated, str) else {"amounts": _amounts(stated)}


def _guaranteed(queue: StatedQueue) -> dict[str, int] | str:
    """Return the guarantee; root's default is all that it may use."""
    if queue.keys.guaranteed is not None:
        return queue.keys.guaranteed
    if queue.parent is not None:
        return "0%"
    return queue.keys.maximum if isinstance(queue.keys.maximum, str) else "100%"


def _access(
    document: Document, queue: StatedQueue, above: ResolvedQueue
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return who may submit and who may administer; a stated list replaces the parent's.

    If no queue of the path states ``administer``, everyone may administer only if everyone may
    submit: administering implies submitting, so a default of everyone would void each list of
    submitters.
    """
    keys = queue.keys
    submit = above.submit if keys.submit is None else tuple(dict.fromkeys(keys.submit))
    if keys.administer is not None:
        administer = tuple(dict.fromkeys(keys.administer))
    elif above.administer_stated:
        administer = above.administer
    else:
        administer = (ALL,) if ALL in submit else ()
    stated = [key for key in ("submit", "administer") if getattr(keys, key) is not None]
    if stated and ALL in administer and ALL not in submit:
        message = "everyone may administer this queue, and so submit to it: submit has no effect"
        hint = "state administer, such as [alice] or []"
        document.report((*queue.place, stated[0]), message, hint, rule=rules.ACCESS)
    return submit, administer


def _lifetimes(
    document: Document, queue: StatedQueue, above: ResolvedQueue
) -> tuple[int | None, int | None]:
    """Return the maximum and the default lifetime, in seconds; None: no limit."""
    stated, default = _number(queue.keys.maximum_lifetime), queue.keys.default_lifetime
    limits = [limit for limit in (stated, above.maximum_lifetime_s) if limit is not None]
    maximum = min(limits, default=None)
    own = above.default_lifetime_s if default is None else _number(default)
    if own is not None and maximum is not None and own > maximum:
        if default is not None:
            message = f"{own} s is more than the maximum lifetime here, {maximum} s"
            document.report((*queue.place, "default_lifetime"), message, "lower it")
        own = maximum
    return maximum, own


def _labels(document: Document, queue: StatedQueue, above: ResolvedQueue) -> tuple[str, ...] | None:
    """Return the labels that may be asked for, sorted; None: all."""
    stated = queue.keys.labels
    if stated is None or ALL in stated:
        if stated is not None and above.labels is not None:
            message = f"the parent may use {_listed(above.labels)} only"
            document.report((*queue.place, "labels"), message, "name the labels")
        return above.labels
    for number, name in enumerate(stated):
        if above.labels is not None and name not in above.labels:
            message = f"the parent may not use the label {name}, only {_listed(above.labels)}"
            place = (*queue.place, "labels", number)
            document.report(place, message, "add it to the parent's labels")
    return tuple(sorted(set(stated)))


def _default_label(
    document: Document, queue: StatedQueue, above: ResolvedQueue, labels: tuple[str, ...] | None
) -> str:
    label = _own(queue.keys.default_label, above.default_label)
    stated = [key for key in ("default_label", "labels") if getattr(queue.keys, key) is not None]
    if stated and label and labels is not None and label not in labels:
        message = f"asks go to the label {label}, but the queue may use {_listed(labels)} only"
        document.report(
            (*queue.place, stated[0]), message, "add it to labels, or set default_label"
        )
    return label


def _shares(
    document: Document, queue: StatedQueue, key: str, labels: tuple[str, ...] | None
) -> dict[str, int]:
    """Return what a key states by label, in millionths; report labels that it may not use."""
    found: dict[str, int] = {}
    for name, percent in sorted(getattr(queue.keys, key).items()):
        if labels is None or name in labels:
            found[name] = ppm(percent)
        else:
            message = f"the queue may not use the label {name}, only {_listed(labels)}"
            document.report((*queue.place, key, name), message, "add it to labels", at_key=True)
    return found


def _listed(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) or "none"
