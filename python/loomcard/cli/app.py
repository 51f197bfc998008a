"""The command's tree, and the one place where its errors become a line and an exit status."""

import contextlib
import errno
import os
import platform
import signal
import sys
from importlib.metadata import PackageNotFoundError
from types import FrameType
from typing import Annotated, Final

import typer

from loomcard.cli.commands import Commands

# By name: what was not imported was not raised, and the command starts faster without it.
BAD_INPUT: Final = {
    "loomcard.cluster.hadoop_config.RenderError",
    "loomcard.cluster.hadoop_jars.JarSourceError",
    "loomcard.cluster.rm_client.AddressError",
    "loomcard.cluster.rm_client.TokenError",
    "loomcard.config.source.SourceError",
    "loomcard.validation.findings.FindingsError",
    "loomcard.experiments.inputs.InputError",
    "loomcard.wire.journal.JournalError",
    "loomcard.results.run_folder.ResultError",
    "loomcard.api.registry.PolicyNotFoundError",
    "loomcard.simulator.engine.MismatchError",
    "loomcard.cluster.example_jobs.ProgramError",
    "loomcard.workload.dag_stages.DagError",
    "loomcard.suite.benchmarks.SuiteError",
    "loomcard.install.site_file.SiteFileError",
}
"""Errors in the user's input, exit status 2."""
FAILURES: Final = {
    "loomcard.cluster.compose.ComposeError",
    "loomcard.cluster.embedded.ClusterError",
    "loomcard.config.shipped.PlaceError",
    "loomcard.cluster.rm_client.RestError",
    "loomcard.simulator.invariants.InvariantError",
    "loomcard.simulator.resourcemanager.PolicyFaultError",
    "loomcard.player.process.PlayError",
    "loomcard.cluster.submit.SubmissionError",
    "loomcard.suite.data.files.WrongResultError",
}
"""Errors in what was done, exit status 1."""

EXTRAS: Final = {
    "cramjam": "simulate",
    "numpy": "simulate",
    "polars": "simulate",
    "matplotlib": "report",
    "dask": "dask",
    "distributed": "dask",
}
"""Packages that an installation may lack, and the extra that installs each."""

_WRONG_PATH: Final = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Errors of the system for a path that the user gave."""

app = typer.Typer(
    cls=Commands,
    name="loomcard",
    help="Scheduling policies written in Python, run on a real YARN cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if not wanted:
        return
    from loomcard.bridge.build import build

    try:
        ours = build()
    except PackageNotFoundError:  # a checkout that is not installed
        ours = "not installed"
    typer.echo(f"loomcard {ours}, Python {platform.python_version()}")
    raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None: ...


def run(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    with contextlib.suppress(ValueError):  # not the main thread
        # A process that gets SIGTERM also stops its cluster and its jobs' clients, as on Ctrl-C.
        signal.signal(signal.SIGTERM, _end)
    try:
        status = app(args=arguments, prog_name="loomcard", standalone_mode=False)
        if sys.stdout is not None:  # it is closed: `>&-`
            sys.stdout.flush()  # while a closed output can still be noticed
        return status if isinstance(status, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except typer.TyperException as error:
        return _misused(error)
    except typer.Abort:
        print("error: stopped", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        return _no_file(error)
    except UnicodeEncodeError as error:
        print(f"error: {error.object[:80]!a}: no UTF-8 (give another name)", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (extra := _extra_of(error)) is None:
            raise
        print(
            f'error: {error.name} is not installed (pip install "loomcard[{extra}]")',
            file=sys.stderr,
        )
        return 2
    except Exception as error:
        if (known := _status_of(error)) is None:
            raise
        _complain(error)
        return known


def _status_of(error: Exception) -> int | None:
    """Return the exit status for an error's class; None for an error that is a defect of ours."""
    for each in type(error).__mro__:
        name = f"{each.__module__}.{each.__qualname__}"
        if name in BAD_INPUT:
            return 2
        if name in FAILURES:
            return 1
    return None


def _extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra to install for a missing package; None if no extra has it."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    wanted = sys.argv[1:2]
    return "report" if extra == "simulate" and wanted in (["report"], ["demo"]) else extra


def _pipe_closed() -> int:
    """End quietly: the reader of the output has closed it, as `head` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
    return 1


def _no_file(error: OSError) -> int:
    """A file could not be read or written: this is bad input if another path is the remedy."""
    said = error.strerror or str(error)
    if error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        shown = str(name).encode(errors="backslashreplace").decode()
        said = f"{shown if len(shown) <= 200 else shown[:197] + '...'}: {said}"
    bad = error.filename is not None and error.errno in _WRONG_PATH
    hint = "free some space" if error.errno == errno.ENOSPC else "check the path"
    print(f"error: {said} ({hint})", file=sys.stderr)
    return 2 if bad else 1


def _misused(error: typer.TyperException) -> int:
    """Report wrong arguments in one line; a command without arguments prints its help, as it
    requested.
    """
    context: typer.Context | None = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "loomcard"
    said = error.format_message()
    if said.strip():  # a command without arguments: its help is printed already
        line = " ".join(said.split())
        print(f"error: {line} (see `{command} --help`)", file=sys.stderr)
    return 2


def _end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _complain(error: Exception) -> None:
    findings = getattr(error, "findings", None)
    if findings:
        for each in findings:
            print(f"error: {each}", file=sys.stderr)
        return
    hint = getattr(error, "hint", "")
    print(f"error: {error}" + (f" ({hint})" if hint else ""), file=sys.stderr)
