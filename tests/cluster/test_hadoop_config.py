"""Hadoop's rendered configuration is complete and escaped, and has no names unknown to Hadoop."""

import contextlib
import json
import os
import shutil
import socket
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loomcard.cluster import hadoop_config as rendering
from loomcard.cluster import paths
from loomcard.cluster.embedded import ClusterError, LocalCluster
from loomcard.cluster.embedded_config import LocalSettings, free_ports, render_conf
from loomcard.cluster.hadoop_config import (
    CAPACITY_SCHEDULER,
    FAIR_SCHEDULER,
    Extra,
    RenderError,
    compose_settings,
    embedded_settings,
    policy_python,
    render,
    template_root,
)
from loomcard.cluster.hadoop_property_names import KnownNames, names_in_jars, names_text
from loomcard.config import FindingsError
from loomcard.config.shipped import PlaceError

LINES = sorted(d.name for d in template_root().iterdir() if d.is_dir())


def properties(path: Path) -> dict[str, str]:
    root = ElementTree.fromstring(path.read_text())  # noqa: S314 (rendered a moment ago)
    return {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}


def test_a_pair_names_both_and_what_elects_them(tmp_path: Path) -> None:
    """There is one of every address per ResourceManager, ZooKeeper for election and state, and no
    single address.
    """
    render(tmp_path, compose_settings(ha=True))
    yarn = properties(tmp_path / "yarn-site.xml")
    assert yarn["yarn.resourcemanager.ha.rm-ids"] == "rm1,rm2"
    assert yarn["yarn.resourcemanager.ha.enabled"] == "true"
    assert yarn["yarn.resourcemanager.webapp.address.rm2"] == "resourcemanager2:8088"
    assert yarn.pop("yarn.resourcemanager.zk-address") == "zookeeper:2181"
    addresses = [name for name in yarn if "address" in name or "hostname" in name]
    assert len(addresses) == 12
    assert {name.rpartition(".")[2] for name in addresses} == {"rm1", "rm2"}
    assert yarn["yarn.resourcemanager.store.class"].endswith("ZKRMStateStore")
    core = properties(tmp_path / "core-site.xml")
    assert core["hadoop.zk.address"] == "zookeeper:2181"


@pytest.fixture
def own_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the templates that a test may damage."""
    copy = tmp_path / "hadoop-conf"
    shutil.copytree(template_root(), copy)
    monkeypatch.setattr(rendering, "template_root", lambda: copy)
    return copy / "3.4"


def test_a_compose_cluster_gets_every_file(tmp_path: Path) -> None:
    """Daemons find all site files, the stock scheduler's too, and the compiled configuration."""
    written = render(tmp_path, compose_settings(), "drf")
    names = {path.name for path in written}
    assert names == {path.name for path in tmp_path.iterdir()}
    assert names >= {
        "core-site.xml",
        "hdfs-site.xml",
        "mapred-site.xml",
        "yarn-site.xml",
        "capacity-scheduler.xml",
        "log4j.properties",
        "setup.json",
        "policy.yml",
    }
    assert json.loads((tmp_path / "setup.json").read_text())["source"] == "drf"
    yarn = properties(tmp_path / "yarn-site.xml")
    assert yarn["yarn.resourcemanager.scheduler.class"] == rendering.LOOMCARD_SCHEDULER
    assert yarn["loomcard.setup.path"] == "/etc/hadoop/setup.json"
    assert yarn["yarn.acl.enable"] == "true"
    assert yarn["yarn.admin.acl"] == "hadoop"
    assert "*" not in yarn["yarn.admin.acl"]


def test_a_stock_scheduler_gets_nothing_of_ours(tmp_path: Path) -> None:
    """A stock scheduler gets no page and no keys of ours, which would break its web side."""
    written = render(tmp_path, compose_settings(CAPACITY_SCHEDULER))
    assert "setup.json" not in {path.name for path in written}
    yarn = properties(tmp_path / "yarn-site.xml")
    assert [n for n, value in yarn.items() if "loomcard." in n or "org.loomcard" in value] == []


def test_stock_fair_scheduler_takes_the_queues_and_sizes_that_others_take(tmp_path: Path) -> None:
    """By default it would make a queue per user and round sizes up to a gigabyte; here it does
    not.
    """
    render(tmp_path, compose_settings(FAIR_SCHEDULER))
    said = properties(tmp_path / "yarn-site.xml")
    assert said["yarn.scheduler.fair.allocation.file"] == "/etc/hadoop/fair-scheduler.xml"
    assert said["yarn.scheduler.fair.allow-undeclared-pools"] == "false"
    least = said["yarn.scheduler.minimum-allocation-mb"]
    assert said["yarn.resource-types.memory-mb.increment-allocation"] == least


def test_an_embedded_cluster_has_neither_hdfs_nor_history(tmp_path: Path) -> None:
    """The embedded cluster stays inside its folder and on loopback."""
    settings = embedded_settings(tmp_path, tmp_path / "jars", racks={"n1": "/r1", "n2": "/r2"})
    render(tmp_path / "conf", settings)
    core, yarn = (properties(tmp_path / "conf" / f"{s}-site.xml") for s in ("core", "yarn"))
    assert core["fs.defaultFS"] == "file:///"
    assert "yarn.resourcemanager.bind-host" not in yarn
    assert yarn["yarn.resourcemanager.address"].startswith("127.0.0.1:")
    assert (tmp_path / "conf" / "topology.table").read_text() == "n1 /r1\nn2 /r2\n"


def test_policy_processes_run_the_compiled_build_while_it_is_current(tmp_path: Path) -> None:
    """A checkout's cluster runs what `make setup` compiled, until a source is newer."""
    environment, built = tmp_path / ".venv", tmp_path / ".venv-compiled"
    source = tmp_path / "package" / "model" / "state.py"
    for file in (source, built / ".made"):
        file.parent.mkdir(parents=True)
        file.touch()
    os.utime(source, (1_000, 1_000))
    assert policy_python(environment, tmp_path / "package") == str(built / "bin" / "python")
    assert policy_python(tmp_path / "venv", tmp_path / "package") == sys.executable
    os.utime(built / ".made", (999, 999))
    assert policy_python(environment, tmp_path / "package") == sys.executable
    (built / ".made").unlink()
    assert policy_python(environment, tmp_path / "package") == sys.executable


def test_values_are_escaped(tmp_path: Path) -> None:
    """A value may contain what XML would read as markup."""
    awkward = """<b>&"it's"</b>"""
    extra = Extra(yarn={"yarn.nodemanager.admin-env": awkward})
    render(tmp_path, compose_settings(extra=extra))
    assert properties(tmp_path / "yarn-site.xml")["yarn.nodemanager.admin-env"] == awkward


def test_an_undefined_variable_is_an_error(own_templates: Path, tmp_path: Path) -> None:
    """A template never writes an empty value for a variable that is not set."""
    with (own_templates / "core-site.xml.j2").open("a") as template:
        template.write("<!-- {{ no_such_thing }} -->")
    with pytest.raises(RenderError, match=r"core-site\.xml\.j2.*no_such_thing"):
        render(tmp_path / "conf", compose_settings())
    assert not (tmp_path / "conf").exists()


def test_every_unknown_name_is_reported_with_its_file(tmp_path: Path) -> None:
    """A misspelt or misplaced property, which Hadoop would silently ignore, is found here."""
    extra = Extra(
        yarn={"yarn.resourcemanager.hostnam": "x", "dfs.replication": "1"}, core={"fs.nope.x": "y"}
    )
    with pytest.raises(RenderError) as caught:
        render(tmp_path / "conf", compose_settings(extra=extra))
    assert sorted(str(caught.value).splitlines())[1:] == [
        "yarn-site.xml: dfs.replication belongs in hdfs-site.xml",
        "yarn-site.xml: unknown property yarn.resourcemanager.hostnam; "
        "did you mean yarn.resourcemanager.hostname?",
    ]
    assert str(caught.value).startswith("core-site.xml: unknown property fs.nope.x")
    assert caught.value.hint
    assert not (tmp_path / "conf").exists()


def test_a_bad_policy_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """The findings of the configuration reach the caller."""
    policy = tmp_path / "bad.yml"
    policy.write_text("version: 1\npolicy: nonesuch\n")
    with pytest.raises(FindingsError):
        render(tmp_path / "conf", compose_settings(), policy)
    with pytest.raises(RenderError, match="there is no policy 'dfr'") as unknown:
        render(tmp_path / "conf", compose_settings(), "dfr")
    assert "did you mean: drf" in unknown.value.hint
    with pytest.raises(RenderError, match=r"missing\.yml"):
        render(tmp_path / "conf", compose_settings(), tmp_path / "missing.yml")
    assert not (tmp_path / "conf").exists()


def test_an_unknown_hadoop_line_names_the_known_ones(tmp_path: Path) -> None:
    """Differences between lines are in a folder of templates; at least one must exist."""
    with pytest.raises(RenderError) as caught:
        render(tmp_path, compose_settings(hadoop_line="9.9"))
    assert "9.9" in str(caught.value)
    assert "3.4" in caught.value.hint


@pytest.mark.parametrize("line", LINES)
def test_exceptions_are_needed_and_have_reasons(line: str) -> None:
    """No exception is listed for a name that the line knows anyway, and each has its reason."""
    known = KnownNames.load(template_root() / line)
    assert known.allowed
    for exception in known.allowed:
        assert len(exception.reason) > 20
        covered = [n for n in known.defaults[exception.site] if exception.pattern.fullmatch(n)]
        assert covered in ([], ["yarn.nodemanager.aux-services.mapreduce_shuffle.class"])


def test_the_list_of_names_is_the_jars() -> None:
    """names.txt contains exactly the names in Hadoop's own jars."""
    try:
        jars = paths.jars()
    except PlaceError as error:
        pytest.skip(f"{error}; {error.hint}")
    assert (template_root() / "3.4" / "names.txt").read_text() == names_text(names_in_jars(jars))


@pytest.mark.cluster  # needs the jars of LOOMCARD_HADOOP, which `make lines` fetches
def test_another_line_knows_the_names_or_it_is_said_why_not(tmp_path: Path) -> None:
    """All lines have one set of templates. Each property that a line lacks is listed with the
    reason why that is harmless, and no other.
    """
    line, jars = paths.hadoop_line(), paths.jars()
    known = KnownNames.load(template_root() / paths.BUILT_WITH, line, jars)
    written: dict[str, set[str]] = {site: set() for site in known.defaults}
    own = embedded_settings(tmp_path, jars, racks={"n1": "/r1"})
    pair, fair = compose_settings(ha=True), compose_settings(FAIR_SCHEDULER)
    for number, settings in enumerate((own, compose_settings(), pair, fair)):
        for file in render(tmp_path / str(number), settings):
            if (site := file.name.removesuffix("-site.xml")) in written:
                written[site] |= set(properties(file))
    virtual = LocalSettings(run_dir=tmp_path / "virtual", virtual=line != "2.7")
    for file in render_conf(virtual):
        if (site := file.name.removesuffix("-site.xml")) in written:
            written[site] |= set(properties(file))
    assert len(written["yarn"]) > 50
    assert [each for site in written for each in known.unknown(site, sorted(written[site]))] == []
    every = KnownNames.load(template_root() / paths.BUILT_WITH).allowed
    for exception in [each for each in known.allowed if each not in every]:
        assert len(exception.reason) > 20
        names = written[exception.site]
        assert any(exception.pattern.fullmatch(name) for name in names)
        assert not any(map(exception.pattern.fullmatch, known.defaults[exception.site]))


def test_no_other_socket_is_given_a_port_that_a_restart_needs() -> None:
    """While the ResourceManager restarts, nothing holds its ports: who binds to any port must not
    get one of them.
    """
    ports = free_ports(5)
    with contextlib.ExitStack() as stack:
        any_port = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(99)]
        given = [int(each.getsockname()[1]) for each in any_port]
        own = [stack.enter_context(socket.create_server(("127.0.0.1", port))) for port in ports]
    assert len(own) == 5
    assert max(ports) < min(given)


def test_the_folders_of_policies_reach_the_resource_manager(tmp_path: Path) -> None:
    """The running policy process may load from the folders that `--policy-path` names."""
    folders = ("/opt/one", "/opt/two")
    settings = embedded_settings(tmp_path, tmp_path / "jars", policy_path=folders)
    assert settings.loomcard["policy.path"] == "/opt/one,/opt/two"
    assert settings.policy_path == folders


def test_a_java_home_without_a_java_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another Java than the named one would run otherwise, unnoticed."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PlaceError, match="which has no bin/java") as error:
        paths.java_home()
    assert "unset it" in error.value.hint


def test_a_java_that_reads_no_hosts_file_starts_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its nodes would not know each other's names; nothing is written."""
    (tmp_path / "jdk" / "bin").mkdir(parents=True)
    (tmp_path / "jdk" / "bin" / "java").touch()
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="1.8.0_504"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(ClusterError, match="is Java 8, which reads no hosts file") as said:
        LocalCluster(LocalSettings(run_dir=tmp_path / "run")).up()
    assert "Java 9 or later" in said.value.hint
    assert not (tmp_path / "run").exists()
