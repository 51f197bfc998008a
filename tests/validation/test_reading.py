"""YAML text: what is read, what is refused, and where."""

import pytest

from loomcard.validation.reading import CONFIG, Limits, read


def first(text: str) -> tuple[int, str]:
    """Return line and message of the first finding of a text."""
    finding = read(text).findings[0]
    return finding.line, finding.message


def test_scalars_follow_the_core_schema() -> None:
    """Only true and false are truth values, and nothing is octal or base 60: names stay names."""
    text = "{a: no, b: 012, c: 1:30, d: true, e: 12, f: 1.5, g: ~, h: 2026-01-01, i: 1e3, j: '5'}"
    expected = ["no", "012", "1:30", True, 12, 1.5, None, "2026-01-01", 1000.0, "5"]
    data = read(text).data
    assert list(data.values()) == expected
    assert [type(value) for value in data.values()] == [type(value) for value in expected]


def test_keys_are_text() -> None:
    """A queue may be called 1 or true."""
    assert read("{1: a, true: b}").data == {"1": "a", "true": "b"}


def test_a_tab_is_named_with_its_line() -> None:
    """The remedy says spaces, which the scanner's own message does not."""
    (finding,) = read("a:\n\tb: 1\n").findings
    assert finding.line == 2
    assert "spaces" in finding.hint


def test_a_key_is_printed_without_what_a_terminal_would_obey() -> None:
    """A file from elsewhere can neither clear the screen nor hide a line of the findings."""
    document = read('{"\\e[2Jq": 1}')
    document.report(("\x1b[2Jq",), "is wrong")
    assert [finding.path for finding in document.findings] == ["\\x1b[2Jq"]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: 1\nb: [1, 2\n", 2, "expected ',' or ']'"),
        ("a: 1\n  b: 2\n", 2, "mapping values are not allowed"),
        ("a: 1\na: 2\n", 2, "first in line 1"),
        ("a: 1\n---\nb: 1\n", 2, "expected a single document"),
        ("a: 1\nb: \x01\n", 2, "not allowed"),
        ('a: "\\UFFFFFFFF"', 1, "cannot be read"),
        ("a: !!python/object/apply:os.getcwd []\n", 1, "tag"),
        ("a: 1\nb: !!binary aGk=\n", 2, "tag !!binary"),
        ("a: 1\nb: .nan\n", 2, "finite"),
        ("a: 1\nb: 1e999\n", 2, "finite"),
        ("a: 1\n? [x]\n: 2\n", 2, "a key must be text"),
        ("a: 1\nb: &x\n  - *x\n", 2, "alias inside its own anchor"),
        ("a: *nowhere\n", 1, "undefined alias"),
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
    ],
)
def test_bad_yaml_is_one_finding_at_its_line(text: str, line: int, part: str) -> None:
    """Each fault is reported where it is, in one sentence, and nothing is raised."""
    found_line, message = first(text)
    assert found_line == line
    assert part in message


def test_depth_is_bounded() -> None:
    """A file of brackets ends in a finding, not in a stack overflow."""
    assert "levels deep" in first("a: " + "[" * 5000)[1]


def test_aliases_cannot_explode() -> None:
    """Nine lines of aliases would be two hundred million values; the count stops them."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    text = "\n".join(["a0: &a0 [x, y]", *lines])
    (finding,) = read(text, Limits(values=500)).findings
    assert "aliases make more than" in finding.message


def test_values_are_bounded() -> None:
    """A file that would keep the policy process busy for long is stopped early."""
    (finding,) = read("- a\n" * 1000, Limits(values=50)).findings
    expected = (100, "too much for a configuration: more than 50 values")
    assert (finding.line, finding.message) == expected


def test_an_alias_is_a_value_like_any_other() -> None:
    """The value of an anchor may be used again."""
    assert read("a: &x [1]\nb: *x\n").data == {"a": [1], "b": [1]}


def test_size_is_bounded() -> None:
    """More than a million characters are not even parsed."""
    assert "at most" in first("#" * (CONFIG.characters + 1))[1]
