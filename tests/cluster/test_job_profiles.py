"""Properties that a policy needs in a job."""

import pytest

from loomcard.cluster.example_jobs import ProgramError, example, program
from loomcard.cluster.job_profiles import PROFILES, profile_definitions

COUPLING = [f"{name}={value}" for name, value in PROFILES["coupling"].items()]


@pytest.mark.parametrize(
    ("name", "arguments", "own", "tags"),
    [
        ("pi", [], [], "reduces=1"),
        ("wordcount", ["a", "b"], [], "reduces=1"),
        ("wordcount", ["a", "b"], ["mapreduce.job.reduces=8"], "reduces=8"),
        ("wordcount", ["a", "b"], ["mapreduce.job.tags=x"], "x,reduces=1"),
        ("wordcount", ["a", "b"], ["mapreduce.job.tags=reduces=3"], "reduces=3"),
        ("sleep", ["-m", "4", "-r", "2", "-mt", "1"], [], "reduces=2"),
        ("sleep", ["-m", "4"], [], None),
        ("teragen", ["9", "x"], [], None),
    ],
)
def test_the_tag_says_how_many_reduces_there_will_be(name, arguments, own, tags):
    found = profile_definitions("coupling", example(name, arguments), own)
    assert found[: len(COUPLING)] == COUPLING
    assert [each for each in found if each.startswith("mapreduce.job.tags")] == (
        [] if tags is None else [f"mapreduce.job.tags={tags}"]
    )


def test_of_a_jar_the_number_is_known_only_if_it_is_defined(tmp_path):
    jar = tmp_path / "job.jar"
    jar.touch()
    assert profile_definitions("coupling", program(str(jar), ["x.Main"], tmp_path)) == COUPLING
    found = profile_definitions(
        "coupling", program(str(jar), ["x.Main"], tmp_path), ["mapreduce.job.reduces=4"]
    )
    assert found[-1] == "mapreduce.job.tags=reduces=4"


def test_what_the_user_defines_wins():
    own = "mapreduce.job.reduce.slowstart.completedmaps=0.5"
    assert own in profile_definitions("coupling", example("pi"), [own])


def test_an_unknown_profile_is_named_with_those_there_are():
    with pytest.raises(ProgramError, match="no profile 'x'") as raised:
        profile_definitions("x", example("pi"))
    assert "coupling" in raised.value.hint
