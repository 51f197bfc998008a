"""The errors in a file, listed all at once, each with its place and its remedy."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches


@dataclass(frozen=True, order=True)
class Finding:
    """One thing wrong with a YAML file.

    ``line`` and ``column`` count from 1; ``path`` names the place inside the document, such as
    ``queues.a.submit[1]``, and is empty where the file as a whole is meant; ``message`` says what
    was expected and what was found; ``hint`` is the remedy, or empty; ``file`` is given where a
    reader of the finding could not know it; ``rule`` is the stable id of what was checked, where it
    has one, and ``severity`` is error, warning or info.
    """

    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    file: str = ""
    rule: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}"
        place = f"{self.file}, {place}" if self.file else place
        where = f"{self.path}: " if self.path else ""
        return f"{place}: {where}{self.message}" + (f" ({self.hint})" if self.hint else "")

    def as_dict(self) -> dict[str, object]:
        """Return the fields by name, as ``--json`` and the REST interface print them."""
        optional = ("file", "rule")
        return {name: v for name, v in asdict(self).items() if v or name not in optional}


class FindingsError(ValueError):
    """A file that cannot be used; ``findings`` lists all findings, in the order of the file."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(sorted(set(findings)))
        assert self.findings, "an error without a finding says nothing"
        super().__init__("\n".join(str(finding) for finding in self.findings))

    def named(self, file: str) -> "FindingsError":
        """Return the same findings, each with its file; those that name one keep it."""
        return FindingsError(f if f.file else replace(f, file=file) for f in self.findings)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known word most like ``word``, or otherwise all known words."""
    names = sorted(set(known))
    close = get_close_matches(word.lower(), [name.lower() for name in names], n=1, cutoff=0.6)
    for name in names:
        if close and name.lower() == close[0]:
            return f"did you mean {name!r}?"
    return "known are " + ", ".join(names) if names else "none are known here"


def describe(value: object) -> str:
    """Name a value of a YAML file in the words of its reader."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            text = repr(value) if abs(value) < 10**20 else f"{str(value)[:12]}..."
            return f"the number {text}"
        case str():
            return f"the text {value if len(value) <= 60 else value[:57] + '...'!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def expectation(message: str) -> str:
    """Turn pydantic's "Input should be ..." into the words of a finding."""
    message_of = message.replace("Input should be", "expected")
    return message_of.replace("expected greater", "expected a number greater").replace(
        "expected less", "expected a number less"
    )
