"""The file of a stock scheduler, as that scheduler reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree
from xml.parsers import expat

from loomcard.install.convert.capacity import ACLS, convert_capacity
from loomcard.install.convert.conversion import Conversion, ConversionError
from loomcard.install.convert.fair import convert_fair
from loomcard.install.convert.properties import PREFIX
from loomcard.install.hadoop_conf import SITE, HadoopConf, read
from loomcard.install.site_file import SiteFile

_KEPT: Final = (PREFIX, "yarn.resourcemanager.monitor.", "yarn.resourcemanager.scheduler.monitor.",
                "yarn.scheduler.queue-placement-rules", ACLS)  # fmt: skip
"""What a CapacityScheduler reads of yarn-site.xml and capacity-scheduler.xml."""
_FAIR: Final = "yarn.scheduler.fair."


def convert(
    file: Path, whole: Mapping[str, int] | None = None, running: Mapping[str, str] | None = None
) -> Conversion:
    """Return the policy configuration that a stock scheduler's file amounts to.

    The file is capacity-scheduler.xml or FairScheduler's allocation file; core-site.xml and
    yarn-site.xml beside it are read too. ``running`` holds the properties of a running
    ResourceManager, in place of these two; ``whole`` is its cluster's capacity by resource.
    Raises ConversionError, or SiteFileError, for a file that is neither.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConversionError(
            f"{file}: {error.strerror or error}",
            "name capacity-scheduler.xml or fair-scheduler.xml",
        ) from error
    outer = _outer_element(data, file)
    if outer == "configuration":
        # yarn.acl.enable is off unless yarn-site.xml, or what runs, says otherwise.
        known = running is not None or (file.parent / SITE).exists()
        return convert_capacity(_properties(data, file, running), str(file), known)
    settings = _site(file, running)
    fair = {name: value for name, value in settings.items() if name.startswith(_FAIR)}
    return convert_fair(ElementTree.fromstring(data), whole or {}, str(file), fair)  # noqa: S314


def _outer_element(data: bytes, file: Path) -> str:
    """Return the name of the outer element; refuse a document type, which could define entities."""
    found: list[str] = []

    def refuse(*_: object) -> None:
        raise ConversionError(f"{file}: it has a document type", "remove <!DOCTYPE ...> from it")

    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, _: found.append(name)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ConversionError(
            f"{file}:{error.lineno}: not XML: {expat.ErrorString(error.code)}", "correct the file"
        ) from error
    return found[0]


def _properties(data: bytes, file: Path, running: Mapping[str, str] | None) -> dict[str, str]:
    """Return the properties of the file, and what yarn-site.xml says of its scheduler."""
    conf = HadoopConf(file.parent) if running is not None else read(file.parent)
    conf.add(SiteFile(data, str(file)))
    names = [name for name in conf.names() if conf.place(name) == str(file)]
    more = [name for name in conf.names() if name not in names and name.startswith(_KEPT)]
    found = {
        # A list of groups alone begins with a space, which Hadoop keeps.
        name: conf.untrimmed(name) if ".acl_" in name else conf.get(name)
        for name in [*names, *more]
    }
    return {
        name: value for name, value in (running or {}).items() if name.startswith(_KEPT)
    } | found


def _site(file: Path, running: Mapping[str, str] | None) -> Mapping[str, str]:
    if running is not None:
        return running
    conf = read(file.parent)
    return {name: conf.get(name) for name in conf.names()}
