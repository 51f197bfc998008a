"""A policy's options against the fields of its dataclass."""

import dataclasses
import json
import re
import typing
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticUndefined

from loomcard.api.registry import todays_options
from loomcard.validation import error_text
from loomcard.validation.findings import describe, expectation, nearest
from loomcard.validation.reading import Path

LONGEST_MS: Final = 365 * 24 * 3600 * 1000
"""The longest duration that an option may state."""
_RANGE: Final = ({"ge": 0}, {"le": LONGEST_MS})


@dataclass(frozen=True)
class Problem:
    """One wrong option: its path below ``options``, what is wrong, and the remedy."""

    path: Path
    message: str
    hint: str = ""
    at_key: bool = False


class OptionError(ValueError):
    """A policy cannot be built with its options; ``problems`` lists all that is wrong."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.message for problem in problems))


def check_options(policy: type, options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options as plain values of their fields' types (a 1 for a float is 1.0).

    The policy is built once with them, so that its own checks run too. Raises OptionError.
    """
    try:
        model = option_model(policy)
    except (PydanticUserError, NameError, TypeError) as error:
        message = f"the fields of {policy.__name__} cannot be read as options: {error}"
        raise OptionError(
            [Problem((), message, "type them int, float, str, bool or list")]
        ) from error
    options = todays_options(policy, options)
    problems: list[Problem] = []
    checked = _checked(model, options, problems)
    if checked is not None:
        try:
            policy(**_plain(checked))
        except BaseException as error:  # a third party's __post_init__ may raise anything
            if error_text.is_interrupt(error):
                raise
            problems.append(_from_author(model, options, error))
    if problems or checked is None:
        raise OptionError(problems)
    return _plain(checked)


def _plain(checked: BaseModel) -> dict[str, Any]:
    """Return the given options as in JSON: a policy process builds the policy with these."""
    plain = checked.model_dump(mode="json", include=checked.model_fields_set)
    return dict(sorted(plain.items()))


def _checked(
    model: type[BaseModel], options: dict[str, Any], problems: list[Problem]
) -> BaseModel | None:
    """Return the correct options; None if the wrong ones leave an option without a value."""
    try:
        return model.model_validate_json(json.dumps(options))
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems.extend(_problem(model, detail) for detail in details)
    wrong = {detail["loc"][0] for detail in details}
    try:
        rest = {name: value for name, value in options.items() if name not in wrong}
        return model.model_validate_json(json.dumps(rest))
    except ValidationError:
        return None


@cache
def option_model(policy: type) -> type[BaseModel]:
    """Return a model with one field for each option of a policy, of the same type and default."""
    if not dataclasses.is_dataclass(policy):
        raise TypeError("it is not a dataclass")
    hints = typing.get_type_hints(policy, include_extras=True)
    fields: dict[str, Any] = {
        field.name: (_ranged(field.name, hints[field.name]), _default(field))
        for field in dataclasses.fields(policy)
        if field.init
    }
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())
    return create_model(f"{policy.__name__}Options", __config__=config, **fields)


def _ranged(name: str, hint: Any) -> Any:
    """The type of an option; whole milliseconds are a duration, with one range for all policies."""
    if hint is int and name.endswith("_ms"):
        return Annotated[int, Field(ge=0, le=LONGEST_MS)]
    return hint


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return PydanticUndefined


def _problem(model: type[BaseModel], detail: Any) -> Problem:
    path, value = tuple(detail["loc"]), detail["input"]
    if detail["type"] == "extra_forbidden":
        name = str(path[-1])
        return Problem(path, f"unknown option {name!r}", nearest(name, model.model_fields), True)
    if detail["type"] == "missing":
        return Problem(path, f"the option {path[-1]!r} has no default", "give it a value")
    if detail.get("ctx") in _RANGE and str(path[-1]).endswith("_ms"):
        expected = f"expected a duration of 0 to {LONGEST_MS} ms (a year)"
    else:
        expected = expectation(detail["msg"])
    return Problem(path, f"{expected}, found {describe(value)}", _remedy(model, path))


def _remedy(model: type[BaseModel], path: Path) -> str:
    """The default of the option at ``path``, if it has one."""
    field = model.model_fields.get(str(path[0])) if path else None
    return "" if field is None or field.is_required() else f"the default is {field.default!r}"


def _from_author(model: type[BaseModel], options: dict[str, Any], error: BaseException) -> Problem:
    """Place a policy's own error at the first option that it names, otherwise at ``options``."""
    said = error_text.words(error)
    path = tuple(word for word in re.findall(r"\w+", said) if word in options)[:1]
    text = (
        (said or type(error).__name__)
        if isinstance(error, ValueError)
        else error_text.message(error)
    )
    return Problem(path, text, _remedy(model, path))
