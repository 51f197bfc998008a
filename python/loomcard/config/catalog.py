"""What can be named in a set-up: every policy with its options, for people who choose one."""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.errors import PydanticUserError

from loomcard.api.registry import PolicyNotFoundError, find, names
from loomcard.config.options import option_model


@dataclass(frozen=True)
class Option:
    """One option of a policy: its name, its type in words, and its default (None if required)."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Entry:
    """One policy: its registered name, where its class is, what it does, and its options."""

    name: str
    origin: str
    summary: str
    options: tuple[Option, ...]


def catalog() -> list[Entry]:
    """Return every policy that a set-up can name, by name.

    One that cannot be loaded is listed too, with the reason as its summary and no options.
    """
    return [
        Entry(known.name, known.origin, known.summary, _options(known.name)) for known in names()
    ]


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
