"""What a configuration can name: every policy with its options, for people who choose one.

python -m loomcard.config.catalog docs/policies/overview.md     # rewrites the table of policies
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.errors import PydanticUserError

from loomcard.api.registry import PolicyNotFoundError, built_in, find, names
from loomcard.config.options import option_model

BEGIN: Final = "<!-- begin: python -m loomcard.config.catalog docs/policies/overview.md -->\n"
END: Final = "<!-- end -->\n"


@dataclass(frozen=True)
class Option:
    """One option of a policy: its name, its type in words, and its default (None if required)."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Entry:
    """One policy: its name, the place of its class, what it does, what kind of thing it
    ``governs``, and its options.
    """

    name: str
    origin: str
    summary: str
    governs: str
    options: tuple[Option, ...]


def catalog() -> list[Entry]:
    """Return every policy that a configuration can name, by name.

    One that cannot be loaded is listed too, with the reason as its summary and no options.
    """
    return [
        Entry(known.name, known.origin, known.summary, _governs(known.name), _options(known.name))
        for known in names()
    ]


def page_with_table(page: str) -> str:
    """The text of docs/policies/overview.md with the correct table of our own policies."""
    before, _, rest = page.partition(BEGIN)
    ours = (entry for entry in catalog() if entry.name in built_in())
    rows = [f"| `{entry.name}` | {entry.summary} | {entry.governs} |\n" for entry in ours]
    table = "".join(["| policy | what it does | governs |\n", "| -- | -- | -- |\n", *rows])
    return before + BEGIN + table + END + rest.partition(END)[2]


def _governs(name: str) -> str:
    """What kind of thing a policy governs; empty if it cannot be loaded."""
    try:
        cls = find(name)
    except PolicyNotFoundError:
        return ""
    if getattr(cls, "leaf_only", False):
        return "a leaf"
    return "a subtree" if getattr(cls, "walks_tree", False) else "members"


def _options(name: str) -> tuple[Option, ...]:
    try:
        model = option_model(find(name))
    except (PolicyNotFoundError, PydanticUserError, NameError, TypeError):
        return ()
    return tuple(
        Option(option, _type_name(field.annotation), None if field.is_required() else field.default)
        for option, field in model.model_fields.items()
    )


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    if get_args(annotation):
        inner = ", ".join(map(_type_name, get_args(annotation)))
        return f"{get_origin(annotation).__name__}[{inner}]"
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


if __name__ == "__main__":
    _page = Path(sys.argv[1])
    _page.write_text(page_with_table(_page.read_text("utf-8")), "utf-8")
