"""``loomcard install``, ``uninstall``, ``doctor`` and ``policy compile``."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import Json, print_json, printable
from loomcard.cluster.hadoop_config import compiled_policy
from loomcard.install import doctor as health
from loomcard.install import hadoop_conf as hadoop
from loomcard.install import installation, queues, rehearsal
from loomcard.install.applications import Running, running
from loomcard.install.linking import link_check
from loomcard.install.site_file import SiteFileError
from loomcard.install.startup import Check, obstacles, queue_checks

HadoopConf = Annotated[
    Path,
    typer.Option(
        "--hadoop-conf",
        envvar="HADOOP_CONF_DIR",
        help="Hadoop's configuration folder on the ResourceManager's host.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change; do nothing.")]
JARS = Path("share/hadoop/yarn/lib")


JarDir = Annotated[
    Path | None,
    typer.Option(
        help="A folder on the ResourceManager's class path."
        " Default: $HADOOP_HOME/share/hadoop/yarn/lib, otherwise that of the installation before."
    ),
]
StateDir = Annotated[
    Path, typer.Option(help="For policy, journal and secret; the RM's user owns it.")
]
Policy = Annotated[
    str | None,
    typer.Option(
        help="A policy's name, or a YAML file, to begin with."
        " Default: that of an earlier installation, otherwise fifo."
    ),
]
Python = Annotated[str, typer.Option(help="Python of the policy process. Default: this one.")]
Asked = Annotated[
    str | None,
    typer.Option(
        "--rm",
        envvar="LOOMCARD_RM",
        help="The ResourceManager whose applications are to find their queues."
        " Default: as yarn-site.xml has it.",
    ),
]
Rehearse = Annotated[
    bool,
    typer.Option(
        "--rehearse",
        help="Restart a ResourceManager apart, on a copy of the state, to see whether it"
        " recovers every application; change nothing.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Go on where a restart is found to be an outage.")
]


def install(
    hadoop_conf: HadoopConf,
    jar_dir: JarDir = None,
    state_dir: StateDir = Path("/var/lib/loomcard"),
    policy: Policy = None,
    python: Python = sys.executable,
    rm: Asked = None,
    dry_run: DryRun = False,
    rehearse: Rehearse = False,
    force: Force = False,
) -> None:
    """Make Loomcard the scheduler of an existing Hadoop; show the change of yarn-site.xml."""
    installation.read_site(hadoop_conf)  # report a wrong folder first, before what else is missing
    if jar_dir is None:
        home, before = os.environ.get("HADOOP_HOME"), installation.read_record(hadoop_conf)
        if home is None and not before:
            raise SiteFileError("where do the jars go?", "set HADOOP_HOME, or give --jar-dir")
        jar_dir = Path(home) / JARS if home is not None else Path(before["jar_dir"])
    planned = installation.plan(
        installation.Wishes(
            hadoop_conf.absolute(), jar_dir.absolute(), state_dir.absolute(), policy, python
        )
    )
    _show(planned)
    known = running(planned.conf, rm)
    _refuse_an_outage(planned, known, force=force)
    if rehearse:
        _rehearse(planned, known)
        return
    if planned.empty:
        typer.echo(f"Loomcard is installed in {hadoop_conf}; nothing to change")
        return
    if dry_run:
        typer.echo("dry run: nothing was changed")
        return
    installation.apply(planned)
    typer.echo(f"installed; the file before: {hadoop_conf / installation.BACKUP}")
    state_dir = planned.state_dir
    if os.geteuid() == 0 and state_dir.stat().st_uid == 0:
        typer.echo(f"give the ResourceManager's user its folder: chown -R yarn: {state_dir}")
    typer.echo("restart the ResourceManager, then: loomcard doctor --rm http://HOST:8088")


def _show(planned: installation.Plan) -> None:
    typer.echo(planned.diff, nl=False)
    for target in planned.jars.values():
        typer.echo(f"copy {target}")
    for target in planned.old_jars:
        typer.echo(f"remove {target}")
    for target in planned.other_jars:
        said = f"warning: {target} stays; remove it if its folder is on the class path, too"
        typer.echo(said, err=True)
    if planned.setup is not None:
        file = planned.wishes.conf_dir / installation.SETUP
        typer.echo(f"write {file}: {planned.wishes.first_policy}")
    for file in planned.policy_files:
        typer.echo(f"write {file}")


def _refuse_an_outage(planned: installation.Plan, known: Running | None, *, force: bool) -> None:
    conf_dir, policy = planned.wishes.conf_dir, planned.wishes.first_policy
    governing = queues.governing(planned.conf, planned.setup, f"the policy {policy}")
    before = hadoop.read(conf_dir).get(installation.SCHEDULER_KEY)
    found: list[Check] = [
        *obstacles(planned.conf, planned.wanted, conf_dir / installation.SETUP),
        *queue_checks(planned.conf, governing, known, before),
    ]
    links = link_check(conf_dir, planned.wishes.jar_dir)
    if links.well:
        typer.echo(f"links: {links.said}")
    else:
        found.append(links)
    for each in found:
        remedy = f" ({each.remedy})" if each.remedy else ""
        typer.echo(
            f"{'warning' if each.well or force else 'error'}: {each.name}: {each.said}{remedy}",
            err=True,
        )
    if not force and not all(each.well for each in found):
        typer.echo("nothing was changed; --force goes on all the same", err=True)
        raise typer.Exit(2)


def _rehearse(planned: installation.Plan, known: Running | None) -> None:
    result = rehearsal.rehearse(planned)
    for line in result.lines():
        typer.echo(printable(line))
    problems = list(result.problems(known))
    for problem in problems:
        typer.echo(f"error: {printable(problem)}", err=True)
    if problems:
        typer.echo(f"log of the rehearsal: {result.log}", err=True)
        raise typer.Exit(1)
    typer.echo("rehearsed; nothing was changed")


def uninstall(hadoop_conf: HadoopConf, dry_run: DryRun = False) -> None:
    """Put back what `install` changed: yarn-site.xml as it was, the jars removed."""
    conf_dir = hadoop_conf.absolute()
    before, after = installation.restored(conf_dir)
    typer.echo(installation.diff(conf_dir / hadoop.SITE, before, after), nl=False)
    if dry_run:
        typer.echo("dry run: nothing was changed")
        return
    installation.uninstall(conf_dir)
    typer.echo("uninstalled; restart the ResourceManager")


def doctor(
    hadoop_conf: Annotated[
        Path | None,
        typer.Option(
            "--hadoop-conf", envvar="HADOOP_CONF_DIR", help="Look at the installation there, too."
        ),
    ] = None,
    rm: Annotated[
        str | None,
        typer.Option("--rm", envvar="LOOMCARD_RM", help="Ask this ResourceManager, too."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check java, jar, links, python, policy, metrics, ports, clock; exit 1 if one is wrong."""
    conf_dir = hadoop_conf.absolute() if hadoop_conf is not None else None
    found = list(health.checks(conf_dir, rm))
    if as_json:
        print_json([{**vars(each), "well": each.well} for each in found])
    else:
        for each in found:
            remedy = f" ({each.remedy})" if each.remedy else ""
            typer.echo(f"{'ok   ' if each.well else 'WRONG'} {each.name}: {each.said}{remedy}")
    if not all(each.well for each in found):
        raise typer.Exit(1)


def compile_(
    file: Annotated[str, typer.Argument(help="What to compile: a file, or a policy's name.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path(
        installation.SETUP
    ),
) -> None:
    """Compile a policy for loomcard.setup.path, which a ResourceManager starts with."""
    out.write_text(compiled_policy(file)["setup.json"], encoding="utf-8")
    typer.echo(out)
