"""The jars of a Hadoop line: fetched once, checked, and kept in a cache folder.

`hadoop-jars/LINE.txt` lists each jar with its SHA-256, its size and its path in a Maven repository.
Loomcard's own jars come from the wheel, or from a checkout's build. Fetched jars stay when Loomcard
is upgraded.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from loomcard.cluster.paths import hadoop_lines
from loomcard.config.shipped import PlaceError, checkout, shipped
from loomcard.validation.hinted import HintedError

MAVEN_CENTRAL: Final = "https://repo1.maven.org/maven2"
_AT_ONCE: Final = 8
_TRIES: Final = 3
_TIMEOUT_S: Final = 60
_CHUNK: Final = 1 << 16
_OTHER_SOURCE: Final = (
    "name a mirror of Maven Central or a folder with the jars: loomcard cluster fetch --from"
)


class JarSourceError(HintedError):
    """The given Hadoop line or source of jars is none. `hint` says what it can be."""


class _Jar(NamedTuple):
    sha256: str
    size: int
    path: str
    """Its path in a Maven repository."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def cache_folder() -> Path:
    """Return the folder of fetched files: `LOOMCARD_CACHE`, or `loomcard` in the user's cache."""
    named = os.environ.get("LOOMCARD_CACHE")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "loomcard"


def class_path_folder(line: str) -> Path:
    """Return the folder of all jars of a Hadoop line, fetched on first use. Raises what `fetch`
    raises.
    """
    folder = _folder(line)
    return folder if folder.is_dir() else fetch(line)


def fetch(line: str, source: str | None = None) -> Path:
    """Fetch every jar of a Hadoop line (`3.3`) that is missing or damaged, and return the folder of
    all jars.

    `source` is the address of a Maven repository, or a folder with the same layout, or a folder
    that directly contains the jars; default: `LOOMCARD_JARS_FROM`, otherwise Maven Central. After
    an interruption the next call continues. Raises `JarSourceError` for another line or source, and
    `PlaceError` when a jar cannot be fetched or has another checksum: no such jar is kept.
    """
    source = source or os.environ.get("LOOMCARD_JARS_FROM") or MAVEN_CENTRAL
    remote = source.startswith(("http://", "https://"))
    if not remote and not Path(source).is_dir():
        raise JarSourceError(
            f"{source}: neither a folder nor an address", f"such as {MAVEN_CENTRAL}"
        )
    jars = _listed(line)
    keep = cache_folder() / "maven"
    keep.mkdir(parents=True, exist_ok=True)
    with _alone(keep):
        missing = [jar for jar in jars if not _is_right(keep / jar.path, jar)]
        if missing:
            _get_all(missing, source.rstrip("/"), keep, remote)
        return _put_together(line, jars, keep)


def _list(line: str) -> Path:
    if line not in (lines := hadoop_lines()):
        raise JarSourceError(f"Hadoop {line}: no such line", f"name one of {', '.join(lines)}")
    return shipped("hadoop-jars") / f"{line}.txt"


def _listed(line: str) -> list[_Jar]:
    rows = (row.split() for row in _list(line).read_text().splitlines())
    return [_Jar(digest, int(size), path) for digest, size, path in rows]


def _ours(line: str) -> list[Path]:
    """Return Loomcard's own jars for a line: one of them needs a build of its own. Raises
    PlaceError if that is missing.
    """
    built = checkout()
    if built is None:
        folder, own = shipped("jars"), shipped("jars") / line
    else:
        folder, own = shipped("jvm-bridge/dist/target/lib"), built / "jvm-bridge" / f"line-{line}"
    if not own.is_dir():
        return sorted(folder.glob("loomcard-*.jar"))
    jars = sorted(own.glob("loomcard-*.jar" if built is None else "target/loomcard-*.jar"))
    if not jars:
        raise PlaceError(f"no Loomcard jar for Hadoop {line}", f"run `make line-{line}`")
    return jars


def _folder(line: str) -> Path:
    """Return the folder, which is named after its contents: if it exists, it is complete."""
    digest = sha256(_list(line).read_bytes())
    for jar in _ours(line):
        digest.update(jar.read_bytes())
    return cache_folder() / f"jars-{digest.hexdigest()[:16]}"


def _put_together(line: str, jars: list[_Jar], keep: Path) -> Path:
    folder = _folder(line)
    if folder.is_dir():
        return folder
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for file in [*(keep / jar.path for jar in jars), *_ours(line)]:
        link_or_copy(file, new / file.name)
    new.rename(folder)
    return folder


def link_or_copy(file: Path, target: Path) -> None:
    """Link `target` to the same file if the file system can; otherwise copy it."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


@contextmanager
def _alone(keep: Path) -> Iterator[None]:
    """Lock the cache: of two commands that fetch at once the second waits, and finds the jars."""
    with (keep / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_right(file: Path, jar: _Jar) -> bool:
    return file.is_file() and _digest(file) == jar.sha256


def _digest(file: Path) -> str:
    digest = sha256()
    with file.open("rb") as data:
        while chunk := data.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _get_all(jars: list[_Jar], source: str, keep: Path, remote: bool) -> None:
    """Fetch the jars into `keep`, several at a time, with a progress bar on standard error."""
    total = sum(jar.size for jar in jars)
    title = f"fetching {len(jars)} jars of Hadoop, {total / 1e6:.0f} MB, from {source}"
    screen = Console(stderr=True)
    columns = TextColumn("fetching Hadoop"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    bar = Progress(*columns, console=screen, transient=True)
    print(title, file=sys.stderr)
    if screen.is_terminal:
        bar.start()
    task = bar.add_task("", total=total)
    stop = Event()

    def get(jar: _Jar) -> None:
        part = (keep / jar.path).with_suffix(".part")
        part.parent.mkdir(parents=True, exist_ok=True)
        if remote:
            for got in _download(jar, f"{source}/{jar.path}", part):
                bar.advance(task, got)
                if stop.is_set():
                    return
        else:
            _copy(jar, Path(source), part)
            bar.advance(task, jar.size)
        if (found := _digest(part)) != jar.sha256:
            part.unlink()
            raise PlaceError(
                f"{jar.name} from {source} is not what this Loomcard was built with: its SHA-256 is"
                f" {found[:16]}..., expected {jar.sha256[:16]}...; it was not kept",
                _OTHER_SOURCE,
            )
        part.rename(keep / jar.path)

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        for done in [pool.submit(get, jar) for jar in jars]:
            done.result()
    finally:  # after errors and Ctrl-C: finished jars stay, begun ones are resumed
        stop.set()
        pool.shutdown(cancel_futures=True)
        bar.stop() if screen.is_terminal else None


def _copy(jar: _Jar, folder: Path, part: Path) -> None:
    for file in (folder / jar.path, folder / jar.name):
        if file.is_file():
            shutil.copyfile(file, part)
            return
    raise PlaceError(f"{folder} has neither {jar.path} nor {jar.name}", _OTHER_SOURCE)


def _download(jar: _Jar, url: str, part: Path) -> Iterator[int]:
    """Append to what an earlier try left in `part`; yield how many bytes were received."""
    for number in count(1):
        have = part.stat().st_size if part.exists() else 0
        if have >= jar.size:
            return
        try:
            yield from _download_from(url, part, have)
            return
        except requests.RequestException as error:
            answered = error.response is not None and error.response.status_code < 500
            if answered or number == _TRIES:
                raise PlaceError(f"{url}: {_said(error)}", _OTHER_SOURCE) from error


def _download_from(url: str, part: Path, have: int) -> Iterator[int]:
    headers = {"Range": f"bytes={have}-"} if have else {}
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S) as answer:
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        if resumed:
            yield have
        with part.open("ab" if resumed else "wb") as out:
            for chunk in answer.iter_content(_CHUNK):
                out.write(chunk)
                yield len(chunk)


def _said(error: requests.RequestException) -> str:
    if error.response is not None:
        return f"the server answers {error.response.status_code}"
    return type(error).__name__ + ", no answer"
