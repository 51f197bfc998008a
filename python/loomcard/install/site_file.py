"""A Hadoop site file changed as text: comments, order and indentation of the rest stay.

after = with_properties(text, {"yarn.resourcemanager.scheduler.class": "...", "old.key": None})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_PROPERTY: Final = re.compile(r"<property\b[^>]*>.*?</property\s*>", re.DOTALL)
_NAME: Final = re.compile(r"<name\s*>\s*(.*?)\s*</name\s*>", re.DOTALL)
_VALUE: Final = re.compile(r"<value\s*/>|<value\s*>.*?</value\s*>", re.DOTALL)
_END: Final = re.compile(r"[ \t]*</configuration\s*>\s*\Z")


class SiteFileError(Exception):
    """A site file that cannot be read or changed. `hint` says what is expected."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def properties(text: str, place: str) -> dict[str, str]:
    """Name to value; of a name that stands twice the last one counts, as in Hadoop.

    Raises SiteFileError, naming `place`, for a text that is no Hadoop configuration.
    """
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 (the administrator's own file)
    except ElementTree.ParseError as error:
        line, column = error.position
        raise SiteFileError(
            f"{place}:{line}:{column + 1}: not XML", "correct the file; nothing was changed"
        ) from error
    if root.tag != "configuration":
        raise SiteFileError(
            f"{place}: its root is <{root.tag}>, not <configuration>", "name Hadoop's own folder"
        )
    return {
        (each.findtext("name") or "").strip(): (each.findtext("value") or "").strip()
        for each in root.iter("property")
    }


def with_properties(text: str, wanted: Mapping[str, str | None], place: str) -> str:
    """The text with these values, and without the properties whose value is None.

    New properties come last. Raises SiteFileError as `properties` does, and where the text has no
    line `</configuration>` to write before.
    """
    present = properties(text, place)
    for name, value in wanted.items():
        if present.get(name) != value:
            text = _removed(text, name) if value is None else _set(text, name, value, place)
    return text


class _Block(NamedTuple):
    name: str
    start: int
    end: int


def _blocks(text: str) -> Iterator[_Block]:
    """Every property that is not in a comment."""
    masked = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    for found in _PROPERTY.finditer(masked):
        name = _NAME.search(found[0])
        yield _Block(name[1] if name else "", found.start(), found.end())


def _set(text: str, name: str, value: str, place: str) -> str:
    element = f"<value>{escape(value)}</value>"
    for block in reversed(list(_blocks(text))):
        if block.name == name:
            body = text[block.start : block.end]
            changed, count = _VALUE.subn(lambda _: element, body, count=1)
            if not count:
                changed = body.replace("</name>", f"</name>{element}", 1)
            return text[: block.start] + changed + text[block.end :]
    end = _END.search(text)
    if end is None:
        raise SiteFileError(f"{place}: no </configuration> at its end", "write it on its own line")
    line = f"  <property><name>{escape(name)}</name>{element}</property>\n"
    gap = "" if text[: end.start()].endswith("\n") else "\n"
    return text[: end.start()] + gap + line + text[end.start() :]


def _removed(text: str, name: str) -> str:
    for block in reversed(list(_blocks(text))):
        if block.name != name:
            continue
        start = text.rfind("\n", 0, block.start) + 1
        end = text.find("\n", block.end) + 1 or len(text)
        alone = not text[start : block.start].strip() and not text[block.end : end].strip()
        first, last = (start, end) if alone else (block.start, block.end)
        text = text[:first] + text[last:]
    return text
