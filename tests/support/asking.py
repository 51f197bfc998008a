"""Unmanaged AMs on a real YARN, by commands to a Java program."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster

PROGRAM = Path(__file__).parent / "Asker.java"


@dataclass
class Asker:
    """The program; a call is one command and returns its answer."""

    process: subprocess.Popen[str]

    def __call__(self, *words: object) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, f"{words}: the asker has ended"
        return answer

    def held(self, app: str) -> int:
        """How many containers an application holds."""
        return int(self("held", app).removeprefix("held "))


@contextmanager
def asker(cluster: LocalCluster, folder: Path) -> Iterator[Asker]:
    """Run the program beside a cluster; its log goes to a folder."""
    java = str(paths.java_home() / "bin" / "java")
    options = ["-XX:TieredStopAtLevel=1", *cluster.client_options]
    classes = f"{cluster.conf_dir}:{paths.jars()}/*"
    with (
        (folder / "asker.log").open("w") as log,
        subprocess.Popen(
            [java, *options, "-cp", classes, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | {"HADOOP_CONF_DIR": str(cluster.conf_dir)},
        ) as process,
    ):
        yield Asker(process)
        process.kill()
