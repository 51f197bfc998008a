"""The runner of `make lines`: its end says what failed, so that CI's output is enough."""

import subprocess
import sys

import lines
import parts
import pytest

TESTS = """
import pytest
def test_right(): pass
def test_skipped(): pytest.skip("not here")
def test_two_is_three():
    assert [2] == [3], "the numbers"
def test_begins(no_such_fixture): pass
"""


@pytest.fixture
def said(monkeypatch, tmp_path, capsys):
    """Return what is said of line 3.3 when its folder is as `arrange` has left it."""
    folder = tmp_path / "3.3"
    folder.mkdir()
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["lines", "3.3"])

    def run(arrange):
        monkeypatch.setattr(lines, "run", lambda *_: {"together": "1.0", **arrange(folder)})
        return lines.main(), capsys.readouterr().out.partition(" failed; its logs are in ")[2]

    return run


def test_each_failure_is_said_with_its_place_and_the_folder_of_the_logs(said):
    def arrange(folder):
        (folder / "test_some.py").write_text(TESTS)
        xml = folder / "results.xml"
        pytest = [
            sys.executable,
            "-m",
            "pytest",
            "-c/dev/null",
            f"--junitxml={xml}",
            "test_some.py",
        ]
        with (folder / "log").open("w") as log:
            subprocess.run(pytest, cwd=folder, stdout=log, check=False)
            log.write(f"{lines.JOURNAL_SAYS}round 3 differs\n")
        return lines.read(xml)

    status, text = said(arrange)
    assert status == 1
    assert text.splitlines()[0].endswith("/3.3")
    assert "journal: round 3 differs\n" in text
    assert "test_two_is_three, test_some.py:6: AssertionError\n" in text
    assert "  AssertionError: the numbers\n" in text
    assert "fixture 'no_such_fixture' not found" in text
    assert "skipped" not in text
    assert "test_right" not in text


def test_without_a_result_the_end_of_the_log_is_said(said):
    def arrange(folder):
        (folder / "log").write_text("begin\n" * 99 + "Killed\n")
        return {}

    status, text = said(arrange)
    assert status == 1
    assert text.endswith("begin\nKilled\n")
    assert text.count("begin") == lines.LINES_SAID - 1


@pytest.mark.parametrize("second", ["0.4", "FAILED"])
def test_a_line_runs_once_more_where_few_tests_failed(monkeypatch, tmp_path, capsys, second):
    """What failed first is said at once; the second run counts."""
    (tmp_path / "3.3").mkdir()
    (tmp_path / "3.3" / "log").write_text("it was late\n")
    cells = [{"a swap": "FAILED", "a job": "1.0"}, {"a swap": second, "a job": "1.0"}]
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["lines", "3.3"])
    monkeypatch.setattr(lines, "run", lambda *_: {"together": "1.0", **cells.pop(0)})
    status = lines.main()
    said = capsys.readouterr().out
    assert (status, cells) == (int(second == "FAILED"), [])
    late = parts.LATE.findall(said)
    assert late == ([] if second == "FAILED" else ["3.3: a swap"])
    assert said.index("3.3: FAILED") < said.index("it was late")


@pytest.mark.parametrize(
    "bad", [[f"test {n}" for n in range(lines.FEW + 1)], [lines.JOURNAL]], ids=["many", "journal"]
)
def test_a_line_does_not_run_once_more_for_what_is_no_deadline(monkeypatch, tmp_path, bad):
    """Six failures are something broken, and a journal that does not replay would be lost."""
    (tmp_path / "3.3").mkdir()
    (tmp_path / "3.3" / "log").write_text("it is broken\n")
    runs = [{"together": "1.0", "a job": "1.0", **dict.fromkeys(bad, "FAILED")}]
    monkeypatch.setattr(lines, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["lines", "3.3"])
    monkeypatch.setattr(lines, "run", lambda *_: runs.pop())
    assert (lines.main(), runs) == (1, [])
