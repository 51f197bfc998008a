"""The documents name only what is there: commands, options, make targets, files."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer.main

import loomcard
import loomcard.testing
from document_commands import NOT_RUN, Command, all_commands
from loomcard.cluster.embedded_config import LocalSettings

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands(document: str) -> list[list[str]]:
    """The `make` and `loomcard` command lines in the fenced blocks of a document, as words."""
    blocks = re.findall(r"^```(?:sh|console|bash)\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    joined = [block.replace("\\\n", " ") for block in blocks]  # a line that goes on in the next
    lines = [line.strip().removeprefix("$ ") for block in joined for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [w for w in words if w and w[0].split("/")[-1] in ("make", "loomcard")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=short)
def test_documents_name_make_targets_that_exist(path: Path) -> None:
    """A reader who types what stands there gets no "No rule to make target"."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {word for name, *rest in commands(path.read_text()) if name == "make" for word in rest}
    assert {word for word in used if word.isalpha()} <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=short)
def test_documents_name_commands_and_options_that_exist(path: Path) -> None:
    """Each `loomcard` line in a document is one that the command line understands."""
    for name, *rest in commands(path.read_text()):
        if name == "make":
            continue
        from loomcard.cli.app import app
        from loomcard.cli.commands import COMMANDS, load

        command = typer.main.get_command(app)
        if rest and rest[0] in COMMANDS:
            command, rest = load(rest[0]), rest[1:]
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        assert not hasattr(command, "commands"), f"no such command: loomcard {' '.join(rest)}"
        options = {option for p in command.params for option in p.opts} | {"--help"}
        used = {word.split("=")[0] for word in rest if word.startswith("-")}
        assert used <= options, f"loomcard {command.name} does not know {sorted(used - options)}"


def test_each_command_in_the_documents_is_run_or_says_why_not() -> None:
    """Nobody finds out from a reader that a command of the documents does not work any more."""
    neither = [c for c in all_commands() if not c.is_run() and not c.why_not_run()]
    assert neither == [], (
        "add the page to RUN, or the line with its reason to NOT_RUN, in "
        f"tests/support/document_commands.py: {neither[0]}"
    )


@pytest.mark.parametrize("entry", NOT_RUN, ids=lambda entry: entry[1])
def test_each_reason_not_to_run_a_command_is_needed(entry: tuple[str, str, str]) -> None:
    """A command that left the documents takes its reason with it."""
    page, line, _ = entry
    assert any(Command.matches(each, page, line) for each in all_commands())


@pytest.mark.parametrize("path", DOCUMENTS, ids=short)
def test_documents_link_to_what_is_there(path: Path) -> None:
    """A relative link leads to a file of the repository."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


SHIM = ROOT / "jvm-bridge" / "shim" / "src" / "main" / "java" / "org" / "loomcard" / "yarn"
PACKAGE = ROOT / "python" / "loomcard"
FILE = re.compile(r"[\w./-]+\.(?:py|java|yml|toml|md)\b")


def test_architecture_names_files_that_exist() -> None:
    """A reader opens what the picture and the tables name, in the place that they name."""
    named = set(FILE.findall((ROOT / "ARCHITECTURE.md").read_text()))
    assert [
        n for n in sorted(named) if not any((r / n).is_file() for r in (ROOT, PACKAGE, SHIM))
    ] == []
    assert len(named) > 50


def test_architecture_has_each_room() -> None:
    """The table of rooms is complete, and has no room that is gone."""
    table = (
        (ROOT / "ARCHITECTURE.md").read_text().split("| `python/loomcard/` |")[1].split("\n\n")[0]
    )
    there = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == there


def test_the_page_of_the_embedded_cluster_says_what_its_nodes_offer() -> None:
    """The command line has no option for it."""
    settings = LocalSettings(run_dir=Path())
    said = f"Each node offers {settings.node_memory_mb} MB and {settings.node_vcores} vcores"
    assert said in (ROOT / "docs" / "operate" / "embedded.md").read_text()


def test_the_api_reference_has_each_public_name_once() -> None:
    """What a policy and its tests may import is on the page; the docstrings say the rest."""
    page = (ROOT / "docs" / "write" / "api.md").read_text()
    shown = re.findall(r"^::: loomcard\.([\w.]+)$", page, re.MULTILINE)
    shown = [name.replace("testing.stateful.", "testing.") for name in shown]
    public = {*loomcard.__all__, *(f"testing.{name}" for name in loomcard.testing.__all__)}
    missing = sorted(public - set(shown))
    assert missing == [], f"add '::: loomcard.{missing[0]}' to a group of docs/write/api.md"
    assert sorted(shown) == sorted(public)


SECTION = r"\d+(?:\.\d+)?(?:-\d+|[a-z]\b)?"
REFERENCE = re.compile(rf"docs/papers/(\w+\.md)[\s#]+({SECTION}(?:(?:,| and)[\s#]+{SECTION})*)")
"""`docs/papers/hdrf.md 2.5-11`: a section; perhaps a row of its table, or an item as in `6d`."""
UNNAMED = re.compile(r"\b(?:[Ss]pecification|[Ss]pec|[Dd]efect) \d")


def resolves(section: str, paper: str) -> bool:
    """Whether a paper's page has the section, and in it the row or the item."""
    number, mark, part = re.fullmatch(r"([\d.]+)(-|(?=[a-z]|$))(\w*)", section).groups()
    heading = rf"^##+ {re.escape(number)}\.? .*?(?=^## |^### |\Z)"
    found = re.search(heading, paper, re.MULTILINE | re.DOTALL)
    wanted = f"\n| {part} |" if mark else f"({part})" if part else ""
    return found is not None and wanted in found[0]


def test_references_to_the_papers_pages_resolve() -> None:
    """A section that a comment names can be looked up, in the page that the comment names."""
    papers = {path.name: path.read_text() for path in (ROOT / "docs" / "papers").glob("*.md")}
    wrong, count = [], 0
    for path in sorted(p for room in ("python", "tests", "docs") for p in (ROOT / room).rglob("*")):
        if path.suffix not in (".py", ".md", ".yml") or path == Path(__file__):
            continue
        text = path.read_text()
        wrong += [f"{short(path)}: {found}" for found in UNNAMED.findall(text)]
        for name, sections in REFERENCE.findall(text):
            for section in re.findall(SECTION, sections):
                count += 1
                if not resolves(section, papers.get(name, "")):
                    wrong.append(f"{short(path)}: {name} {section}")
    assert wrong == []
    assert count > 40


def tracked() -> list[str]:
    """Paths under version control; none in an unpacked archive, which was checked before."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return [name for name in listed.stdout.split("\0") if name]


def test_nothing_names_the_machine_it_was_built_on() -> None:
    """A clone works anywhere: only .ci/run may look beside the repository."""
    outside = re.compile(r"(?<![\w.])/work/\w|\.\./shared|/tmp/wt")
    paths = [ROOT / name for name in tracked() if name != ".ci/run"]
    texts = [p for p in paths if p.is_file() and p != Path(__file__)]
    assert [short(p) for p in texts if outside.search(p.read_text(errors="ignore"))] == []


def test_the_top_level_holds_the_parts_and_nothing_else() -> None:
    """A new thing belongs into a room of ARCHITECTURE.md's table."""
    rooms = {
        ".ci",
        "benchmarks",
        "docker",
        "docs",
        "hadoop-conf",
        "jvm-bridge",
        "policies",
        "python",
        "tests",
    }
    texts = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"}
    texts |= {"LICENSE", "NOTICE", "SECURITY.md"}
    tools = {"Dockerfile", "Makefile", "docker-compose.yml", "mkdocs.yml", "pyproject.toml"}
    tools |= {"requirements.lock", "hatch_build.py"}
    hidden = (".git", ".docker", ".pre-commit")
    found = {name.split("/")[0] for name in tracked()}
    assert {n for n in found - rooms - texts - tools if not n.startswith(hidden)} == set()


def test_documents_install_no_package_of_our_name_from_an_index() -> None:
    """No index has ours: a stranger's could take the name. An installed one can gain an extra."""
    bare = re.compile(r"(?<!installed already, `)pip install ['\"]?loomcard(?![\w.*-])")
    pages = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
    assert [short(path) for path in pages if bare.search(path.read_text())] == []
