"""A Hadoop site file changed in place: every byte that is not ours stays, and each change can be
undone to the byte, whatever else was edited since.

    file = SiteFile(path.read_bytes(), str(path))
    data, changes = file.changed({"yarn.resourcemanager.scheduler.class": "..."})
    SiteFile(data, str(path)).undone(changes) == path.read_bytes()
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from loomcard.validation.hinted import HintedError

_DECLARED: Final = re.compile(rb"""<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)""")
_ATTRIBUTE: Final = re.compile(rb"""\s([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")
_SPACE: Final = b" \t\r\n"
_OURS: Final = "org.loomcard."


class SiteFileError(HintedError):
    """A file of an installation that cannot be read or changed. `hint` says what to do."""


@dataclass(frozen=True)
class Change:
    """A property that got another value: `new` is the element or attribute with it, `old` what was
    there before, None for a property that was added.
    """

    name: str
    old: str | None
    new: str


@dataclass
class Property:
    """One `<property>`, with its positions in the text."""

    start: int
    end: int = 0
    name: str | None = None
    value: str | None = None
    """The name as Hadoop reads it: not trimmed; None if it is missing or empty."""
    final: bool = False
    fallback_of: Include | None = None
    """Read only if that file is missing."""
    name_end: int = 0
    value_span: tuple[int, int] | None = None
    """The position of the element `<value>`, or of the attribute with the space before it."""


@dataclass
class Include:
    """One `<xi:include>`."""

    href: str | None
    has_fallback: bool = False


@dataclass
class _Walk:
    """The state of the parser's handlers between two events."""

    entries: list[Property | Include] = field(default_factory=list)
    open: list[tuple[str, int, Property | Include | None]] = field(default_factory=list)
    property: Property | None = None
    text: list[str] | None = None
    root: str = ""
    root_end: int = -1


class SiteFile:
    """The text of a site file. Raises SiteFileError, which names `place`, if it is not one."""

    def __init__(self, data: bytes, place: str) -> None:
        self.place = place
        self._encoding = _encoding(data)
        try:
            text = data.decode(self._encoding)
            same = text.encode(self._encoding) == data
        except (UnicodeError, LookupError):
            same = False
        if not same:
            raise SiteFileError(
                f"{place}: not readable as {self._encoding}", "correct the encoding it declares"
            )
        self._data = text.encode()  # positions are those of its UTF-8 form
        self._walk = _Walk()
        self._parse()
        self.entries: list[Property | Include] = self._walk.entries
        """Return properties and includes, in their order."""

    def properties(self) -> dict[str, str]:
        """Return names and values of the properties in this file itself, as Hadoop reads them."""
        found = {name: self._block(name) for name in self._names()}
        return {name: block.value for name, block in found.items() if block and block.value}

    def changed(self, wanted: Mapping[str, str]) -> tuple[bytes, list[Change]]:
        """Return the file with these values, and what was changed. New properties come last. Raises
        SiteFileError if there is no `</configuration>` before which to write.
        """
        edits, changes, added = [], [], []
        for name, value in wanted.items():
            block = self._block(name)
            if block is None:
                new = f"<value>{escape(value)}</value>"
                added.append(f"  <property><name>{escape(name)}</name>{new}</property>")
                changes.append(Change(name, None, new))
            elif (block.value or "").strip() != value:
                edit, change = self._set(name, block, value)
                edits.append(edit)
                changes.append(change)
        if added:
            newline = b"\r\n" if b"\r\n" in self._data else b"\n"
            place = self._last_place()
            edits.append((place, place, b"".join(newline + line.encode() for line in added)))
        return self._edited(edits), changes

    def carries(self, change: Change) -> bool:
        """Return whether the property still has the value of that change."""
        block = self._block(change.name)
        if block is None or block.value_span is None:
            return False
        return self._data[slice(*block.value_span)].decode() == change.new

    def undone(self, changes: Iterable[Change]) -> bytes:
        """Return the file without these changes. A value that the administrator has set since, and
        that is not ours, stays.
        """
        edits = []
        for change in changes:
            block = self._block(change.name)
            ours = (
                change.name.startswith("loomcard.")
                or _OURS in ((block and block.value) or "")
                or self.carries(change)
            )
            if block is None or not ours:
                continue
            if change.old is None:
                edits.append((*self._whole(block), b""))
            else:
                edits.append(self._put_back(block, change.old))
        return self._edited(edits)

    def _put_back(self, block: Property, old: str) -> tuple[int, int, bytes]:
        span = block.value_span or (block.name_end, block.name_end)
        is_element = self._data[span[0] : span[0] + 1] in (b"<", b"")
        if old and (old[0] == "<") != is_element and block.value_span is not None:
            raise SiteFileError(
                f"{self.place}: {block.name} was written anew since the installation",
                "give it its former value by hand, then try again",
            )
        return (*span, old.encode())

    def _names(self) -> list[str]:
        return [each.name for each in self.entries if isinstance(each, Property) and each.name]

    def _block(self, name: str) -> Property | None:
        """Return the property that counts: the first that is final, otherwise the last."""
        found = [
            each
            for each in self.entries
            if isinstance(each, Property) and each.name == name and each.fallback_of is None
        ]
        return next((each for each in found if each.final), found[-1] if found else None)

    def _set(self, name: str, block: Property, value: str) -> tuple[tuple[int, int, bytes], Change]:
        if not self._data.startswith(b"<property", block.start):
            raise SiteFileError(
                f"{self.place}: {name} comes from an entity", "write its property out in the file"
            )
        start, end = block.value_span or (block.name_end, block.name_end)
        old = self._data[start:end].decode()
        is_attribute = bool(old) and old[0] != "<"
        new = f" value={quoteattr(value)}" if is_attribute else f"<value>{escape(value)}</value>"
        return (start, end, new.encode()), Change(name, old, new)

    def _last_place(self) -> int:
        if self._walk.root_end < 0:
            raise SiteFileError(
                f"{self.place}: no </configuration>", "write <configuration></configuration>"
            )
        return len(self._data[: self._walk.root_end].rstrip(_SPACE))

    def _whole(self, block: Property) -> tuple[int, int]:
        """Return the block with the white space before it: the end of the line above, and
        spaces.
        """
        before = self._data[: block.start].rstrip(b" \t")
        for newline in (b"\r\n", b"\n"):
            if before.endswith(newline):
                return len(before) - len(newline), block.end
        return block.start, block.end

    def _edited(self, edits: list[tuple[int, int, bytes]]) -> bytes:
        data = self._data
        for start, end, new in sorted(edits, reverse=True):
            data = data[:start] + new + data[end:]
        # Only new text can contain a character that the file's encoding lacks.
        return data.decode().encode(self._encoding, "xmlcharrefreplace")

    # Reading. Each handler does what Hadoop's Configuration does at that event.

    def _parse(self) -> None:
        self._expat = expat.ParserCreate("UTF-8", " ")
        self._expat.buffer_text = False
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.ExternalEntityRefHandler = lambda *_: 0
        try:
            self._expat.Parse(self._data, True)
        except expat.ExpatError as error:
            what = "an external entity" if error.code == 21 else "not XML"
            raise SiteFileError(
                f"{self.place}:{error.lineno}:{error.offset + 1}: {what}",
                "correct the file; nothing was changed",
            ) from error
        if self._walk.root != "configuration":
            raise SiteFileError(
                f"{self.place}: its root is <{self._walk.root}>, not <configuration>",
                "name Hadoop's own folder",
            )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        walk, tag = self._walk, tag.rpartition(" ")[2]
        at = self._expat.CurrentByteIndex
        entry: Property | Include | None = None
        if not walk.open:
            walk.root = tag
        if tag == "property":
            entry = walk.property = self._property(at, attributes)
            walk.entries.append(entry)
        elif tag == "include":
            entry = Include(attributes.get("href"))
            walk.entries.append(entry)
        elif tag == "fallback" and (around := self._include()):
            around.has_fallback = True
        elif tag in ("name", "value", "final"):
            walk.text = []
        walk.open.append((tag, at, entry))

    def _property(self, at: int, attributes: dict[str, str]) -> Property:
        tag_end = self._tag_end(at)
        made = Property(
            at,
            name=attributes.get("name"),
            value=attributes.get("value"),
            final=attributes.get("final") == "true",
            fallback_of=self._include(),
            name_end=tag_end,
        )
        for found in _ATTRIBUTE.finditer(self._data, at, tag_end):
            if found[1] == b"value":
                made.value_span = found.span()
        return made

    def _include(self) -> Include | None:
        return next((e for _, _, e in reversed(self._walk.open) if isinstance(e, Include)), None)

    def _text(self, text: str) -> None:
        if self._walk.text is not None:
            self._walk.text.append(text)

    def _end(self, tag: str) -> None:
        walk, tag = self._walk, tag.rpartition(" ")[2]
        _, start, entry = walk.open.pop()
        end, property_ = self._element_end(start), walk.property
        if isinstance(entry, Property):
            entry.end, walk.property = end, None
        elif not walk.open:
            closing = self._expat.CurrentByteIndex
            walk.root_end = closing if self._data.startswith(b"</", closing) else -1
        elif property_ is not None and tag in ("name", "value", "final"):
            text = "".join(walk.text or ())
            if tag == "final":
                property_.final = text == "true"
            elif tag == "name":
                property_.name, property_.name_end = text.strip() or property_.name, end
            else:
                property_.value, property_.value_span = text or property_.value, (start, end)

    def _element_end(self, start: int) -> int:
        """Return the end of the element that began there and ends at this event."""
        tag_end = self._tag_end(start)
        if self._data[tag_end - 2 : tag_end] == b"/>":
            return tag_end
        return self._data.find(b">", self._expat.CurrentByteIndex) + 1

    def _tag_end(self, start: int) -> int:
        quote, at = b"", start
        while at < len(self._data):
            sign = self._data[at : at + 1]
            if quote:
                quote = b"" if sign == quote else quote
            elif sign in (b'"', b"'"):
                quote = sign
            elif sign == b">":
                return at + 1
            at += 1
        return at


def _encoding(data: bytes) -> str:
    """Decode by the byte order mark or the first bytes, otherwise as declared. A mark stays in the
    text.
    """
    for start, name in (
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"<\0", "utf-16-le"),
        (b"\0<", "utf-16-be"),
    ):
        if data.startswith(start):
            return name
    declared = _DECLARED.match(data.removeprefix(b"\xef\xbb\xbf"))
    return declared[1].decode() if declared else "utf-8"
