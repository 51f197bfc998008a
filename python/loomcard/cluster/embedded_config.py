"""The configuration of an embedded cluster: what the templates need besides their defaults."""

import contextlib
import json
import random
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.cluster import paths
from loomcard.cluster.hadoop_config import (
    CAPACITY_SCHEDULER,
    LOOMCARD_SCHEDULER,
    SCHEDULERS,
    Extra,
    Ports,
    embedded_settings,
    render,
)
from loomcard.cluster.stock_queues import stock_options, stock_queues


@dataclass(frozen=True)
class Machine:
    """A node of an embedded cluster: its host name, its rack (`/r1`), and the capacity that it
    declares, by resource type (`memory_mb`, `vcores`, others by name). The real machine's capacity
    does not matter.
    """

    name: str
    rack: str
    capacity: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """An embedded cluster: `nodes` NodeManagers n1, n2, ... distributed over two racks.

    `machines`, if given, describe the nodes and replace `nodes`, `node_memory_mb` and
    `node_vcores`. `virtual`: a workload's containers are no processes, but wait inside their
    NodeManager. `heartbeat_ms`: the nodes' heartbeat period. `minimum_memory_mb`,
    `minimum_vcores`: requests are rounded up to multiples of these.

    `scheduler` is loomcard, stock:capacity, stock:fifo, stock:fair or a class name. `policy` is the
    YAML configuration with which Loomcard starts (None: fifo). `stock_config` is a compiled one;
    stock:capacity and stock:fair get its queues (None: one queue, root.default). `core`, `yarn`
    and `mapred` are further properties. `stock_file` is the stock scheduler's own file, in place of
    what `stock_config` renders. `environment`: further variables of the cluster's
    processes, including the policy process.
    """

    run_dir: Path
    nodes: int = 3
    node_memory_mb: int = 2048
    node_vcores: int = 8
    machines: tuple[Machine, ...] = ()
    virtual: bool = False
    heartbeat_ms: int = 200
    minimum_memory_mb: int = 128
    minimum_vcores: int = 1
    scheduler: str = "loomcard"
    policy: str | Path | None = None
    stock_config: Mapping[str, Any] | None = None
    stock_file: Path | None = None
    policy_path: tuple[Path, ...] = ()
    core: dict[str, str] = field(default_factory=dict)
    yarn: dict[str, str] = field(default_factory=dict)
    mapred: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cluster_machines(self) -> tuple[Machine, ...]:
        """The nodes, from `machines` or from `nodes`."""
        size = {"memory_mb": self.node_memory_mb, "vcores": self.node_vcores}
        return self.machines or tuple(
            Machine(f"n{i + 1}", f"/rack{i % 2 + 1}", size) for i in range(self.nodes)
        )

    @property
    def resource_types(self) -> tuple[str, ...]:
        """The names of resource types besides memory and vcores, sorted."""
        names = {name for machine in self.machines for name in machine.capacity}
        return tuple(sorted(names - {"memory_mb", "vcores"}))

    @property
    def scheduler_class(self) -> str:
        """The class that the ResourceManager loads."""
        return SCHEDULERS.get(self.scheduler, self.scheduler)

    @property
    def is_loomcard(self) -> bool:
        """Whether a policy written in Python schedules this cluster."""
        return self.scheduler_class == LOOMCARD_SCHEDULER


def render_conf(settings: LocalSettings) -> list[Path]:
    """Write the cluster's configuration and hosts file into `settings.run_dir`/conf; return the
    files.

    Raises RenderError and FindingsError as `render` does, and PlaceError when the jars are
    missing.
    """
    conf_dir = settings.run_dir / "conf"
    machines = settings.cluster_machines
    hosts = {machine.name: _address(i) for i, machine in enumerate(machines, 1)}
    client, scheduler, tracker, admin, web = free_ports(5)
    rendered = embedded_settings(
        settings.run_dir,
        paths.jars(),
        settings.scheduler_class,
        ports=Ports(client=client, scheduler=scheduler, tracker=tracker, admin=admin, web=web),
        racks=_racks(machines, hosts),
        node_memory_mb=max(machine.capacity["memory_mb"] for machine in machines),
        node_vcores=max(machine.capacity["vcores"] for machine in machines),
        minimum_memory_mb=settings.minimum_memory_mb,
        resource_types=settings.resource_types,
        policy_path=tuple(str(path) for path in settings.policy_path),
        heartbeat_ms=settings.heartbeat_ms,
        # Dozens of nodes would spend more work on log lines than on their containers.
        log_level="WARN" if settings.virtual else "INFO",
        **_stock(settings),
        extra=Extra(
            core=settings.core,
            yarn=_yarn(settings, conf_dir),
            mapred=_MAPRED | settings.mapred,
        ),
    )
    written = render(conf_dir, rendered, settings.policy)
    if settings.stock_file is not None:
        named = "fair" if settings.scheduler == "stock:fair" else "capacity"
        shutil.copyfile(settings.stock_file, conf_dir / f"{named}-scheduler.xml")
    _write_hosts(conf_dir / "hosts", hosts)
    (conf_dir / "java-options").write_text(f'"-Djdk.net.hosts.file={conf_dir / "hosts"}"\n')
    listed = [{"name": machine.name, "capacity": dict(machine.capacity)} for machine in machines]
    (conf_dir / "machines.json").write_text(json.dumps(listed))
    return [*written, conf_dir / "hosts", conf_dir / "machines.json"]


def _stock(settings: LocalSettings) -> dict[str, Any]:
    config = settings.stock_config
    if config is None:
        return {}
    types = ["memory_mb", "vcores", *settings.resource_types]
    machines = settings.cluster_machines
    capacity = [sum(machine.capacity.get(name, 0) for machine in machines) for name in types]
    whole = settings.scheduler_class == CAPACITY_SCHEDULER
    return {
        "stock_queues": stock_queues(config, types, capacity, whole=whole),
        "stock_options": stock_options(config),
    }


def _address(number: int) -> str:
    # 127.0.2.0/24 for the first 254, then the following networks.
    return f"127.0.{2 + (number - 1) // 254}.{(number - 1) % 254 + 1}"


# Small jobs on two cores: an AM with four heartbeats per second, a client that notices the end
# soon, and no second copy of a slow task.
_MAPRED = {
    "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "250",
    "mapreduce.client.completion.pollinterval": "250",
    "mapreduce.client.progressmonitor.pollinterval": "250",
    "mapreduce.map.speculative": "false",
    "mapreduce.reduce.speculative": "false",
}


def _yarn(settings: LocalSettings, conf_dir: Path) -> dict[str, str]:
    properties = {
        # Every container's JVM must know the nodes' names, whatever program it runs.
        "yarn.nodemanager.admin-env": f"MALLOC_ARENA_MAX=2,{_container_java(conf_dir)}",
        "yarn.nodemanager.container-state-transition-listener.classes": (
            "org.loomcard.yarn.embedded.ContainerTimes"
        ),
        "loomcard.container-times.file": str(settings.run_dir / "containers.jsonl"),
        "yarn.scheduler.minimum-allocation-vcores": str(settings.minimum_vcores),
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.sleep-delay-before-sigkill.ms": "250",
        "yarn.nodemanager.process-kill-wait.ms": "1000",
        # After a restart of the ResourceManager its nodes and AMs try to connect twice per second.
        "yarn.resourcemanager.connect.retry-interval.ms": "500",
        "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "0",
    }
    if settings.is_loomcard:
        properties |= {
            # The ResourceManager listens only on loopback.
            "loomcard.apply.any-admin": "true",
        }
    if settings.virtual:
        properties |= _VIRTUAL
    return properties | settings.yarn


def _container_java(conf_dir: Path) -> str:
    if paths.hadoop_line() == "2.7":  # which drops a value's second "=" and what follows
        return f"JDK_JAVA_OPTIONS=@{conf_dir / 'java-options'}"
    return f"JAVA_TOOL_OPTIONS=-Djdk.net.hosts.file={conf_dir / 'hosts'}"


# Dozens of NodeManagers in one JVM: services for real processes and MapReduce are left out.
_VIRTUAL = {
    "yarn.nodemanager.containers-launcher.class": (
        "org.loomcard.yarn.embedded.VirtualContainersLauncher"
    ),
    "yarn.nodemanager.aux-services": "",
    "yarn.nodemanager.container-monitor.enabled": "false",
    "yarn.nodemanager.container-manager.thread-count": "2",
    "yarn.nodemanager.localizer.client.thread-count": "1",
    "yarn.nodemanager.localizer.fetch.thread-count": "1",
    "yarn.nodemanager.delete.thread-count": "1",
    "yarn.nodemanager.collector-service.thread-count": "1",
    "yarn.nodemanager.process-kill-wait.ms": "100",
}


def _racks(machines: Sequence[Machine], hosts: dict[str, str]) -> dict[str, str]:
    # Hadoop looks up a rack sometimes by name and sometimes by address.
    table = {}
    for machine in machines:
        table[machine.name] = table[hosts[machine.name]] = machine.rack
    return table


def _write_hosts(file: Path, hosts: dict[str, str]) -> None:
    # A JVM with its own hosts file uses no other source, so this machine's names are in it too.
    known = [("127.0.0.1", "localhost"), ("127.0.0.1", socket.gethostname())]
    known += [(address, name) for name, address in hosts.items()]
    file.write_text("".join(f"{address} {name}\n" for address, name in known))


def free_ports(count: int) -> list[int]:
    """Return `count` TCP ports that are free at the moment. If the system leaves some, none of them
    is one that it gives to others: a ResourceManager that restarts needs its ports again.
    """
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(given.read_text().split()[0]) if given.exists() else 32_768
    own = range(10_000, max(first, 10_000))
    # Another cluster that starts now tries them in another order.
    tried = random.sample(own, len(own))
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for port in (*tried, *[0] * count):
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(int(one.getsockname()[1]))
            if len(found) == count:
                break
    return found
