"""Files that embedded clusters keep so that later clusters start sooner, on this machine only.

One is an archive of the classes that a cluster's JVM loaded: later JVMs map it into memory instead
of reading and checking each class (class data sharing). The other is the key pair that a
ResourceManager makes at its first start. Both are in `build` of a checkout, or in the cache folder
of an installation. If they are missing or damaged, a cluster starts as the first one did.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from loomcard.cluster import paths
from loomcard.config.shipped import checkout

_QUIET: Final = "-Xlog:cds*=off"
"""When the JVM rejects an archive, the user need not see a message."""
_OLDEST_JAVA: Final = 13
"""The first version that writes an archive at its exit."""
_CHECK_S: Final = 60.0
_KEY_FILES: Final = ("caCert", "caPrivateKey")
_KEPT_KEY: Final = "proxy-key.json"


@dataclass(frozen=True)
class ClassData:
    """The archive, existing or not, for JVMs of `java` whose class path begins with `class_path`.
    Its name has the Hadoop line and `key`, which depends on jars and JVM: others have another
    archive.
    """

    line: str
    key: str
    java: Path
    class_path: str

    @classmethod
    def of(cls, home: Path, jars: Path) -> Self | None:
        """Return the archive of the Java installation in `home` with the folder `jars`; None if
        that Java writes no archive.
        """
        try:
            release = (home / "release").read_text()
        except OSError:
            return None
        version = paths.java_version(home)
        base = home / "lib" / "server" / "classes.jsa"  # the archive extends it
        if version is None or version < _OLDEST_JAVA or not base.is_file():
            return None
        class_path = f"{jars}/*"
        key = sha256(f"{home}\n{release}\n{class_path}".encode())
        for jar in os.scandir(jars):  # in the order in which a JVM finds them
            known = jar.stat()
            key.update(f"{jar.name} {known.st_size} {known.st_mtime_ns}\n".encode())
        line = paths.hadoop_line()
        return cls(line, key.hexdigest()[:16], home / "bin" / "java", class_path)

    @property
    def file(self) -> Path | None:
        """The path of the archive; None if it does not exist yet or is incomplete."""
        for file in _archives().glob(f"{self.line}-{self.key}-*.jsa"):
            with contextlib.suppress(OSError):
                if file == self._named(file.stat().st_size):
                    return file
        return None

    @property
    def options(self) -> list[str]:
        """The options with which a JVM uses the archive; empty without an archive."""
        file = self.file
        return [] if file is None else [f"-XX:SharedArchiveFile={file}", _QUIET]

    def recording(self, new: Path) -> list[str]:
        """Return the options with which a JVM writes an archive to `new` at its exit."""
        return [f"-XX:ArchiveClassesAtExit={new}", _QUIET]

    def keep(self, new: Path) -> None:
        """Move the archive that an ended JVM left in `new` to where later JVMs find it; it replaces
        those of the line for other jars. Do nothing if it is missing or incomplete, or if another
        cluster was faster: a JVM may be about to use that one. Never raises.
        """
        if not new.is_file() or not self._is_whole(new):
            return
        folder = _archives()
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with _alone(folder):
                if self.file is None:
                    self._replace(folder, new)

    def _replace(self, folder: Path, new: Path) -> None:
        # `new` may be on another file system, and no JVM may see an incomplete file.
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{self.line}-", delete=False) as part:
            pass
        shutil.move(new, part.name)
        file = self._named(Path(part.name).stat().st_size)
        Path(part.name).replace(file)
        for other in folder.glob(f"{self.line}-*"):
            if other != file:
                other.unlink()

    def _named(self, size: int) -> Path:
        """Return the path for `size` bytes: a JVM crashes with an incomplete archive."""
        return _archives() / f"{self.line}-{self.key}-{size}.jsa"

    def _is_whole(self, new: Path) -> bool:
        # The JVM may crash; it writes a report into its working folder.
        options = ["-Xshare:on", f"-XX:SharedArchiveFile={new}", "-XX:-CreateCoredumpOnCrash"]
        command = [str(self.java), *options, "-cp", self.class_path, "-version"]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(  # noqa: S603 - our own command line
                command, cwd=new.parent, capture_output=True, timeout=_CHECK_S, check=False
            )
            return done.returncode == 0
        return False


def seed_key(state: Path) -> None:
    """Give the ResourceManager with its state in `state` the key pair of an earlier one.

    At each first start YARN makes an RSA key, for application masters that use HTTPS; that takes
    seconds. Only its owner can read the state's folder. Without such a key the ResourceManager
    makes one.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.chmod(0o700)
    target = _key_folder(state)
    kept = kept_key()
    if kept is not None and not target.exists():
        target.mkdir(parents=True)
        for name, part in zip(_KEY_FILES, kept, strict=True):
            (target / name).write_bytes(part)


def keep_key(state: Path) -> None:
    """Keep the key pair of the ResourceManager of `state`, only for its owner, if none is kept yet.

    Never raises.
    """
    if kept_key() is not None:
        return
    with contextlib.suppress(OSError):
        parts = [(_key_folder(state) / name).read_bytes().hex() for name in _KEY_FILES]
        file = kept_key_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as new:
            json.dump(parts, new)  # only its owner can read it from the beginning
        Path(new.name).replace(file)


def kept_key() -> list[bytes] | None:
    """Return the kept certificate and key; None if they are missing or damaged, or if other users
    than their owner may have read or written them.
    """
    file = kept_key_file()
    try:
        about = file.stat()
        parts = [bytes.fromhex(part) for part in json.loads(file.read_text())]
    except (OSError, TypeError, ValueError):
        return None
    private = about.st_uid == os.getuid() and not about.st_mode & 0o077
    return parts if private and len(parts) == len(_KEY_FILES) else None


def kept_key_file() -> Path:
    """Return where the key pair is kept."""
    return _folder() / _KEPT_KEY


def _key_folder(state: Path) -> Path:
    return state / "FSRMStateRoot" / "ProxyCARoot"


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder: of two clusters that end at once the second waits."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _archives() -> Path:
    return _folder() / "class-data"


def _folder() -> Path:
    root = checkout()
    if root is not None:
        return root / "build"
    from loomcard.cluster import hadoop_jars  # needs an HTTP client, only here

    return hadoop_jars.cache_folder()
