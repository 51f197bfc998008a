"""The command's tree: what it loads, its version, its completion, the exit status of its errors."""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
import typer.main

from loomcard.cli.app import BAD_INPUT, FAILURES, app, run
from loomcard.cli.commands import COMMANDS, load

pytestmark = pytest.mark.usefixtures("no_jars")

HEAVY = {"jinja2", "matplotlib", "numpy", "polars", "requests"}
LOADED = """
import json, sys
from loomcard.cli.app import run
status = run({arguments})
print(json.dumps([status, sorted({{n.partition(".")[0] for n in sys.modules}})]))
"""


def loaded(arguments: list[str]) -> set[str]:
    program = LOADED.format(arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    status, modules = json.loads(done.stdout.splitlines()[-1])
    assert status in (0, 2), done.stderr
    return set(modules)


@pytest.mark.parametrize("arguments", [["--help"], [], ["--version"], ["polcy"]])
def test_help_loads_no_command(arguments: list[str]) -> None:
    """`--help` answers at once: plotting, tables and the models of files are not loaded."""
    assert loaded(arguments) & HEAVY == set()


@pytest.mark.parametrize(
    "arguments",
    [["policy", "--help"], ["status", "--help"], ["cluster", "--help"], ["trace", "--help"]],
)
def test_no_command_loads_plotting_for_nothing(arguments: list[str]) -> None:
    """matplotlib is loaded only for drawing, polars only for reading tables."""
    assert loaded(arguments) & {"matplotlib", "polars"} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_line_of_help_is_the_commands_own(name: str) -> None:
    """The text that `--help` shows for a command is the first paragraph of its own help."""
    command = load(name)
    assert command.name == name
    assert " ".join((command.help or "").split("\n\n")[0].split()) == COMMANDS[name][1]


@pytest.mark.parametrize("name", sorted(BAD_INPUT | FAILURES))
def test_each_error_is_there(name: str) -> None:
    """The errors that end in one line are named like their classes."""
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute)
    assert issubclass(found, Exception)
    assert f"{found.__module__}.{found.__qualname__}" == name


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` names the package's and the interpreter's."""
    assert run(["--version"]) == 0
    python = ".".join(map(str, sys.version_info[:3]))
    assert capsys.readouterr().out == f"loomcard {version('loomcard')}, Python {python}\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("loomcard ", {"cluster", "policy", "replay"}),
        ("loomcard policy ", {"apply", "check"}),
        ("loomcard simulate --po", {"--policy"}),
        ("loomcard cluster up --on ", {"docker", "local"}),
    ],
)
def test_a_shell_completes(line: str, offered: set[str]) -> None:
    """Commands, options and their values are completed, also for commands that are loaded late."""
    words = {"_TYPER_COMPLETE_ARGS": line, "_LOOMCARD_COMPLETE": "complete_bash"}
    words |= {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - (line[-1] != " "))}
    main = "from loomcard.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", main],
        env=os.environ | words,
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered <= set(done.stdout.split()), done.stderr


def test_completion_is_installed_by_the_command_alone() -> None:
    """`--install-completion` is an option of the root, not of every group."""

    def options(command: object) -> set[str]:
        return {option for each in command.params for option in each.opts}  # type: ignore[attr-defined]

    assert {"--install-completion", "--version"} <= options(typer.main.get_command(app))
    assert "--install-completion" not in options(load("policy"))


def test_a_reader_that_goes_away_is_no_error() -> None:
    """If `| head` closes the pipe, there is no traceback and no message."""
    main = "from loomcard.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", main, "schema", "workload"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (said, process.returncode) == ("", 1)


def test_a_closed_standard_output_is_no_error() -> None:
    """With `>&-` there is nowhere to print to, and that is no error."""
    main = f"exec {sys.executable} -c 'from loomcard.cli import main; main()' schema policy >&-"
    done = subprocess.run(["sh", "-c", main], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "x" * 5000], "File name too long"),
        (["cluster", "render", "a-file"], "Not a directory"),
        (["cluster", "render", "\udcff"], "no UTF-8"),
        (["policy", "check", "a-file", "--policy-path", "none"], "does not exist"),
        (["policy", "check", "a-file", "--policy-path", "a-file"], "is a file"),
    ],
)
def test_a_path_that_cannot_be_is_one_line(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever the system's error is, the exit status is 2, without a traceback or a line of
    thousands of characters.
    """
    monkeypatch.chdir(tmp_path)
    Path("a-file").write_text("version: 1\npolicy: fifo\n")
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert len(line) < 400
