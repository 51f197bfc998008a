"""The compose cluster: reads its settings from the environment, starts and stops it.

Inside the image, `python -m loomcard.cluster.compose FOLDER` renders what a plain `compose up`
needs; `ComposeCluster` does the same on the host, where policies may come from any path.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from loomcard.cluster import paths
from loomcard.cluster.hadoop_config import (
    SCHEDULERS,
    RenderError,
    Settings,
    compose_settings,
    render,
)
from loomcard.cluster.image_files import FROM_WHEEL, add_jars, compose_root
from loomcard.cluster.rm_client import TOKEN_FILE
from loomcard.config import FindingsError
from loomcard.config.shipped import checkout
from loomcard.validation.hinted import HintedError

PROJECT: Final = "loomcard"
"""The project's name in docker-compose.yml."""
_LINE: Final = "-hadoop-"
"""Before the Hadoop line in an image's tag."""


class ComposeError(HintedError):
    """Docker or compose failed: one sentence, and a `hint` on what to do."""


@dataclass(frozen=True)
class Service:
    """One container of the cluster as the engine sees it; `health` is empty if it is unknown."""

    service: str
    container: str
    state: str
    health: str
    ports: Mapping[int, int]
    """Port in the container to port on this machine's loopback."""
    id: str = ""
    """The short id, which is the host name unless another was set."""
    image: str = ""


@dataclass(frozen=True)
class ComposeCluster:
    """The cluster of docker-compose.yml in `checkout`; two with different projects may run at once.

    `environment` holds further LOOMCARD_* variables of docker-compose.yml, such as ports.
    """

    checkout: Path
    conf_dir: Path
    project: str = PROJECT
    environment: Mapping[str, str] | None = None

    @classmethod
    def here(cls) -> Self:
        """Return the cluster of this source tree or installed package, with its files below the
        current folder. The project is COMPOSE_PROJECT_NAME, as for compose, otherwise loomcard.
        Raises PlaceError.
        """
        project = os.environ.get("COMPOSE_PROJECT_NAME") or PROJECT
        conf_dir = paths.run_folder("docker") / "conf"
        environment = None if checkout() is not None else FROM_WHEEL
        return cls(compose_root(), conf_dir, project, environment)

    def up(
        self,
        settings: Settings | None = None,
        policy: str | Path | None = None,
        *,
        nodes: int = 2,
    ) -> None:
        """Render the configuration, build the image of `paths.hadoop_line` and wait until every
        service is healthy.

        Raises `ComposeError` when compose fails, a service stays unhealthy or the project belongs
        to another source tree. Raises what `render` raises, before anything is started.
        """
        if nodes < 1:
            raise ComposeError(f"{nodes} NodeManagers", hint="a cluster needs at least one")
        line, lines = paths.hadoop_line(), paths.hadoop_lines()
        if line not in lines:
            raise RenderError(
                f"Hadoop {line}: no such line", hint=f"name one of {', '.join(lines)}"
            )
        chosen = settings or compose_settings()
        render(self.conf_dir, chosen, policy)
        self._check_owner()
        add_jars(self.checkout, line)
        profile = ["--profile=ha"] if chosen.zookeeper else []
        arguments = ["up", "--detach", "--wait", f"--scale=nodemanager={nodes}", "--build"]
        self.compose([*profile, *arguments], timeout_s=1200)

    def down(self, *, volumes: bool = False) -> None:
        """Stop and remove the containers; with `volumes`, remove their volumes too.

        Raises `ComposeError`, also when the project belongs to another source tree.
        """
        self._check_owner()
        profiles = [f"--profile={name}" for name in ("client", "spark", "suite", "ha", "observe")]
        self.compose([*profiles, "down", "--remove-orphans", *(["--volumes"] if volumes else [])])

    def status(self) -> list[Service]:
        """List the containers of the cluster, by service and name; empty when it is down."""
        text = self.compose(["ps", "--all", "--format=json"], capture=True)
        # One array up to compose 2.20, one object per line since then.
        rows = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
        services = (
            Service(
                row["Service"],
                row["Name"],
                row["State"],
                row["Health"],
                _ports(row),
                row.get("ID", "")[:12],
                row.get("Image", ""),
            )
            for row in rows
        )
        return sorted(services, key=lambda each: (each.service, each.container))

    def use_line(self) -> Self:
        """Use the Hadoop line of the cluster's containers, if there are some, for its clients."""
        for each in self.status():
            if each.service == "resourcemanager" and _LINE in each.image:
                paths.use_hadoop(each.image.rpartition(_LINE)[2])
        return self

    def logs(self, services: Sequence[str] = (), *, lines: int | None = None) -> None:
        """Print the logs of the named services, or of all, to standard output: complete, or the
        last `lines` of each container.
        """
        last = [] if lines is None else [f"--tail={lines}"]
        self.compose(["logs", *last, *services], timeout_s=None)

    def token(self, service: str) -> str:
        """Return the token that a ResourceManager requires with a change of its policy. Every user
        of Docker may read it.

        Raises `ComposeError`.
        """
        file = f"/data/loomcard/{TOKEN_FILE}"
        return self.compose(["exec", "--no-TTY", service, "cat", file], capture=True)

    def _check_owner(self) -> None:
        """Raise ComposeError if the project's containers belong to another source tree."""
        text = self.compose(["ls", "--all", "--format=json"], capture=True)
        ours = (self.checkout / "docker-compose.yml").resolve()
        for row in json.loads(text or "[]"):
            files = [Path(each) for each in str(row["ConfigFiles"]).split(",")]
            if row["Name"] == self.project and ours not in [each.resolve() for each in files]:
                raise ComposeError(
                    f"the compose project {self.project} belongs to {files[0].parent}",
                    hint="set COMPOSE_PROJECT_NAME to a name of its own, or take that one down:"
                    f" docker compose --project-name {self.project} down",
                )

    @property
    def command(self) -> list[str]:
        """The words of the command line before compose's own arguments."""
        file = str(self.checkout / "docker-compose.yml")
        return ["docker", "compose", "--file", file, "--project-name", self.project]

    @property
    def variables(self) -> dict[str, str]:
        """The environment with which docker-compose.yml is read."""
        conf_dir = {"LOOMCARD_CONF_DIR": str(self.conf_dir.absolute())}
        return dict(self.environment or {}) | conf_dir

    def compose(
        self, arguments: Sequence[str], *, capture: bool = False, timeout_s: int | None = 300
    ) -> str:
        """Run `docker compose ARGUMENTS`; return its standard output where `capture`.

        Other output goes to this process's own outputs. Raises `ComposeError`.
        """
        verb = next(word for word in arguments if not word.startswith("-"))
        try:
            done = subprocess.run(  # noqa: S603 (no shell; the words are ours)
                [*self.command, *arguments],
                cwd=self.checkout,
                env=os.environ | self.variables,
                stdout=subprocess.PIPE if capture else None,
                text=True,
                timeout=timeout_s,
                check=True,
            )
        except FileNotFoundError as error:
            raise ComposeError(
                "no command docker",
                hint="install Docker with the compose plugin, or use --on local",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise ComposeError(
                f"docker compose {verb} took longer than {timeout_s} s",
                hint="loomcard cluster logs --on docker says what it waits for",
            ) from error
        except subprocess.CalledProcessError as error:
            raise ComposeError(
                f"docker compose {verb} failed with status {error.returncode}",
                hint="its own words stand above; is the engine running (docker info)?",
            ) from error
        return (done.stdout or "").strip()


def settings_from(environ: Mapping[str, str]) -> tuple[Settings, str | None]:
    """Return settings and policy that the LOOMCARD_* variables of docker-compose.yml ask for.

    Raises `RenderError` for an unknown scheduler and for invalid values.
    """
    scheduler = environ.get("LOOMCARD_SCHEDULER", "loomcard")
    if scheduler not in SCHEDULERS:
        raise RenderError(
            f"LOOMCARD_SCHEDULER={scheduler}: unknown", hint="one of " + ", ".join(SCHEDULERS)
        )
    changes = {
        field: _positive(environ, name)
        for field, name in (
            ("node_memory_mb", "LOOMCARD_NODE_MEMORY_MB"),
            ("node_vcores", "LOOMCARD_NODE_VCORES"),
        )
        if name in environ
    }
    policy = environ.get("LOOMCARD_POLICY")
    ha = environ.get("LOOMCARD_HA", "false")
    if ha not in ("true", "false"):
        raise RenderError(f"LOOMCARD_HA={ha}: neither true nor false", hint="true: a pair")
    settings = compose_settings(SCHEDULERS[scheduler], ha=ha == "true", **changes)
    return settings, policy or None


def _positive(environ: Mapping[str, str], name: str) -> int:
    text = environ[name]
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise RenderError(f"{name}={text}: not a positive whole number", hint="as in 1536")
    return int(text)


def _ports(row: Mapping[str, Any]) -> dict[int, int]:
    return {
        publisher["TargetPort"]: publisher["PublishedPort"]
        for publisher in row.get("Publishers") or []
        if publisher["PublishedPort"]
    }


def _main(target_dir: Path) -> int:
    try:
        settings, policy = settings_from(os.environ)
        written = render(target_dir, settings, policy)
    except RenderError as error:
        print(f"{error}\nhint: {error.hint}", file=sys.stderr)
        return 2
    except FindingsError as error:
        for each in error.findings:
            print(f"{each.line}:{each.column}: {each.path}: {each.message}", file=sys.stderr)
        return 2
    print(f"rendered {len(written)} files into {target_dir} for {settings.scheduler_class}")
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
