"""Which users may submit and administer: the lists in force at every queue."""

from dataclasses import dataclass
from typing import Final

from loomcard.config.tree import Branch
from loomcard.validation.reading import Document

EVERYONE: Final = "*"


@dataclass(frozen=True)
class Access:
    """The lists in force at one queue; ``administer_stated``: some queue of the path states it."""

    submit: tuple[str, ...]
    administer: tuple[str, ...]
    administer_stated: bool


def check_access(document: Document, tree: list[Branch]) -> list[Access]:
    """Return each queue's lists; a stated list replaces the parent's.

    If no queue states ``administer``, everyone may administer only if everyone may submit:
    administering implies submitting, so a default of everyone would void each list of submitters.
    """
    found: list[Access] = []
    for branch in tree:
        above = (
            found[branch.parent] if branch.parent is not None else Access((EVERYONE,), (), False)
        )
        queue = branch.queue
        submit = above.submit if queue.submit is None else tuple(dict.fromkeys(queue.submit))
        stated = queue.administer is not None or above.administer_stated
        if queue.administer is not None:
            administer = tuple(dict.fromkeys(queue.administer))
        elif stated:
            administer = above.administer
        else:
            administer = (EVERYONE,) if EVERYONE in submit else ()
        found.append(Access(submit, administer, stated))
        _refuse_void_list(document, branch, found[-1])
    return found


def _refuse_void_list(document: Document, branch: Branch, access: Access) -> None:
    queue = branch.queue
    stated_here = queue.submit is not None or queue.administer is not None
    if not stated_here or branch.implied or EVERYONE in access.submit:
        return
    if EVERYONE in access.administer:
        key = "submit" if queue.submit is not None else "administer"
        message = "everyone may administer this queue, and so submit to it: submit has no effect"
        document.report((*branch.place, key), message, "state administer, such as [alice] or []")
