"""Puts into the wheel what an installed Loomcard needs beside its Python: templates, compose file, jars."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHERE = "loomcard/files"
SHIPPED = (
    "hadoop-conf",
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


class ShippedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files of `SHIPPED` that are there; the jars where Maven has built them (make wheel)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds a wheel."""
        if version == "editable":  # a checkout has them at hand
            return
        root = Path(self.root)
        include = build_data["force_include"]
        for name in SHIPPED:
            if (root / name).exists():
                include[str(root / name)] = f"{WHERE}/{name}"
        target = root / "jvm-bridge" / "dist" / "target"
        class_path = target / "classpath.txt"
        if not class_path.is_file():
            return
        hadoop = []
        for line in class_path.read_text().splitlines():
            jar = target / "lib" / Path(line).name
            if jar.name.startswith("loomcard-"):
                include[str(jar)] = f"{WHERE}/jars/{jar.name}"
            else:
                digest = sha256(jar.read_bytes()).hexdigest()
                hadoop.append(f"{digest} {jar.stat().st_size} {line.removeprefix('REPOSITORY/')}\n")
        listed = target / "hadoop-jars.txt"
        listed.write_text("".join(sorted(hadoop, key=lambda line: line.split()[2])))
        include[str(listed)] = f"{WHERE}/hadoop-jars.txt"
