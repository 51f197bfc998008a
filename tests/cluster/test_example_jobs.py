from pathlib import Path

import pytest

from loomcard.cluster.example_jobs import ProgramError, example, program


def test_properties_stand_where_hadoop_reads_them() -> None:
    """Hadoop takes generic options only before a program's own arguments."""
    command = example("pi", ("4", "100")).command(["mapreduce.job.queuename=a"])
    assert command == [
        "org.apache.hadoop.examples.QuasiMonteCarlo",
        "-Dmapreduce.job.queuename=a",
        "4",
        "100",
    ]


def test_properties_follow_the_main_class_of_a_jar(tmp_path: Path) -> None:
    """RunJar takes the main class first; everything after it goes to the program."""
    file = tmp_path / "mine.jar"
    file.touch()
    command = program(str(file), ["org.example.Main", "in"]).command(["a=b"])
    assert command[1:] == [str(file), "org.example.Main", "-Da=b", "in"]
    bare = program(str(file), ["in", "out"]).command(["a=b"])
    assert bare[1:] == [str(file), "-Da=b", "in", "out"]


def test_relative_paths_are_the_callers(tmp_path: Path) -> None:
    """On a local file system a relative path means the caller's folder; a URI is not changed."""
    given = example("terasort", ("in", "hdfs://h/out"), tmp_path).arguments
    assert given == (str(tmp_path / "in"), "hdfs://h/out")
    assert example("terasort", ("in", "out")).arguments == ("in", "out")
    assert example("teragen", ("100", "out"), tmp_path).arguments == ("100", str(tmp_path / "out"))


def test_what_is_wrong_is_said_with_a_remedy() -> None:
    """An unknown name lists the known ones; missing arguments are shown by a usage line."""
    with pytest.raises(ProgramError, match="no example job 'po'") as unknown:
        example("po")
    known = "there are pi, sleep, teragen, terasort, wordcount; or name a .jar file"
    assert unknown.value.hint == known
    with pytest.raises(ProgramError, match="terasort needs its arguments") as few:
        example("terasort", ("in",))
    assert few.value.hint == "loomcard submit terasort INPUT OUTPUT"
    with pytest.raises(ProgramError, match=r"no file nowhere\.jar"):
        program("nowhere.jar", [])
