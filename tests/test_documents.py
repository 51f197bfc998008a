"""The documents name only what exists; `make lint` (tests/style.py) checks the rest."""

import re
import shlex
from pathlib import Path

import typer.main

import loomcard
import loomcard.advanced
import loomcard.testing
from document_commands import NOT_RUN, PAGES, Command, all_commands
from loomcard.cli.app import app
from loomcard.cli.commands import COMMANDS, load
from loomcard.cluster.embedded_config import LocalSettings

ROOT = Path(__file__).parents[1]


def unknown(line: str) -> str:
    """Return the part of a `loomcard` line that the command line does not understand."""
    command, rest = typer.main.get_command(app), shlex.split(line)[1:]
    if rest and rest[0] in COMMANDS:
        command, rest = load(rest[0]), rest[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    if hasattr(command, "commands"):
        return "no such command"
    options = {option for p in command.params for option in p.opts} | {"--help"}
    used = {word.split("=")[0] for word in rest if word.startswith("-")}
    return ", ".join(sorted(used - options))


def test_documents_name_commands_and_options_that_exist() -> None:
    """Each `loomcard` line in a document is one that the command line understands."""
    lines = [c for c in all_commands() if c.line.split()[0].split("/")[-1] == "loomcard"]
    assert [(c.page, c.line, unknown(c.line)) for c in lines if unknown(c.line)] == []
    assert unknown("loomcard nothing") == "no such command"
    assert unknown("loomcard simulate demo --nothing=1") == "--nothing"


def test_each_command_in_the_documents_is_run_or_says_why_not() -> None:
    """Each command is tested, so that a reader is not the first to find one that no longer
    works.
    """
    neither = [c for c in all_commands() if not c.is_run() and not c.why_not_run()]
    assert neither == [], (
        "add the page to RUN, or the line with its reason to NOT_RUN, in "
        f"tests/support/document_commands.py: {neither[0]}"
    )


def test_each_reason_not_to_run_a_command_is_needed() -> None:
    """The reason for a command is deleted when the command leaves the documents."""
    commands = all_commands()
    idle = [entry for entry in NOT_RUN if not any(Command.matches(c, *entry[:2]) for c in commands)]
    assert idle == [], "take it out of NOT_RUN in tests/support/document_commands.py"


def test_the_page_of_the_embedded_cluster_says_what_its_nodes_offer() -> None:
    """The command line has no option for the offer, so the page must state it."""
    settings = LocalSettings(run_dir=Path())
    said = f"Each node offers {settings.node_memory_mb} MB and {settings.node_vcores} vcores"
    assert said in (ROOT / "docs" / "operate" / "embedded.md").read_text()


def test_the_api_reference_has_each_public_name_once() -> None:
    """The names that a policy and its tests may import are on the page; the docstrings say the
    rest.
    """
    page = (ROOT / "docs" / "write" / "api.md").read_text()
    shown = re.findall(r"^::: loomcard\.([\w.]+)$", page, re.MULTILINE)
    shown = [name.replace("testing.stateful.", "testing.") for name in shown]
    public = [*loomcard.__all__, *(f"advanced.{name}" for name in loomcard.advanced.__all__)]
    public += [*(f"testing.{name}" for name in loomcard.testing.__all__)]
    missing = sorted({*public} - {*shown})
    assert missing == [], f"add '::: loomcard.{missing[0]}' to a group of docs/write/api.md"
    assert sorted(shown) == sorted(public)
    assert all(hasattr(loomcard, name) for name in loomcard.__all__)


def test_every_page_is_in_the_sites_navigation() -> None:
    """Nobody finds a page that no menu names."""
    menu = (ROOT / "mkdocs.yml").read_text()
    missing = [name for page in PAGES if (name := str(page.relative_to(ROOT))) not in menu]
    assert missing == [], f"add {missing[0]} to a group of `nav` in mkdocs.yml"
