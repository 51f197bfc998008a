"""`loomcard dag` as a user types it: every form, how a shell reads it, and one-line errors."""

import io
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from loomcard.api.stages.dag_hint import HINT, parse_dag, read_dag
from loomcard.cli.app import run
from loomcard.workload.dag_stages import mapreduce_definition

COUNTS = ["mapreduce", "--maps", "4", "--reduces", "2", "--map-ms", "5000", "--map-memory", "512"]
MERGE = ["--vertex", "a,4,1000,1024,1", "--vertex", "b,2,500,1024,1", "--vertex", "c,1,9,512,1,b,a"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["dag", *arguments]) == 0
    return capsys.readouterr().out


def test_mapreduce_from_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Priorities are those of the unmodified AM, and asks find their stage through them."""
    stages = parse_dag(printed(capsys, *COUNTS)).stages
    assert [(s.id, s.priority, s.tasks, s.ms, s.size, s.after) for s in stages] == [
        ("maps", 20, 4, 5000.0, (512, 1), []),
        ("reduces", 10, 2, 30000.0, (1024, 1), [0]),
    ]
    sizes = ("--map-vcores", "2", "--reduce-memory", "256", "--reduce-vcores", "3")
    assert [s.size for s in parse_dag(printed(capsys, *COUNTS, *sizes)).stages] == [
        (512, 2),
        (256, 3),
    ]
    alone = parse_dag(printed(capsys, "mapreduce", "--maps", "0", "--reduces", "1")).stages
    assert [(s.id, s.after) for s in alone] == [("reduces", [])]


def test_tez_vertices_have_the_priorities_of_its_am(capsys: pytest.CaptureFixture[str]) -> None:
    """Three vertices: low is (distance + 1) * 9 + 3 * id, and a first attempt is at low - 1."""
    stages = parse_dag(printed(capsys, "tez", *MERGE)).stages
    assert [(s.priority, s.after) for s in stages] == [(8, []), (11, []), (23, [1, 0])]


@pytest.mark.parametrize(
    ("form", "before"),
    [
        ("env", [f"{HINT}="]),
        ("mapreduce", [f"-Dyarn.app.mapreduce.am.env.{HINT}="]),
        ("spark", ["--conf", f"spark.yarn.appMasterEnv.{HINT}="]),
        ("tez", [f"-Dtez.am.launch.env={HINT}="]),
    ],
)
def test_each_form_comes_out_of_a_shell_as_it_went_in(
    capsys: pytest.CaptureFixture[str], form: str, before: list[str]
) -> None:
    """The text is unquoted, as in `hadoop jar x.jar $(loomcard dag ...)`; commas would split it in
    Tez.
    """
    plain = printed(capsys, "tez", *MERGE)
    line = printed(capsys, "tez", *MERGE, "--as", form)
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    )
    words = shell.stdout.split()
    assert words == shlex.split(line)
    assert words[:-1] == before[:-1]
    assert words[-1].startswith(before[-1])
    hint = words[-1].removeprefix(before[-1])
    assert read_dag({HINT: hint}).stages == parse_dag(plain).stages
    assert not set(hint) & set("=,\"'")


def test_spark_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    (stage,) = parse_dag(printed(capsys, "spark", "--stage", "executors,3,9000,4506,2")).stages
    assert (stage.priority, stage.tasks, stage.size) == (0, 3, (4506, 2))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["tez"], ["no --vertex was given", "name,tasks,ms,memory,vcores[,after...]"]),
        (["tez", "--vertex", "a,1,1"], ["'a,1,1'", "expected 5 values"]),
        (["tez", "--vertex", "a,x,1,1,1"], ["Expected `int`, got `str` - at `$.tasks`"]),
        (["tez", "--vertex", f"a,{10**18},1,1,1"], ["<= 1000000000 - at `$.tasks`"]),
        (["tez", "--vertex", "a,1,nan,1,1"], ["at `$.ms`"]),
        (["tez", "--vertex", "a;rm,1,1,1,1"], ["at `$.name`"]),
        (["tez", "--vertex", "a,1,1,1,1,a"], ["'a' is none of the lines before"]),
        (["tez", *["--vertex", "a,1,1,1,1"] * 2], ["two of that name"]),
        (["mapreduce", "--maps", "-1"], ["--maps", "--help"]),
        (["mapreduce", "--maps", "0"], ["expected a task at least"]),
        (["spark", "--stage", "a,1,1,1,1", "--priority", "-1"], ["--priority"]),
        (["spark"], ["either --event-log or --stage"]),
        (["spark", "--event-log", "/nowhere"], ["/nowhere", "check the path"]),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], parts: list[str]
) -> None:
    assert run(["dag", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert [part for part in parts if part not in said.err] == []


def test_what_no_process_could_be_given_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused, because Linux starts no AM with a variable of 128 KiB."""
    many = [part for i in range(1200) for part in ("--vertex", f"{i:0>90},1,1,1,1")]
    assert run(["dag", "tez", *many]) == 2
    assert "expected at most 130000 characters as a variable" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "no hint", '[{"id":"a"}]', "\x00\xff"])
def test_submit_refuses_what_is_no_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """It is refused before anything is submitted: there is no cluster here."""
    file = tmp_path / "hint"
    file.write_bytes(text.encode("latin-1"))
    assert run(["submit", "pi", "--dag", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {file}: ")
    assert said.endswith("(write it with `loomcard dag`)\n")
    assert run(["submit", "pi", "--dag", str(tmp_path / "none")]) == 2


def test_submit_reads_a_hint_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both forms of the text are read; the property is added to those that the site gives to
    AMs.
    """
    plain = printed(capsys, *COUNTS)
    line = printed(capsys, *COUNTS, "--as", "mapreduce").strip()
    assert f"-D{mapreduce_definition(plain, 'here')}" == line
    assert f"-D{mapreduce_definition(line.split('=')[1], 'here')}" == line
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"[]")))
    assert run(["submit", "pi", "--dag", "-"]) == 2
    assert "error: standard input: expected at least one stage" in capsys.readouterr().err
