"""The configuration of Hadoop's clients for a cluster of which only the address is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from loomcard.cluster import paths
from loomcard.cluster.rm_client import AddressError, ResourceManagerClient

_RM = "yarn.resourcemanager."
_HOSTNAME = f"{_RM}hostname"
_SITES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
_NOBODYS = ("", "0.0.0.0")  # noqa: S104 - a daemon listens on it; it is no address to call
_DAEMONS = ("loomcard.", "rpc.engine.", "hadoop.http.", f"{_RM}ha.id", f"{_RM}fs.", f"{_RM}zk-")


def folder_of(url: str) -> Path:
    """Return the folder for the cluster with the ResourceManager at ``url``: `run/rm-HOST-PORT`."""
    first = urlsplit(url.partition(",")[0].strip())
    return paths.run_folder(f"rm-{first.hostname}-{first.port or 80}")


def write_client_conf(rm: ResourceManagerClient, target: Path, given: Path | None = None) -> None:
    """Write into ``target`` what a client needs to reach the cluster of ``rm``.

    The properties are the ResourceManager's own, as its page /conf lists them, without Hadoop's
    defaults. ``given``: a folder with a client's site files, such as mapred-site.xml; they replace
    the ResourceManager's, except yarn-site.xml. Raises RestError if the ResourceManager does not
    list its properties, AddressError if ``given`` is no folder.
    """
    if given is not None and not given.is_dir():
        raise AddressError(f"{given}: no such folder", "name the folder of Hadoop's site files")
    text = _xml(_of_a_client(rm.configuration(), rm.url))
    target.mkdir(parents=True, exist_ok=True)
    for name in _SITES:
        # Each of Hadoop's default files hides properties that are only in an earlier site file.
        (target / name).write_text(text, "utf-8")
        if given is not None and name != "yarn-site.xml" and (given / name).is_file():
            shutil.copyfile(given / name, target / name)


def _of_a_client(found: dict[str, str], url: str) -> dict[str, str]:
    """Leave out what only daemons need; add an address and a framework if none is set."""
    host = str(urlsplit(url).hostname)
    needed = {
        name: _called(name, value, host)
        for name, value in found.items()
        if not name.startswith(_DAEMONS)
    }
    if needed.get(_HOSTNAME, "") in _NOBODYS and f"{_RM}ha.rm-ids" not in needed:
        needed[_HOSTNAME] = host
    return {"mapreduce.framework.name": "yarn"} | needed


def _called(name: str, value: str, host: str) -> str:
    """Return an address of the ResourceManager at which a client can call it."""
    listens, _, port = value.rpartition(":")
    ours = name.startswith(_RM) and "address" in name
    return f"{host}:{port}" if ours and listens == _NOBODYS[1] else value


def _xml(properties: dict[str, str]) -> str:
    rows = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in sorted(properties.items())
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{"".join(rows)}</configuration>\n'
