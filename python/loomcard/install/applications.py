"""The applications that a restart of the ResourceManager would have to recover."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from loomcard.cluster.rm_client import ResourceManagerClient, RestError, is_over
from loomcard.install.hadoop_conf import HadoopConf

_RM: Final = "yarn.resourcemanager"
_STORE: Final = f"{_RM}.recovery.FileSystemRMStateStore"
_APPLICATIONS: Final = "FSRMStateRoot/RMAppRoot"
# Fields of YARN's ApplicationStateDataProto, and of the submission context in it.
_CONTEXT, _USER, _END, _QUEUE = 2, 3, 5, 3
_VARINT, _EIGHT, _TEXT, _FOUR = 0, 1, 2, 5


@dataclass(frozen=True)
class Application:
    """An application that has not ended."""

    id: str
    user: str
    queue: str


@dataclass(frozen=True)
class Running:
    """Applications that have not ended, and the source of this list."""

    source: str
    applications: list[Application]


def running(conf: HadoopConf, rm: str | None = None) -> Running | None:
    """Return the unfinished applications: from the ResourceManager, at `rm` or where the
    configuration says, if it answers; otherwise from its state store, if that is a folder on this
    machine. None if neither is available.
    """
    address = rm or rm_address(conf)
    try:
        found = ResourceManagerClient(address, pauses_s=()).applications()
    except RestError:
        folder = store_folder(conf)
        if folder is None or not folder.is_dir():
            return None
        return Running(str(folder), list(_stored(folder)))
    alive = (each for each in found if not is_over(each))
    return Running(
        address, [Application(each["id"], each["user"], each["queue"]) for each in alive]
    )


def rm_address(conf: HadoopConf) -> str:
    """Return the web address of the ResourceManager, or of all of a pair, from the
    configuration.
    """
    secure = conf.get("yarn.http.policy") == "HTTPS_ONLY"
    key = f"{_RM}.webapp.{'https.' if secure else ''}address"
    ids = conf.get(f"{_RM}.ha.rm-ids") if conf.on(f"{_RM}.ha.enabled") else ""
    found = []
    for each in (f".{one.strip()}" if one else "" for one in ids.split(",")):
        host = conf.get(f"{_RM}.hostname{each}")
        default = f"{host}:{8090 if secure else 8088}" if each and host else conf.get(key)
        address = conf.get(key + each, default).replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        found.append(f"{'https' if secure else 'http'}://{address}")
    return ",".join(found)


def store_folder(conf: HadoopConf) -> Path | None:
    """Return the folder of the applications in a FileSystemRMStateStore on this machine's disk."""
    uri = urlsplit(conf.get(f"{_RM}.fs.state-store.uri"))
    local = uri.scheme or urlsplit(conf.get("fs.defaultFS", "file:///")).scheme
    if not conf.get(f"{_RM}.store.class").endswith(_STORE.rpartition(".")[2]) or local != "file":
        return None
    return Path(unquote(uri.path)) / _APPLICATIONS


def _stored(folder: Path) -> Iterator[Application]:
    for each in sorted(folder.glob("application_*")):
        try:
            data = (each / each.name).read_bytes()
        except OSError:  # it has just been removed
            continue
        fields = _fields(data)
        if _END not in fields and _CONTEXT in fields:  # its last state is written when it ends
            queue = _fields(fields[_CONTEXT]).get(_QUEUE, b"default")
            yield Application(each.name, fields.get(_USER, b"").decode(), queue.decode())


def _fields(data: bytes) -> dict[int, bytes]:
    """Return the fields of a protobuf message by number: texts and messages as bytes, numbers as
    b"".
    """
    found, at = {}, 0
    while at < len(data):
        tag, at = _number(data, at)
        kind, size = tag & 7, 0
        if kind == _VARINT:
            _, at = _number(data, at)
        elif kind == _TEXT:
            size, at = _number(data, at)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            break  # not a message of this kind
        found[tag >> 3] = data[at : at + size]
        at += size
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data):
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            break
    return number, at
