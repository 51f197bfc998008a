"""`loomcard policy import`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loomcard.cli.app import app
from loomcard.config import compile_config

RUN = CliRunner()
TWO = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.b.capacity</name><value>40</value></property>
  <property><name>yarn.scheduler.capacity.root.b.priority</name><value>3</value></property>
</configuration>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A capacity-scheduler.xml with two queues and a property that is lost."""
    path = tmp_path / "capacity-scheduler.xml"
    path.write_text(TWO)
    return path


def test_the_configuration_goes_to_the_screen_and_the_count_beside_it(file: Path) -> None:
    done = RUN.invoke(app, ["policy", "import", str(file)])

    assert done.exit_code == 0, done.output
    assert compile_config(done.stdout, "x.yml")["queues"][1]["guaranteed"] == {"ppm": 600_000}
    assert "# lost: yarn.scheduler.capacity.root.b.priority = 3" in done.stdout
    assert "3 properties converted, 0 without effect, 1 lost" in done.stderr


def test_out_writes_a_new_file_and_never_replaces_one(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "queues.yml"
    first = RUN.invoke(app, ["policy", "import", str(file), "-o", str(out)])
    text = out.read_text()
    second = RUN.invoke(app, ["policy", "import", str(file), "-o", str(out)])

    assert first.exit_code == 0
    assert "policy check" in first.stderr
    assert second.exit_code == 2
    assert "exists already" in second.stderr
    assert out.read_text() == text


def test_explain_shows_both_sides(file: Path) -> None:
    done = RUN.invoke(app, ["policy", "import", str(file), "--explain"], env={"COLUMNS": "200"})

    assert "yarn.scheduler.capacity.root.a.capacity" in done.stdout
    assert "root.a: guaranteed" in done.stdout
    assert "knows no queue's priority" in done.stdout


def test_json_has_every_property_and_the_configuration(file: Path) -> None:
    found = json.loads(RUN.invoke(app, ["policy", "import", str(file), "--json"]).stdout)

    assert found["scheduler"] == "CapacityScheduler"
    assert [each["became"] for each in found["properties"]] == ["converted"] * 3 + ["lost"]
    assert compile_config(found["configuration"], "x.yml")["hash"]


@pytest.mark.parametrize("text", [None, "<html/>", "not xml"])
def test_what_is_no_such_file_ends_with_status_2(tmp_path: Path, text: str | None) -> None:
    path, out = tmp_path / "some.xml", tmp_path / "out.yml"
    if text is not None:
        path.write_text(text)

    done = RUN.invoke(app, ["policy", "import", str(path), "-o", str(out)])

    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert str(path) in done.stderr
    assert not out.exists()
