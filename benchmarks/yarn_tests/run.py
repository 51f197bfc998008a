"""YARN's own tests, from Hadoop's published jars, against FIFO, Capacity and Loomcard.

The classes run one after the other, each in a JVM and a folder of its own; a class that has been
run is not run again. Run it with `make yarn-tests`; docs/benchmarks/yarn-tests.md has the tables.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from xml.sax.saxutils import escape

import msgspec
import typer
import yaml

from benchmarks.yarn_tests.table import Outcome, put, tables
from loomcard.cluster.paths import hadoop_line
from loomcard.config import canonical_json, compile_config

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "jvm-bridge" / "yarn-tests"
SHIM = ROOT / "jvm-bridge" / "shim"
SCHEDULERS = {
    "fifo": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler",
    "capacity": (
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
    ),
    "loomcard": "org.loomcard.yarn.LoomcardScheduler",
}
POLICIES = {"fifo": "fifo", "heartbeats": "heartbeats.py:HeartbeatFifo"}
OPENED = ["lang", "lang.reflect", "util", "util.concurrent", "net", "io", "text", "time"]
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
CLASS_LIMIT_S = 900
QUEUE_ACLS = """version: 1
kind: policy
policy: fifo
submit: []
administer: [root_admin]
queues:
  queueA: {submit: [queueA_user, common_user], administer: [queueA_admin, root_admin]}
  queueB: {submit: [queueB_user, common_user], administer: [queueB_admin, root_admin]}
"""


class YarnTestsError(Exception):
    """The tests cannot run; the text says why."""


@dataclass(frozen=True)
class Chosen:
    """One entry of tests.yml."""

    name: str
    policy: str = "fifo"
    fast: bool = False
    only: tuple[str, ...] = ()
    others: dict[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """Return the class without its package."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Catalog:
    """tests.yml: which classes run, which methods run for no scheduler, and why tests fail."""

    classes: list[Chosen]
    left_out: dict[str, str]
    explained: dict[str, dict[str, str]]

    @staticmethod
    def read(path: Path = HOME / "tests.yml") -> "Catalog":
        """Return the content of the file."""
        text = yaml.safe_load(path.read_text())
        classes = [
            Chosen(
                each["class"], each.get("policy", "fifo"), "fast" in each,
                tuple(each.get("fast") or ()),
                {name: each[name] for name in SCHEDULERS if name in each},
            )
            for each in text["classes"]
        ]  # fmt: skip
        return Catalog(classes, text["left_out"], text["explained"])

    def methods_left_out(self, chosen: Chosen) -> list[str]:
        """Return the methods of a class that run for no scheduler."""
        pairs = (key.split("#") for key in self.left_out)
        return [method for name, method in pairs if name == chosen.short]


def properties(path: Path, values: dict[str, object]) -> None:
    """Write a Hadoop configuration file."""
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in values.items()
    )
    path.write_text(f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n')


def configure(folder: Path, scheduler: str, chosen: Chosen) -> None:
    """Write Hadoop's configuration for one class: every folder its own, the scheduler, and our
    keys.
    """
    # As in YARN's own build: the hosts of its tests are in no DNS.
    own = {"hadoop.tmp.dir": folder / "scratch", "hadoop.security.token.service.use_ip": "false"}
    yarn: dict[str, object] = {
        **own,
        "yarn.resourcemanager.scheduler.class": SCHEDULERS[scheduler],
        "yarn.node-attribute.fs-store.root-dir": (folder / "attributes").as_uri(),
    }
    if scheduler == "loomcard":
        yarn |= ours(folder, chosen)
    properties(folder / "conf" / "core-site.xml", {**own})
    properties(folder / "conf" / "yarn-site.xml", yarn)
    # YARN's own tests of CapacityScheduler set: any number of AMs, all resource types count, and a
    # heartbeat allocates, which is not the default since 3.5.
    capacity = "yarn.scheduler.capacity."
    properties(
        folder / "conf" / "capacity-scheduler.xml",
        {
            capacity + "maximum-am-resource-percent": 1.0,
            capacity + "resource-calculator": DOMINANT,
            capacity + "schedule-asynchronously.enable": "false",
            capacity + "root.queues": "default",
            capacity + "root.default.capacity": 100,
            capacity + "node-locality-delay": 40,
        },
    )


def ours(folder: Path, chosen: Chosen) -> dict[str, object]:
    """Return the keys of Loomcard: a node update waits for its round, so that decisions look
    inline.
    """
    policies = HOME / "policies"
    for name, text in {
        "config": f"version: 1\nkind: policy\npolicy: {POLICIES[chosen.policy]}\n",
        "queue-acls": QUEUE_ACLS,
    }.items():
        (folder / f"{name}.yml").write_text(text)
        compiled = compile_config(text, f"{name}.yml", policy_path=[policies])
        (folder / f"{name}.json").write_text(canonical_json(compiled))
    return {
        "loomcard.python": sys.executable,
        "loomcard.setup.path": folder / "config.json",
        "loomcard.queue-acls.setup": folder / "queue-acls.json",
        "loomcard.policy.file": folder / "policy.yml",
        "loomcard.policy.path": policies,
        "loomcard.state.dir": folder / "state",
        "loomcard.inline.wait-ms": 20000,
        "loomcard.start.grace-ms": 30000,  # the policy decides, not the fallback
        "loomcard.round.deadline-ms": 10000,
        "loomcard.round.hard-deadline-ms": 30000,
        "loomcard.round.batch-delay-ms": 0,
    }


def java_command(folder: Path, scheduler: str, chosen: Chosen, methods: list[str]) -> list[str]:
    """Return the command line that runs one class."""
    target = HOME / "target" / hadoop_line()
    jars = target / "classpath.txt"
    shim = sorted((SHIM / "target").glob("loomcard-yarn-[0-9]*.jar"))
    if not jars.is_file() or not shim:
        make = f"make yarn-tests HADOOP={hadoop_line()}"
        raise YarnTestsError(f"{jars} or the shim's jar is missing: run `{make}`")
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    first = [folder / "conf", target / "classes", shim[0]]
    data, scratch = folder / "data", folder / "scratch"
    return [
        str(java), "-Xmx1g", *(f"--add-opens=java.base/java.{p}=ALL-UNNAMED" for p in OPENED),
        f"-Djava.security.krb5.conf={SHIM / 'src' / 'test' / 'resources' / 'krb5.conf'}",
        f"-Dtest.build.data={data}", f"-Dtest.build.dir={data}", f"-Dhadoop.tmp.dir={scratch}",
        f"-Dscheduler.class={SCHEDULERS[scheduler]}", f"-Djava.io.tmpdir={scratch}",
        "-cp", os.pathsep.join([*map(str, first), jars.read_text().strip()]),
        "org.loomcard.yarn.tests.RunTests", chosen.others.get(scheduler, chosen.name),
        str(folder / "outcomes.jsonl"), *methods,
    ]  # fmt: skip


def run_class(
    folder: Path, scheduler: str, chosen: Chosen, methods: list[str], limit_s: int
) -> None:
    """Run one class in one JVM; what it wrote until its end, or until its time was over, stays."""
    for name in ("conf", "scratch", "data"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    configure(folder, scheduler, chosen)
    command = java_command(folder, scheduler, chosen, methods)
    with (folder / "log").open("w") as log:
        jvm = subprocess.Popen(  # noqa: S603
            command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            jvm.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            pass  # the table says how far it came
        finally:
            stop(jvm)
    (folder / "done").touch()


def stop(jvm: subprocess.Popen[Any]) -> None:
    """End the JVM and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(jvm.pid, signal.SIGKILL)
    jvm.wait()


def outcomes(folder: Path, scheduler: str, chosen: Chosen) -> Iterator[Outcome]:
    """Yield the outcomes of a class; one more row if it did not end."""
    path = folder / "outcomes.jsonl"
    lines = path.read_text().splitlines() if path.is_file() else []
    ended = False
    for line in lines:
        row = msgspec.json.decode(line)
        if row["test"] is None:
            ended = True
        else:
            yield Outcome(
                scheduler, chosen.short, row["test"], row["outcome"], row["ms"],
                row.get("message", ""),
            )  # fmt: skip
    if not ended:
        yield Outcome(scheduler, chosen.short, "", "cut", 0, "the class did not end in its time")


def unexplained(rows: Iterable[Outcome], catalog: Catalog) -> bool:
    """Return whether a test failed, or a class was cut, for a reason that tests.yml does not
    give.
    """
    return any(
        row.outcome in ("failed", "cut")
        and not {row.key, row.name} & set(catalog.explained.get(row.scheduler) or {})
        for row in rows
    )


def run(
    out: Path, schedulers: Sequence[str], classes: Sequence[Chosen], catalog: Catalog,
    *, fast: bool = False, rerun: bool = False, limit_s: int = CLASS_LIMIT_S,
) -> list[Outcome]:  # fmt: skip
    """Run all classes under all schedulers, one after the other. Classes that have been run are
    only read; with ``rerun`` those with an unexplained failure are run again.
    """
    found = []
    for chosen in classes:
        methods = [f"only:{name}" for name in chosen.only] if fast else []
        for scheduler in schedulers:
            folder = (out / scheduler / chosen.short).resolve()
            if rerun and unexplained(outcomes(folder, scheduler, chosen), catalog):
                shutil.rmtree(folder, ignore_errors=True)
            if not (folder / "done").is_file():
                left = catalog.methods_left_out(chosen)
                run_class(folder, scheduler, chosen, methods or left, limit_s)
            ended = outcomes(folder, scheduler, chosen)
            rows = [row for row in ended if row.key not in catalog.left_out]
            passed = sum(row.outcome == "passed" for row in rows)
            typer.echo(f"{scheduler:8} {chosen.short}: {passed} of {len(rows)} passed", err=True)
            found += rows
    return found


def main(
    out: Annotated[Path, typer.Option(help="where outcomes are kept, by line")] = Path(
        "results/yarn-tests"
    ),
    scheduler: Annotated[list[str] | None, typer.Option(help="only these")] = None,
    only: Annotated[list[str] | None, typer.Option(help="only these classes")] = None,
    write: Annotated[Path | None, typer.Option(help="put the tables into this page")] = None,
    rerun: Annotated[bool, typer.Option(help="again what failed unexplained")] = False,
    limit_s: Annotated[int, typer.Option(help="seconds that a class may take")] = CLASS_LIMIT_S,
) -> None:
    """Run what has not been run yet, and print the tables."""
    catalog = Catalog.read()
    schedulers = scheduler or list(SCHEDULERS)
    classes = [each for each in catalog.classes if not only or each.short in only]
    if unknown := sorted(set(schedulers) - set(SCHEDULERS)):
        typer.echo(f"--scheduler {unknown[0]}: one of {', '.join(SCHEDULERS)}", err=True)
        raise typer.Exit(2)
    if not classes:
        typer.echo(f"--only: no such class; see {HOME / 'tests.yml'}", err=True)
        raise typer.Exit(2)
    try:
        found = run(out / hadoop_line(), schedulers, classes, catalog, rerun=rerun, limit_s=limit_s)
    except YarnTestsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    text = tables(found, catalog.explained)
    if write is not None:
        write.write_text(put(write.read_text(), hadoop_line(), text))
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
