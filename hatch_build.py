"""Puts into the wheel what an installed Loomcard needs beside its Python: templates, compose file, jars.

With LOOMCARD_COMPILED=1 the modules of `compiled` in pyproject.toml are C extensions in it, beside their sources.
"""

import os
import subprocess
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHERE = "loomcard/files"
SHIPPED = (
    "hadoop-conf",
    "hadoop-jars",
    "policies",
    # What the image is built from, and its cluster.
    "docker-compose.yml",
    "Dockerfile",
    "docker",
    "hatch_build.py",
    "pyproject.toml",
    "requirements.lock",
    "README.md",
    "LICENSE",
    "NOTICE",
)


# A process of its own: mypyc takes the working directory for the root of the package, and setuptools reads sys.argv.
COMPILE = """
import sys
from mypyc.build import mypycify
from setuptools import setup

built, *modules = sys.argv[1:]
extensions = mypycify(
    ["--config-file=", f"--cache-dir={built}/mypy", "--ignore-missing-imports", "--follow-imports=silent", *modules],
    opt_level="3", debug_level="0", target_dir=f"{built}/c",
)
commands = ["build_ext", "--build-lib", f"{built}/lib", "--build-temp", f"{built}/temp"]
setup(name="loomcard", packages=[], ext_modules=extensions, script_args=commands)
"""


class ShippedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files of `SHIPPED` that are there; the jars where Maven has built them (make wheel)."""

    built: TemporaryDirectory[str] | None = None  # of the C extensions

    def dependencies(self) -> list[str]:
        """What a compiled wheel is built with; mypyc reads the types of what the package imports."""
        if not self.is_compiled():
            return []
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text())["project"]
        return [*project["dependencies"], *project["optional-dependencies"]["compiled"]]

    @staticmethod
    def is_compiled() -> bool:
        """Whether a wheel of C extensions is asked for."""
        return os.environ.get("LOOMCARD_COMPILED") == "1"

    def compile(self, build_data: dict[str, Any]) -> None:
        """Adds the extensions, by mypyc."""
        self.built = TemporaryDirectory()
        command = [sys.executable, "-c", COMPILE, self.built.name, *self.config["compiled"]]
        done = subprocess.run(
            command, cwd=Path(self.root) / "python", capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"mypyc: {done.stdout[-5000:]}{done.stderr[-5000:]}")
        library = Path(self.built.name) / "lib"
        for file in library.rglob("*.so"):
            build_data["force_include"][str(file)] = str(file.relative_to(library))
        build_data |= {"pure_python": False, "infer_tag": True}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the wheel is there."""
        if self.built is not None:
            self.built.cleanup()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a wheel."""
        if version == "editable":  # a checkout has them at hand
            return
        if self.is_compiled():
            self.compile(build_data)
        root = Path(self.root)
        include = build_data["force_include"]
        for name in SHIPPED:
            if (root / name).exists():
                include[str(root / name)] = f"{WHERE}/{name}"
        target = root / "jvm-bridge" / "dist" / "target"
        class_path = target / "classpath.txt"
        if not class_path.is_file():
            return
        for jar in (root / "jvm-bridge").glob("line-*/target/loomcard-*.jar"):
            line = jar.parents[1].name.removeprefix("line-")
            include[str(jar)] = f"{WHERE}/jars/{line}/{jar.name}"
        hadoop = []
        for line in class_path.read_text().splitlines():
            jar = target / "lib" / Path(line).name
            if jar.name.startswith("loomcard-"):
                include[str(jar)] = f"{WHERE}/jars/{jar.name}"
            else:
                digest = sha256(jar.read_bytes()).hexdigest()
                hadoop.append(f"{digest} {jar.stat().st_size} {line.removeprefix('REPOSITORY/')}\n")
        listed = target / "3.4.txt"
        listed.write_text("".join(sorted(hadoop, key=lambda line: line.split()[2])))
        include[str(listed)] = f"{WHERE}/hadoop-jars/{listed.name}"
