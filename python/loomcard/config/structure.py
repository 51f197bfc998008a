"""A document against the model of its kind: every wrong key, type and bound, with its line."""

from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from loomcard.config.schema import AMOUNTS_TAG, PERCENT_TAG, PolicySetup, Queue
from loomcard.document.findings import describe, expectation, nearest
from loomcard.document.reading import Document, Path, walk

_NOT_IN_FILE: Final = {PERCENT_TAG, AMOUNTS_TAG, "[key]"}
_EXPECTED: Final = {
    "string_type": "expected text",
    "string_too_short": "expected text",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "list_type": "expected a list",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "bool_type": "expected true or false",
    "finite_number": "expected a finite number",
}


def check_structure(document: Document) -> PolicySetup | None:
    """Return the set-up with every wrong part left out and reported; None if nothing is left.

    Leaving a wrong part out lets the later checks go on with the rest of the file, so that one
    run finds everything.
    """
    if not isinstance(document.data, dict):
        if not document.findings:
            message = f"expected a mapping of keys, found {describe(document.data)}"
            document.report((), message, "begin with: version: 1")
        return None
    _drop_empty(document)
    _check_kind(document)
    while True:
        try:
            return PolicySetup.model_validate(document.data)
        except ValidationError as error:
            places = [_report(document, detail) for detail in error.errors(include_url=False)]
            for place in sorted(set(places), key=_deepest_last_first):
                _leave_out(document.data, place)


def _drop_empty(document: Document) -> None:
    empty = [
        path
        for path, value in walk(document.data)
        if value is None and isinstance(path[-1], str) and not _in_options(path)
    ]
    for path in reversed(empty):
        hint = "write {}" if path[:-1][-1:] == ("queues",) else "give it one or remove the key"
        document.report(path, "there is no value here", hint, at_key=True)
        _leave_out(document.data, path)


def _in_options(path: Path) -> bool:
    """Tell whether a place is a policy's, to whom nothing may mean something."""
    while path[:1] == ("queues",):
        path = path[2:]
    return path[:1] == ("options",)


def _check_kind(document: Document) -> None:
    kind = document.data.get("kind", "policy")
    if kind != "policy":
        message = f"expected a set-up of kind policy, found {describe(kind)}"
        document.report(("kind",), message, "write kind: policy, or remove the key")
        document.data.pop("kind")
    if "version" not in document.data:
        document.report(("version",), "the file has no version", "begin with: version: 1")
        document.data["version"] = 1
    elif type(document.data["version"]) is not int or document.data["version"] != 1:
        message = f"expected version 1, found {describe(document.data['version'])}"
        document.report(("version",), message, "write version: 1")
        document.data["version"] = 1


def _report(document: Document, detail: ErrorDetails) -> Path:
    """Report one error of pydantic's and return the place of what must be left out."""
    path: Path = tuple(part for part in detail["loc"] if part not in _NOT_IN_FILE)
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        known = (PolicySetup if len(path) == 1 else Queue).model_fields
        document.report(
            path, f"unknown key {path[-1]!r}", nearest(str(path[-1]), known), at_key=True
        )
        return path
    if kind in ("queue_name", "resource_name"):
        document.report(path, detail["msg"], "rename it", at_key=True)
        return path
    expected = _EXPECTED.get(kind) or expectation(detail["msg"])
    document.report(path, f"{expected}, found {describe(value)}", _hint(path, value))
    return path


def _hint(path: Path, value: object) -> str:
    """Return an example of the innermost key on the path that has one."""
    names = [part for part in path if isinstance(part, str)]
    queue_key = names[-1]
    if len(names) > 1 and names[-2] in ("guaranteed", "maximum"):
        return "write a whole number that is not negative, such as 8192"
    if queue_key in ("submit", "administer") and isinstance(path[-1], int):
        if value is None or isinstance(value, str | list | dict):
            return "such as alice"
        return f'quote it: "{str(value).lower()}"'
    field = PolicySetup.model_fields.get(queue_key)
    if field is None or not field.examples:
        return "write {} for a queue with defaults" if names[-2:-1] == ["queues"] else ""
    return f"for example {queue_key}: {_flow(field.examples[0])}"


def _flow(value: Any) -> str:
    """Write a value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) and ":" in value else str(value)


def _deepest_last_first(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Order places so that leaving one out moves none that is left out after it."""
    indexes = [(depth, -part) for depth, part in enumerate(path) if isinstance(part, int)]
    return -len(path), indexes


def _leave_out(data: Any, path: Path) -> None:
    """Remove the place; amounts of which none is left go too, as they have their finding."""
    *outer, last = path
    holder = data
    for part in outer:
        holder = holder[part]
    del holder[last]
    if not holder and outer and outer[-1] in ("guaranteed", "maximum"):
        _leave_out(data, tuple(outer))
