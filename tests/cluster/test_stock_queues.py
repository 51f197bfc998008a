"""A configuration's queues in the form that YARN's own schedulers read."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from loomcard.cluster.embedded_config import LocalSettings, Machine, render_conf
from loomcard.cluster.hadoop_config import RenderError
from loomcard.cluster.stock_queues import config_of_queues, stock_queues
from loomcard.config import compile_config

GUARANTEED = """
version: 1
kind: policy
policy: capacity
options: {minimum_user_limit_percent: 50, user_limit_factor: 2, ordering: fair}
queues:
  prod: {guaranteed: 75%, maximum: 80%, am_share: 20%}
  research:
    guaranteed: 25%
    queues:
      a: {weight: 3, submit: [alice, "group:lab"]}
      b: {}
"""
FAIR = """
version: 1
kind: policy
policy: fair
options: {default: drf, levels: {root.a: fifo}}
queues: {a: {weight: 3, guaranteed: 20%}, b: {maximum: 50%}}
"""


def config(text: str) -> dict[str, Any]:
    return compile_config(text, "x.yml")


def rendered(tmp_path: Path, scheduler: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "loomcard-yarn-0.jar").touch()
    monkeypatch.setenv("LOOMCARD_JARS", str(jars))
    machine = Machine("m1", "/r1", {"memory_mb": 1000, "vcores": 10, "gpu": 4})
    render_conf(
        LocalSettings(
            run_dir=tmp_path, machines=(machine,), scheduler=scheduler, stock_config=config(text)
        )
    )
    return tmp_path / "conf"


def properties(file: Path) -> dict[str, str]:
    root = ElementTree.fromstring(file.read_text())  # noqa: S314 (rendered a moment ago)
    return {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}


def test_capacity_scheduler_gets_guarantees_weights_and_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantees become percent, and so do weights; options get YARN's names."""
    conf = rendered(tmp_path, "stock:capacity", GUARANTEED, monkeypatch)
    said = properties(conf / "capacity-scheduler.xml")
    assert said["yarn.scheduler.capacity.root.queues"] == "prod,research"
    found = {
        name.removeprefix("yarn.scheduler.capacity.root."): value for name, value in said.items()
    }
    assert found["prod.capacity"] == "75"
    assert found["prod.maximum-capacity"] == "80"
    assert found["prod.maximum-am-resource-percent"] == "0.2"
    assert found["prod.acl_submit_applications"] == "*"
    assert found["research.capacity"] == "25"
    assert found["research.acl_submit_applications"] == " "
    assert found["research.a.capacity"] == "75"
    assert found["research.a.acl_submit_applications"] == "alice lab"
    assert found["research.b.user-limit-factor"] == "2.0"
    assert found["research.b.minimum-user-limit-percent"] == "50"
    assert found["research.b.ordering-policy"] == "fair"
    types = properties(conf / "resource-types.xml")
    assert types == {"yarn.resource-types": "gpu"}


def test_fair_scheduler_gets_rules_weights_and_amounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its allocation file is found through yarn-site.xml."""
    conf = rendered(tmp_path, "stock:fair", FAIR, monkeypatch)
    file = properties(conf / "yarn-site.xml")["yarn.scheduler.fair.allocation.file"]
    root = ElementTree.fromstring(Path(file).read_text())[0]  # noqa: S314 (ours)
    assert (root.get("name"), root.findtext("schedulingPolicy")) == ("root", "drf")
    a, b = root.findall("queue")
    assert [a.get("name"), a.findtext("weight"), a.findtext("schedulingPolicy")] == [
        "a", "3.0", "fifo",
    ]  # fmt: skip
    assert a.findtext("minResources") == "memory-mb=200, vcores=2, gpu=0"
    assert b.findtext("maxResources") == "memory-mb=500, vcores=5, gpu=2"
    assert b.findtext("minResources") is None


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        ("a: {guaranteed: 20%}", "guaranteed 20 % of it: stock:capacity wants 100 %"),
        ("a: {maximum: {memory_mb: 10}}", "queue root.a: maximum is stated in amounts"),
    ],
)
def test_what_stock_schedulers_cannot_say_is_refused(queues: str, said: str) -> None:
    """The error has the queue's name, and says what to do instead."""
    text = f"version: 1\nkind: policy\npolicy: capacity\nqueues:\n  {queues}\n"
    with pytest.raises(RenderError, match=said) as caught:
        stock_queues(config(text), ["memory_mb", "vcores"], [100, 10], whole=True)
    assert caught.value.hint


def test_queues_without_a_configuration_are_alike() -> None:
    """A run under only a stock scheduler needs no configuration: it has the workload's queues."""
    made = config_of_queues(["root.x.a", "root.x.b", "root.y", "root.y"])
    tree = stock_queues(made, ["memory_mb", "vcores"], [100, 10], whole=True)
    assert [(queue.path, queue.capacity) for queue in tree.all] == [
        ("root", "100"),
        ("root.x", "50"),
        ("root.x.a", "50"),
        ("root.x.b", "50"),
        ("root.y", "50"),
    ]


MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"


@pytest.mark.parametrize(
    ("stock", "wanted"),
    [
        (
            "capacity",
            {
                "yarn.resourcemanager.scheduler.monitor.enable": "true",
                f"{MONITOR}.monitoring_interval": "2000",
                f"{MONITOR}.max_wait_before_kill": "15000",
                f"{MONITOR}.total_preemption_per_round": "0.5",
            },
        ),
        (
            "fair",
            {
                "yarn.scheduler.fair.preemption": "true",
                "yarn.scheduler.fair.waitTimeBeforeKill": "15000",
            },
        ),
    ],
)
def test_yarns_preemption_gets_our_options(
    stock: str, wanted: dict[str, str], tmp_path: Path
) -> None:
    """Without the option no such property is written."""
    for options, found in (("preempt_after_ms: 2000, preempt_budget: 0.5", wanted), ("", {})):
        text = f"version: 1\npolicy: {stock}\noptions: {{{options}}}\nqueues: {{a: {{}}}}\n"
        config = compile_config(text, "t")
        settings = LocalSettings(
            run_dir=tmp_path / (options or "none"), scheduler=f"stock:{stock}", stock_config=config
        )
        render_conf(settings)
        root = ElementTree.parse(settings.run_dir / "conf" / "yarn-site.xml")  # noqa: S314 - ours
        rows = {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}
        assert {name: rows.get(name) for name in wanted} == (found or dict.fromkeys(wanted))
