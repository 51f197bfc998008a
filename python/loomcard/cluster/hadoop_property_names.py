"""The property names that a Hadoop line knows, and other names that may be set.

`names.txt` of a line is made from the `*-default.xml` files inside that line's jars:

    python -m loomcard.cluster.hadoop_property_names FOLDER_OF_JARS > hadoop-conf/3.4/names.txt
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SITES = ("core", "hdfs", "mapred", "yarn")


@dataclass(frozen=True)
class Allowed:
    """A reviewed exception: names that match `pattern` may be set in `site`, for `reason`."""

    site: str
    pattern: re.Pattern[str]
    reason: str


@dataclass(frozen=True)
class KnownNames:
    """The names that may be set in each site file of one Hadoop line."""

    defaults: Mapping[str, frozenset[str]]
    allowed: tuple[Allowed, ...]

    @classmethod
    def load(cls, line_dir: Path, line: str = "", jars: Path | None = None) -> KnownNames:
        """Read `names.txt` and `allowed.toml` of a template folder. Another `line`, which has the
        same templates, knows the names in its `jars`; what it alone lacks is allowed too.
        """
        document = tomllib.loads((line_dir / "allowed.toml").read_text())
        allowed = tuple(
            Allowed(entry["site"], re.compile(entry["pattern"]), entry["reason"])
            for entry in document["allowed"]
            if line in entry.get("lines", [line])
        )
        names = _listed(line_dir) if jars is None else names_in_jars(jars)
        return cls({site: frozenset(each) for site, each in names.items()}, allowed)

    def unknown(self, site: str, names: Iterable[str]) -> list[str]:
        """Return one sentence for each name that may not be set in `<site>-site.xml`."""
        known = self.defaults[site]
        return [
            self._complaint(site, name)
            for name in names
            if name not in known
            and not any(a.site == site and a.pattern.fullmatch(name) for a in self.allowed)
        ]

    def _complaint(self, site: str, name: str) -> str:
        for other, names in self.defaults.items():
            if name in names:
                return f"{site}-site.xml: {name} belongs in {other}-site.xml"
        nearest = difflib.get_close_matches(name, self.defaults[site], n=1)
        meant = f"; did you mean {nearest[0]}?" if nearest else ""
        return f"{site}-site.xml: unknown property {name}{meant}"


def _listed(line_dir: Path) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {site: [] for site in SITES}
    site = ""
    for line in (line_dir / "names.txt").read_text().splitlines():
        if line.startswith("["):
            site = line.strip("[]")
        elif line and not line.startswith("#"):
            sections[site].append(line)
    return sections


def property_names(xml: str | bytes) -> list[str]:
    """List the property names of a Hadoop configuration file, in its order."""
    root = ElementTree.fromstring(xml)  # noqa: S314 (our own output, or a file inside a Hadoop jar)
    return [(node.findtext("name") or "").strip() for node in root.iter("property")]


def names_in_jars(jars_dir: Path) -> dict[str, list[str]]:
    """Collect the names of every `*-default.xml` in a folder of Hadoop jars, sorted, by site."""
    found: dict[str, set[str]] = {site: set() for site in SITES}
    for jar in sorted(jars_dir.glob("hadoop-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for site in SITES:
                if f"{site}-default.xml" in archive.namelist():
                    found[site].update(property_names(archive.read(f"{site}-default.xml")))
    missing = [site for site, names in found.items() if not names]
    if missing:
        raise FileNotFoundError(
            f"{jars_dir}: no jar holds {missing[0]}-default.xml; expected a folder of Hadoop's "
            "jars, as jvm-bridge/dist/target/lib after `make setup`"
        )
    return {site: sorted(names) for site, names in found.items()}


def names_text(names: Mapping[str, list[str]]) -> str:
    """Write names by site in the form that `KnownNames.load` reads."""
    head = "# Made by `python -m loomcard.cluster.hadoop_property_names`; do not edit.\n"
    return head + "".join(
        f"[{site}]\n" + "".join(f"{name}\n" for name in names[site]) for site in SITES
    )


if __name__ == "__main__":
    sys.stdout.write(names_text(names_in_jars(Path(sys.argv[1]))))
