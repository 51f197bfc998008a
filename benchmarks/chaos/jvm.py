"""A Java program that takes commands and gives answers, one JSON object per line."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loomcard.cluster import paths

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "jvm-bridge" / "chaos" / "target"
PACKAGE = "org.loomcard.yarn.chaos"
OPENS = "java.base/java.lang=ALL-UNNAMED"


class ChaosError(Exception):
    """A program of the chaos cluster did not do what it was asked; the text says what."""


class Jvm:
    """One running JVM; ``on_event`` gets the lines that answer no command, on another thread."""

    def __init__(
        self, main: str, conf: Path, heap: str, log: Path, on_event: Callable[[Any], None]
    ) -> None:
        self.name = main
        self._on_event = on_event
        self._answers: dict[int, queue.SimpleQueue[Any]] = {}
        self._lock = threading.Lock()
        self._last = 0
        with log.open("ab") as errors:
            self.process = subprocess.Popen(  # noqa: S603
                _command(main, conf, heap, log.parent),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        threading.Thread(target=self._read, name=f"chaos-{main}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self.process.pid

    def is_alive(self) -> bool:
        """Return whether the JVM runs."""
        return self.process.poll() is None

    def ask(self, do: str, /, timeout_s: float = 30, **arguments: Any) -> Any:
        """Carries out one command; raises ``ChaosError`` if it fails or takes too long."""
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            self._last += 1
            number = self._last
            self._answers[number] = answers
            try:
                assert self.process.stdin is not None
                line = {"id": number, "do": do, **arguments}
                self.process.stdin.write(json.dumps(line) + "\n")
                self.process.stdin.flush()
            except (OSError, ValueError) as error:
                raise ChaosError(f"{self.name} is gone: {error}") from error
        try:
            answer = answers.get(timeout=timeout_s)
        except queue.Empty:
            raise ChaosError(f"{self.name}: no answer to '{do}' in {timeout_s:.0f} s") from None
        finally:
            self._answers.pop(number, None)
        if "error" in answer:
            raise ChaosError(f"{self.name}: '{do}' failed: {answer['error']}")
        return answer["ok"]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "event" in said:
                self._on_event(said)
            elif (answers := self._answers.get(said["id"])) is not None:
                answers.put(said)
        for answers in list(self._answers.values()):
            answers.put({"error": "the JVM ended"})

    def kill(self) -> None:
        """Ends the JVM at once, as ``kill -9`` does."""
        self.process.kill()
        self.process.wait()


def _command(main: str, conf: Path, heap: str, folder: Path) -> list[str]:
    own = sorted(TARGET.glob("loomcard-chaos-*.jar"))
    if not own:
        raise ChaosError(f"{TARGET} has no jar: run `make setup` first")
    log = folder / "log4j.properties"
    log.write_text(
        "log4j.rootLogger=WARN,e\nlog4j.appender.e=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.e.target=System.err\nlog4j.appender.e.layout=org.apache.log4j.PatternLayout"
        "\nlog4j.appender.e.layout.ConversionPattern=%d %p %c{1}: %m%n\n"
        "log4j.logger.org.loomcard=INFO\nlog4j.logger.org.loomcard.policy=WARN\n"
    )
    return [
        str(paths.java_home() / "bin" / "java"), f"-Xmx{heap}", "-XX:+UseParallelGC",
        f"--add-opens={OPENS}",
        f"-Dlog4j.configuration={log.as_uri()}",
        "-cp", os.pathsep.join(map(str, [conf.parent, *own, paths.jars() / "*"])),
        f"{PACKAGE}.{main}", str(conf),
    ]  # fmt: skip


def children(pid: int) -> list[int]:
    """Return the child processes of a process, without zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == pid and state != "Z":
                found.append(int(entry.name))
    return sorted(found)


def is_policy(pid: int) -> bool:
    """Return whether it is a policy process; YARN's own children, such as a `chmod` of its store,
    are not.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"--secret-file" in words


def of_folder(folder: Path) -> list[int]:
    """Return the policy processes whose command line names a file in ``folder``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if any(word.startswith(f"{folder}{os.sep}") for word in words) and "-m" in words:
                found.append(int(entry.name))
    return sorted(found)
