"""Submitting programs through Hadoop's own client."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loomcard.cluster import paths
from loomcard.cluster.example_jobs import Program
from loomcard.validation.hinted import HintedError

_LOOK_S = 0.3
_THROWN = re.compile(r'^(Exception in thread "main" )?([\w.$]+(Exception|Error): )+')
_SUBMITTED = re.compile(r"Submitted application (application_\d+_\d+)")


class SubmissionError(HintedError):
    """The client could not submit, or its program failed. `hint` names the client's log."""


@dataclass(frozen=True)
class Client:
    """Runs Hadoop clients on this machine against the cluster that `conf_dir` describes.

    They run in `work_dir`, which relative paths in their arguments refer to, and log there.
    """

    conf_dir: Path
    work_dir: Path
    java_options: tuple[str, ...] = ()

    def submit(
        self,
        program: Program,
        *,
        queue: str | None = None,
        user: str | None = None,
        definitions: Sequence[str] = (),
    ) -> "Submission":
        """Start the client; `definitions` are Hadoop properties of the job, `name=value`."""
        self.work_dir.mkdir(parents=True, exist_ok=True)
        defined = [*definitions, *([f"mapreduce.job.queuename={queue}"] if queue else [])]
        number = len(list(self.work_dir.glob("client-*.log")))
        log = self.work_dir / f"client-{number:03}-{program.name}.log"
        home = paths.java_home()
        command = [
            str(home / "bin" / "java"),
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *self.java_options,
            "-cp",
            f"{self.conf_dir}:{paths.jars()}/*",
            *program.command(defined),
        ]
        environment = os.environ | {"JAVA_HOME": str(home), "HADOOP_CONF_DIR": str(self.conf_dir)}
        if user is not None:
            environment["HADOOP_USER_NAME"] = user
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - the user's own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.work_dir,
                env=environment,
            )
        return Submission(program, process, log)


@dataclass(frozen=True)
class Submission:
    """One running client."""

    program: Program
    process: subprocess.Popen[bytes]
    log: Path

    def applications(self) -> list[str]:
        """Return the applications that it has submitted so far."""
        return _SUBMITTED.findall(self.log.read_text(errors="replace"))

    def application(self, seconds: float = 120) -> str:
        """Wait for the first application's id. Raises SubmissionError if it is not submitted."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            found = self.applications()
            if found:
                return found[0]
            if ended:
                raise SubmissionError(
                    f"{self.program.name} was not submitted: {self.reason()}", f"see {self.log}"
                )
            time.sleep(0.05)
        raise SubmissionError(
            f"{self.program.name} was not submitted within {seconds:.0f} s", f"see {self.log}"
        )

    def wait(self, seconds: float = 600) -> int:
        """Wait for the client's end; return its exit status. Raises SubmissionError if late."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SubmissionError(
                f"{self.program.name} still runs after {seconds:.0f} s", f"see {self.log}"
            ) from None

    def wait_until(self, over: Callable[[], bool], grace_s: float = 5) -> None:
        """Wait until `over`, and at most `grace_s` more until the client notices it."""
        while not over():
            time.sleep(_LOOK_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)

    def reason(self) -> str:
        """Return the line of the client's log that most likely says why it failed."""
        said = self.log.read_text(errors="replace").splitlines()
        lines = [line for line in said if line.strip()]
        telling = [line for line in lines if "Exception" in line and not line.startswith("\tat ")]
        last = telling[0] if telling else next(iter(reversed(lines)), "it said nothing")
        return _THROWN.sub("", last.strip())[:400]

    def stop(self) -> None:
        """End the client if it still runs; its submitted applications continue."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
