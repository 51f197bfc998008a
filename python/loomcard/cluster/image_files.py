"""The folder with docker-compose.yml and the files from which its image is built: a source tree,
or a folder made from an installed package.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from loomcard.config.shipped import PACKAGE, checkout, shipped

FROM_WHEEL: Final = {"LOOMCARD_IMAGE_JARS": "java-wheel"}
"""For docker-compose.yml: use the jars in its folder, instead of building them."""


def compose_root() -> Path:
    """Return the folder of docker-compose.yml. Raises PlaceError if the package has none."""
    root = checkout()
    if root is not None:
        return root
    from loomcard.cluster.hadoop_jars import cache_folder  # needs an HTTP client, only here

    files = shipped("docker-compose.yml").parent
    installed = distribution("loomcard").read_text("RECORD") or ""
    folder = cache_folder() / f"image-{sha256(installed.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(files, new, ignore=shutil.ignore_patterns("jars"))
        leave = shutil.ignore_patterns("files", "__pycache__")
        shutil.copytree(PACKAGE, new / "python" / "loomcard", ignore=leave)
        for script in (new / "docker" / "bin").iterdir():
            script.chmod(0o755)  # pip does not keep the mode of a package's files
        new.rename(folder)
    return folder


def add_jars(root: Path, line: str) -> None:
    """Put all jars of a Hadoop line into the folder from which an installed package's image is
    built; fetch them first if needed. Raises what `hadoop_jars.fetch` raises.
    """
    jars = root / "jars" / line
    if checkout() is not None or jars.is_dir():
        return
    from loomcard.cluster.hadoop_jars import class_path_folder, link_or_copy

    new = jars.with_name(f"{line}.new")
    shutil.rmtree(new, ignore_errors=True)
    hadoop = f"hadoop-{line}"
    for kind in (hadoop, "loomcard"):
        (new / kind).mkdir(parents=True)
    for jar in class_path_folder(line).glob("*.jar"):
        kind = "loomcard" if jar.name.startswith("loomcard-") else hadoop
        link_or_copy(jar, new / kind / jar.name)
    new.rename(jars)
