"""Checks of a document against a model that all kinds of files share."""

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import ErrorDetails

from loomcard.validation.findings import describe, expectation
from loomcard.validation.reading import Document, Path, walk

_EXPECTED: Final = {
    "string_type": "expected text",
    "string_too_short": "expected text",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "list_type": "expected a list",
    "too_short": "expected at least one",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "bool_type": "expected true or false",
    "finite_number": "expected a finite number",
}


def check_mapping(document: Document) -> bool:
    """Return whether the file is a mapping; add a finding if it is not and has none yet."""
    if isinstance(document.data, dict):
        return True
    if not document.findings:
        message = f"expected a mapping of keys, found {describe(document.data)}"
        document.report((), message, "begin with: version: 1")
    return False


def check_header(document: Document, kind: str, what: str) -> None:
    """Report another ``kind`` or ``version`` than this one, and correct what was reported."""
    found = document.data.get("kind", kind)
    if found != kind:
        message = f"expected {what} of kind {kind}, found {describe(found)}"
        document.report(("kind",), message, f"write kind: {kind}, or remove the key")
        document.data.pop("kind")
    if "version" not in document.data:
        document.report(("version",), "the file has no version", "begin with: version: 1")
        document.data["version"] = 1
    elif type(document.data["version"]) is not int or document.data["version"] != 1:
        message = f"expected version 1, found {describe(document.data['version'])}"
        document.report(("version",), message, "write version: 1")
        document.data["version"] = 1


def drop_empty(document: Document, allowed: Callable[[Path], bool], hint_at: str) -> None:
    """Report keys without a value and leave them out, except where ``allowed``. ``hint_at``: the
    key below which ``{}`` is the remedy.
    """
    empty = [
        path
        for path, value in walk(document.data)
        if value is None and isinstance(path[-1], str) and not allowed(path)
    ]
    for path in reversed(empty):
        hint = "write {}" if path[:-1][-1:] == (hint_at,) else "give it one or remove the key"
        document.report(path, "there is no value here", hint, at_key=True)
        holder_of(document.data, path).pop(path[-1])


def holder_of(data: Any, path: Path) -> Any:
    """Return the mapping or list that contains the place ``path``."""
    for part in path[:-1]:
        data = data[part]
    return data


def message_of(detail: ErrorDetails) -> str:
    """Return what one error of pydantic says was expected and found."""
    expected = _EXPECTED.get(detail["type"]) or expectation(detail["msg"])
    return f"{expected}, found {describe(detail['input'])}"


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    quoted = isinstance(value, str) and (":" in value or value[:1] == "%")
    return f'"{value}"' if quoted else str(value)
