"""The commands by name, each imported when it is called: `--help` needs none of them. A command's
line of help is repeated here, because reading it from the command's own module would import
plotting, tables and the simulator.
"""

import sys
from importlib import import_module
from typing import Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

INTERRUPTED: Final = 130

_RUN: Final = (
    "loomcard.cli.runs.run:run",
    "Simulate a workload or an experiment, or run it on a cluster (`simulate` and `run` are one).",
)
COMMANDS: Final = {
    "cluster": ("loomcard.cli.cluster.commands:cluster", "Start, stop and look at a cluster."),
    "policy": ("loomcard.cli.policy.commands:policy", "List, check and apply scheduling policies."),
    "trace": ("loomcard.cli.workload.trace:trace", "Look into workloads and traces."),
    "dag": (
        "loomcard.cli.workload.dag:dag",
        "Write the hint that lists the stages of a job for policies.",
    ),
    "install": (
        "loomcard.cli.hadoop.commands:install",
        "Make Loomcard the scheduler of an existing Hadoop; show the change of yarn-site.xml.",
    ),
    "uninstall": (
        "loomcard.cli.hadoop.commands:uninstall",
        "Put back what `install` changed: yarn-site.xml as it was, the jars removed.",
    ),
    "doctor": (
        "loomcard.cli.hadoop.commands:doctor",
        "Check java, jar, links, python, policy, metrics, ports, clock; exit 1 if one is wrong.",
    ),
    "submit": (
        "loomcard.cli.cluster.jobs:submit",
        "Submit an example job, or a jar with its arguments (after `--` if they begin with a"
        " dash).",
    ),
    "status": (
        "loomcard.cli.cluster.jobs:status",
        "Say what a running cluster does: policy, applied version, bridge, queues, applications.",
    ),
    "explain": (
        "loomcard.cli.cluster.explain:explain",
        "Say why an application, or a queue's applications, wait, and by how much.",
    ),
    "usage": (
        "loomcard.cli.cluster.usage:usage",
        "Say who used how much of a cluster: containers, memory and vcores over time, by queue and"
        " user.",
    ),
    "demo": (
        "loomcard.cli.cluster.demo:demo",
        "Swap a policy under real jobs, then compare dress, hdrf and carbyne with"
        " CapacityScheduler.",
    ),
    "suite": ("loomcard.cli.suite.commands:suite", "Run benchmarks with checked results."),
    "hibench": (
        "loomcard.cli.suite.hibench:hibench",
        "Drive a HiBench that is already there. It is archived since December 2025: `loomcard"
        " suite` needs nothing of it.",
    ),
    "schema": (
        "loomcard.cli.schema:schema",
        "Print the JSON Schema of configurations, workloads, experiments or mixes.",
    ),
    "simulate": _RUN,
    "stress": (
        "loomcard.cli.runs.stress:stress",
        "Put policies through scenarios that try to break them; exit 1 where something is broken.",
    ),
    "replay": (
        "loomcard.cli.runs.replay:replay",
        "Say what another policy would have decided, round by round and to the end.",
    ),
    "run": _RUN,
    "report": (
        "loomcard.cli.runs.report:report",
        "Compare policies: waiting, completion, slowdown, makespan, utilization and fairness.",
    ),
}
"""Where each command is, and what it does in one line."""


def load(name: str) -> Any:
    """Return the command ``name``, with its options. Raises KeyError for an unknown one."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    group = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        group.add_typer(found, name=name)
    else:
        group.command(name)(found)
    return typer.main.get_group(group).commands[name]


class _LazyCommand(TyperCommand):
    """Represents a command in lists and completions; imports the command when it is called."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        return load(str(self.name)).make_context(*arguments, **more)


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, help_line) in COMMANDS.items():
            self.add_command(_LazyCommand(name, help=help_line))

    def invoke(self, ctx: Any) -> Any:
        """Turn Ctrl-C into one line, with what the command noted of its state (typer prints
        nothing).
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            notes = "".join(f"; {each}" for each in getattr(stop, "__notes__", ()))
            print(f"error: interrupted{notes}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from stop
