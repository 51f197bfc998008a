"""Find policies by name: the name of an installed package's entry point in the group
``loomcard.policies``, of a class that this process registered, or ``path/to/file.py:Class``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from loomcard.api import PLAN_API
from loomcard.validation import error_text
from loomcard.validation.hinted import HintedError
from loomcard.wire.older import OPTIONS, renamed

GROUP = "loomcard.policies"
"""The entry point group in which an installed package names its policies. Loomcard does so too: its
pyproject.toml is the only list of its policies.
"""

_registered: dict[str, type] = {}
_modules: dict[tuple[str, str], tuple[ModuleType, bytes]] = {}  # by name and hash
_digests: dict[str, str] = {}
_notices: list[str] = []
_DIGEST = re.compile("[0-9a-f]{64}")

P = TypeVar("P", bound=type)


class PolicyNotFoundError(HintedError):
    """There is no such policy, or it cannot be loaded; ``hint`` says what to do."""


def register(name: str) -> Callable[[P], P]:
    """Class decorator: make a policy known by ``name`` in this process only, as in a test or a
    notebook. A policy that an entry point or ``path/to/file.py:Class`` names does not need it.
    Raises ValueError if another class has that name.
    """

    def enter(cls: P) -> P:
        place = _place(cls)
        known = _registered.get(name)
        other = place if known is None else _place(known)
        for taken in (other, built_in().get(name, place)):
            if taken != place:
                raise ValueError(f"policy {name!r} is registered already, by {taken}")
        _registered[name] = cls
        return cls

    return enter


def registered() -> Mapping[str, type]:
    """The classes that this process registered, by name. No other process can find them."""
    return dict(_registered)


def known_names() -> set[str]:
    """The names of all policies that can be named here, whether they can be loaded or not. Raises
    PolicyNotFoundError if Loomcard is not installed.
    """
    if not _own():
        raise _not_installed()
    return {*_registered, *_entry_points()}


def built_in() -> Mapping[str, str]:
    """Loomcard's own policies: name -> ``module:Class``. Empty if Loomcard's sources are on the
    path without installed metadata.
    """
    return {name: point.value for name, point in _own().items()}


@dataclass(frozen=True, slots=True)
class Known:
    """One policy that can be named in a configuration; ``origin`` is its ``module:Class``."""

    name: str
    origin: str
    summary: str


def names() -> list[Known]:
    """Every policy that can be named, by name; one that cannot be loaded is listed with the reason
    as its summary. Raises PolicyNotFoundError if Loomcard is not installed.
    """
    known = []
    installed = _entry_points()
    for name in sorted(known_names()):
        try:
            cls = find(name)
        except PolicyNotFoundError as error:
            origin = installed[name].value if name in installed else _place(_registered[name])
            known.append(Known(name, origin, str(error)))
            continue
        first = (inspect.getdoc(cls) or "").partition("\n\n")[0]
        known.append(Known(name, _place(cls), " ".join(first.split())))
    return known


@dataclass(frozen=True, slots=True)
class Applied:
    """What the configuration in force says about policies' files: only applied texts may run.

    ``hashes``: the SHA-256 of each file's text, by the policy's name. ``copies``: the folder that
    keeps the applied texts, for a process that starts after a file was edited.
    """

    hashes: Mapping[str, str]
    copies: Path | None = None

    def copy(self, digest: str) -> bytes | None:
        """The text with that hash; None if it is not kept."""
        if self.copies is None or not _DIGEST.fullmatch(digest):
            return None
        try:
            text = (self.copies / f"{digest}.py").read_bytes()
        except OSError:
            return None
        return text if hashlib.sha256(text).hexdigest() == digest else None

    def keep(self, digest: str, text: bytes) -> None:
        """Keep a text; if the disk cannot take it, nothing is raised."""
        if self.copies is None or self.copy(digest) is not None:
            return
        draft = self.copies / f"{digest}.draft"
        with contextlib.suppress(OSError):
            self.copies.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(text)
            draft.replace(self.copies / f"{digest}.py")


def take_notices() -> list[str]:
    """Return what an operator should know about the policies' files; each notice only once."""
    taken = _notices.copy()
    _notices.clear()
    return taken


def file_hash(name: str) -> str | None:
    """The SHA-256 of the text from which ``name`` was last loaded; None if that is not a file."""
    return _digests.get(name)


def find(
    name: str, *, search: Sequence[Path] | None = None, applied: Applied | None = None
) -> type:
    """The policy class that ``name`` stands for.

    ``search``: the folders from which files may be loaded; None: any path (offline commands).
    ``applied``: use the applied text of a file; None: its present text. Each text is executed once
    per process. Raises PolicyNotFoundError if there is no such class or it cannot be loaded.
    """
    if ".py:" in name:
        return _from_file(name, search, applied)
    if name.endswith(".py"):
        raise PolicyNotFoundError(f"{name!r} names a file and no class", class_wanted(name))
    if name in _registered:
        return _checked(_registered[name], name)
    if name in _own():
        return _load(_own()[name])
    offered = entry_points(group=GROUP, name=name)
    if offered:
        return _load(_only(name, offered))
    names = known_names()
    near = get_close_matches(name, names, n=3)
    known = ", ".join(near or sorted(names))
    raise PolicyNotFoundError(
        f"there is no policy {name if len(name) <= 100 else name[:97] + '...'!r}",
        f"{'did you mean' if near else 'known are'}: {known}; or name path/to/file.py:Class",
    )


def class_wanted(file: str) -> str:
    """The hint for a policy's file that is named without its class."""
    return f"name the class, too: {file}:Class"


def found_beside(name: str, folder: Path) -> str:
    """Return ``name`` as ``find`` needs it here: a policy's file in ``folder`` with the path to it,
    any other name unchanged.
    """
    file = folder / name.rpartition(":")[0]
    return str(folder / name) if ".py:" in name and file.is_file() else name


def build(
    name: str,
    options: dict[str, Any],
    *,
    search: Sequence[Path] | None = None,
    applied: Applied | None = None,
) -> Any:
    """Return the policy object for a configuration's name and options. Raises PolicyNotFoundError,
    TypeError or ValueError.
    """
    cls = find(name, search=search, applied=applied)
    return cls(**todays_options(cls, options))


def todays_options(cls: type, options: dict[str, Any]) -> dict[str, Any]:
    """The options by today's names, if the policy has these names and not the former ones."""
    known = getattr(cls, "__dataclass_fields__", {})
    names = {a: b for a, b in OPTIONS.items() if b in known and a not in known}
    return renamed(options, names)


def takes_memory(policy: Any) -> bool:
    """Whether its ``decide`` is of the form ``decide(view, memory)``."""
    return len(inspect.signature(policy.decide).parameters) > 1


@cache
def _own() -> dict[str, EntryPoint]:
    """Loomcard's own entry points by name; they do not change during a process."""
    try:
        points = distribution("loomcard").entry_points.select(group=GROUP)
    except PackageNotFoundError:
        return {}
    return {point.name: point for point in points}


def _entry_points() -> dict[str, EntryPoint]:
    """All entry points by name. No other package can take the name of a policy of Loomcard."""
    return {point.name: point for point in entry_points(group=GROUP)} | _own()


def _only(name: str, offered: Collection[EntryPoint]) -> EntryPoint:
    """The one entry point that is offered; two packages must not offer different classes under the
    same name.
    """
    classes = sorted({each.value for each in offered})
    if len(classes) == 1:
        return next(iter(offered))
    raise PolicyNotFoundError(
        f"two packages offer a policy {name!r}: {' and '.join(classes)}",
        f"uninstall one of them: {_packages(offered)}",
    )


def _packages(points: Iterable[EntryPoint]) -> str:
    found = {point.dist.name for point in points if point.dist is not None}
    return ", ".join(sorted(found)) or "pip list names them"


def _not_installed() -> PolicyNotFoundError:
    package = Path(__file__).resolve().parents[1]
    return PolicyNotFoundError(
        f"no policy has a name here: {sys.executable} runs loomcard from {package},"
        " which is not installed",
        f"install it there: {sys.executable} -m pip install -e {package.parents[1]}",
    )


def _place(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _load(point: EntryPoint) -> type:
    try:
        cls = point.load()
    except BaseException as error:  # a third party's module may raise anything
        if error_text.is_interrupt(error):
            raise
        raise PolicyNotFoundError(
            f"policy {point.name!r} ({point.value}) cannot be loaded: {error_text.message(error)}",
            "repair, reinstall or uninstall the package that offers it",
        ) from error
    return _checked(cls, point.value)


def _from_file(name: str, search: Sequence[Path] | None, applied: Applied | None) -> type:
    _, _, attribute = name.rpartition(":")
    module = _module(name, search, applied)
    if not hasattr(module, attribute):
        classes = [
            n for n, c in vars(module).items() if inspect.isclass(c) and hasattr(c, "decide")
        ]
        raise PolicyNotFoundError(
            f"{module.__file__} has no class {attribute!r}",
            f"policies in it: {', '.join(classes) or 'none'}",
        )
    return _checked(getattr(module, attribute), name)


def _module(name: str, search: Sequence[Path] | None, applied: Applied | None) -> ModuleType:
    """The module of a policy's file, made from the applied text or from the present one."""
    wanted = None if applied is None else applied.hashes.get(name)
    if wanted is None or (name, wanted) not in _modules:
        path, text = _text(name, search, applied, wanted)
        wanted = hashlib.sha256(text).hexdigest()
        if (name, wanted) not in _modules:
            _modules[name, wanted] = _executed(path, text), text
    module, text = _modules[name, wanted]
    sys.modules[module.__name__] = module
    _digests[name] = wanted
    if applied is not None:
        applied.keep(wanted, text)
    return module


def _text(
    name: str, search: Sequence[Path] | None, applied: Applied | None, wanted: str | None
) -> tuple[Path, bytes]:
    """Where the file is, and the text to use: the ``wanted`` one, if there is one."""
    kept = None if applied is None or wanted is None else applied.copy(wanted)
    try:
        path = _locate(Path(name.rpartition(":")[0]), search, name)
        text = path.read_bytes()
    except PolicyNotFoundError:
        if kept is None:
            raise
        path, text = Path(name.rpartition(":")[0]), b""
    if wanted is None or hashlib.sha256(text).hexdigest() == wanted:
        return path, text
    if kept is None:
        raise PolicyNotFoundError(
            f"{path} was changed after it was applied, and no copy of that text is kept",
            "apply the configuration again, or put the file back",
        )
    _notices.append(
        f"{path} was changed after it was applied; the text that was applied stays in force. "
        "Apply the configuration again to use the new one"
    )
    return path, kept


def _executed(path: Path, text: bytes) -> ModuleType:
    module_name = f"loomcard_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 - what importing is
    except BaseException as error:  # as above
        if error_text.is_interrupt(error):
            raise
        line = _line(path, error)
        raise PolicyNotFoundError(
            f"{path}{line and f', line {line},'} cannot be loaded: {error_text.message(error)}",
            "correct that line, or install what it needs" if line else "run it with python",
        ) from error
    return module


def _line(path: Path, error: BaseException) -> str:
    """The last line of the file that led to the exception of its import; empty if unknown."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return str(error.lineno or "")
    calls = traceback.walk_tb(error.__traceback__)
    lines = [str(line) for frame, line in calls if frame.f_code.co_filename == str(path)]
    return lines[-1] if lines else ""


def _locate(file: Path, search: Sequence[Path] | None, name: str) -> Path:
    if search is None:
        if file.is_file():
            return file.resolve()
        raise PolicyNotFoundError(f"{name!r}: there is no file {file}", "check the path")
    folders = [folder.resolve() for folder in search]
    for folder in folders:
        path = (folder / file).resolve()
        if path.is_file() and any(path.is_relative_to(allowed) for allowed in folders):
            return path
    none = "none is configured; `loomcard cluster up` takes --policy-path FOLDER"
    where = ", ".join(map(str, folders)) or none
    raise PolicyNotFoundError(
        f"{name!r}: no such file in the folders that policies may be loaded from",
        f"put it into one of loomcard.policy.path ({where}), or install it as a package",
    )


def _checked(cls: Any, where: str) -> type:
    if not inspect.isclass(cls) or not callable(getattr(cls, "decide", None)):
        raise PolicyNotFoundError(
            f"{where} is not a policy", "a policy is a class with a method decide(view)"
        )
    decide = inspect.getattr_static(cls, "decide")
    if inspect.isfunction(decide) and not _callable_as_decide(decide):
        raise PolicyNotFoundError(
            f"{where} cannot be called: decide{inspect.signature(decide)}",
            "write decide(self, view), or decide(self, view, memory)",
        )
    wanted = getattr(cls, "plan_api", 1)
    if wanted not in (PLAN_API - 1, PLAN_API):  # names of the previous version still work
        raise PolicyNotFoundError(
            f"{where} needs version {wanted!r} of the policy API, and this Loomcard has version"
            f" {PLAN_API}",
            f"install a Loomcard with version {wanted!r}, or write the policy for version"
            f" {PLAN_API} and state plan_api = {PLAN_API}",
        )
    if "plan_api" in getattr(cls, "__dataclass_fields__", {}):
        raise PolicyNotFoundError(
            f"{where} states plan_api as a field, so that a configuration could change it",
            f"write plan_api = {PLAN_API} without a type, or with ClassVar[int]",
        )
    return cls


def _callable_as_decide(method: FunctionType) -> bool:
    """Whether a round can call it, with the view alone or with view and memory (`takes_memory`)."""
    signature = inspect.signature(method)
    try:
        signature.bind(*range(min(max(len(signature.parameters), 2), 3)))
    except TypeError:
        return False
    return True
