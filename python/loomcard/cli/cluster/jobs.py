"""``loomcard submit`` and ``loomcard status``."""

import sys
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from loomcard.cli.cluster.commands import compose
from loomcard.cli.output import (
    ClusterKind,
    Json,
    On,
    OtherRm,
    Rm,
    console,
    if_interrupted,
    moment,
    print_json,
    printable,
    waiting,
)
from loomcard.cluster import paths
from loomcard.cluster.client_conf import folder_of, write_client_conf
from loomcard.cluster.container_times import job_times, read_runs
from loomcard.cluster.embedded import LocalCluster, resource_manager
from loomcard.cluster.example_jobs import Program, ProgramError, program
from loomcard.cluster.faults import fault_text, reasons_text, stall_text
from loomcard.cluster.job_profiles import profile_definitions
from loomcard.cluster.limits import (
    HEADINGS,
    LABEL_HEADINGS,
    amounts,
    held,
    label_rows,
    limit_rows,
    memory,
)
from loomcard.cluster.report_tables import tables
from loomcard.cluster.rm_client import ResourceManagerClient, is_over
from loomcard.cluster.submit import Client, Submission, SubmissionError
from loomcard.workload.dag_stages import mapreduce_definition

Queue = Annotated[str | None, typer.Option("--queue", help="The queue. Default: the cluster's.")]
User = Annotated[str | None, typer.Option("--user", help="Who submits, on a cluster that trusts.")]
Definitions = Annotated[
    list[str] | None, typer.Option("--define", "-D", help="A Hadoop property, name=value.")
]

Dag = Annotated[
    str | None,
    typer.Option(
        help="A file with the job's hint, as `loomcard dag` writes it; - for standard input.",
        metavar="FILE",
    ),
]

Profile = Annotated[
    str | None,
    typer.Option("--profile", help="Properties that a policy wants of a job, such as coupling."),
]

ClientConf = Annotated[
    Path | None,
    typer.Option(
        "--hadoop-conf",
        metavar="FOLDER",
        envvar="HADOOP_CONF_DIR",
        help="With --rm: site files of Hadoop's client in place of the ResourceManager's.",
    ),
]

Wait = Annotated[
    bool,
    typer.Option(
        help="Wait for the job's end; else the client is ended when its first application is"
        " accepted."
    ),
]

_DAY_S: Final = 24 * 3600


def submit(
    name: Annotated[str, typer.Argument(help="pi, sleep, teragen, terasort, wordcount or a .jar.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    on: On = ClusterKind.LOCAL,
    queue: Queue = None,
    user: User = None,
    define: Definitions = None,
    dag: Dag = None,
    profile: Profile = None,
    rm: OtherRm = None,
    hadoop_conf: ClientConf = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Submit an example job, or a jar with its arguments (after `--` if they begin with a dash)."""
    for each in define or []:
        if not each.partition("=")[0] or "=" not in each:
            raise ProgramError(f"-D {each}: no Hadoop property", "give it as -D name=value")
    definitions = [*(define or []), *([_hint(dag)] if dag is not None else [])]
    base = Path.cwd() if on is ClusterKind.LOCAL and rm is None else None
    chosen = program(name, arguments or [], base)
    if profile is not None:
        definitions = profile_definitions(profile, chosen, definitions)
    if on is ClusterKind.DOCKER:
        if rm is not None:
            raise ProgramError("--on docker and --rm name two clusters", "give one of the two")
        if as_json or not wait:
            raise ProgramError(
                "--json and --no-wait work with --on local and --rm only",
                "ask the cluster afterwards: loomcard status --json --rm http://127.0.0.1:8088",
            )
        defined = [*definitions, *([f"mapreduce.job.queuename={queue}"] if queue else [])]
        as_user = ["--user", user] if user else []
        command = ["run", "--rm", *as_user, *in_a_container(chosen, name, defined)]
        compose().use_line().compose(command, timeout_s=None)
        return
    target = _local() if rm is None else _elsewhere(rm, user, hadoop_conf)
    submitted: list[str] = []
    with if_interrupted(lambda: _left(submitted)), waiting(f"{chosen.name} starts") as progress:
        submission = target.client.submit(chosen, queue=queue, user=user, definitions=definitions)
        try:
            application = submission.application()
            submitted.append(application)
            if wait:
                running = f"{chosen.name} runs: {application}"
                progress.update(progress.task_ids[0], description=running)
                target.wait(submission, application)
        finally:
            submission.stop()  # the application continues; the client would poll it for ever
    _report(target, submission, application, wait, as_json)


def _left(submitted: list[str]) -> str:
    """Return what remains of a job after Ctrl-C."""
    return (
        f"{submitted[0]} goes on, see `loomcard status`"
        if submitted
        else "the job was not accepted yet; if `loomcard status` lists it, it goes on"
    )


@dataclass(frozen=True)
class _Target:
    """A cluster to submit to. `container_times`: what its nodes recorded, if that is on this
    machine; `scheduler`: what it was started with.
    """

    client: Client
    rest: ResourceManagerClient
    scheduler: str = "unknown"
    container_times: Path | None = None

    def wait(self, submission: Submission, application: str) -> None:
        """Wait until the client has ended, or, if it may never see the end, until its job has."""
        if self.container_times is not None or submission.program.jar is not None:
            submission.wait(seconds=_DAY_S)
        else:
            # A client that does not know the nodes' names polls for ever for the end.
            submission.wait_until(lambda: is_over(self.rest.application(application)))


def _local() -> _Target:
    cluster = LocalCluster.attach(paths.run_folder("local"))
    client = Client(cluster.conf_dir, cluster.run_dir / "work", tuple(cluster.client_options))
    return _Target(client, cluster.rest, cluster.settings.scheduler, cluster.container_times)


def _elsewhere(rm: str, user: str | None, hadoop_conf: Path | None) -> _Target:
    rest = ResourceManagerClient(rm, user or getuser())
    folder = folder_of(rm)
    write_client_conf(rest, folder / "conf", hadoop_conf)
    return _Target(Client(folder / "conf", folder / "work"), rest)


def _hint(file: str) -> str:
    """Return the property that passes the hint in a file to the AM."""
    place = "standard input" if file == "-" else file
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return mapreduce_definition(data.decode(errors="replace"), place)


def _report(
    target: _Target, submission: Submission, application: str, waited: bool, as_json: bool
) -> None:
    document = target.rest.application(application)
    config = target.rest.scheduler()["schedulerInfo"].get("config", {})
    file = target.container_times
    runs = () if file is None else read_runs(file)
    times = job_times(
        document, submission.program.name, str(config.get("policy", target.scheduler)), runs
    )
    over = f"complete after {_seconds(times.completion_ms)}"
    if file is None:  # the ResourceManager does not report when containers ran
        over = f"over after {_seconds(document.get('elapsedTime'))}"
    if as_json:
        elapsed = {} if file is not None else {"elapsed_ms": document.get("elapsedTime")}
        print_json(vars(times) | elapsed | {"client_log": str(submission.log)})
    elif waited:
        waited_ms = "" if file is None else f"waited {_seconds(times.waiting_ms)}, "
        typer.echo(f"{application}: {times.state}, {waited_ms}{over}")
    else:
        typer.echo(application)
    if waited and times.state != "SUCCEEDED":
        said = document.get("diagnostics") or submission.reason()
        raise SubmissionError(
            f"{application} {times.state}: {' '.join(said.split())[:300]}", f"see {submission.log}"
        )


def status(
    rm: Rm = None,
    as_json: Json = False,
) -> None:
    """Say what a running cluster does: policy, applied version, bridge, queues, applications."""
    client = resource_manager(rm)
    document: dict[str, Any] = {
        "resourcemanager": client.info(),
        "scheduler": client.scheduler()["schedulerInfo"],
        "nodes": client.nodes(),
        "applications": client.applications(),
    }
    if as_json:
        print_json(document)
        return
    out = console()
    scheduler = document["scheduler"]
    if "config" in scheduler:
        _print_scheduler(out, scheduler)
    else:
        out.print(f"stock scheduler: {scheduler.get('type', 'unknown')}")
    table = Table("node", "rack", "state", "containers", "used", "free")
    for node in sorted(document["nodes"], key=lambda each: str(each["nodeHostName"])):
        said = [str(node[key]) for key in ("nodeHostName", "rack", "state", "numContainers")]
        room = [memory(int(node[key])) for key in ("usedMemoryMB", "availMemoryMB")]
        table.add_row(*said, *room)
    out.print(table)
    table = Table("application", "name", "user", "queue", "state", "containers", "waits for")
    waits = scheduler.get("waiting", [])
    reasons = {each["application"]: reasons_text(each["asks"], moment) for each in waits}
    for app in document["applications"]:
        shown = app["finalStatus"] if app["state"] == "FINISHED" else app["state"]
        running = max(int(app["runningContainers"]), 0)
        words = (app["id"], app["name"], app["user"], app["queue"], shown, str(running))
        table.add_row(*map(printable, (*words, reasons.get(app["id"], ""))))
    out.print(table)


def in_a_container(chosen: Program, name: str, defined: list[str]) -> list[str]:
    """Return what `docker compose run` runs in the client's service for a job."""
    properties = [f"-D{each}" for each in defined]
    if chosen.jar is None:
        return ["client", "example", name, *properties, *chosen.arguments]
    if defined:
        raise ProgramError(
            "properties of a jar's job on docker are the jar's own arguments",
            "give them after its main class, behind --: -- org.example.Main -Dname=value",
        )
    mounted = f"{chosen.jar}:/tmp/job.jar:ro"
    return ["--volume", mounted, "client", "jar", "/tmp/job.jar", *chosen.arguments]  # noqa: S108


def _print_scheduler(out: Console, scheduler: dict[str, Any]) -> None:
    config, bridge, allocations = scheduler["config"], scheduler["bridge"], scheduler["allocations"]
    out.print(
        f"policy {config['policy']}, version {config['version']}, from {config['source']} "
        f"(hash {str(config['hash'])[:12]})"
    )
    said = f"bridge {bridge['state']} since {moment(bridge['since_ms'])}, {bridge['rounds']} rounds"
    if build := bridge.get("build"):
        said += f", {printable(build)}"
    if failure := bridge.get("last_failure"):
        since = bridge.get("recovered_ms")
        over = f" (recovered at {moment(since)})" if since else ""
        said += f"; last failure{over}: {printable(failure.splitlines()[0])}"
    out.print(said)
    for fault in bridge.get("faults", ()):
        out.print(printable(fault_text(fault, moment(fault["at_ms"]))))
    for stall in bridge.get("stalled", ()):
        out.print(printable(stall_text(stall, moment(stall["until_ms"]))))
    journal = bridge.get("journal") or {}
    if journal.get("trouble"):
        out.print(
            f"the journal is not written, {journal['lost_rounds']} rounds are missing: "
            f"{journal['trouble']}"
        )
    refused = ", ".join(f"{why} {count}" for why, count in scheduler["refusals"].items())
    out.print(
        f"allocated by policy {allocations['policy']}, by the fallback {allocations['fallback']}; "
        f"refused: {refused or 'none'}"
    )
    for reservation in scheduler.get("reservations", ()):
        room = amounts(reservation["resource"])
        application, queue = reservation["application"], reservation["queue"]
        out.print(f"{room} on {reservation['node']} reserved for {application} in {queue}")
    hadoop = scheduler.get("hadoop", {})
    if hadoop.get("lacking"):
        out.print(f"Hadoop {hadoop['version']} lacks: {', '.join(hadoop['lacking'])}")
    _print_queues(out, scheduler["queues"])
    for section in tables(scheduler["queues"]):
        shown = Table(title=printable(section.title) or None, title_justify="left")
        for heading, is_number in zip(section.headings, section.numbers, strict=True):
            shown.add_column(
                printable(heading), justify="right" if is_number else "left", overflow="fold"
            )
        for row in section.rows:
            shown.add_row(*map(printable, row))
        out.print(shown)


def _print_queues(out: Console, queues: list[dict[str, Any]]) -> None:
    """Print the use of queues and, if there are any, their use of labelled nodes and their
    limits.
    """
    shown = ("guaranteed", "entitlement", "used", "pending")
    table = Table()
    table.add_column("queue", overflow="fold")
    table.add_column("policy")
    for heading in ("guaranteed", "entitled", "used", "pending"):
        table.add_column(heading, justify="right")
    for heading in ("applications", "containers"):
        table.add_column(heading, justify="right")
    for queue in queues:
        state = queue.get("state", "running")
        table.add_row(
            queue["path"] + ("" if state == "running" else f" ({state})"),
            printable(str(queue["policy"] or "(walked)")),
            *("\n".join(held(queue.get(key, {}))) for key in shown),  # a name has room beside
            str(queue["applications"]),
            str(queue["containers"]),
        )
    out.print(table)
    for headings, rows in (
        (LABEL_HEADINGS, label_rows(queues)),
        (HEADINGS, limit_rows(queues)),
    ):
        if rows:
            table = Table()
            for heading in headings:
                table.add_column(heading, overflow="fold")
            for row in rows:
                table.add_row(*row)
            out.print(table)


def _seconds(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds / 1000:.1f} s"
