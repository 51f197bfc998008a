"""The command's tree, and the one place where its errors become a line and an exit status."""

import contextlib
import signal
import sys
from types import FrameType

import typer

# Typer carries its own Click, and offers no public door to these two.
from typer._click.exceptions import NoArgsIsHelpError, UsageError

from loomcard.cli.cluster import cluster
from loomcard.cli.demo import demo
from loomcard.cli.jobs import status, submit
from loomcard.cli.policy import policy
from loomcard.cli.replay import replay
from loomcard.cli.report import report
from loomcard.cli.run import run as run_experiment
from loomcard.cli.schema import schema
from loomcard.cli.simulate import simulate
from loomcard.cli.trace import trace
from loomcard.cluster.docker import ComposeError
from loomcard.cluster.local import ClusterError
from loomcard.cluster.places import PlaceError
from loomcard.cluster.render import RenderError
from loomcard.cluster.rest import AddressError, RestError
from loomcard.config import FindingsError
from loomcard.experiments.inputs import InputError
from loomcard.model.journal import JournalError
from loomcard.outcome.files import ResultError
from loomcard.policies.registry import PolicyNotFoundError
from loomcard.simulator import InvariantError, MismatchError, PolicyFaultError
from loomcard.suite.player import PlayError
from loomcard.suite.programs import ProgramError
from loomcard.suite.submission import SubmissionError

BAD_INPUT = (
    AddressError,
    FindingsError,
    InputError,
    JournalError,
    ProgramError,
    RenderError,
    ResultError,
    MismatchError,
    PolicyNotFoundError,
)
FAILURES = (
    ClusterError,
    ComposeError,
    InvariantError,
    PlaceError,
    PlayError,
    PolicyFaultError,
    RestError,
    SubmissionError,
)

app = typer.Typer(
    name="loomcard",
    help="Scheduling policies written in Python, run on a real YARN cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(cluster)
app.add_typer(policy)
app.add_typer(trace)
app.command()(submit)
app.command()(status)
app.command()(demo)
app.command()(schema)
app.command()(simulate)
app.command()(replay)
app.command("run")(run_experiment)
app.command()(report)


def run(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    with contextlib.suppress(ValueError):  # not the main thread
        # What is told to end takes its cluster and its jobs' clients with it, as on Ctrl-C.
        signal.signal(signal.SIGTERM, _end)
    try:
        status = app(args=arguments, prog_name="loomcard", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except UsageError as error:
        return _misused(error)
    except BAD_INPUT as error:
        _complain(error)
        return 2
    except FAILURES as error:
        _complain(error)
        return 1
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"error: {said} (check the path)", file=sys.stderr)
        return 1


def _misused(error: UsageError) -> int:
    """Wrong arguments, in one line; a command without any gets its help, as it asked for."""
    command = error.ctx.command_path if error.ctx is not None else "loomcard"
    if isinstance(error, NoArgsIsHelpError):
        error.show()
    else:
        said = " ".join(error.format_message().split())
        print(f"error: {said} (see `{command} --help`)", file=sys.stderr)
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
