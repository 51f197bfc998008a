"""Tests of a policy's options against the fields of its dataclass."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import ValidationError

from loomcard.config import Finding, compile_config
from loomcard.config.options import option_model

FindingsOf = Callable[..., list[Finding]]


def config(policy: str, options: str) -> str:
    """Return a configuration of one policy whose options are in line 3."""
    return f"version: 1\npolicy: {policy}\noptions: {options}\n"


@pytest.mark.parametrize(
    ("options", "path", "part"),
    [
        ("{thta: 0.1}", "options.thta", "did you mean 'theta'?"),
        ("{theta: big}", "options.theta", "found the text 'big'"),
        ("{theta: true}", "options.theta", "found true"),
        ("{theta: }", "options.theta", "found nothing"),
        ("{rounds: 1.5}", "options.rounds", "found the number 1.5"),
        ("{names: a}", "options.names", "found the text 'a'"),
        ("{names: [a, 1]}", "options.names[1]", "found the number 1"),
        ("{theta: 2}", "options.theta", "theta must be between 0 and 1"),
        ("{rounds: 101}", "options", "too patient"),
    ],
)
def test_a_wrong_option_is_found_at_its_place(
    findings_of: FindingsOf, sorts: str, options: str, path: str, part: str
) -> None:
    """An option is wrong if it is unknown, has another type, or fails the policy's own check."""
    (finding,) = findings_of(config(f"{sorts}:Leafy", options))
    assert (finding.line, finding.path) == (3, path)
    assert part in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_number_is_finite_whatever_the_policy_checks(value: float) -> None:
    """A policy that compares shares would never end, or order by nothing."""

    @dataclass(frozen=True)
    class Unchecked:
        share: float = 1.0

    with pytest.raises(ValidationError, match="finite number"):
        option_model(Unchecked)(share=value)


@pytest.mark.parametrize("value", ["-3", "99999999999999999999999999", "31536000001"])
@pytest.mark.parametrize(
    ("policy", "option"),
    [("drf", "reserve_after_ms"), ("hdrf", "preempt_grace_ms"), ("dress", "age_ms")],
)
def test_a_duration_has_one_range(
    findings_of: FindingsOf, policy: str, option: str, value: str
) -> None:
    """A duration is at least 0 and at most a year, under every policy and with the same message."""
    (finding,) = findings_of(config(policy, f"{{{option}: {value}}}"))
    assert finding.path == f"options.{option}"
    assert finding.message.startswith("expected a duration of 0 to 31536000000 ms (a year), found")
    assert finding.hint.startswith("the default is ")


def test_the_longest_duration_is_allowed(findings_of: FindingsOf) -> None:
    """A year is long enough to mean never."""
    assert findings_of(config("drf", "{reserve_after_ms: 31536000000}")) == []


def test_all_wrong_options_are_found_at_once(findings_of: FindingsOf, sorts: str) -> None:
    """The policy's own check sees the valid options, even if another option is wrong."""
    found = findings_of(config(f"{sorts}:Leafy", "{theta: 2, thta: 1, rounds: x}"))
    assert [f.path for f in found] == ["options.theta", "options.thta", "options.rounds"]


def test_an_option_without_default_must_be_given(findings_of: FindingsOf, sorts: str) -> None:
    """The finding is at options, or at the file if it has no options."""
    (finding,) = findings_of(f"version: 1\npolicy: {sorts}:Demanding\n")
    assert finding.path == "options.size"
    assert findings_of(config(f"{sorts}:Demanding", "{size: 1}")) == []


def test_options_are_compiled_as_their_types(sorts: str) -> None:
    """A 1 for a float becomes 1.0, and defaults are left out, so equal configurations have equal
    hashes.
    """
    compiled = compile_config(config(f"{sorts}:Leafy", "{theta: 1, names: [b, a]}"), "x.yml")
    assert repr(compiled["queues"][1]["options"]) == "{'names': ['b', 'a'], 'theta': 1.0}"
    same = compile_config(config(f"{sorts}:Leafy", "{names: [b, a], theta: 1.0}"), "x.yml")
    assert same == compiled


def test_a_policys_file_is_looked_for_beside_the_configuration_first(
    sorts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The present folder comes second. A cluster that compiles the configuration gets the same
    hash.
    """
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    text, source = config("mine.py:Leafy", "{theta: 1}"), Path(sorts).read_text()
    Path("mine.py").write_text(source)
    governs = compile_config(text, "x.yml", beside=Path("../there"))["queues"][1]["policy"]
    assert governs == "mine.py:Leafy"
    Path("../there/mine.py").write_text(source)
    offline = compile_config(text, "x.yml", beside=Path("../there"))
    assert offline["queues"][1]["policy"] == "../there/mine.py:Leafy"
    online = compile_config(text, "x.yml", policy_path=[Path("../there")], beside=Path("../there"))
    assert online["queues"][1]["policy"] == "mine.py:Leafy"
    assert online["hash"] == offline["hash"]
