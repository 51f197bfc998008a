"""A cluster's configuration files, rendered from the templates in hadoop-conf/.

    settings = compose_settings()                         # or embedded_settings(data_dir=..., ...)
    files = render(Path("run/docker/conf"), settings)     # core-site.xml, ..., setup.json

Undefined variables are errors, values are XML-escaped, and every property name is checked against
the names that the Hadoop line knows (`render_names`).
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from loomcard.cluster.hadoop_property_names import KnownNames, property_names
from loomcard.config.shipped import shipped
from loomcard.validation.hinted import HintedError

PACKAGE = Path(__file__).parents[1]
LOOMCARD_SCHEDULER = "org.loomcard.yarn.LoomcardScheduler"
CAPACITY_SCHEDULER = (
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
)
FIFO_SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
FAIR_SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"

SCHEDULERS = {
    "loomcard": LOOMCARD_SCHEDULER,
    "stock:capacity": CAPACITY_SCHEDULER,
    "stock:fifo": FIFO_SCHEDULER,
    "stock:fair": FAIR_SCHEDULER,
}

# Small and quick to start; JDK 17 needs --add-opens before Hadoop's Guice may define classes.
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED"

PAIR: Mapping[str, Any] = {
    "resourcemanagers": {"rm1": "resourcemanager", "rm2": "resourcemanager2"},
    "zookeeper": "zookeeper:2181",
}

Properties = Mapping[str, str]


class RenderError(HintedError):
    """A configuration cannot be rendered: one sentence, and a `hint` on what to do."""


class Ports(BaseModel):
    """The ResourceManager's ports; 0 takes a free port if the daemon allows it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client: int = 8032
    scheduler: int = 8030
    tracker: int = 8031
    admin: int = 8033
    web: int = 8088


class Extra(BaseModel):
    """Further properties, by site file; they come last and so override the templates' own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    core: Properties = Field(default_factory=dict)
    mapred: Properties = Field(default_factory=dict)
    yarn: Properties = Field(default_factory=dict)


class Settings(BaseModel):
    """All values that the templates may use.

    Paths are paths as the daemons see them; sizes are in MB.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["compose", "embedded"]
    hadoop_line: str = "3.4"
    data_dir: str
    """State, logs and scratch files of all daemons."""
    conf_dir: str
    """Where the daemons find the rendered files."""
    class_path: str
    """The class path of application masters and tasks; entries separated by commas."""
    file_system: str

    resourcemanagers: Mapping[str, str] = Field(default_factory=lambda: {"": "127.0.0.1"})
    """Host of each ResourceManager by its id (`rm1`); a single ResourceManager has the id ""."""
    zookeeper: str = ""
    """Host and port of the ZooKeeper that a pair of ResourceManagers needs."""
    namenode_host: str = ""
    jobhistory_host: str = ""
    """Empty: no JobHistoryServer, and no log aggregation."""
    ports: Ports = Ports()
    admin_user: str
    racks: Mapping[str, str] = Field(default_factory=dict)
    """Host name to rack (`/r1`); written as topology.table."""
    topology_script: str = ""
    """Used where `racks` is empty: a program that prints the rack of each address it is given."""

    node_memory_mb: int = Field(default=1536, gt=0)
    node_vcores: int = Field(default=4, gt=0)
    minimum_memory_mb: int = Field(default=128, ge=0)
    resource_types: tuple[str, ...] = ()
    """Resource types besides memory and vcores, by name."""
    am_memory_mb: int = Field(default=384, gt=0)
    am_heap_mb: int = Field(default=256, gt=0)
    task_memory_mb: int = Field(default=256, gt=0)
    task_heap_mb: int = Field(default=160, gt=0)
    heartbeat_ms: int = Field(default=1000, gt=0)
    jvm_options: str = JVM_OPTIONS
    """JVM options of application masters and tasks, besides their heap."""
    log_level: str = "INFO"

    scheduler_class: str = LOOMCARD_SCHEDULER
    stock_am_share: float = 0.5
    stock_queues: Any = None
    """The queues of a stock scheduler, a `stock_queues.StockQueue`; None: one queue, `default`."""
    stock_options: Mapping[str, Any] = Field(default_factory=dict)
    """Options of our `capacity` policy, for the stock scheduler."""
    loomcard: Mapping[str, str] = Field(default_factory=dict)
    """The `loomcard.*` properties without their prefix; only if Loomcard is the scheduler."""
    policy_path: tuple[str, ...] = ()
    """Folders that policies may be loaded from, besides installed packages."""
    extra: Extra = Extra()


def loomcard_properties(
    conf_dir: str, state_dir: str, python: str, policy_file: str, policy_path: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the `loomcard.*` properties of an RM that keeps its state in `state_dir`."""
    properties = {
        "setup.path": f"{conf_dir}/setup.json",
        "policy.file": policy_file,
        "state.dir": state_dir,
        "journal.dir": f"{state_dir}/journal",
        "python": python,
    }
    if policy_path:
        properties["policy.path"] = ",".join(policy_path)
    return properties


def policy_python(environment: Path, package: Path) -> str:
    """Return the interpreter of policy processes: that of the compiled build which `make setup`
    made beside a checkout's `environment`, while no file of `package` is newer; otherwise this one.
    """
    built = environment.parent / ".venv-compiled"
    made = built / ".made"
    if environment.name != ".venv" or not made.is_file():
        return sys.executable
    newest = max(file.stat().st_mtime for file in package.rglob("*.py"))
    current = made.stat().st_mtime > newest
    return str(built / "bin" / "python") if current else sys.executable


def compose_settings(
    scheduler_class: str = LOOMCARD_SCHEDULER, *, ha: bool = False, **changes: Any
) -> Settings:
    """Return the settings of the compose cluster; with `ha` those of its profile `ha`, a pair of
    ResourceManagers. `changes` replace fields of `Settings`.
    """
    conf_dir = "/etc/hadoop"
    loomcard: dict[str, str] = {}
    if scheduler_class == LOOMCARD_SCHEDULER:
        loomcard = loomcard_properties(
            conf_dir,
            state_dir="/data/loomcard",
            python="/opt/loomcard/venv/bin/python",
            policy_file="/data/loomcard/policy.yml",
        )
    fields: dict[str, Any] = {
        "kind": "compose",
        "data_dir": "/data",
        "conf_dir": conf_dir,
        "class_path": f"{conf_dir},/opt/loomcard/lib/*,/opt/hadoop/lib/*",
        "file_system": "hdfs://namenode:8020",
        **(PAIR if ha else {"resourcemanagers": {"": "resourcemanager"}}),
        "namenode_host": "namenode",
        "jobhistory_host": "jobhistory",
        "admin_user": "hadoop",
        "topology_script": "/opt/loomcard/bin/rack-of",
        "scheduler_class": scheduler_class,
        "loomcard": loomcard,
    }
    return Settings(**(fields | changes))


def embedded_settings(
    data_dir: Path, jars_dir: Path, scheduler_class: str = LOOMCARD_SCHEDULER, **changes: Any
) -> Settings:
    """Return the settings of the embedded cluster, which keeps everything under `data_dir`.

    Its configuration goes to `data_dir/conf`, its jars are those of `jars_dir`, and its policy
    process runs on the Python of `policy_python`. `changes` replace fields of `Settings`, such as
    ports, hosts and racks; `extra=Extra(yarn={...})` adds further `loomcard.*` keys.
    """
    conf_dir = f"{data_dir}/conf"
    loomcard: dict[str, str] = {}
    if scheduler_class == LOOMCARD_SCHEDULER:
        loomcard = loomcard_properties(
            conf_dir,
            state_dir=f"{data_dir}/loomcard",
            python=policy_python(Path(sys.prefix), PACKAGE),
            policy_file=f"{conf_dir}/policy.yml",
            policy_path=changes.get("policy_path", ()),
        )
    fields: dict[str, Any] = {
        "kind": "embedded",
        "data_dir": str(data_dir),
        "conf_dir": conf_dir,
        "class_path": f"{conf_dir},{jars_dir}/*",
        "file_system": "file:///",
        "admin_user": getpass.getuser(),
        "scheduler_class": scheduler_class,
        "loomcard": loomcard,
    }
    return Settings(**(fields | changes))


def render(target_dir: Path, settings: Settings, policy: str | Path | None = None) -> list[Path]:
    """Write every configuration file into `target_dir` (created if missing); return their paths.

    If Loomcard is the scheduler, `policy` (a configuration's file, or a policy's name; default
    fifo) is compiled into setup.json, and its text is copied to policy.yml beside it. Raises
    `RenderError` for an unknown name or variable, and `loomcard.config.FindingsError` for a
    configuration with mistakes; then nothing has been written.
    """
    line_dir = template_root() / settings.hadoop_line
    if not line_dir.is_dir():
        lines = ", ".join(sorted(d.name for d in line_dir.parent.iterdir() if d.is_dir()))
        raise RenderError(
            f"no templates for Hadoop {settings.hadoop_line}", hint=f"there are some for: {lines}"
        )
    texts = _render_templates(line_dir, settings)
    _check_names(line_dir, texts)
    if settings.scheduler_class == LOOMCARD_SCHEDULER:
        texts |= compiled_policy(policy or "fifo", settings.policy_path)
    target_dir.mkdir(parents=True, exist_ok=True)
    written = [target_dir / name for name in sorted(texts)]
    for path in written:
        path.write_text(texts[path.name])
    return written


def template_root() -> Path:
    """Return the folder hadoop-conf of the checkout or of the installed package."""
    return shipped("hadoop-conf")


def _render_templates(line_dir: Path, settings: Settings) -> dict[str, str]:
    import jinja2  # imported late: a command's help does not need it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(line_dir),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(enabled_extensions=("xml.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    variables = {name: getattr(settings, name) for name in Settings.model_fields}
    texts = {}
    for path in sorted(line_dir.glob("*.j2")):
        try:
            texts[path.name.removesuffix(".j2")] = environment.get_template(path.name).render(
                variables
            )
        except jinja2.TemplateError as error:
            raise RenderError(
                f"{path}: {error}", hint="templates may name the fields of render.Settings"
            ) from error
    return texts


def _site(file_name: str) -> str:
    """Return the site of the names in a file: `yarn` for yarn-site.xml; "" for no check."""
    if file_name == "resource-types.xml":  # YARN reads its resource types from a separate file
        return "yarn"
    return file_name.removesuffix("-site.xml") if file_name.endswith("-site.xml") else ""


def _check_names(line_dir: Path, texts: Mapping[str, str]) -> None:
    known = KnownNames.load(line_dir)
    complaints = [
        complaint
        for file_name, text in texts.items()
        if (site := _site(file_name))
        for complaint in known.unknown(site, property_names(text))
    ]
    if complaints:
        raise RenderError(
            "\n".join(complaints),
            hint=f"correct the name, or review it and add it to {line_dir.name}/allowed.toml",
        )


def compiled_policy(policy: str | Path, policy_path: Sequence[str] = ()) -> dict[str, str]:
    """Return policy.yml and setup.json, with which a ResourceManager starts, for a file or a name.

    Raises RenderError and FindingsError as `render` does.
    """
    # Imported late: a command's help does not need the engine.
    from loomcard.config import FindingsError, canonical_json, compile_config
    from loomcard.config.source import SourceError, resolve

    try:
        source = resolve(policy)
    except SourceError as error:
        raise RenderError(f"{policy}: {error}", error.hint) from error
    folders = [Path(p) for p in policy_path]
    try:
        config = compile_config(source.text, source.name, policy_path=folders, isolated=True)
    except FindingsError as error:
        raise error.named(str(policy)) from error
    return {"setup.json": canonical_json(config), "policy.yml": source.text}
