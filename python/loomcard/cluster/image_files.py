"""The folder with docker-compose.yml and what its image is built from: a source tree, or one that
is put together from an installed package.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from loomcard.config.shipped import PACKAGE, checkout, shipped

FROM_WHEEL: Final = {"LOOMCARD_IMAGE_JARS": "java-wheel"}
"""For docker-compose.yml: take the jars that lie beside it, instead of building them."""


def compose_root() -> Path:
    """The folder of docker-compose.yml. Raises PlaceError where the package brought none."""
    root = checkout()
    if root is not None:
        return root
    from loomcard.cluster.hadoop_jars import cache_folder  # an HTTP client, for this case alone

    files = shipped("docker-compose.yml").parent
    installed = distribution("loomcard").read_text("RECORD") or ""
    folder = cache_folder() / f"image-{sha256(installed.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(files, new, ignore=shutil.ignore_patterns("jars", "hadoop-jars.txt"))
        leave = shutil.ignore_patterns("files", "__pycache__")
        shutil.copytree(PACKAGE, new / "python" / "loomcard", ignore=leave)
        for script in (new / "docker" / "bin").iterdir():
            script.chmod(0o755)  # pip keeps no mode of a file in a package
        new.rename(folder)
    return folder


def add_jars(root: Path) -> None:
    """Puts Hadoop's jars and ours where an installed package's image is built from; fetches them
    first where need be. Raises what `hadoop_jars.fetch` raises.
    """
    if checkout() is not None or (root / "jars").is_dir():
        return
    from loomcard.cluster.hadoop_jars import class_path_folder, link_or_copy

    new = root / "jars.new"
    shutil.rmtree(new, ignore_errors=True)
    for kind in ("hadoop", "loomcard"):
        (new / kind).mkdir(parents=True)
    for jar in class_path_folder().glob("*.jar"):
        kind = "loomcard" if jar.name.startswith("loomcard-") else "hadoop"
        link_or_copy(jar, new / kind / jar.name)
    new.rename(root / "jars")
