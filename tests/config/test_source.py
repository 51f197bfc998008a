"""Tests of how a command's argument names a configuration: a file, a policy, or an example."""

import os
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from threading import Thread

import pytest

from loomcard.api import registry
from loomcard.api.registry import built_in
from loomcard.config import compile_config, source
from loomcard.config.source import SourceError, examples, resolve
from loomcard.validation import text

ROOT = Path(__file__).parents[2]
TEXT = "version: 1\npolicy: fifo\n"


@pytest.mark.parametrize("name", sorted(built_in()))
def test_a_policys_name_is_a_configuration(name: str) -> None:
    """The name means that policy with its default options, in one leaf queue."""
    found = resolve(name)
    assert (found.name, found.title, found.file) == (name, name, None)
    root, leaf = compile_config(found.text, found.name)["queues"]
    assert (root["path"], leaf["path"]) == ("root", "root.default")
    assert (root["policy"], root["options"]) == (name, {}) or leaf["policy"] == name


def test_a_name_with_an_ending_or_a_slash_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other name is a file, whatever the folder contains."""
    monkeypatch.chdir(tmp_path)
    for name in ("drf", "drf.yml", "drf.yaml", "mine"):
        (tmp_path / name).write_text(f"# {name}\n{TEXT}")
    assert resolve("drf").file is None
    for given, name in (("drf.yml", "drf.yml"), ("drf.yaml", "drf.yaml"), ("./drf", "drf")):
        found = resolve(given)
        assert (found.name, found.text) == (name, f"# {name}\n{TEXT}")
        assert (found.title, found.folder.resolve()) == ("drf", tmp_path)
    assert resolve(Path("drf")).text == f"# drf\n{TEXT}"
    assert resolve("drf.yml", tmp_path.parent / tmp_path.name).file == tmp_path / "drf.yml"
    with pytest.raises(SourceError, match="there is no policy 'mine'") as error:
        resolve("mine")
    assert error.value.hint == "the file of that name is ./mine"


def test_an_example_goes_by_its_name_or_its_files(tmp_path: Path) -> None:
    """The caller's own file takes precedence over the example, and so does a policy of that
    name.
    """
    shipped = ROOT / "policies" / "queues.yml"
    assert examples()["queues"] == shipped
    for given in ("queues", "queues.yml"):
        found = resolve(given, tmp_path)
        assert (found.name, found.title, found.file) == ("queues.yml", "queues", shipped)
    (tmp_path / "queues.yml").write_text(TEXT)
    assert resolve("queues.yml", tmp_path).text == TEXT
    assert resolve("queues", tmp_path).file == shipped


def test_a_policy_goes_before_an_example_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an installation of a policy called queues, that name means the policy. The example
    keeps its file's name.
    """
    point = EntryPoint("queues", "no_such_module:X", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", EntryPoints([point]).select)
    assert resolve("queues").text.endswith("policy: queues\n")
    assert resolve("queues.yml").file == ROOT / "policies" / "queues.yml"


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ("dfr", "there is no policy 'dfr'", "did you mean: drf"),
        ("queue", "there is no policy 'queue'", "did you mean: queues"),
        ("zzz", "there is no policy 'zzz'", "known are: capacity, capacity-queues, "),
        ("policies/drf.yml", "there is no file {tmp}/policies/drf.yml", "the policy alone is drf"),
        ("none.yml", "there is no file {tmp}/none.yml", "check the path"),
        (".", "there is no policy '.'", "the file of that name is ./."),
        ("./", "cannot be read: Is a directory", "check the path"),
    ],
)
def test_what_is_not_there_is_said_with_a_remedy(
    tmp_path: Path, given: str, says: str, hint: str
) -> None:
    """The hint lists the nearest names, or other possible meanings."""
    with pytest.raises(SourceError) as error:
        resolve(given, tmp_path)
    assert str(error.value).startswith(says.format(tmp=tmp_path))
    assert hint in error.value.hint


def test_a_name_that_is_unknown_here_may_be_sent() -> None:
    """The ResourceManager may have the policy."""
    assert resolve("theirs", known=False).text == "version: 1\nkind: policy\npolicy: theirs\n"
    assert source.resolve("my.py:Mine").text.endswith("policy: my.py:Mine\n")


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """A shell's <(...) is such a pipe. It may be opened for writing after it is opened for
    reading.
    """
    pipe = tmp_path / "made.yml"
    os.mkfifo(pipe)
    for size in (1, 200_000):  # more than a pipe can contain at once
        made = TEXT + "#" * size
        writer = Thread(target=pipe.write_text, args=[made])
        writer.start()
        assert resolve(pipe).text == made
        writer.join()


@pytest.mark.timeout(60)
def test_a_pipe_without_a_writer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the command would wait for ever."""
    monkeypatch.setattr(text, "_WRITER_S", 0.1)
    os.mkfifo(tmp_path / "mute.yml")
    with pytest.raises(SourceError, match=r"^cannot be read: nobody writes to this pipe$"):
        resolve(tmp_path / "mute.yml")


def test_no_more_is_read_than_a_configuration_may_have(tmp_path: Path) -> None:
    """A device, for example, never ends."""
    (tmp_path / "endless.yml").symlink_to("/dev/zero")
    with pytest.raises(SourceError, match=r"^cannot be read: more than 4000000 bytes, too much"):
        resolve(tmp_path / "endless.yml")
