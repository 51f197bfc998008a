"""Reading and expanding experiments: the cells, and every finding with its line."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from loomcard.experiments.engines import policies_folders
from loomcard.experiments.grid import Grid, cells
from loomcard.experiments.inputs import InputError, choices
from loomcard.experiments.run import SHIPPED, Request, prepare, shipped
from loomcard.experiments.schema import read_experiment, schema
from loomcard.validation.reading import read

HEAD = "version: 1\nkind: experiment\n"
GOOD = HEAD + "policies: [fifo]\nworkloads: [small.yml]\n"
PATIENT = """from dataclasses import dataclass
from loomcard import Plan, fill

@dataclass(frozen=True)
class Patient:
    theta: float = 0.5
    deep: dict[str, int] | None = None

    def decide(self, view):
        plan = Plan(view)
        return fill(plan, order=plan.dominant_share)
"""


def findings(file: Path, **request: object) -> list[str]:
    with pytest.raises(InputError) as error:
        prepare(Request(str(file), **request))  # type: ignore[arg-type]
    return [each.replace(str(file.parent), "") for each in error.value.findings]


def test_every_combination_is_a_cell_in_the_files_order(experiment: Path) -> None:
    """Policies come first, then workloads, parameters, seeds; each has a folder of its own."""
    found = prepare(Request(str(experiment))).cells
    assert [(c.policy, c.vary["tasks"], c.seed) for c in found] == [
        (policy, tasks, seed) for policy in ("fifo", "drf") for tasks in (2, 6) for seed in (1, 2)
    ]
    assert [c.index for c in found] == list(range(8))
    assert len({c.folder for c in found}) == 8


def test_options_are_varied_for_the_policies_that_have_them(experiment: Path) -> None:
    """A policy without such an option runs once without it; a dot goes deeper."""
    file = experiment.with_name("patient.py")
    file.write_text(PATIENT)
    experiment.with_name("patient.yml").write_text("version: 1\npolicy: patient.py:Patient\n")
    experiment.write_text(
        GOOD.replace("[fifo]", "[patient.yml, fifo]")
        + "vary: {policy.theta: [0.1, 0.2], policy.deep.x: [3]}\n"
    )
    found = prepare(Request(str(experiment))).cells
    assert [(c.policy, c.options) for c in found] == [
        ("patient", {"theta": 0.1, "deep.x": 3}),
        ("patient", {"theta": 0.2, "deep.x": 3}),
        ("fifo", {}),
    ]
    config = found[1].config
    assert config is not None
    assert [queue["options"] for queue in config["queues"] if queue["policy_named"]] == [
        {"theta": 0.2, "deep": {"x": 3}}
    ]
    assert found[1].parameters == {"policy.theta": 0.2, "policy.deep.x": 3}
    assert {queue["policy"] for queue in config["queues"]} == {"fifo", f"{file}:Patient"}
    assert policies_folders(config, found[1].home)[0] == experiment.parent.resolve()


def test_what_one_policy_is_given_is_no_parameter(experiment: Path) -> None:
    """It goes into that policy's workload, even over what is varied; results pair as before."""
    given = "given: {drf: {workload.tasks: 9, workload.cluster.am_start_ms: 7}}\n"
    experiment.write_text(experiment.read_text() + given)
    found = prepare(Request(str(experiment), seeds=(1,))).cells
    assert [(c.policy, c.changes, c.parameters) for c in found] == [
        ("fifo", {"tasks": 2}, {"workload.tasks": 2}),
        ("fifo", {"tasks": 6}, {"workload.tasks": 6}),
        ("drf", {"tasks": 9, "cluster.am_start_ms": 7}, {"workload.tasks": 2}),
        ("drf", {"tasks": 9, "cluster.am_start_ms": 7}, {"workload.tasks": 6}),
    ]


def test_longer_cells_go_first(experiment: Path) -> None:
    """Otherwise the last one to begin could be the longest."""
    order = prepare(Request(str(experiment))).order
    assert [cell.vary["tasks"] for cell in order] == [6] * 4 + [2] * 4


def test_the_command_line_goes_before_the_file(experiment: Path) -> None:
    """Named policies and seeds run instead of the experiment's."""
    request = Request(str(experiment), policies=("drf",), seeds=(7,))
    prepared = prepare(request)
    assert {(c.policy, c.seed) for c in prepared.cells} == {("drf", 7)}
    assert prepared.experiment.baseline == ""


def test_a_workload_is_an_experiment_of_one(experiment: Path) -> None:
    """Its policies come from the command line."""
    small = experiment.with_name("small.yml")
    prepared = prepare(Request(str(small), policies=("fifo", "drf")))
    assert [(c.policy, c.workload, c.seed) for c in prepared.cells] == [
        ("fifo", "small", 1),
        ("drf", "small", 1),
    ]
    assert findings(small) == [
        "a workload needs a policy to run under (add --policy drf, or a YAML file)"
    ]


def test_configurations_of_one_name_are_distinguished(experiment: Path) -> None:
    """Two files named drf.yml are two policies."""
    for folder in ("x", "y"):
        experiment.with_name(folder).mkdir()
        (experiment.with_name(folder) / "drf.yml").write_text("version: 1\npolicy: drf\n")
    experiment.write_text(GOOD.replace("[fifo]", "[x/drf.yml, y/drf.yml, fifo]"))
    names = [cell.policy for cell in prepare(Request(str(experiment))).cells]
    assert names == ["x/drf.yml", "y/drf.yml", "fifo"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            GOOD + "sseds: 3\n",
            ["line 5, column 1: sseds: unknown key 'sseds' (did you mean 'seeds'?)"],
            id="a key",
        ),
        pytest.param(
            GOOD + "seeds: 0\n",
            ["line 5, column 8: seeds: expected how many seeds (from 1 on) or a list of them"],
            id="seeds",
        ),
        pytest.param(
            GOOD + "vary: {small_share: [1]}\n",
            ["line 5, column 8: vary.small_share: expected workload.NAME or policy.NAME"],
            id="vary without a side",
        ),
        pytest.param(
            GOOD + "vary: {workload.x: []}\n",
            ["line 5, column 20: vary.workload.x: expected at least one"],
            id="nothing to vary",
        ),
        pytest.param(
            GOOD + "baseline: dfr\n",
            ["line 5, column 11: baseline: the baseline 'dfr' is none of the policies"],
            id="baseline",
        ),
        pytest.param(
            HEAD + "policies: [fifo,\n drf, fifo]\nworkloads: [tiny, sub/tiny.yml]\n",
            [
                "line 4, column 7: policies[2]: 'fifo' stands there already (leave it out)",
                "line 5, column 19: workloads[1]: 'sub/tiny.yml' stands there already",
            ],
            id="named twice",
        ),
        pytest.param(
            GOOD + "seeds: [3, 1, 3]\nvary: {workload.x: [1, 1.5, 1]}\n",
            [
                "line 5, column 15: seeds[2]: 3 stands there already",
                "line 6, column 29: vary.workload.x[2]: 1 stands there already",
            ],
            id="doubled",
        ),
        pytest.param(
            GOOD + "given: {fiffo: {workload.x: 1}}\n",
            ["line 5, column 9: given.fiffo: 'fiffo' is none of the policies"],
            id="given to nobody",
        ),
        pytest.param(
            HEAD + "workloads: 3\n",
            ["line 1, column 1: the key 'policies' is missing", "line 3, column 12: workloads: "],
            id="several",
        ),
        pytest.param(
            GOOD + "expect: [{figure: '7', paper: 1, sign: up}]\n",
            ["line 5, column 40: expect[0].sign: expected 'less', 'equal' or 'more'"],
            id="a sign",
        ),
    ],
)
def test_findings_have_file_and_line(experiment: Path, text: str, expected: list[str]) -> None:
    """All that is wrong with the file is listed, each with its place."""
    experiment.write_text(text)
    found = findings(experiment)
    assert len(found) == len(expected)
    for each, want in zip(found, expected, strict=True):
        assert each.startswith(f"/try.yml, {want}")


def test_what_an_experiment_names_must_be_there(experiment: Path) -> None:
    """Missing policies, workloads, options and parameters are named, each with its remedy."""
    experiment.write_text(GOOD.replace("[fifo]", "[ffo, none.yml, 'stock:lottery']"))
    found = findings(experiment)
    assert found[0].startswith("policy 'ffo': there is no policy 'ffo' (did you mean: fifo")
    assert found[1] == "policy 'none.yml': there is no file /none.yml (check the path)"
    assert found[2].startswith("policy 'stock:lottery': no such stock scheduler")
    experiment.write_text(GOOD.replace("small.yml", "smll.yml"))
    assert findings(experiment) == ["workload /smll.yml: there is no such file (check the path)"]
    experiment.write_text(GOOD + "vary: {policy.theta: [1]}\n")
    assert findings(experiment)[0].startswith("vary.policy.theta: none of the policies has such")
    experiment.write_text(GOOD + "vary: {workload.sahre: [1]}\n")
    assert "there is nothing called 'sahre' to vary" in findings(experiment)[0]


def test_a_wrong_configuration_is_named_with_its_line(experiment: Path) -> None:
    """With several files, a reader must know which one it is."""
    experiment.with_name("bad.yml").write_text("version: 1\npolicy: drf\nweihgt: 2\n")
    experiment.with_name("worse.yml").write_text("version: 1\npolicy: dfr\n")
    experiment.write_text(GOOD.replace("[fifo]", "[bad.yml, worse.yml]"))
    assert findings(experiment) == [
        "bad.yml, line 3, column 1: weihgt: unknown key 'weihgt' (did you mean 'weight'?)",
        "worse.yml, line 2, column 9: policy: there is no policy 'dfr' (did you mean: drf;"
        " or name path/to/file.py:Class)",
    ]


def test_a_queue_that_a_configuration_lacks_is_found_before_anything_runs(experiment: Path) -> None:
    """The application, the configuration and its queues are named."""
    small = experiment.with_name("small.yml")
    small.write_text(small.read_text().replace("    tags: [large]", "    queue: root.x"))
    found = findings(experiment)
    assert (
        "application 'b': fifo has no leaf queue 'root.x' (its leaf queues are root.default"
        in (found[0])
    )
    assert len(found) == 2


def test_stock_schedulers_are_for_real_clusters(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the simulator there is a clear error with the line; on a real cluster there is none."""
    experiment.write_text(GOOD.replace("[fifo]", '["stock:capacity"]'))
    assert findings(experiment)[0].startswith(
        "/try.yml, line 3, column 12: policies[0]: stock:capacity is YARN's own scheduler"
    )
    jars = experiment.parent / "jars"
    jars.mkdir()
    for name in ("loomcard-yarn-0.1.0", "hadoop-common-3.4.2", "hadoop-common-3.4.2-tests"):
        (jars / f"{name}.jar").touch()
    monkeypatch.setenv("LOOMCARD_JARS", str(jars))
    prepared = prepare(Request(str(experiment), engine="local"))
    assert (prepared.cells[0].policy, prepared.cells[0].config) == ("stock:capacity", None)
    assert prepared.manifest["versions"]["hadoop"] == "3.4.2"
    with pytest.raises(InputError, match="the compose cluster runs Loomcard"):
        prepare(Request(str(experiment), engine="docker"))


def test_nothing_of_the_name(tmp_path: Path) -> None:
    """For an unknown name the nearest one is suggested."""
    assert findings(tmp_path / "none.yml")[0].endswith("(check the path)")
    with pytest.raises(InputError, match="did you mean 'baselines'"):
        prepare(Request("baseline"))


@pytest.mark.parametrize("name", shipped())
def test_shipped_experiments_are_right(name: str) -> None:
    """They can be prepared, and match the schema."""
    file = SHIPPED / f"{name}.yml"
    experiment, _ = read_experiment(file.read_text(), file)
    assert experiment.name == name
    Draft202012Validator(schema()).validate(read(file.read_text()).data)


def test_the_file_of_the_guide_is_right(tmp_path: Path) -> None:
    """The example in docs/simulate/experiments.md can be run unchanged."""
    guide = (Path(__file__).parents[2] / "docs" / "simulate" / "experiments.md").read_text()
    file = tmp_path / "small-jobs.yml"
    file.write_text(guide.split("```yaml\n")[1].split("```")[0])
    prepared = prepare(Request(str(file), seeds=(1,)))
    assert {(cell.policy, *cell.parameters) for cell in prepared.cells} == {
        ("drf", "workload.small_share"),
        ("capacity", "workload.small_share", "policy.ordering"),
    }


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    """An editor that uses it reports the same errors."""
    validator = Draft202012Validator(schema())
    good = read(GOOD + "seeds: [1, 2]\nvary: {policy.theta: [0.1]}\n").data
    assert validator.is_valid(good)
    for key, value in (("seeds", "x"), ("vary", {"x": [1]}), ("policies", []), ("extra", 1)):
        assert not validator.is_valid(good | {key: value})


def test_a_stock_scheduler_gets_the_queues_of_the_policy_that_bears_its_name(tmp_path):
    for name in ("capacity", "fair"):
        (tmp_path / f"{name}.yml").write_text(
            f"version: 1\npolicy: {name}\nqueues: {{{name}: {{}}}}\n"
        )
    named = choices(["drf", "capacity.yml", "fair.yml", "stock:fair", "stock:fifo"], tmp_path)
    found = cells(Grid(named, {"w": tmp_path / "w.yml"}, {}, [1], "local"))
    leaves = {
        cell.policy: cell.queues and [q["path"] for q in cell.queues["queues"] if q["leaf"]]
        for cell in found
    }
    assert leaves == {
        "drf": None,
        "capacity": None,
        "fair": None,
        "stock:fair": ["root.fair"],
        "stock:fifo": ["root.default"],
    }
