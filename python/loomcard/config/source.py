"""A policy configuration as a command names it: a file, a policy, or an example that ships with
Loomcard.

A name that ends in .yml or .yaml, or has a slash, is a file. Any other name is never a file, so
that a command means the same in every folder. A policy comes before an example of the same name.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import yaml

from loomcard.api import registry
from loomcard.config import rules
from loomcard.config.shipped import PlaceError, shipped
from loomcard.validation.text import text_of

_ENDINGS: Final = (".yml", ".yaml")


class SourceError(Exception):
    """There is no such configuration, or it cannot be read. ``hint`` says what to do; ``rule`` is
    the id of the rule of ``loomcard policy check``.
    """

    def __init__(self, message: str, hint: str, rule: str) -> None:
        super().__init__(message)
        self.hint = hint
        self.rule = rule


@dataclass(frozen=True)
class Source:
    """The text of a policy configuration. ``name``: the name of its file, or of the policy;
    ``folder``: where policies in files are looked for first; ``file``: None for a policy alone.
    """

    name: str
    text: str
    folder: Path = Path()
    file: Path | None = None

    @property
    def title(self) -> str:
        """Its name in results: the file's name without its ending, or the policy's name."""
        return self.name if self.file is None else self.file.stem


def resolve(given: str | Path, beside: Path = Path(), *, known: bool = True) -> Source:
    """The configuration that ``given`` names. A policy's name, or path/to/file.py:Class, stands for
    that policy in one leaf queue, with its default options.

    ``beside``: the folder from which relative paths start. ``known``: refuse a name that is unknown
    here; False: accept it, since the ResourceManager may know the policy. Raises SourceError.
    """
    name = str(given)
    if name.endswith(".py"):
        hint = registry.class_wanted(name)
        raise SourceError(f"{name!r} names a Python file and no class", hint, rules.POLICY)
    if isinstance(given, Path) or name.endswith(_ENDINGS) or _is_path(name):
        return _read(_file(given, beside))
    if ".py:" in name or name in registry.known_names():
        return _alone(name)
    example = examples().get(name)
    if example is not None:
        return _read(example)
    if known:
        raise _unknown(name, beside)
    return _alone(name)


def examples() -> dict[str, Path]:
    """The configurations that ship with Loomcard, by name."""
    with suppress(PlaceError):
        return {file.stem: file for file in sorted(shipped("policies").glob("*.yml"))}
    return {}


def _is_path(name: str) -> bool:
    return os.sep in name and ".py:" not in name


def _alone(name: str) -> Source:
    keys = {"version": 1, "kind": "policy", "policy": name}
    return Source(name, yaml.safe_dump(keys, sort_keys=False))


def _file(given: str | Path, beside: Path) -> Path:
    """The file in the folder ``beside``, or an example with this file name."""
    file = beside / given
    example = examples().get(Path(given).stem)
    if not file.exists() and example is not None and str(given) == example.name:
        return example
    return file


def _read(file: Path) -> Source:
    try:
        text = text_of(file)
    except FileNotFoundError as error:
        hint = "check the path"
        if file.stem in registry.known_names():
            hint += f"; the policy alone is {file.stem}"
        raise SourceError(f"there is no file {file}", hint, rules.FILE) from error
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise SourceError(message, "check the path", rules.FILE) from error
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise SourceError(message, "save it as UTF-8", rules.FILE) from error
    return Source(file.name, text, file.parent, file)


def _unknown(name: str, beside: Path) -> SourceError:
    if (beside / name).exists():
        hint = f"the file of that name is ./{name}"
    else:
        names = [*registry.known_names(), *examples()]
        near = get_close_matches(name.lower(), names, n=3)
        hint = f"{'did you mean' if near else 'known are'}: {', '.join(near or sorted(names))}"
        hint += "; a file ends in .yml"
    return SourceError(f"there is no policy {name!r}", hint, rules.POLICY)
