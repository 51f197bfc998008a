"""Configurations of stock schedulers as policy configurations: nothing is lost in silence."""

import subprocess
import zipfile
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converting import PREFIX, capacity, fair, queue
from loomcard.config import compile_config
from loomcard.install.convert import ConversionError, convert, written
from loomcard.install.site_file import SiteFile

FILES = sorted((Path(__file__).parent / "files").glob("*.xml"))


def stated(file: Path) -> list[str]:
    """Return the names of all properties of a file, as the outcomes name them."""
    root = ElementTree.parse(file).getroot()  # noqa: S314 - the tests' own
    if root.tag == "configuration":
        return list(SiteFile(file.read_bytes(), str(file)).properties())
    names = []
    for element in root:
        if element.tag in ("queue", "pool"):
            names += _of_queue(element, "root")
        elif element.tag == "user":
            names += [f"user {element.get('name')}: {each.tag}" for each in element]
        elif element.tag == "queuePlacementPolicy":
            names += [f"queuePlacementPolicy: {rule.get('name')}" for rule in element]
        else:
            names.append(element.tag)
    return names


def _of_queue(element: ElementTree.Element, above: str) -> list[str]:
    name = element.get("name")
    path = above if name == "root" else f"{above}.{name}"
    names = []
    for each in element:
        names += _of_queue(each, path) if each.tag in ("queue", "pool") else [f"{path}: {each.tag}"]
    return names


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_property_has_one_outcome_and_the_result_compiles(file: Path) -> None:
    made = convert(file)

    assert sorted(outcome.name for outcome in made.outcomes) == sorted(stated(file))
    assert all(outcome.key for outcome in made.outcomes if outcome.became == "converted")
    assert all(outcome.why for outcome in made.outcomes if outcome.became != "converted")
    assert all(outcome.remedy for outcome in made.outcomes if outcome.became == "lost")
    assert compile_config(written(made), "converted.yml")["queues"]


@pytest.mark.slow
def test_hadoops_own_examples_are_converted(tmp_path: Path) -> None:
    """The files in the tests jar of Hadoop's ResourceManager, which Maven brings."""
    artifact = "org.apache.hadoop:hadoop-yarn-server-resourcemanager:3.4.2:jar:tests"
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
    subprocess.run(
        ["mvn", "-q", "-B", goal, f"-Dartifact={artifact}", f"-DoutputDirectory={tmp_path}"],
        check=True,
    )  # fmt: skip
    (jar,) = tmp_path.glob("*.jar")
    with zipfile.ZipFile(jar) as files:
        names = [
            name for name in files.namelist()
            if name.endswith(".xml") and ("fair-scheduler" in name or "capacity-scheduler" in name)
        ]  # fmt: skip
        files.extractall(tmp_path, names)
    converted = 0
    for name in sorted(names):
        file = tmp_path / name
        if "-invalid.xml" in name:
            with pytest.raises(ConversionError, match="not XML"):
                convert(file)
            continue
        made = convert(file)
        assert sorted(outcome.name for outcome in made.outcomes) == sorted(stated(file)), name
        assert compile_config(written(made), name)["queues"], name
        converted += 1
    assert converted >= 13


def test_twelve_shapes_of_public_clusters_are_tried() -> None:
    assert len(FILES) >= 12


def test_weights_beside_percentages_take_what_these_leave(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        {"root.queues": "a,b,c", "root.a.capacity": "40", "root.b.capacity": "2w",
         "root.c.capacity": "1w"},
    )  # fmt: skip

    assert queue(made, "root.a")["guaranteed"] == "40%"
    assert queue(made, "root.b")["guaranteed"] == "40%"
    assert queue(made, "root.c")["guaranteed"] == "20%"


def test_a_level_of_weights_has_no_guarantee(tmp_path: Path) -> None:
    made = capacity(
        tmp_path, {"root.queues": "a,b", "root.a.capacity": "2w", "root.b.capacity": "1w"}
    )

    assert queue(made, "root.a")["weight"] == 2
    assert "guaranteed" not in queue(made, "root.a")


def test_a_leaf_has_its_part_of_the_applications_and_of_the_masters(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        {"root.queues": "a,b", "root.a.capacity": "30", "root.b.capacity": "70",
         "root.b.queues": "c,d", "root.b.c.capacity": "50", "root.b.d.capacity": "50",
         "maximum-applications": "1000", "root.b.d.maximum-applications": "7",
         "root.b.d.maximum-am-resource-percent": "0.25"},
    )  # fmt: skip

    assert queue(made, "root")["maximum_applications"] == 1000
    assert queue(made, "root.a")["maximum_applications"] == 300
    assert queue(made, "root.b.c")["maximum_applications"] == 350
    assert queue(made, "root.b.d")["maximum_applications"] == 7
    assert queue(made, "root.a")["am_share"] == "10%"
    assert queue(made, "root.b.d")["am_share"] == "25%"


def test_running_applications_are_limited_as_in_each_scheduler(tmp_path: Path) -> None:
    """A general number is at the highest queues that state none, which is enough for those below;
    numbers of users hold in all queues together, so they stand at root.
    """
    made = capacity(
        tmp_path,
        {"root.queues": "a,b", "root.a.capacity": "30", "root.b.capacity": "70",
         "max-parallel-apps": "20", "root.max-parallel-apps": "50", "root.b.max-parallel-apps": "9",
         "user.max-parallel-apps": "2", "user.j.doe.max-parallel-apps": "0"},
    )  # fmt: skip
    key = "maximum_running_applications"

    assert [queue(made, name)[key] for name in ("root", "root.a", "root.b")] == [50, 20, 9]
    assert queue(made, "root")[f"{key}_per_user"] == {"*": 2, "j.doe": 0}
    assert made.count("lost") == 0
    rows = compile_config(written(made), "x.yml")["queues"]
    assert rows[0][f"{key}_per_user"] == {"*": 2, "j.doe": 0}

    made = fair(
        tmp_path,
        '<queue name="a"><maxRunningApps>3</maxRunningApps></queue><queue name="b"/>'
        "<queueMaxAppsDefault>40</queueMaxAppsDefault><userMaxAppsDefault>5</userMaxAppsDefault>"
        '<user name="etl"><maxRunningApps>30</maxRunningApps></user>',
    )

    assert queue(made, "root.a")[key] == 3
    assert queue(made, "root")[key] == 40
    assert key not in queue(made, "root.b")
    assert queue(made, "root")[f"{key}_per_user"] == {"etl": 30, "*": 5}
    assert made.count("lost") == 0


def test_lists_are_those_in_force_in_yarn(tmp_path: Path) -> None:
    """YARN adds a queue's lists to its parents'; who administers may submit."""
    made = capacity(
        tmp_path,
        {"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
         "root.acl_submit_applications": " ", "root.acl_administer_queue": "boss",
         "root.a.acl_submit_applications": "alice data"},
    )  # fmt: skip

    assert queue(made, "root")["submit"] == ["boss"]
    assert queue(made, "root.a")["submit"] == ["alice", "boss", "group:data"]
    assert "submit" not in queue(made, "root.b")
    assert compile_config(written(made), "x.yml")["queues"][1]["submit"] == [
        "alice", "boss", "group:data",
    ]  # fmt: skip


def test_a_list_below_one_for_everyone_is_named_as_lost(tmp_path: Path) -> None:
    made = capacity(
        tmp_path,
        {"root.queues": "a", "root.a.capacity": "100", "root.a.acl_submit_applications": "alice"},
    )

    assert "submit" not in queue(made, "root.a")
    (lost,) = [each for each in made.outcomes if each.became == "lost"]
    assert "lets everyone in" in lost.why
    assert "state submit of root.a" in lost.remedy


def test_rules_of_most_leaves_are_the_policys_and_the_others_stand_in_levels(
    tmp_path: Path,
) -> None:
    made = capacity(
        tmp_path,
        {"root.queues": "a,b,c", "root.a.capacity": "50", "root.b.capacity": "25",
         "root.c.capacity": "25", "root.a.user-limit-factor": "4", "root.b.user-limit-factor": "4",
         "root.c.ordering-policy": "fair"},
    )  # fmt: skip

    options = queue(made, "root")["options"]
    assert options["user_limit_factor"] == 4
    assert options["levels"] == {"root.c": {"ordering": "fair", "user_limit_factor": 1.0}}


def test_a_property_with_variables_and_one_that_is_included_are_read(tmp_path: Path) -> None:
    (tmp_path / "more.xml").write_text(
        f"<configuration><property><name>{PREFIX}root.b.capacity</name>"
        "<value>${rest}</value></property></configuration>"
    )
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>rest</name><value>60</value></property></configuration>"
    )
    file = tmp_path / "capacity-scheduler.xml"
    file.write_text(
        '<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="more.xml"/>'
        f"<property><name>{PREFIX}root.queues</name><value>a,b</value></property>"
        f"<property><name>{PREFIX}root.a.capacity</name><value>40</value></property>"
        "</configuration>"
    )

    made = convert(file)

    assert queue(made, "root.b")["guaranteed"] == "60%"
    assert {outcome.name for outcome in made.outcomes} >= {f"{PREFIX}root.b.capacity"}


def test_a_parents_guarantee_covers_its_childrens_minimum_shares(tmp_path: Path) -> None:
    made = fair(
        tmp_path,
        '<queue name="p"><queue name="a"><minResources>1024 mb, 1 vcores</minResources></queue>'
        '<queue name="b"><minResources>memory-mb=2048,vcores=3</minResources></queue></queue>',
    )

    assert queue(made, "root.p")["guaranteed"] == {"memory_mb": 3072, "vcores": 4}


def test_a_percentage_of_the_cluster_becomes_one_of_the_parent(tmp_path: Path) -> None:
    made = fair(
        tmp_path,
        '<queue name="p"><maxResources>50%</maxResources>'
        '<queue name="a"><maxResources>20%</maxResources></queue>'
        '<queue name="b"><maxResources>70%</maxResources></queue></queue>',
    )

    assert queue(made, "root.p")["maximum"] == "50%"
    assert queue(made, "root.p.a")["maximum"] == "40%"
    assert "maximum" not in queue(made, "root.p.b")


def test_percentages_that_differ_need_the_size_of_the_cluster(tmp_path: Path) -> None:
    text = '<queue name="a"><maxResources>50% memory, 25% cpu</maxResources></queue>'

    made = fair(tmp_path, text, {"memory_mb": 10_000, "vcores": 100})
    (lost,) = [each for each in fair(tmp_path, text).outcomes if each.became == "lost"]

    assert queue(made, "root.a")["maximum"] == {"memory_mb": 5_000, "vcores": 25}
    assert "--rm" in lost.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<configuration/>", "names no queue"),
        ("<beans/>", "outer element is beans"),
        ("<configuration>", "not XML"),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><allocations>&e;</allocations>',
         "document type"),
        ('<allocations><queue name="a.b"/></allocations>', "'a.b'"),
        ('<allocations><queue name="a"/><queue name="a"/></allocations>', "two queues a"),
        ('<allocations><queue name="a"><maxResources>many</maxResources></queue></allocations>',
         "root.a: maxResources"),
        ('<allocations><queuePlacementPolicy><rule name="x"/></queuePlacementPolicy></allocations>',
         "no placement rule 'x'"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "some.xml"
    file.write_text(text)

    with pytest.raises(ConversionError, match=said) as refused:
        convert(file)

    assert refused.value.hint


def test_what_is_lost_keeps_its_reason_and_remedy_however_long_its_value(tmp_path: Path) -> None:
    mappings = ",".join(f"u:user{number}:a" for number in range(30))

    made = capacity(
        tmp_path,
        {"root.queues": "a", "root.a.capacity": "100",
         "queue-mappings": f"{mappings},u:%user:root.x-%user"},
    )  # fmt: skip

    (line,) = [each for each in written(made).splitlines() if each.startswith("# lost")]
    assert "u:user0:a" in line
    assert "u:user29:a" not in line
    assert line.endswith("name the users or groups one by one")


@given(
    parts=st.lists(st.integers(1, 1000), min_size=1, max_size=8),
    maxima=st.lists(st.decimals("0.01", "99.99", places=2), min_size=8, max_size=8),
)
def test_guarantees_of_a_level_never_exceed_their_parent(
    tmp_path_factory: pytest.TempPathFactory, parts: list[int], maxima: list[Decimal]
) -> None:
    """Percentages are rounded down, so that those of a level add up to 100 % at most."""
    names = [f"q{number}" for number in range(len(parts))]
    properties = {"root.queues": ",".join(names)}
    for name, part, maximum in zip(names, parts, maxima, strict=False):
        share = Decimal(part) * 100 / sum(parts)
        properties[f"root.{name}.capacity"] = str(share)
        properties[f"root.{name}.maximum-capacity"] = str(max(maximum, share))

    made = capacity(tmp_path_factory.mktemp("level"), properties)

    compiled = compile_config(written(made), "converted.yml")
    assert sum(each["guaranteed"]["ppm"] for each in compiled["queues"][1:]) <= 1_000_000
