"""Find, check and hash the configurations of policies that an experiment names."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import yaml

import loomcard
from loomcard.api.registry import PolicyNotFoundError, find, found_beside
from loomcard.config import FindingsError, compile_config
from loomcard.config.isolated import find_isolated
from loomcard.config.options import option_model
from loomcard.config.source import SourceError, resolve
from loomcard.validation.reading import read

STOCK: Final = ("stock:capacity", "stock:fair", "stock:fifo")


class InputError(ValueError):
    """Inputs that cannot be used: ``findings`` is a list of lines, each with file and place."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(findings))


@contextmanager
def findings_in(file: str | Path) -> Iterator[None]:
    """Let errors inside name the file. Raises InputError."""
    try:
        yield
    except FindingsError as error:
        raise InputError([str(each) for each in error.named(str(file)).findings]) from error
    except UnicodeDecodeError as error:
        raise InputError([f"{file}: not UTF-8 at byte {error.start} (save it as UTF-8)"]) from error


@dataclass(frozen=True)
class Choice:
    """A policy of an experiment: ``name`` in results, ``text`` its configuration (None for a stock
    scheduler of YARN), ``folder`` in which the configuration's file is.
    """

    name: str
    source: str
    text: str | None
    folder: Path = Path()

    def takes(self, option: str) -> bool:
        """Return whether the configured policy has the option, or the one that it is part of."""
        return self.text is not None and option.partition(".")[0] in self.options()

    def options(self) -> list[str]:
        """Return the names of the options of the policy that governs the file."""
        data = None if self.text is None else read(self.text).data
        name = data.get("policy") if isinstance(data, dict) else None
        if not isinstance(name, str):
            return []
        return list(option_model(find_isolated(found_beside(name, self.folder))).model_fields)

    def varied(self, options: Mapping[str, Any]) -> str | None:
        """Return the configuration's text with these options of its policy, by dotted name."""
        if self.text is None or not options:
            return self.text
        data = read(self.text).data
        for option, value in options.items():
            *outer, last = option.split(".")
            place = data.setdefault("options", {})
            for part in outer:
                place = place.setdefault(part, {})
            place[last] = value
        return str(yaml.safe_dump(data, sort_keys=False))

    def compiled(self, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the compiled configuration; None for stock ones. Raises InputError."""
        text = self.varied(options)
        if text is None:
            return None
        said = "".join(f" with {name}={value}" for name, value in options.items())
        with findings_in(self.source + said):
            return compile_config(text, self.name, beside=self.folder, isolated=True)


def choices(sources: Sequence[str], beside: Path) -> list[Choice]:
    """Return the named policies, in their order. Their names are the stems of their files, if no
    two are equal. Raises InputError with everything that cannot be found, or is named twice.
    """
    found: list[Choice] = []
    wrong: list[str] = []
    for source, count in Counter(sources).items():
        if count > 1:
            wrong.append(f"policy {source!r} is named {count} times (leave all but one out)")
    for source in dict.fromkeys(sources):
        try:
            found.append(_choice(source, beside))
        except InputError as error:
            wrong += error.findings
    if wrong:
        raise InputError(wrong)
    stems = [choice.name for choice in found]
    return [c if stems.count(c.name) == 1 else replace(c, name=c.source) for c in found]


def refuse_stock(chosen: Sequence[Choice]) -> None:
    """Raise InputError for stock schedulers, which run only on real YARN."""
    stock = [choice.name for choice in chosen if choice.text is None]
    if stock:
        raise InputError(
            [
                f"{name}: YARN's own scheduler is not simulated (take"
                f" {name.removeprefix('stock:')}, or `loomcard run --on local`)"
                for name in stock
            ]
        )


def _choice(source: str, beside: Path) -> Choice:
    if source.startswith("stock:"):
        if source not in STOCK:
            raise InputError([f"policy {source!r}: no such stock scheduler ({_or(STOCK)})"])
        return Choice(source, source, None)
    try:
        found = resolve(source, beside)
        if found.file is None:
            find_isolated(source)
    except (SourceError, PolicyNotFoundError) as error:
        raise InputError([f"policy {source!r}: {error} ({error.hint})"]) from error
    return Choice(found.title, source, found.text, found.folder)


def _or(words: Sequence[str]) -> str:
    return "known are " + ", ".join(words)


@cache
def code() -> bytes:
    """Return a digest of Loomcard's Python sources, so that a cell runs again after a change of a
    policy or an engine.
    """
    package = Path(loomcard.__file__).parent
    digest = sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return digest.digest()


def foreign_code(config: Mapping[str, Any] | None) -> bytes:
    """Return the sources of the configuration's policies that are not Loomcard's."""
    package = Path(loomcard.__file__).parent
    used = sorted({queue["policy"] for queue in (config or {"queues": []})["queues"]} - {None})
    text = b""
    for name in used:
        file = inspect.getsourcefile(find(name))
        if file is not None and not Path(file).is_relative_to(package):
            text += Path(file).read_bytes()
    return text
