"""Which policy governs which queue, with which options."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loomcard.api.registry import (
    PolicyNotFoundError,
    built_in,
    find,
    found_beside,
    todays_options,
)
from loomcard.config import rules
from loomcard.config.isolated import REMEDY, ChildEndedError, ended_while_loaded, run_isolated
from loomcard.config.options import OptionError, check_options
from loomcard.config.structure import StatedQueue
from loomcard.validation import error_text
from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document
from loomcard.validation.reading import Path as Place
from loomcard.wire.older import OPTIONS

LEAF_DEFAULT: Final = "fifo"

NEEDS: Final = frozenset({"heartbeats"})
"""What a policy may need from the engine, in addition to the events that every policy gets."""


@dataclass
class _Loader:
    """Loads policies; ``isolated``: tries those that are not Loomcard's own in a child first."""

    search: Sequence[Path] | None
    beside: Path | None
    isolated: bool
    _tried: dict[tuple[str, str], ChildEndedError | None] = field(default_factory=dict)

    def __call__(self, name: str) -> type:
        at = name if self.beside is None else found_beside(name, self.beside)
        return find(at, search=self.search)

    def try_out(self, name: str, options: dict[str, Any]) -> None:
        """Load and build a policy in a child, once. Raises ChildEndedError."""
        if not self.isolated or name in built_in():
            return
        key = (name, json.dumps(options))
        if key not in self._tried:
            self._tried[key] = None
            try:
                run_isolated(lambda _: check_options(self(name), options))
            except ChildEndedError as failed:
                self._tried[key] = failed
        failed_before = self._tried[key]
        if failed_before is not None:
            raise failed_before


@dataclass(frozen=True)
class Governed:
    """What governs one queue; ``policy`` is None if an ancestor's policy walks the tree."""

    policy: str | None
    named: bool
    walked: bool
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Assigned:
    """A policy in a queue: its class is None if it was not found; then nothing else is checked."""

    name: str
    options: dict[str, Any]
    kind: type | None


def check_governing(
    document: Document,
    queues: Sequence[StatedQueue],
    policy_path: Sequence[Path] | None,
    beside: Path | None = None,
    *,
    isolated: bool = False,
) -> tuple[list[Governed], list[str]]:
    """Return what governs each queue, and what the policies in use need of the engine, sorted.

    ``beside``: the folder in which policies' files are looked for first, if any. ``isolated``: a
    policy that ends its process while it is loaded or built is a finding.
    """
    load = _Loader(policy_path, beside, isolated)
    governed: list[Governed] = []
    assignments: list[_Assigned] = []
    for queue in queues:
        above = (
            None if queue.parent is None else (governed[queue.parent], assignments[queue.parent])
        )
        one, assigned = _govern(document, queue, above, load)
        governed.append(one)
        assignments.append(assigned)
    needs = {need for assigned in assignments for need in _needs(assigned.kind) or ()}
    return governed, sorted(needs)


def _needs(kind: type | None) -> set[str] | None:
    """What a policy needs from the engine; None if it does not state this as a set of names."""
    said = getattr(kind, "needs", ())
    if not isinstance(said, (set, frozenset, tuple, list)):
        return None
    return set(said) if all(isinstance(need, str) for need in said) else None


def _govern(
    document: Document,
    queue: StatedQueue,
    above: tuple[Governed, _Assigned] | None,
    load: _Loader,
) -> tuple[Governed, _Assigned]:
    if above is None and not (queue.keys.queues or queue.keys.auto_create):  # root.default's
        assigned = _default_policy(load)
        return Governed(assigned.name, named=False, walked=False), assigned
    if queue.keys.policy is not None:
        assigned = _named_policy(document, queue, queue.keys.policy, load)
        return Governed(assigned.name, named=True, walked=False, options=assigned.options), assigned
    if queue.keys.options:
        message = "options belong to a policy, and this queue names none"
        document.report((*queue.place, "options"), message, "name the policy", at_key=True)
    if above is None or not queue.place:
        _report_no_policy(document, queue)
        assigned = _Assigned(LEAF_DEFAULT, {}, None)
    elif getattr(above[1].kind, "walks_tree", False):
        return Governed(None, named=False, walked=True), above[1]
    elif queue.leaf:
        assigned = _default_policy(load)
    else:
        assigned = above[1]
    return Governed(assigned.name, named=False, walked=False, options=assigned.options), assigned


def _report_no_policy(document: Document, queue: StatedQueue) -> None:
    if not any(finding.path == "policy" for finding in document.findings):
        message = "the file names no policy"
        document.report((*queue.place, "policy"), message, "such as policy: drf")


def _default_policy(load: _Loader) -> _Assigned:
    return _Assigned(LEAF_DEFAULT, {}, load(LEAF_DEFAULT))


def _named_policy(document: Document, queue: StatedQueue, name: str, load: _Loader) -> _Assigned:
    place = (*queue.place, "policy")
    try:
        load.try_out(name, queue.keys.options)
        kind = load(name)
    except ChildEndedError as failed:
        document.report(place, ended_while_loaded(name, failed), REMEDY)
        return _Assigned(name, {}, None)
    except PolicyNotFoundError as error:
        document.report(place, str(error), error.hint)
        return _Assigned(name, {}, None)
    except BaseException as error:  # the author's module may raise anything while it is imported
        if error_text.is_interrupt(error):
            raise
        message = f"the policy {name!r} cannot be loaded: {error_text.message(error)}"
        document.report(place, message, "see that its module can be imported")
        return _Assigned(name, {}, None)
    if getattr(kind, "leaf_only", False) and not queue.leaf:
        message = f"the policy {name!r} governs applications only, and this queue has queues below"
        document.report(place, message, "name it at the leaf queues")
    _check_needs(document, place, name, kind)
    options: dict[str, Any] = {}
    try:
        options = check_options(kind, queue.keys.options)
        _warn_of_former(document, queue, kind)
    except OptionError as error:
        for problem in error.problems:
            stated = queue.keys.options or problem.path
            where = (*queue.place, "options", *problem.path) if stated else place
            document.report(where, problem.message, problem.hint, at_key=problem.at_key)
    return _Assigned(name, options, kind)


def _warn_of_former(document: Document, queue: StatedQueue, kind: type) -> None:
    """Warn of options by their former names."""
    today = todays_options(kind, queue.keys.options)
    for old in [name for name in queue.keys.options if name not in today]:
        document.rename((*queue.place, "options", old), OPTIONS[old], rules.RENAMED)


def _check_needs(document: Document, place: Place, name: str, kind: type) -> None:
    """Report what the policy needs but no engine knows: the policy would wait without end."""
    needs = _needs(kind)
    if needs is None:
        message = f"the needs of the policy {name!r} are not a set of names"
        document.report(place, message, 'write needs = frozenset({"heartbeats"}), or leave it out')
        return
    for need in sorted(needs - NEEDS):
        message = f"the policy {name!r} needs {need!r}, which no engine knows"
        document.report(place, message, nearest(need, NEEDS))
