"""The configuration of one run of HiBench, in its own folder. HiBench reads `KEY VALUE` lines from
every *.conf of HIBENCH_CONF_FOLDER, in the order of their names, so the user's files come first and
ours last. It has no key for the queue of a MapReduce job; the queue is set in the run's own
mapred-site.xml.
"""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final

import jinja2

from loomcard.cluster.hadoop_config import JVM_OPTIONS
from loomcard.config.shipped import PlaceError
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.installation import Installation

TEMPLATES: Final = Path(__file__).parent / "templates"
_RACKS: Final = ("net.topology.script.file.name", "net.topology.table.file.name")


@dataclass(frozen=True)
class Cluster:
    """Where jobs are submitted: Hadoop's configuration, and hosts to name in reports.
    `java_options` are for clients, `variables` are their environment, `spark` are Spark's
    properties there. `spark_home`: where the nodes have Spark, if it differs from this machine.
    """

    conf_dir: Path
    master: str
    slaves: tuple[str, ...]
    java_options: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    spark_home: PurePath | None = None


@dataclass(frozen=True)
class RunSettings:
    """The parts of a configuration that belong to one run: `tag` finds its applications in YARN;
    `data` is the name of its folder in HDFS (its tag's by default); `more`: further keys that the
    user sets.
    """

    folder: Path
    tag: str
    scale: str
    queue: str = ""
    parallelism: int = 2
    more: Mapping[str, str] | None = None
    data: str = ""


def file_system(conf_dir: Path) -> str:
    """Return the default file system that core-site.xml names. Raises SuiteError."""
    try:
        root = ET.parse(conf_dir / "core-site.xml").getroot()  # noqa: S314 - the user's own
    except (OSError, ET.ParseError) as error:
        raise SuiteError(
            f"{conf_dir} holds no core-site.xml that can be read: {error}",
            "name the folder of your cluster's configuration with --hadoop-conf",
        ) from error
    for each in root.iter("property"):
        if each.findtext("name") == "fs.defaultFS":
            return str(each.findtext("value"))
    raise SuiteError(f"{conf_dir}/core-site.xml names no fs.defaultFS", "add it")


def write(settings: RunSettings, there: Installation, cluster: Cluster) -> dict[str, str]:
    """Write the run's configuration and launchers below its folder; return the environment for
    HiBench's scripts.
    """
    folder = settings.folder.absolute()
    conf, hadoop, report = folder / "conf", folder / "hadoop-conf", folder / "report"
    for each in (conf, report):
        each.mkdir(parents=True, exist_ok=True)
    for file in sorted((there.home / "conf").glob("*.conf")):
        shutil.copy(file, conf / file.name)
    file_system_uri = file_system(cluster.conf_dir)
    shutil.copytree(cluster.conf_dir, hadoop, dirs_exist_ok=True)
    _fit_core_site(hadoop / "core-site.xml", folder / "tmp")
    on_files = file_system_uri.startswith("file:")
    _add_to_mapred_site(hadoop / "mapred-site.xml", settings, on_files=on_files)
    hadoop_home = there.hadoop_home or _launchers(folder / "hadoop", there, cluster)
    variables = {
        "run": settings,
        "there": there,
        "cluster": cluster,
        "hadoop_home": hadoop_home,
        "hadoop_conf": hadoop,
        "report": report,
        "hdfs": file_system_uri,
        "spark_on_nodes": cluster.spark_home or there.spark_home,
        "more": dict(settings.more or {}),
    }
    (conf / "zz-loomcard.conf").write_text(_rendered("zz-loomcard.conf.j2", variables))
    return {
        "HIBENCH_HOME": str(there.home),
        "HIBENCH_CONF_FOLDER": str(conf),
        "HADOOP_CONF_DIR": str(hadoop),
        "HADOOP_CLIENT_OPTS": cluster.java_options,  # for the user's own Hadoop
        "SPARK_SUBMIT_OPTS": cluster.java_options,
        **cluster.variables,
    }


def _fit_core_site(file: Path, own: Path) -> None:
    """Name only files that this machine has. Racks are looked up on the nodes: a client would try
    to run their script, or to read their table. A client also unpacks jars in Hadoop's temporary
    folder; where that is one of the nodes', the run has its own.
    """
    tree = ET.parse(file)  # noqa: S314 - the user's own
    for each in list(tree.getroot().iter("property")):
        name, value = each.findtext("name"), each.find("value")
        there = value is not None and Path(value.text or "").exists()
        if name in _RACKS and not there:
            tree.getroot().remove(each)
        elif name == "hadoop.tmp.dir" and value is not None and not there:
            own.mkdir(exist_ok=True)
            value.text = str(own)
    tree.write(file, encoding="utf-8", xml_declaration=True)


def _add_to_mapred_site(file: Path, settings: RunSettings, *, on_files: bool) -> None:
    root = ET.parse(file).getroot() if file.exists() else ET.Element("configuration")  # noqa: S314
    given = {"mapreduce.job.tags": settings.tag}
    given |= {"mapreduce.job.queuename": settings.queue} if settings.queue else {}
    # HiBench's generators read what the distributed cache has linked into their folder by its bare
    # name. Where files are the file system, that would be looked up in the client's folder.
    given |= {"mapreduce.job.working.dir": "."} if on_files else {}
    for each in list(root.iter("property")):
        if each.findtext("name") in given:
            root.remove(each)
    for name, value in given.items():
        one = ET.SubElement(root, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _launchers(home: Path, there: Installation, cluster: Cluster) -> Path:
    """Write bin/hadoop and bin/yarn over the jars, in place of Hadoop's scripts."""
    if not any(there.jars.glob("hadoop-common-*.jar")):
        raise PlaceError(f"no Hadoop jars in {there.jars}", "run `make setup`, which fetches them")
    (home / "bin").mkdir(parents=True, exist_ok=True)
    variables = {"jars": there.jars, "java_options": f"{JVM_OPTIONS} {cluster.java_options}"}
    for name in ("hadoop", "yarn"):
        file = home / "bin" / name
        file.write_text(_rendered(f"{name}.j2", variables))
        file.chmod(0o755)
    return home


def _rendered(name: str, variables: Mapping[str, object]) -> str:
    environment = jinja2.Environment(  # noqa: S701 - neither file is markup
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name).render(variables)
