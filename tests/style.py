"""`make lint`: the house rules that ruff, import-linter and Checkstyle do not know.

``python tests/style.py [FOLDER]`` prints ``FILE:LINE: what is wrong: what to do`` for each finding.
Exit status 1 when there was an error; a warning does not fail the run.
"""

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_AIM, FOLDER_AIM = 300, 20
"""Lines of code in a file, files in a folder: more is a warning, more than twice as many an
error.
"""
GROWS = re.compile(r"(^|/)(shipped|golden|policies)/")
"""Files that are looked up by name, one for each workload, experiment, message or policy."""
BUILT = re.compile(r"(^|/)(\..*|target|build|__pycache__)/")
VAGUE = re.compile(r"(?:^|[/_])(utils?|helpers?|common|misc|managers?|base)(?:/|\.\w+$)", re.I)
CHECKING = re.compile(r"raises|warns|assert|check_|expect|fail")
SHELL = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
MAKE = re.compile(r"^\s*(?:\$ )?make +([^#\n;&|]*)|`make +([^`\n]*)`", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SECTION = r"\d+(?:\.\d+)?(?:-\d+|[a-z]\b)?"
SECTIONS = rf"{SECTION}(?:(?:,| and)[\s#]+{SECTION})*"
REFERENCE = re.compile(rf"docs/papers/([a-z]\w*\.md)[\s#]+({SECTIONS})")
"""`docs/papers/hdrf.md 2.5-11`: a section, possibly with a row of its table, or an item as in
`6d`.
"""
TIE = re.compile(r"(tests/[\w/]+\.py)::(\w+)")

FORBIDDEN = (
    (
        re.compile(r"(?<![\w.])/work/\w|\.\./shared|/tmp/wt"),
        "",
        "names a machine: a clone works anywhere",
    ),
    (
        re.compile(r"(?<!installed already, `)pip install ['\"]?loomcard(?![\w.*-])"),
        ".md",
        "no index has a package loomcard, and a stranger could take the name: install a file",
    ),
    (
        re.compile(r"\b(?:[Ss]pecification|[Ss]pec|[Dd]efect) \d"),
        ".py",
        "which page? write docs/papers/NAME.md and the section",
    ),
)
"""The text, the end of a file's name, and what to do about it."""
MAY = {".ci/run", "CHANGELOG.md", "tests/style.py", "tests/test_style.py"}
"""Files that are themselves about such text."""


@dataclass(frozen=True)
class Finding:
    """One line of the output."""

    file: str
    line: int
    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {'warning: ' * self.warning}{self.text}"


class Tree:
    """The files of a checkout that are under version control or about to be added."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        names = listed.stdout.split("\0")
        if listed.returncode:  # an unpacked archive
            names = [str(p.relative_to(root)) for p in root.rglob("*")]
        names = sorted(n for n in names if n and not BUILT.search(n) and (root / n).is_file())
        self.texts = {n: (root / n).read_text(errors="ignore") for n in names}

    def ending(self, *ends: str) -> Iterator[tuple[str, str]]:
        """Yield files by the end of their names, with their texts."""
        yield from ((name, text) for name, text in self.texts.items() if name.endswith(ends))


def line_of(text: str, place: int) -> int:
    """Return the line of a character, counted from 1."""
    return text.count("\n", 0, place) + 1


@functools.cache
def parsed(text: str) -> ast.Module:
    """Parse a Python file, once for all rules."""
    return ast.parse(text)


def code_lines(name: str, text: str) -> int:
    """Count the lines that are not blank, comment or docstring."""
    if name.endswith(".java"):
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()
        return sum(1 for line in bare if line.strip() and not line.strip().startswith("//"))
    words: set[int] = set()
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            words.update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for n, s in lines if s.strip() and s.strip()[0] != "#" and n not in words)


def sizes(tree: Tree) -> Iterator[Finding]:
    """Files and folders must be small enough to see at a glance."""
    for name, text in tree.ending(".py", ".java"):
        if text.count("\n") > FILE_AIM and (count := code_lines(name, text)) > FILE_AIM:
            said = f"{count} lines of code, the aim is {FILE_AIM}: split it by what it does"
            yield Finding(name, 1, said, count <= 2 * FILE_AIM)
    counts = Counter(n.rpartition("/")[0] for n in tree.texts if "/" in n and not GROWS.search(n))
    for folder, count in counts.items():
        if count > FOLDER_AIM:
            said = f"{count} files in a folder, the aim is {FOLDER_AIM}: group them"
            yield Finding(folder, 1, said, count <= 2 * FOLDER_AIM)


def names(tree: Tree) -> Iterator[Finding]:
    """A file's name must say what is in it."""
    for name, _ in tree.ending(".py", ".java"):
        if (found := VAGUE.search(name)) and "/org/apache/" not in name:  # names of YARN's own
            yield Finding(name, 1, f"the name {found[1]!r} says nothing: name it for what it does")


def texts(tree: Tree) -> Iterator[Finding]:
    """Find text that is allowed nowhere."""
    for name, text in tree.texts.items():
        for pattern, end, said in FORBIDDEN:
            if name.endswith(end) and name not in MAY:
                for found in pattern.finditer(text):
                    yield Finding(name, line_of(text, found.start()), f"{found[0]!r} {said}")


def assertions(tree: Tree) -> Iterator[Finding]:
    """Every test must be able to fail: it asserts, expects an error or calls a check."""
    for name, text in tree.ending(".py"):
        if not name.startswith("tests/"):
            continue
        for test in ast.walk(parsed(text)):
            if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test"):
                continue
            calls = (ast.unparse(n.func) for n in ast.walk(test) if isinstance(n, ast.Call))
            asserts = any(isinstance(n, ast.Assert) for n in ast.walk(test))
            if not asserts and not any(map(CHECKING.search, calls)):
                said = f"{test.name} asserts nothing: assert what it shows"
                yield Finding(name, test.lineno, said)


def targets(tree: Tree) -> Iterator[Finding]:
    """A reader who types ``make TARGET`` must not get "No rule to make target"."""
    there = set(re.findall(r"^([a-z][\w-]*):", tree.texts.get("Makefile", ""), re.MULTILINE))
    for name, text in tree.ending(".md"):
        blocks = [(found.start(1), found[1]) for found in SHELL.finditer(text)]
        inline = [(found.start(), found[2]) for found in MAKE.finditer(text) if found[2]]
        lines = [(at + m.start(), m[1]) for at, b in blocks for m in MAKE.finditer(b) if m[1]]
        for at, words in inline + lines:
            for word in words.split():
                if re.fullmatch(r"[a-z][a-z0-9-]*", word) and word not in there:
                    said = f"the Makefile has no target {word}: `make help` lists them"
                    yield Finding(name, line_of(text, at), said)


def links(tree: Tree) -> Iterator[Finding]:
    """A relative link must lead to a file of the repository."""
    for name, text in tree.ending(".md"):
        for found in LINK.finditer(text):
            if not ((tree.root / name).parent / found[1]).exists():
                said = f"{found[1]} is not there: correct the link"
                yield Finding(name, line_of(text, found.start()), said)


def architecture(tree: Tree) -> Iterator[Finding]:
    """ARCHITECTURE.md must name the existing files and rooms, in their places."""
    page = tree.texts.get("ARCHITECTURE.md", "")
    shim = "jvm-bridge/shim/src/main/java/org/loomcard/yarn/"
    for found in re.finditer(r"[\w./-]+\.(?:py|java|yml|toml|md)\b", page):
        if not any(root + found[0] in tree.texts for root in ("", "python/loomcard/", shim)):
            said = f"{found[0]} is not there: name the file that is"
            yield Finding("ARCHITECTURE.md", line_of(page, found.start()), said)
    table = page.partition("| `python/loomcard/` |")[2].partition("\n\n")[0]
    said = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    there = {n.split("/")[2] for n in tree.texts if re.fullmatch(r"python/loomcard/\w+/.*\.py", n)}
    for room in sorted(said ^ there):
        at = line_of(page, page.find(table))
        yield Finding("ARCHITECTURE.md", at, f"room {room}: the table and python/loomcard differ")


def papers(tree: Tree) -> Iterator[Finding]:
    """A section of a paper's page that a comment names must exist there."""
    for name, text in tree.ending(".py", ".md", ".yml"):
        for found in REFERENCE.finditer(text):
            page = tree.texts.get(f"docs/papers/{found[1]}", "")
            for section in re.findall(SECTION, found[2]):
                if name not in MAY and not has_section(page, section):
                    said = f"docs/papers/{found[1]} has no {section}: name the section that it has"
                    yield Finding(name, line_of(text, found.start()), said)


def has_section(page: str, section: str) -> bool:
    """Return whether a paper's page has the section, and in it the row or the item."""
    number, mark, part = re.fullmatch(r"([\d.]+)(-|(?=[a-z]|$))(\w*)", section).groups()
    heading = rf"^##+ {re.escape(number)}\.? .*?(?=^## |^### |\Z)"
    found = re.search(heading, page, re.MULTILINE | re.DOTALL)
    wanted = f"\n| {part} |" if mark else f"({part})" if part else ""
    return found is not None and wanted in found[0]


def equations(tree: Tree) -> Iterator[Finding]:
    """Code in a paper's ``paper.py`` must be used, or a test must compare it with what is used."""
    for name, text in tree.ending("/paper.py"):
        package = [t for n, t in tree.texts.items() if n.startswith(name.removesuffix("paper.py"))]
        for function in parsed(text).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            uses = sum(len(re.findall(rf"\b{function.name}\b", each)) for each in package)
            ties = TIE.findall(ast.get_docstring(function) or "")
            if uses < 2 and not ties:
                said = f"{function.name} runs nowhere: call it, or name its test (tests/F.py::test)"
                yield Finding(name, function.lineno, said)
            for file, test in ties:
                if f"def {test}(" not in tree.texts.get(file, ""):
                    said = f"{function.name} names {file}::{test}, which is not there"
                    yield Finding(name, function.lineno, said)


RULES = (sizes, names, texts, assertions, targets, links, architecture, papers, equations)


def main() -> int:
    """Print all findings; return 1 if one is an error."""
    tree = Tree(Path(*sys.argv[1:]).resolve() if sys.argv[1:] else Path(__file__).parents[1])
    found = [finding for rule in RULES for finding in rule(tree)]
    for finding in found:
        print(finding, file=sys.stderr)
    return int(any(not finding.warning for finding in found))


if __name__ == "__main__":
    sys.exit(main())
