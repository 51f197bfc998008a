"""YAML text -> plain data and the line of every value, by a small loader that builds nothing else.

Scalars follow YAML 1.2's core schema (only ``true`` and ``false`` are truth values, no octal, no
base 60), so that a user called ``no`` or ``012`` stays a name.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml.composer import Composer, ComposerError
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from loomcard.validation.findings import Finding, describe

MAX_DEPTH: Final = 64


class Limits(NamedTuple):
    """The limits of a file: ``characters`` of text, which bounds the time, and ``values`` after
    aliases are written out, because nested aliases grow exponentially. ``what`` names the kind of
    file in findings.
    """

    characters: int = 1_000_000
    values: int = 20_000
    what: str = "a configuration"


CONFIG: Final = Limits()

_BROKEN: Final = object()
"""Replaces a value that has a finding already; it is left out, so that it gets no second one."""

Path = tuple[str | int, ...]
Position = tuple[int, int]
_TOO_MUCH: Final = "too much for "
_TAG: Final = "tag:yaml.org,2002:"


class _Resolver(BaseResolver):
    """The core schema's plain scalars; the tables are this class's own, not PyYAML's."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the base class declares it so


for _name, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)"
        r"|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _Resolver.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), list(_first))


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """Composes nodes, and stops at a depth that none of our files has, before Python's stack
    overflows.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self.limits = limits
        self.depth = 0
        self.count = 0

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """Compose as PyYAML does, within the limits of depth and of values."""
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH:
            self._stop(f"nested more than {MAX_DEPTH} levels deep")
        if self.count > 2 * self.limits.values:  # keys are nodes too
            self._stop(f"more than {self.limits.values} values")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _stop(self, problem: str) -> NoReturn:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        raise ComposerError(None, None, f"{_TOO_MUCH}{self.limits.what}: {problem}", mark)


@dataclass
class Document:
    """The data of one YAML file, the position of each part, and the errors so far. ``data``
    contains only dict (keys are text), list, str, int, float, bool and None.
    """

    data: Any = None
    findings: list[Finding] = field(default_factory=list)
    _keys: dict[Path, Position] = field(default_factory=dict)
    _values: dict[Path, Position] = field(default_factory=dict)

    def report(
        self,
        path: Path,
        message: str,
        hint: str = "",
        *,
        at_key: bool = False,
        rule: str = "",
        severity: str = "error",
    ) -> None:
        """Add a finding at ``path``, or at the nearest enclosing place that the file has."""
        place = path
        while place and place not in self._values:
            place = place[:-1]
        table = self._keys if at_key else self._values
        line, column = table.get(place) or self._values.get(place) or (1, 1)
        self.findings.append(
            Finding(line, column, path_text(path), message, hint, rule=rule, severity=severity)
        )

    def rename(self, path: Path, new: str, rule: str) -> None:
        """Give a key today's name, and warn of the former one."""
        holder = self.data
        for part in path[:-1]:
            holder = holder[part]
        old = str(path[-1])
        message = f"{old} is now {new}; the old name goes with the next version"
        self.report(path, message, f"write {new}", at_key=True, rule=rule, severity="warning")
        items = [(new if key == old else key, value) for key, value in holder.items()]
        holder.clear()
        holder.update(items)
        for table in (self._keys, self._values):
            if path in table:
                table[*path[:-1], new] = table[path]

    @property
    def has_errors(self) -> bool:
        """Whether any finding is more than a warning."""
        return any(finding.severity == "error" for finding in self.findings)

    def by_rule(self, rule: str) -> None:
        """Give the findings that have no rule yet this one."""
        self.findings = [f if f.rule else replace(f, rule=rule) for f in self.findings]


def path_text(path: Path) -> str:
    """Return a path as a reader writes it: ``queues.a.submit[1]``."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" for part in path]
    return "".join(parts).removeprefix(".")


def _printable(key: str) -> str:
    """Return the key with control characters written out, as in ``\\x1b``."""
    return key if key.isprintable() else repr(key)[1:-1]


def walk(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value of a document with its path, outer ones first."""
    yield path, data
    children: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(data, dict):
        children = iter(data.items())
    elif isinstance(data, list):
        children = iter(enumerate(data))
    for part, child in children:
        yield from walk(child, (*path, part))


def read(text: str, limits: Limits = CONFIG) -> Document:
    """Read YAML text; YAML errors are in the document's findings."""
    document = Document()
    if len(text) > limits.characters:
        message = f"the file has {len(text)} characters; at most {limits.characters} are read"
        document.findings.append(Finding(1, 1, "", message, "split the file or trim it"))
        return document
    node = _compose(text, document, limits)
    if node is not None:
        _Construction(document, limits).build(node, ())
    return document


def _compose(text: str, document: Document, limits: Limits) -> yaml.Node | None:
    """Return the node of the only document of ``text``; None, with a finding, if there is none."""
    last_line = max(1, len(text.splitlines()))
    loader = None
    try:
        loader = _Loader(text, limits)
        node: yaml.Node | None = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = ": ".join(part for part in (error.context, error.problem) if part)
        problem = problem if problem.startswith(_TOO_MUCH) else f"not YAML: {problem}"
    except ReaderError as error:
        before = text[: error.position]
        line = max(1, len(before.splitlines()))
        column = 1
        problem = f"not YAML: the character {chr(int(error.character))!r} is not allowed"
    except (ValueError, OverflowError) as error:  # an escape such as "\\UFFFFFFFF"
        assert loader is not None
        line, column = loader.line + 1, loader.column + 1
        problem = f"not YAML: cannot be read: {error}"
    else:
        if node is None:
            document.findings.append(
                Finding(1, 1, "", "the file is empty", "begin with: version: 1")
            )
        return node
    document.findings.append(Finding(min(line, last_line), column, "", problem, _remedy(problem)))
    return None


def _remedy(problem: str) -> str:
    if "\\t" in problem:
        return "indent with spaces, not with tabs"
    return "make it smaller" if problem.startswith(_TOO_MUCH) else "see https://yaml.org/spec"


class _Construction:
    """Turns nodes into data, notes positions, and refuses forms of YAML that such a file does not
    need.
    """

    def __init__(self, document: Document, limits: Limits) -> None:
        self._document = document
        self._most = limits.values
        self._count = 0
        self._open: set[int] = set()

    def build(self, node: yaml.Node, path: Path, key: Position | None = None) -> None:
        """Construct the whole document below ``node`` into ``document.data``."""
        data = self._value(node, path, key)
        self._document.data = None if data is _BROKEN else data

    def _value(self, node: yaml.Node, path: Path, key: Position | None) -> Any:
        position = _position(node)
        self._document._values[path] = position
        self._document._keys[path] = key or position
        self._count += 1
        if self._count > self._most:
            if self._count == self._most + 1:
                message = f"aliases make more than {self._most} values of this file"
                self._document.report(path, message, "write the values out")
            return _BROKEN
        if id(node) in self._open:
            self._document.report(path, "an alias inside its own anchor", "write the value out")
            return _BROKEN
        self._open.add(id(node))
        try:
            return self._contents(node, path)
        finally:
            self._open.discard(id(node))

    def _contents(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items = [self._value(item, (*path, i), None) for i, item in enumerate(node.value)]
            return [item for item in items if item is not _BROKEN]
        if isinstance(node, yaml.ScalarNode) and node.tag.startswith(_TAG):
            return self._scalar(node, path)
        return self._refuse_tag(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first: dict[str, int] = {}
        for key, value in node.value:
            position = _position(key)
            if not isinstance(key, yaml.ScalarNode):
                self._report_key(position, path, "a key must be text, not a list or a mapping")
                continue
            name: str = key.value
            if name in first:
                message = f"the key {name!r} stands here twice, first in line {first[name]}"
                self._report_key(position, (*path, name), message, "remove one of the two")
                continue
            first[name] = position[0]
            item = self._value(value, (*path, name), position)
            if item is not _BROKEN:
                data[name] = item
        return data

    def _report_key(self, position: Position, path: Path, message: str, hint: str = "") -> None:
        self._document.findings.append(Finding(*position, path_text(path), message, hint))

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        text: str = node.value
        try:
            match node.tag.removeprefix(_TAG):
                case "str":
                    return text
                case "null":
                    return None
                case "bool":
                    return {"true": True, "false": False}[text.lower()]
                case "int":
                    return int(text)
                case "float":
                    return self._finite(text, path)
        except (ValueError, KeyError):
            self._document.report(path, f"cannot be read as a value: {describe(text)}")
            return _BROKEN
        return self._refuse_tag(node, path)

    def _finite(self, text: str, path: Path) -> Any:
        number = float(re.sub(r"\.(inf|nan)$", r"\1", text.lower()))
        if math.isfinite(number):
            return number
        hint = "write a number, such as 1.5"
        self._document.report(path, f"expected a finite number, found {text}", hint)
        return _BROKEN

    def _refuse_tag(self, node: yaml.Node, path: Path) -> Any:
        tag = node.tag.replace(_TAG, "!!")
        self._document.report(path, f"the tag {tag} is not supported here", "remove the tag")
        return _BROKEN


def _position(node: yaml.Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1
