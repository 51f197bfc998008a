"""Checks of what would keep a ResourceManager from starting with Loomcard, or from recovering what
runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loomcard.install import queues
from loomcard.install.applications import Running
from loomcard.install.hadoop_conf import HadoopConf

_RM: Final = "yarn.resourcemanager"
_SHOWN: Final = 5


@dataclass(frozen=True)
class Check:
    """The result of one check. `remedy` is empty if all is well."""

    name: str
    said: str
    remedy: str = ""

    @property
    def well(self) -> bool:
        """Whether there is nothing to do."""
        return not self.remedy


def obstacles(conf: HadoopConf, wanted: Mapping[str, str], written: Path | None) -> Iterator[Check]:
    """Return settings with which the ResourceManager would not start, or not as `wanted`; `written`
    is a policy that will exist by then.
    """
    yield from _overridden(conf, wanted)
    if conf.get(f"{_RM}.configuration.provider-class").endswith(
        "FileSystemBasedConfigurationProvider"
    ):
        place = conf.get(f"{_RM}.configuration.file-system-based-store", "a file system")
        yield Check(
            "configuration",
            f"the ResourceManager reads its files from {place}, not from {conf.folder}",
            "change them there",
        )
    yield from _incompatible(conf)
    yield from _high_availability(conf)
    yield from _smallest(conf)
    setup = Path(conf.get("loomcard.setup.path") or "/")
    if wanted and setup != written and not setup.is_file():
        yield Check(
            "policy",
            f"loomcard.setup.path: no {setup}",
            f"loomcard policy compile fifo --out {setup}",
        )


def _overridden(conf: HadoopConf, wanted: Mapping[str, str]) -> Iterator[Check]:
    for name, value in wanted.items():
        if conf.raw(name) != value:
            yield Check(
                name,
                f"stays {conf.get(name)!r}, which {conf.place(name)} sets",
                f"remove {name} or its <final> there",
            )


def _incompatible(conf: HadoopConf) -> Iterator[Check]:
    """Return parts of YARN that accept only their own schedulers and would end the
    ResourceManager.
    """
    monitors = conf.get(f"{_RM}.scheduler.monitor.policies")
    if conf.on(f"{_RM}.scheduler.monitor.enable") and monitors:
        yield Check(
            f"{_RM}.scheduler.monitor.enable",
            f"true: {monitors.rpartition('.')[2]} is for CapacityScheduler alone, as all monitors"
            " of YARN's are, and these end the ResourceManager at its start",
            "set it to false; Loomcard's policies preempt by themselves",
        )
    reservations = conf.get(f"{_RM}.reservation-system.class")
    if conf.on(f"{_RM}.reservation-system.enable") and reservations:
        yield Check(
            f"{_RM}.reservation-system.enable",
            f"true: {reservations.rpartition('.')[2]} is for another scheduler, and ends the"
            " ResourceManager at its start",
            "set it to false",
        )


def _high_availability(conf: HadoopConf) -> Iterator[Check]:
    """Check that two ResourceManagers have one policy: the scheduler's own rule."""
    if not conf.on(f"{_RM}.ha.enabled") or conf.on("loomcard.state.shared"):
        return
    store = conf.get(f"{_RM}.store.class").rpartition(".")[2]
    uri = conf.get(f"{_RM}.fs.state-store.uri")
    default = conf.get("fs.defaultFS", "file:///")
    here = (uri if ":" in uri else default).startswith("file:")
    shared = store == "ZKRMStateStore" or (store == "FileSystemRMStateStore" and not here)
    if not (conf.on(f"{_RM}.recovery.enabled") and shared):
        yield Check(
            f"{_RM}.ha.enabled",
            "true with a state store on this machine alone: the scheduler does not start",
            "enable recovery with ZKRMStateStore, or set loomcard.state.shared",
        )


def _smallest(conf: HadoopConf) -> Iterator[Check]:
    for unit, least, most in (("mb", 1024, 8192), ("vcores", 1, 4)):
        low, high = (f"yarn.scheduler.{end}-allocation-{unit}" for end in ("minimum", "maximum"))
        try:
            sizes = int(conf.get(low, str(least))), int(conf.get(high, str(most)))
        except ValueError:
            sizes = (0, -1)
        if sizes[0] > sizes[1] or (unit == "mb" and sizes[0] <= 0):
            yield Check(
                low,
                f"{conf.get(low, str(least))!r} with {high} {conf.get(high, str(most))!r}",
                "above 0 MB, and not above the maximum",
            )


def queue_checks(
    conf: HadoopConf,
    policy: queues.PolicyQueues | None,
    running: Running | None,
    scheduler: str = "",
) -> Iterator[Check]:
    """Check that each running application, and each queue of the stock `scheduler`, finds its queue
    in the policy configuration. A warning is a check without a remedy.
    """
    if policy is None:
        return
    recovers = conf.on(f"{_RM}.recovery.enabled")
    remedy = "name these queues in a file, and give it by --policy"
    if running is not None:
        lost = [each for each in running.applications if not policy.has(each.queue)]
        if not recovers and running.applications:
            yield Check(
                "recovery",
                f"{_RM}.recovery.enabled is off: a restart ends the {len(running.applications)}"
                " applications that run, whichever the scheduler",
            )
        elif lost:
            shown = ", ".join(f"{each.id} in {each.queue}" for each in lost[:_SHOWN])
            more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            yield Check(
                "queues",
                f"{policy.place} has no queue for {len(lost)} running applications, which a restart"
                f" would kill: {shown}{more} (by {running.source})",
                remedy,
            )
    file, names = queues.stock(conf, scheduler)
    missing = [each for each in names if not policy.has(each)]
    if missing:
        said = f"{policy.place} has no {', '.join(missing)}, queues of {file}"
        if running is None and recovers:
            yield Check(
                "queues", f"{said}; no ResourceManager says whether they are in use", remedy
            )
        else:
            yield Check("queues", f"{said}: what is submitted to them will be rejected")
